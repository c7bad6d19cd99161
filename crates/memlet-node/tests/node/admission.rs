//! What a peer may try with changes, and what must come of it: nothing shown, nothing stored, the reason counted.
//!
//! Numbers are those of the authority cases.

use std::sync::atomic::Ordering;

use memlet_auth::grant::{Abilities, Ability, Cap, Grant, Terms};
use memlet_auth::keys::SigningKey;
use memlet_auth::stamp::{Stamp, StampContext};
use memlet_core::document::{Author, ChangeHead, Document, Draft};
use memlet_core::id::{Actor, EpochId, NamespaceId, PublicKey, ReplicaId};
use memlet_core::path::Path;
use memlet_core::value::Value;
use memlet_sync::clock::ActorClock;
use memlet_sync::replica::{Admission, Budget, Replica, StampedChange};

use crate::support::{Device, NOW_MS, first, join, key, sync};

const EVERYTHING: Budget = Budget { changes: 1_000, bytes: 1 << 20 };
const ROOT: u8 = 100;

fn path(text: &str) -> Path {
    Path::parse(text).unwrap()
}

fn changes(device: &Device) -> Vec<StampedChange> {
    let batch = device.home().replica().changes_beyond(&ActorClock::default(), EVERYTHING).unwrap();
    batch.changes.into_iter().map(|(_, _, change)| change).collect()
}

fn document(device: &Device) -> Document {
    let changes = changes(device);
    Document::load(device.home().id(), changes.iter().map(|change| change.change.as_slice())).unwrap()
}

/// A peer with a key of its own and a grant of the test's choice, which writes whatever it likes.
struct Mallory {
    key: SigningKey,
    grant: Grant,
}

impl Mallory {
    fn new(seed: u8, caps: Vec<Cap>, expires: Option<u64>) -> Self {
        let key = key(seed);
        let audience = key.public();
        let terms = Terms { audience, caps, not_before: 0, expires, depth: 0, nonce: [seed; 16] };
        Self { key, grant: Grant::root(&self::key(ROOT), terms).unwrap() }
    }

    fn with(abilities: &[Ability], at: &str) -> Self {
        let path = if at.is_empty() { Path::ROOT } else { path(at) };
        Self::new(66, vec![Cap { abilities: Abilities::of(abilities), path }], None)
    }

    fn introduce(&self, to: &Device) {
        let admission = to.home().admit_statements(&[self.grant.to_bytes()], self.key.public()).unwrap();
        assert_eq!(admission.held.len(), 1);
    }

    fn actor(&self) -> Actor {
        Actor { device: self.key.public(), replica: ReplicaId([66; 8]) }
    }

    fn context(namespace: NamespaceId, epoch: EpochId) -> StampContext {
        StampContext { namespace, epoch }
    }

