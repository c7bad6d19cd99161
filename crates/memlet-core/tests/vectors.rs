//! The document vectors of `proto/`: what this build writes for a fixed history, byte for byte.
//!
//! `UPDATE_VECTORS=1 cargo test -p memlet-core --test vectors` writes them anew after a deliberate change of the format.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on has failed; vectors are files"
)]

use std::collections::BTreeMap;

use memlet_core::codec::Encode;
use memlet_core::document::{Author, Document, Element, Parsed, Written};
use memlet_core::id::{Actor, GrantId, NamespaceId, PublicKey, ReplicaId};
use memlet_core::path::Path;
use memlet_core::value::Value;
use serde_json::{Value as Json, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../proto/vectors/document.json");
const NAMESPACE: NamespaceId = NamespaceId([7; 32]);
const NOW_MS: u64 = 1_796_000_000_000;

fn author(n: u8) -> Author {
    let actor = Actor { device: PublicKey([n; 32]), replica: ReplicaId([n; 8]) };
    Author { actor, grant: GrantId([9; 32]) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn entry(says: &str, written: Option<Written>) -> Json {
    let change = written.expect("something was written").change;
    json!({
        "says": says,
        "actor": hex(&change.actor.to_bytes()),
        "seq": change.seq,
        "hash": hex(&change.hash.0),
        "change": hex(change.bytes()),
    })
}

fn vectors() -> Json {
    let memory = Path::parse("w/memory").unwrap();
    let units = Path::parse("w/settings/units").unwrap();
    let item = |text: &str| {
        Value::Map(BTreeMap::from([
            ("text".into(), Value::Text(text.into())),
            ("ts".into(), Value::Int(1_796_000_000_000)),
        ]))
    };
    let mut document = Document::new(NAMESPACE);
    let genesis = hex(&document.epoch().1.0);
    let mut changes = Vec::new();

    let mut draft = document.draft(author(1), NOW_MS);
    draft.append(&memory, item("Prefers metric units"));
    draft.append(&memory, item("Lives in Lisbon"));
    changes.push(entry("replica 01… remembers two items", draft.commit().unwrap()));

    let mut draft = document.draft(author(2), NOW_MS + 1);
    draft.write_cell(&units, Value::Text("SI".into()));
    changes.push(entry("replica 02… writes a leaf", draft.commit().unwrap()));

    let first = document.list(&memory).unwrap()[0];
    let mut draft = document.draft(author(2), NOW_MS + 2);
    draft.edit(&memory, first, item("Prefers SI units"));
    changes.push(entry("replica 02… rewrites the first item in place", draft.commit().unwrap()));

    let second = document.list(&memory).unwrap()[1];
    let mut draft = document.draft(author(1), NOW_MS + 3);
    draft.rewrite(&memory, vec![Element::Keep(second), Element::New(item("Vegetarian"))]);
    changes.push(entry("replica 01… forgets the first item and remembers another", draft.commit().unwrap()));

    json!({
        "namespace": hex(&NAMESPACE.0),
        "genesis": { "epoch": genesis, "change": hex(&Document::genesis_change(&NAMESPACE)) },
        "grant": hex(&author(1).grant.0),
        "changes": changes,
        "canonical": hex(&document.canonical_bytes()),
        "clock": hex(&document.clock().to_cbor()),
    })
}

#[test]
fn the_format_is_what_proto_says() {
    let made = vectors();
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        let text = serde_json::to_string_pretty(&made).unwrap() + "\n";
        std::fs::create_dir_all(std::path::Path::new(FILE).parent().unwrap()).unwrap();
        std::fs::write(FILE, text).unwrap();
    }
    let kept: Json = serde_json::from_str(&std::fs::read_to_string(FILE).unwrap()).unwrap();
    assert_eq!(made, kept);
    for change in kept["changes"].as_array().unwrap() {
        let hex = change["change"].as_str().unwrap();
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        assert_eq!(Parsed::from_bytes(&bytes).unwrap().seq, change["seq"].as_u64().unwrap());
    }
}
