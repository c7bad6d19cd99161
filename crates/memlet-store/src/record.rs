//! Where a record lives: a [`Scope`], a [`Table`] in it, and a key of bounded size.

use memlet_core::id::NamespaceId;

use crate::StoreError;

/// The largest key, in bytes.
pub const KEY_BYTES_MAX: usize = 256;

/// The largest value, in bytes.
pub const VALUE_BYTES_MAX: usize = 16 << 20;

/// What a record belongs to. Writes are ordered within a scope and touch no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The store itself: what all its namespaces share.
    Store,
    /// One namespace.
    Namespace(NamespaceId),
}

impl Scope {
    /// The scope as stores keep it: no bytes for the store itself, 32 for a namespace.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Store => &[],
            Self::Namespace(id) => id.as_bytes(),
        }
    }
}

/// The kinds of record. The codes are part of every store's format: never change or reuse one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Table {
    /// What this store is: replica id, settings.
    Node = 1,
    /// Changes of documents, in the order they were accepted.
    Changes = 2,
    /// Grants, revocations and other signed statements.
    Statements = 3,
    /// What is known of other replicas.
    Peers = 4,
    /// Results of requests, so that a repeated request has its first answer.
    Requests = 5,
    /// The log of events that subscribers read.
    Events = 6,
    /// Numbers that only grow.
    Counters = 7,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 7] =
        [Self::Node, Self::Changes, Self::Statements, Self::Peers, Self::Requests, Self::Events, Self::Counters];

    /// The table's stable code.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// Refuses what no store takes.
pub(crate) fn check_sizes(key: &[u8], value: &[u8]) -> Result<(), StoreError> {
    let check = |what, bytes: usize, bytes_max: usize| {
        if bytes > bytes_max { Err(StoreError::Limit { what, bytes, bytes_max }) } else { Ok(()) }
    };
    check("key", key.len(), KEY_BYTES_MAX)?;
    check("value", value.len(), VALUE_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_part_of_the_format() {
        assert_eq!(Table::ALL.map(Table::code), [1, 2, 3, 4, 5, 6, 7]);
    }
}
