//! One mutation in memory at several list sizes, and loading what a thousand of them left behind.
//!
//! Beside each stands what plain Automerge does for the same edit: the whole list replaced as native values.

use std::collections::BTreeMap;

use automerge::transaction::Transactable;
use automerge::{Automerge, ObjType, ROOT};
use divan::Bencher;
use memlet_core::document::{Author, Document};
use memlet_core::id::{Actor, GrantId, NamespaceId, PublicKey, ReplicaId};
use memlet_core::path::Path;
use memlet_core::value::Value;

fn main() {
    divan::main();
}

const NOW_MS: u64 = 1_796_000_000_000;

fn author() -> Author {
    let actor = Actor { device: PublicKey([1; 32]), replica: ReplicaId([1; 8]) };
    Author { actor, grant: GrantId([9; 32]) }
}

fn list() -> Path {
    Path::parse("w/memory").expect("a valid path")
}

fn text(n: u64) -> String {
    format!("Prefers metric units, note {n}")
}

fn remember(document: &mut Document, n: u64) -> Vec<u8> {
    let item = BTreeMap::from([
        ("text".to_owned(), Value::Text(text(n))),
        ("ts".to_owned(), Value::Int((NOW_MS + n).cast_signed())),
    ]);
    let mut draft = document.draft(author(), NOW_MS + n);
    draft.append(&list(), Value::Map(item));
    let written = draft.commit().expect("a draft is written").expect("it holds something");
    written.change.bytes().to_vec()
}

fn filled(items: u64) -> (Document, Vec<Vec<u8>>) {
    let mut document = Document::new(NamespaceId([7; 32]));
    let changes = (0..items).map(|n| remember(&mut document, n)).collect();
    (document, changes)
}

/// Replaces item 1 in place, so that the list keeps its size.
#[divan::bench(args = [10, 100, 1_000, 5_000])]
fn update(bencher: Bencher<'_, '_>, items: u64) {
    let (mut document, _) = filled(items);
    let dot = document.list(&list()).expect("the list is there")[0];
    let mut now_ms = NOW_MS + items;
    bencher.bench_local(|| {
        now_ms += 1;
        let mut draft = document.draft(author(), now_ms);
        draft.edit(&list(), dot, Value::Text("Prefers SI units".into()));
        draft.commit().expect("a draft is written")
    });
}

/// Adds an item and removes the first, so that the list keeps its size.
#[divan::bench(args = [10, 100, 1_000, 5_000])]
fn remember_and_forget(bencher: Bencher<'_, '_>, items: u64) {
    let (mut document, _) = filled(items);
    let mut now_ms = NOW_MS + items;
    bencher.bench_local(|| {
        now_ms += 1;
        let first = document.list(&list()).expect("the list is there")[0];
        let mut draft = document.draft(author(), now_ms);
        draft.append(&list(), Value::Text("Prefers SI units".into()));
        draft.remove(&list(), &first);
        draft.commit().expect("a draft is written")
    });
}

#[divan::bench(args = [10, 100, 1_000])]
fn plain_automerge_whole_list(bencher: Bencher<'_, '_>, items: u64) {
    let mut document = Automerge::new();
    bencher.bench_local(|| {
        let mut transaction = document.transaction();
        let list = transaction.put_object(ROOT, "memory", ObjType::List).expect("a list");
        for n in 0..items {
            transaction.insert(&list, usize::try_from(n).expect("small"), text(n)).expect("an item");
        }
        transaction.commit()
    });
}

#[divan::bench(args = [100, 1_000])]
fn load_after_mutations(bencher: Bencher<'_, '_>, mutations: u64) {
    let (_, changes) = filled(mutations);
    bencher.bench_local(|| Document::load(NamespaceId([7; 32]), changes.iter().map(Vec::as_slice)).expect("it loads"));
}