    /// A change on top of what `device` has, stamped by this peer at `time_ms`.
    fn write(&self, device: &Device, time_ms: u64, gather: impl FnOnce(&mut Draft<'_>)) -> StampedChange {
        let mut document = document(device);
        let grant = self.grant.id();
        let mut draft = document.draft(Author { actor: self.actor(), grant }, time_ms);
        gather(&mut draft);
        let change = draft.commit().unwrap().unwrap().change;
        self.stamp(&document, change.bytes(), time_ms)
    }

    fn stamp(&self, document: &Document, change: &[u8], time_ms: u64) -> StampedChange {
        let context = Self::context(document.namespace(), document.epoch().1);
        let hash = ChangeHead::read(change).unwrap().hash;
        let stamp = Stamp::sign(context, self.grant.id(), hash, time_ms, &self.key, &self.key).compact();
        StampedChange {
            grant: self.grant.id().short(),
            time_ms: stamp.time_ms,
            signatures: stamp.signatures,
            change: change.to_vec(),
        }
    }
}

fn says(list: &str, text: &str) -> impl FnOnce(&mut Draft<'_>) {
    let (list, text) = (path(list), text.to_owned());
    move |draft| draft.append(&list, Value::Text(text))
}

/// Admits one change and wants it refused with `code`, counted once, without any other trace.
fn refused(device: &Device, change: StampedChange, code: &'static str) {
    let before = device.home().canonical_bytes().unwrap();
    let counted = |device: &Device| device.node.refusals().get(code).copied().unwrap_or(0);
    let count = counted(device);
    let admission = device.home().admit(vec![change]).unwrap();
    assert_eq!(admission, Admission { refused: vec![code], ..Admission::default() });
    assert_eq!(counted(device), count + 1);
    assert_eq!(device.home().canonical_bytes().unwrap(), before);
    assert_eq!(device.process().home().canonical_bytes().unwrap(), before);
}

fn applied(device: &Device, change: StampedChange) {
    let admission = device.home().admit(vec![change]).unwrap();
    assert_eq!((admission.applied, admission.refused.len()), (1, 0));
}

#[test]
fn case_01_a_flipped_bit_in_a_signature_or_a_change() {
    let a = first(1, ROOT);
    let mallory = Mallory::with(&[Ability::Write], "w");
    mallory.introduce(&a);
    let good = mallory.write(&a, NOW_MS, says("w/memory", "hello"));
    let mut bad = good.clone();
    bad.signatures.author.0[3] ^= 1;
    refused(&a, bad, "STAMP_AUTHOR_SIGNATURE");
    for at in 0..good.change.len() {
        let mut bad = good.clone();
        bad.change[at] ^= 0x10;
        refused(&a, bad, "CHANGE_MALFORMED");
    }
    for cut in [0, 4, 9, 40, good.change.len() - 1] {
        let mut bad = good.clone();
        bad.change.truncate(cut);
        refused(&a, bad, "CHANGE_MALFORMED");
    }
    applied(&a, good);
    assert_eq!(a.recall(), "1. hello");
}

#[test]
fn case_02_a_stamp_by_another_key_than_the_grants() {
    let a = first(1, ROOT);
    let mallory = Mallory::with(&[Ability::Write], "w");
    mallory.introduce(&a);
    let good = mallory.write(&a, NOW_MS, says("w/memory", "mine"));
    let thief = key(67);
    let hash = ChangeHead::read(&good.change).unwrap().hash;
    let context = Mallory::context(a.home().id(), document(&a).epoch().1);
    let stamp = Stamp::sign(context, mallory.grant.id(), hash, NOW_MS, &thief, &thief).compact();
    refused(&a, StampedChange { signatures: stamp.signatures, ..good }, "STAMP_AUTHOR_SIGNATURE");
}

#[test]
fn case_25_an_unknown_grant_lets_the_change_wait_until_it_comes() {
    let a = first(1, ROOT);
    let mallory = Mallory::with(&[Ability::Write], "w");
    let change = mallory.write(&a, NOW_MS, says("w/memory", "early"));
    let admission = a.home().admit(vec![change]).unwrap();
    assert_eq!((admission.parked, admission.applied), (1, 0));
    assert_eq!(a.recall(), "");
    mallory.introduce(&a);
    assert_eq!(a.recall(), "1. early");
}

#[test]
fn case_26_a_grant_by_nobody() {
    let a = first(1, ROOT);
    let stranger = key(99);
    let caps = vec![Cap { abilities: Abilities::ALL, path: Path::ROOT }];
    let terms = Terms { audience: stranger.public(), caps, not_before: 0, expires: None, depth: 7, nonce: [1; 16] };
    let grant = Grant::root(&stranger, terms).unwrap();
    let admission = a.home().admit_statements(&[grant.to_bytes()], stranger.public()).unwrap();
    assert_eq!(admission.refused, ["GRANT_NAMESPACE"]);
    assert_eq!(a.home().devices().unwrap().len(), 1);
}

#[test]
fn case_33_a_path_beside_the_granted_one() {
    let a = first(1, ROOT);
    let mallory = Mallory::with(&[Ability::Write], "w/mem");
    mallory.introduce(&a);
    refused(&a, mallory.write(&a, NOW_MS, says("w/memory", "no")), "PERMISSION_DENIED");
    applied(&a, mallory.write(&a, NOW_MS, says("w/mem/x", "yes")));
}

#[test]
fn case_41_one_denied_path_among_allowed_ones() {
    let a = first(1, ROOT);
    let mallory = Mallory::with(&[Ability::Write], "w/notes");
    mallory.introduce(&a);
    let both = mallory.write(&a, NOW_MS, |draft| {
        draft.write_cell(&path("w/notes/a"), Value::Int(1));
        draft.write_cell(&path("w/other"), Value::Int(2));
    });
    refused(&a, both, "PERMISSION_DENIED");
}

#[test]
fn case_45_the_ends_of_a_grants_time_count() {
    let a = first(1, ROOT);
    let seconds = NOW_MS / 1_000;
    let caps = vec![Cap { abilities: Abilities::of(&[Ability::Write]), path: path("w") }];
    let mallory = Mallory::new(66, caps, Some(seconds));
    mallory.introduce(&a);
    refused(&a, mallory.write(&a, NOW_MS + 1, says("w/memory", "late")), "STAMP_WINDOW");
    applied(&a, mallory.write(&a, NOW_MS, says("w/memory", "just in time")));
}

#[test]
fn case_46_eleven_minutes_ahead_is_held_until_its_time() {
    let a = first(1, ROOT);
    let mallory = Mallory::with(&[Ability::Write], "w");
    mallory.introduce(&a);
    let ahead = 11 * 60 * 1_000;
    let change = mallory.write(&a, NOW_MS + ahead, says("w/memory", "soon"));
    let admission = a.home().admit(vec![change]).unwrap();
    assert_eq!((admission.held, admission.applied), (1, 0));
    assert_eq!((a.recall().as_str(), changes(&a).len()), ("", 0));
    assert_eq!(a.home().status().unwrap().waiting, 1);
    a.clock.now_ms.fetch_add(60 * 1_000, Ordering::Relaxed);
    a.home().admit(Vec::new()).unwrap();
    assert_eq!(a.recall(), "1. soon");
}

#[test]
fn case_47_a_time_before_the_last_one() {
    let a = first(1, ROOT);
    let mallory = Mallory::with(&[Ability::Write], "w");
    mallory.introduce(&a);
    applied(&a, mallory.write(&a, NOW_MS, says("w/memory", "one")));
    refused(&a, mallory.write(&a, NOW_MS - 1, says("w/memory", "two")), "STAMP_BACKWARDS");
}

#[test]
fn case_54_a_second_change_under_one_number() {
    let a = first(1, ROOT);
    let mallory = Mallory::with(&[Ability::Write], "w");
    mallory.introduce(&a);
    let one = mallory.write(&a, NOW_MS, says("w/memory", "one"));
    let other = mallory.write(&a, NOW_MS, says("w/memory", "other"));
    applied(&a, one);
    refused(&a, other, "CHANGE_SEQUENCE");
}

#[test]
fn case_66_a_change_sent_again() {
    let a = first(1, ROOT);
    a.remember("once");
    let admission = a.home().admit(changes(&a)).unwrap();
    assert_eq!((admission.known, admission.applied), (1, 0));
    assert_eq!(a.recall(), "1. once");
}

#[test]
fn case_68_a_removal_without_forget() {
    let a = first(1, ROOT);
    a.remember("dear");
    let mallory = Mallory::with(&[Ability::Write], "w");
    mallory.introduce(&a);
    let list = path("w/memory");
    let rewrites = |draft: &mut Draft<'_>| draft.rewrite(&list, Vec::new());
    refused(&a, mallory.write(&a, NOW_MS, rewrites), "PERMISSION_DENIED");
    let removes = |draft: &mut Draft<'_>| {
        let dot = draft.document().list(&list).unwrap()[0];
        draft.remove(&list, &dot);
    };
    refused(&a, mallory.write(&a, NOW_MS, removes), "PERMISSION_DENIED");
    let edits = |draft: &mut Draft<'_>| {
        let dot = draft.document().list(&list).unwrap()[0];
        draft.edit(&list, dot, Value::Text("nearer".into()));
    };
    applied(&a, mallory.write(&a, NOW_MS, edits));
    assert_eq!(a.recall(), "1. nearer");
}

