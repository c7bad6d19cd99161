//! How a namespace lies in the store: two logs, of signed statements and of stamped changes, in the order they were accepted.
//!
//! Keys are positions, big-endian, from 0 without gaps, so the last key tells whether another process has added something.

use std::ops::{Bound, ControlFlow};

use memlet_auth::stamp::CompactStamp;
use memlet_core::codec::{Decode, DecodeError, Encode, Reader, Writer};
use memlet_core::document::ChangeHead;
use memlet_core::id::NamespaceId;
use memlet_store::{Read, Scope, StoreError, Table, Write};

use crate::error::NodeError;

/// A change and the stamp it came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredChange {
    /// Who made it, when, and by which grant.
    pub(super) stamp: CompactStamp,
    /// One uncompressed Automerge change.
    pub(super) change: Vec<u8>,
}

impl StoredChange {
    /// Its hash, actor and number.
    pub(super) fn head(&self) -> Result<ChangeHead, NodeError> {
        ChangeHead::read(&self.change).map_err(|error| NodeError::Damaged(error.to_string()))
    }
}

impl Encode for StoredChange {
    fn encode(&self, w: &mut Writer) {
        w.array(2);
        self.stamp.encode(w);
        w.bytes(&self.change);
    }
}

impl Decode for StoredChange {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.array(2)?;
        Ok(Self { stamp: CompactStamp::decode(r)?, change: r.bytes()?.to_vec() })
    }
}

/// How many entries a log has.
pub(super) fn len(read: &dyn Read, id: NamespaceId, table: Table) -> Result<u64, NodeError> {
    match read.last(Scope::Namespace(id), table)? {
        Some((key, _)) => {
            let last = position(&key)?;
            last.checked_add(1).ok_or_else(|| NodeError::Damaged("a log has no room behind its last entry".into()))
        }
        None => Ok(0),
    }
}

/// Adds an entry at `position`, which must be the log's length.
pub(super) fn append(write: &mut dyn Write, table: Table, position: u64, value: &[u8]) -> Result<(), StoreError> {
    write.put(table, &position.to_be_bytes(), value)
}

/// The entries from `from` on.
///
/// # Errors
/// [`NodeError::Damaged`] if one is missing in between.
pub(super) fn entries(read: &dyn Read, id: NamespaceId, table: Table, from: u64) -> Result<Vec<Vec<u8>>, NodeError> {
    let mut found = Vec::new();
    let mut checked = Ok(());
    read.scan(Scope::Namespace(id), table, Bound::Included(&from.to_be_bytes()), &mut |key, value| {
        let expected = from + found.len() as u64;
        checked = position(key).and_then(|at| {
            if at == expected {
                Ok(())
            } else {
                Err(NodeError::Damaged(format!("entry {expected} of a log is missing")))
            }
        });
        if checked.is_err() {
            return ControlFlow::Break(());
        }
        found.push(value.to_vec());
        ControlFlow::Continue(())
    })?;
    checked.map(|()| found)
}

/// The changes from position `from` on.
pub(super) fn changes(read: &dyn Read, id: NamespaceId, from: u64) -> Result<Vec<StoredChange>, NodeError> {
    entries(read, id, Table::Changes, from)?.iter().map(|value| decode_change(value)).collect()
}

/// The change at `position`.
pub(super) fn change(read: &dyn Read, id: NamespaceId, position: u64) -> Result<StoredChange, NodeError> {
    let value = read.get(Scope::Namespace(id), Table::Changes, &position.to_be_bytes())?;
    let value = value.ok_or_else(|| NodeError::Damaged(format!("change {position} is missing")))?;
    decode_change(&value)
}

/// Reads an entry of the log of changes.
fn decode_change(value: &[u8]) -> Result<StoredChange, NodeError> {
    StoredChange::from_cbor(value)
        .map_err(|error| NodeError::Damaged(format!("a stored change cannot be read: {error}")))
}

fn position(key: &[u8]) -> Result<u64, NodeError> {
    let bytes = key.try_into().map_err(|_| NodeError::Damaged("a log has a key that is no position".into()))?;
    Ok(u64::from_be_bytes(bytes))
}
