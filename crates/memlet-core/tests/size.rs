//! What one mutation costs in bytes: a number that every user pays on every disk and every link, for ever.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use memlet_core::document::{Author, Document};
use memlet_core::id::{Actor, GrantId, NamespaceId, PublicKey, ReplicaId};
use memlet_core::path::Path;
use memlet_core::value::Value;

fn author(n: u8) -> Author {
    let actor = Actor { device: PublicKey([n; 32]), replica: ReplicaId([n; 8]) };
    Author { actor, grant: GrantId([9; 32]) }
}

fn item(text: &str) -> Value {
    Value::Map(BTreeMap::from([
        ("text".into(), Value::Text(text.into())),
        ("ts".into(), Value::Int(1_796_000_000_000)),
    ]))
}

/// The bytes of a remember in a list of 1,000 items, written by `replicas` devices in turns of 20.
fn bytes_of_a_remember(replicas: u64) -> usize {
    let list = Path::parse("w/memory").unwrap();
    let mut document = Document::new(NamespaceId([7; 32]));
    let mut bytes = 0;
    for n in 0..=1_000 {
        let writer = u8::try_from(n / 20 % replicas).unwrap() + 1;
        let mut draft = document.draft(author(writer), 1_796_000_000_000 + n);
        draft.append(&list, item("Prefers metric units"));
        bytes = draft.commit().unwrap().unwrap().change.bytes().len();
    }
    bytes
}

#[test]
fn at_a_thousand_items_one_replica_writes_at_most_250_bytes_and_five_at_most_700() {
    for (replicas, bytes_max) in [(1, 250), (5, 700)] {
        let bytes = bytes_of_a_remember(replicas);
        assert!(bytes <= bytes_max, "{replicas} replicas: {bytes} B");
    }
}