#[test]
fn a_change_stamped_for_another_namespace_or_epoch() {
    let a = first(1, ROOT);
    let mallory = Mallory::with(&[Ability::Write], "w");
    mallory.introduce(&a);
    let good = mallory.write(&a, NOW_MS, says("w/memory", "hello"));
    let hash = ChangeHead::read(&good.change).unwrap().hash;
    let epoch = document(&a).epoch().1;
    for context in [Mallory::context(NamespaceId([5; 32]), epoch), Mallory::context(a.home().id(), EpochId([5; 32]))] {
        let stamp = Stamp::sign(context, mallory.grant.id(), hash, NOW_MS, &mallory.key, &mallory.key).compact();
        let moved = StampedChange { signatures: stamp.signatures, ..good.clone() };
        refused(&a, moved, "STAMP_AUTHOR_SIGNATURE");
    }
}

#[test]
fn a_change_in_the_name_of_another_device() {
    let a = first(1, ROOT);
    a.remember("mine");
    let mallory = Mallory::with(&[Ability::Write], "w");
    mallory.introduce(&a);
    let mut forged = document(&a);
    let author = Author { actor: a.node.actor().unwrap(), grant: mallory.grant.id() };
    let mut draft = forged.draft(author, NOW_MS);
    draft.append(&path("w/memory"), Value::Text("forged".into()));
    let change = draft.commit().unwrap().unwrap().change;
    refused(&a, mallory.stamp(&forged, change.bytes(), NOW_MS), "STAMP_SIGNATURE_COUNT");
    // With a second signature, by a device that is not the one it names.
    let context = Mallory::context(forged.namespace(), forged.epoch().1);
    let stamp = Stamp::sign(context, mallory.grant.id(), change.hash, NOW_MS, &mallory.key, &key(67)).compact();
    let signed_twice = StampedChange { signatures: stamp.signatures, ..mallory.stamp(&forged, change.bytes(), NOW_MS) };
    refused(&a, signed_twice, "STAMP_AUTHOR_SIGNATURE");
    a.remember("still mine");
    assert_eq!(a.recall(), "1. mine\n2. still mine");
}

