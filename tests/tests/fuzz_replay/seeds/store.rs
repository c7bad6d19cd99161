//! Records of this device's own store, damaged or of another hand.

use memlet_core::codec::{Encode as _, Writer};
use memlet_node::Peer;
use memlet_store::{Scope, Store as _, Table};
use memlet_tests::fuzzing::{Device, Entry, key};

use super::{Parts, Seed, seed};

pub(super) fn seeds() -> Vec<Seed> {
    records().into_iter().map(seed).collect()
}

/// A record of the host's store, whose bytes `damage` changes.
fn damaged(table: Table, position: u64, damage: impl FnOnce(&mut Vec<u8>)) -> Entry {
    let host = Device::host();
    let store = host.disk.open();
    let key = position.to_be_bytes().to_vec();
    let mut value = store.read().unwrap().get(Scope::Namespace(host.home().id()), table, &key).unwrap().unwrap();
    damage(&mut value);
    Entry { store: false, table, key, value }
}

fn records() -> Vec<Parts> {
    let flip = |at: usize| move |value: &mut Vec<u8>| value[at] ^= 1;
    let own = |table, key: &[u8], value: &[u8]| Entry { store: true, table, key: key.to_vec(), value: value.to_vec() };
    let moved = |position: u64, entry: Entry| Entry { key: position.to_be_bytes().to_vec(), ..entry };
    let change = |position| damaged(Table::Changes, position, |_| {});
    let peer = {
        let host = Device::host();
        let peer = Peer {
            device: key(1).public(),
            name: "laptop".into(),
            addresses: vec!["192.0.2.7:4460".into()],
            last_seen_ms: 7,
        };
        host.node.remember_peer(peer).unwrap();
        let value =
            host.disk.open().read().unwrap().get(Scope::Store, Table::Peers, &key(1).public().0).unwrap().unwrap();
        own(Table::Peers, &key(1).public().0, &value)
    };
    let cut = |mut entry: Entry| {
        entry.value.truncate(entry.value.len() / 2);
        entry
    };
    let many_addresses = {
        let mut w = Writer::default();
        w.array(3);
        w.text("laptop");
        w.array(1_000);
        (0..1_000).for_each(|_| w.text("a"));
        w.uint(7);
        own(Table::Peers, &key(1).public().0, &w.into_bytes())
    };
    let answered = [&7_u64.to_be_bytes()[..], &[3; 32], b"{\"n\":1}"].concat();
    let request =
        |value: &[u8]| Entry { store: false, table: Table::Requests, key: b"one".to_vec(), value: value.to_vec() };
    let rows: Vec<(&str, Vec<Entry>)> = vec![
        ("nothing", vec![]),
        ("a flipped bit in a change", vec![damaged(Table::Changes, 1, flip(240))]),
        ("a flipped bit in a stamp", vec![damaged(Table::Changes, 1, flip(60))]),
        ("a flipped bit in a grant", vec![damaged(Table::Statements, 0, flip(40))]),
        ("a flipped bit in a signature", vec![damaged(Table::Statements, 1, flip(200))]),
        ("half a change", vec![cut(change(2))]),
        ("half a grant", vec![cut(damaged(Table::Statements, 0, |_| {}))]),
        ("an empty change", vec![Entry { value: Vec::new(), ..change(0) }]),
        ("a change twice", vec![moved(3, change(2))]),
        ("two changes exchanged", vec![moved(1, change(0)), moved(0, change(1))]),
        ("a change over another", vec![moved(0, change(2))]),
        ("a gap in the log", vec![moved(9, change(2))]),
        ("the last position there is", vec![moved(u64::MAX, change(2))]),
        ("a key that is no position", vec![Entry { key: b"x".to_vec(), ..change(2) }]),
        ("a grant twice", vec![moved(2, damaged(Table::Statements, 0, |_| {}))]),
        ("a peer", vec![peer.clone()]),
        ("half a peer", vec![cut(peer.clone())]),
        ("a peer of no key", vec![Entry { key: b"x".to_vec(), ..peer }]),
        ("a peer of many addresses", vec![many_addresses]),
        ("no replica id", vec![own(Table::Node, b"replica", b"")]),
        ("another device", vec![own(Table::Node, b"device", &key(1).public().0)]),
        ("no device", vec![own(Table::Node, b"device", b"x")]),
        ("another place", vec![own(Table::Node, b"place", b"x")]),
        ("no home", vec![own(Table::Node, b"home", b"x")]),
        ("an answered request", vec![request(&answered)]),
        ("half an answered request", vec![request(&answered[..42])]),
        ("an answer that is no json", vec![request(&[0; 41])]),
        (
            "a counter",
            vec![Entry {
                store: false,
                table: Table::Counters,
                key: b"requests pruned up to".to_vec(),
                value: 7_u64.to_cbor(),
            }],
        ),
    ];
    let row = |entries: Vec<Entry>| entries.iter().flat_map(Entry::to_bytes).collect();
    rows.into_iter().map(|(name, entries)| ("store", name.to_owned(), row(entries))).collect()
}
