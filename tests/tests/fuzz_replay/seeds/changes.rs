//! Right changes on top of the fixed history, alone and in rows, and the logs of a store.

use memlet_core::document::{Document, Draft, Element, Parsed, Refusal};
use memlet_core::hlc::Hlc;
use memlet_core::path::Path;
use memlet_core::value::Value;
use memlet_tests::fuzzing::{GRANT, NAMESPACE, NOW_MS, author, history, item};

use super::altered::{alter, at};
use super::{Parts, Seed, altered, by_hand, seed};

/// When these changes were written.
pub(super) const WRITTEN_MS: u64 = NOW_MS + 2;

pub(super) fn seeds() -> Vec<Seed> {
    let single = [right(), altered::seeds(), by_hand::seeds()].into_iter().flatten();
    let both =
        single.flat_map(|(name, bytes)| ["change", "document"].map(|target| (target, name.to_owned(), bytes.clone())));
    both.chain(rows()).chain(logs()).map(seed).collect()
}

/// What is right is taken in and what is wrong is refused, so that searching really begins on both sides of the gate.
pub(crate) fn assert_fates() {
    let is_taken_in = |bytes: &[u8]| {
        let parsed = Parsed::from_bytes(bytes);
        parsed.is_ok_and(|change| document().admit::<Refusal>(&change, &GRANT, |_| Ok(())).is_ok())
    };
    for (name, bytes) in right() {
        assert!(is_taken_in(&bytes), "{name} is refused");
    }
    for (name, bytes) in altered::seeds().into_iter().chain(by_hand::seeds()) {
        assert!(!is_taken_in(&bytes), "{name} is taken in");
    }
}

/// An input and its name.
pub(super) type Named = (&'static str, Vec<u8>);

fn path(text: &str) -> Path {
    Path::parse(text).unwrap()
}

fn document() -> Document {
    Document::load(NAMESPACE, history().iter().map(Vec::as_slice)).unwrap()
}

/// What replica `n` writes on top of `document`.
fn write(document: &mut Document, n: u8, gather: impl FnOnce(&mut Draft<'_>)) -> Vec<u8> {
    let mut draft = document.draft(author(n), WRITTEN_MS);
    gather(&mut draft);
    draft.commit().unwrap().unwrap().change.bytes().to_vec()
}

fn append(text: &'static str) -> impl FnOnce(&mut Draft<'_>) {
    move |draft| draft.append(&path("w/memory"), item(text))
}

/// A new replica's first change.
pub(super) fn an_item() -> Vec<u8> {
    write(&mut document(), 3, append("Plays the cello"))
}

/// One change of a new replica for every kind of edit, and one from a clock that is as wrong as a clock may be.
fn right() -> Vec<Named> {
    let memory = path("w/memory");
    let dots = document().list(&memory).unwrap().to_vec();
    let one = |gather: &dyn Fn(&mut Draft<'_>)| write(&mut document(), 3, gather);
    let kept = |dots: &[_]| dots.iter().copied().map(Element::Keep).collect::<Vec<_>>();
    let backwards: Vec<_> = dots.iter().rev().copied().collect();
    vec![
        ("an item", an_item()),
        ("the last moment before 2200", alter(&an_item(), &|change| at(change, (Hlc::END_MS << 16) - 1))),
        ("a rewritten item", one(&|draft| draft.edit(&memory, dots[1], item("Lives in Porto")))),
        ("a removed item", one(&|draft| draft.remove(&memory, &dots[0]))),
        ("another order", one(&|draft| draft.rewrite(&memory, kept(&backwards)))),
        ("an emptied list", one(&|draft| draft.rewrite(&memory, Vec::new()))),
        ("a deleted list", one(&|draft| draft.delete_list(&memory))),
        ("a leaf", one(&|draft| draft.write_cell(&path("w/settings/units"), Value::Int(-1)))),
        ("a removed leaf", one(&|draft| draft.delete_cell(&path("w/settings/units")))),
        (
            "many at once",
            one(&|draft| {
                for n in 0..20 {
                    draft.append(&path("w/long"), Value::Int(n));
                    draft.write_cell(&path(&format!("w/leaves/{n}")), Value::Float(0.5));
                }
            }),
        ),
    ]
}

/// Rows of changes, in the order of writing and not.
fn rows() -> Vec<Parts> {
    let mut one = document();
    let forth: Vec<_> =
        ["Plays the cello", "Has a cat", "Likes tea"].map(|text| write(&mut one, 3, append(text))).into();
    let back: Vec<_> = forth.iter().rev().cloned().collect();
    let beside = write(&mut document(), 4, append("Sings"));
    let fork = write(&mut document(), 3, append("Plays the viola"));
    let rows = [
        ("three changes", forth.clone()),
        ("three changes backwards", back),
        ("a change twice", vec![forth[0].clone(), forth[0].clone()]),
        ("a change before its own", vec![forth[1].clone()]),
        ("two writers", vec![forth[0].clone(), beside, forth[1].clone()]),
        ("one number twice", vec![forth[0].clone(), fork, forth[1].clone()]),
    ];
    rows.map(|(name, row)| ("document", name.to_owned(), row.concat())).into()
}

/// The logs of a store.
fn logs() -> Vec<Parts> {
    let changes = history();
    let mut damaged = changes.concat();
    damaged[200] ^= 1;
    let mut backwards = changes.clone();
    backwards.reverse();
    let logs = [
        ("a history", changes.concat()),
        ("a history backwards", backwards.concat()),
        ("a history twice", [changes.concat(), changes.concat()].concat()),
        ("a missing change", [changes[0].clone(), an_item()].concat()),
        ("a flipped bit", damaged),
        ("a cut", changes.concat()[..400].to_vec()),
        ("nothing", Vec::new()),
    ];
    logs.map(|(name, bytes)| ("log", name.to_owned(), bytes)).into()
}
