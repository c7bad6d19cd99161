//! Changes on top of a small document: what is refused leaves no trace, what is taken in is shown, kept and built upon.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use automerge::Automerge;
use memlet_core::document::{AdmitError, Author, Document, Parsed, Refusal};
use memlet_core::id::{Actor, GrantId, NamespaceId, PublicKey, ReplicaId};
use memlet_core::path::Path;
use memlet_core::value::Value;

use super::change::{seal, split_changes};
use super::device::NOW_MS;

/// The namespace of the document. Its id is a key here only by name.
pub const NAMESPACE: NamespaceId = NamespaceId([7; 32]);
/// The grant of all changes.
pub const GRANT: GrantId = GrantId([9; 32]);

/// Replica `n` of device `n`.
pub fn author(n: u8) -> Author {
    Author { actor: Actor { device: PublicKey([n; 32]), replica: ReplicaId([n; 8]) }, grant: GRANT }
}

/// An item of a memory list.
pub fn item(text: &str) -> Value {
    Value::Map(BTreeMap::from([("text".into(), Value::Text(text.into())), ("ts".into(), Value::Int(1))]))
}

/// The changes of the document: replica 1 remembers two items; then, neither knowing of the other, replica 1 writes a leaf and
/// replica 2 a leaf and an item.
pub fn history() -> Vec<Vec<u8>> {
    let [memory, units] = ["w/memory", "w/settings/units"].map(|path| Path::parse(path).unwrap());
    let mut one = Document::new(NAMESPACE);
    let mut draft = one.draft(author(1), NOW_MS);
    draft.append(&memory, item("Prefers metric units"));
    draft.append(&memory, item("Lives in Lisbon"));
    let mut changes = vec![draft.commit().unwrap().unwrap().change.bytes().to_vec()];
    let mut two = load(&changes);
    let mut draft = one.draft(author(1), NOW_MS + 1);
    draft.write_cell(&units, Value::Text("SI".into()));
    changes.push(draft.commit().unwrap().unwrap().change.bytes().to_vec());
    let mut draft = two.draft(author(2), NOW_MS + 1);
    draft.write_cell(&units, Value::Text("metric".into()));
    draft.append(&memory, item("Vegetarian"));
    changes.push(draft.commit().unwrap().unwrap().change.bytes().to_vec());
    changes
}

fn load(changes: &[Vec<u8>]) -> Document {
    Document::load(NAMESPACE, changes.iter().map(Vec::as_slice)).unwrap()
}

/// Peers' changes, each with a right checksum.
pub(super) fn run(data: &[u8]) {
    static BASE: LazyLock<(Vec<Vec<u8>>, Document)> = LazyLock::new(|| {
        let changes = history();
        let document = load(&changes);
        (changes, document)
    });
    let (mut stored, mut document) = BASE.clone();
    let before = stored.len();
    for change in split_changes(data).map(seal) {
        let Ok(parsed) = Parsed::from_bytes(&change) else { continue };
        let shown = document.canonical_bytes();
        match document.admit::<Refusal>(&parsed, &GRANT, |_| Ok(())) {
            Ok(()) => {
                document.seal().expect("a change that passed the gate is one that automerge takes");
                document.verify().unwrap();
                stored.push(change);
            }
            Err(AdmitError::Refused(_)) => assert_eq!(document.canonical_bytes(), shown, "a refused change shows"),
            Err(AdmitError::Broken(broken)) => panic!("the document broke before the change was judged: {broken}"),
        }
    }
    if stored.len() > before {
        assert_kept(&document, &stored);
        assert_goes_on(document, &stored);
    }
}

/// The stored changes make the same document again, also as Automerge itself saves and loads it.
fn assert_kept(document: &Document, stored: &[Vec<u8>]) {
    let loaded = load(stored);
    assert_eq!(loaded.canonical_bytes(), document.canonical_bytes(), "a reload shows otherwise");
    loaded.verify().unwrap();
    let genesis = Document::genesis_change(&NAMESPACE);
    let changes = [&genesis].into_iter().chain(stored);
    let changes = changes.map(|bytes| automerge::Change::from_bytes(bytes.clone()).unwrap());
    let mut automerge = Automerge::new();
    automerge.apply_changes(changes.collect::<Vec<_>>()).unwrap();
    let reloaded = Automerge::load(&automerge.save()).expect("what is saved can be loaded");
    assert_eq!(reloaded.get_heads(), automerge.get_heads());
}

/// The next change made here can be made, and every replica takes it in.
fn assert_goes_on(mut document: Document, stored: &[Vec<u8>]) {
    let mut draft = document.draft(author(3), NOW_MS);
    draft.append(&Path::parse("w/memory").unwrap(), item("Plays the cello"));
    let written = draft.commit().expect("one can go on writing").unwrap();
    let mut other = load(stored);
    let parsed = Parsed::from_bytes(written.change.bytes()).unwrap();
    other.admit::<Refusal>(&parsed, &GRANT, |_| Ok(())).unwrap();
    other.seal().unwrap();
    assert_eq!(other.canonical_bytes(), document.canonical_bytes(), "two replicas of the same changes differ");
}

/// The changes of a store, damaged at rest: an error, or the document that was stored.
pub(super) fn log(data: &[u8]) {
    let changes: Vec<Vec<u8>> = split_changes(data).map(<[u8]>::to_vec).collect();
    if let Ok(document) = Document::load(NAMESPACE, changes.iter().map(Vec::as_slice)) {
        document.verify().unwrap();
        assert_eq!(load(&changes).canonical_bytes(), document.canonical_bytes());
    }
}