#[test]
fn a_replica_id_that_belongs_to_another_device() {
    let a = first(1, ROOT);
    a.remember("mine");
    let mallory = Mallory::with(&[Ability::Write], "w");
    mallory.introduce(&a);
    // The document would refuse to write this, so it is built where `a` has not written yet.
    let mut empty = Document::new(a.home().id());
    let actor = Actor { device: mallory.key.public(), replica: a.node.actor().unwrap().replica };
    let mut draft = empty.draft(Author { actor, grant: mallory.grant.id() }, NOW_MS);
    draft.append(&path("w/memory"), Value::Text("squatter".into()));
    let change = draft.commit().unwrap().unwrap().change;
    refused(&a, mallory.stamp(&empty, change.bytes(), NOW_MS), "CHANGE_CLAIM");
}

#[test]
fn changes_in_any_order_and_twice_end_the_same() {
    let a = first(1, ROOT);
    let b = join(&a, 2);
    for n in 0..20 {
        a.remember(&format!("item {n}"));
    }
    let mut backwards = changes(&a);
    backwards.reverse();
    backwards.extend(changes(&a));
    let admission = b.home().admit(backwards).unwrap();
    assert_eq!((admission.applied, admission.known), (20, 20));
    assert_eq!(b.home().canonical_bytes().unwrap(), a.home().canonical_bytes().unwrap());
}

#[test]
fn a_flood_without_dependencies_stays_within_its_bound() {
    let a = first(1, ROOT);
    let mallory = Mallory::with(&[Ability::Write], "w");
    mallory.introduce(&a);
    let mut ahead = Document::new(a.home().id());
    let author = Author { actor: mallory.actor(), grant: mallory.grant.id() };
    let mut flood = Vec::new();
    for n in 0..=memlet_node::WAITING_CHANGES_MAX as u64 {
        let mut draft = ahead.draft(author, NOW_MS + n);
        draft.write_cell(&path("w/x"), Value::Int(1));
        let change = draft.commit().unwrap().unwrap().change;
        flood.push(mallory.stamp(&ahead, change.bytes(), NOW_MS));
    }
    let first_one = flood.remove(0);
    let admission = a.home().admit(flood.clone()).unwrap();
    assert_eq!(admission.parked, memlet_node::WAITING_CHANGES_MAX as u64);
    a.home().admit(flood).unwrap();
    assert_eq!(a.home().status().unwrap().waiting, memlet_node::WAITING_CHANGES_MAX as u64);
    a.remember("still at work");
    applied_all(&a, first_one, memlet_node::WAITING_CHANGES_MAX as u64 + 1);
}

fn applied_all(device: &Device, change: StampedChange, count: u64) {
    assert_eq!(device.home().admit(vec![change]).unwrap().applied, count);
    assert_eq!(device.home().status().unwrap().waiting, 0);
}

#[test]
fn a_device_of_another_namespace_is_not_trusted() {
    let a = first(1, ROOT);
    let b = first(2, ROOT + 1);
    let stranger: PublicKey = b.node.device();
    assert!(!a.home().replica().trusts(&stranger, NOW_MS).unwrap());
    assert!(a.home().replica().trusts(&a.node.device(), NOW_MS).unwrap());
    let c = join(&a, 3);
    assert!(c.home().replica().trusts(&a.node.device(), NOW_MS).unwrap());
    assert!(sync(&a, &c).level);
}

/// A waiting change of one peer was taken for something that another peer had brought, so it was never sent to that one.
#[test]
fn what_waited_is_not_believed_to_be_held_by_whoever_comes_next() {
    let a = first(1, ROOT);
    let mallory = Mallory::with(&[Ability::Write], "w");
    mallory.introduce(&a);
    let ahead_ms = 11 * 60 * 1_000;
    a.home().admit(vec![mallory.write(&a, NOW_MS + ahead_ms, says("w/memory", "held"))]).unwrap();
    a.clock.now_ms.fetch_add(ahead_ms, Ordering::Relaxed);
    let admission = a.home().admit(Vec::new()).unwrap();
    assert_eq!((admission.applied, admission.carried.len()), (1, 0));
}
