//! Records of a store, damaged or put there by another hand: what cannot be read is said so, and nothing else fails.

use memlet_core::path::Path;
use memlet_node::Caller;
use memlet_store::{MemoryDisk, Scope, Store as _, Table};
use serde_json::json;

use super::device::{Device, namespace};

/// A record that is put into the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Whether it is the store's own; else it is the namespace's.
    pub store: bool,
    /// The table.
    pub table: Table,
    /// The key, at most 255 bytes.
    pub key: Vec<u8>,
    /// The value, at most 65,535 bytes.
    pub value: Vec<u8>,
}

impl Entry {
    /// The bytes of an input: the table's code, plus 128 if it is the store's own; the length of the key in one byte, the key;
    /// the length of the value, big-endian in two, the value.
    ///
    /// # Panics
    /// Key or value are too long.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self { store, table, key, value } = self;
        let key_bytes = u8::try_from(key.len()).expect("a key has at most 255 bytes");
        let value_bytes = u16::try_from(value.len()).expect("a value has at most 65,535 bytes");
        [&[table.code() | u8::from(*store) << 7, key_bytes], &key[..], &value_bytes.to_be_bytes(), &value[..]].concat()
    }

    /// Takes an entry off the front; its value may be cut short. None if there is none.
    fn read(rest: &mut &[u8]) -> Option<Self> {
        let (&[code, key_bytes], behind) = rest.split_first_chunk()?;
        let (key, behind) = behind.split_at_checked(key_bytes.into())?;
        let (value_bytes, behind) = behind.split_first_chunk()?;
        let (value, behind) = behind.split_at(behind.len().min(u16::from_be_bytes(*value_bytes).into()));
        let table = Table::ALL.into_iter().find(|table| table.code() == code & 0x7f)?;
        *rest = behind;
        Some(Self { store: code & 0x80 != 0, table, key: key.to_vec(), value: value.to_vec() })
    }
}

pub(super) fn run(data: &[u8]) {
    let disk = Device::host().disk;
    let mut rest = data;
    while let Some(Entry { store, table, key, value }) = Entry::read(&mut rest) {
        let store_of = disk.open();
        let scope = if store { Scope::Store } else { Scope::Namespace(namespace()) };
        let mut write = store_of.write(scope).unwrap();
        write.put(table, &key, &value).unwrap();
        write.commit().unwrap();
    }
    assert_eq!(works(&disk), works(&disk), "the same store is read in two ways");
}

/// Opens the store and asks for everything; tells what could be answered.
fn works(disk: &MemoryDisk) -> Vec<bool> {
    let Ok(node) = Device::process(disk, 0, 5) else { return Vec::new() };
    let mut answered = vec![node.home().is_ok(), node.namespaces().is_ok(), node.peers().is_ok(), node.actor().is_ok()];
    if let Ok(home) = node.namespace(namespace()) {
        let memory = Path::parse("w/memory").unwrap();
        let repeated = json!({"command": "forget", "n": 9, "request_id": "one"});
        answered.extend([
            home.status().is_ok(),
            home.verify().is_ok(),
            home.devices().is_ok(),
            home.entries(&Caller::Device, &memory).is_ok(),
            home.invoke(&Caller::Device, "v/ops/memory/recall", &json!({})).is_ok(),
            home.invoke(&Caller::Device, "v/ops/memory", &repeated).is_ok(),
        ]);
    }
    answered
}
