//! Cases 8 to 16: one meaning has one encoding, and nothing else is read.

use memlet_auth::error::{GrantRefusal, RevocationRefusal, StampRefusal};
use memlet_auth::grant::{Ability, Grant};
use memlet_auth::limits::STATEMENT_BYTES_MAX;
use memlet_auth::revocation::Revocation;
use memlet_auth::stamp::{CompactStamp, Stamp};
use memlet_auth::statements::Insertion;
use memlet_core::codec::{Decode as _, DecodeError, Encode};
use memlet_core::id::{Actor, GrantId, ReplicaId};

use crate::fixture::*;

const GRANT: GrantId = GrantId([7; 32]);
/// Items of a grant.
const CAPS: usize = 5;
const NOT_BEFORE: usize = 6;
const DEPTH: usize = 8;
const NONCE: usize = 9;
/// Items of a revocation.
const TARGET: usize = 4;
const KEEP: usize = 5;
const UPHELD: usize = 6;
const REVOCATION_NONCE: usize = 7;
/// The last item of a stamp.
const TIME: usize = 7;

/// Asserts that both a grant and a stamp are refused with `error` when one of their items is replaced.
fn refuses_items(grant: (usize, &[u8]), stamp: (usize, &[u8]), error: &DecodeError) {
    refuses_bodies(
        &Items::of_grant().with(grant.0, grant.1).body(),
        &Items::of_stamp(GRANT).with(stamp.0, stamp.1).body(),
        error,
    );
}

fn refuses_bodies(grant: &[u8], stamp: &[u8], error: &DecodeError) {
    World::new().refuses(&signed_grant(ROOT, grant), &GrantRefusal::Encoding(error.clone()));
    assert_eq!(Stamp::parse(&signed_stamp(ALICE, stamp)), Err(StampRefusal::Encoding(error.clone())));
}

#[test]
fn the_hand_made_records_are_good_as_they_are() {
    let mut world = World::new();
    let statement = signed_grant(ROOT, &Items::of_grant().body());
    let grant = Grant::parse(&statement).unwrap();
    assert_eq!(grant.to_bytes(), statement);
    world.add(&grant);
    let bytes = signed_stamp(ALICE, &Items::of_stamp(grant.id()).body());
    let stamp = Stamp::parse(&bytes).unwrap();
    assert_eq!(stamp.to_bytes(), bytes);
    world.verified(&stamp, &arrival(ALICE));
}

#[test]
fn case_08_non_minimal_integers() {
    let one: [&[u8]; 4] = [&[0x18, 1], &[0x19, 0, 1], &[0x1a, 0, 0, 0, 1], &[0x1b, 0, 0, 0, 0, 0, 0, 0, 1]];
    for item in one {
        refuses_items((DEPTH, item), (TIME, item), &DecodeError::NotDeterministic);
        refuses_items((0, item), (0, item), &DecodeError::NotDeterministic);
    }
    let nonce = [&[0x58, 16], [9; 16].as_slice()].concat();
    let hash = [&[0x59, 0, 32], [7; 32].as_slice()].concat();
    refuses_items((NONCE, &nonce), (4, &hash), &DecodeError::NotDeterministic);
}

#[test]
fn case_09_indefinite_lengths() {
    let open = |items: &Items| [&[0x9f], items.0.concat().as_slice(), &[0xff]].concat();
    let (grant, stamp) = (open(&Items::of_grant()), open(&Items::of_stamp(GRANT)));
    refuses_bodies(&grant, &stamp, &DecodeError::NotDeterministic);

    let chunked = |bytes: &[u8]| [&[0x5f], bytes_item(bytes).as_slice(), &[0xff]].concat();
    let (nonce, hash) = (chunked(&[9; 16]), chunked(&[7; 32]));
    refuses_items((NONCE, &nonce), (4, &hash), &DecodeError::NotDeterministic);
}

#[test]
fn case_10_bytes_behind_the_body_or_the_envelope() {
    let (mut grant, mut stamp) = (Items::of_grant().body(), Items::of_stamp(GRANT).body());
    let (mut statement, mut full) = (signed_grant(ROOT, &grant), signed_stamp(ALICE, &stamp));
    grant.push(0);
    stamp.push(0);
    refuses_bodies(&grant, &stamp, &DecodeError::Trailing);

    statement.push(0);
    full.push(0);
    World::new().refuses(&statement, &GrantRefusal::Encoding(DecodeError::Trailing));
    assert_eq!(Stamp::parse(&full), Err(StampRefusal::Encoding(DecodeError::Trailing)));
}

#[test]
fn case_11_another_kind_of_number() {
    let unsigned = DecodeError::Expected("an unsigned integer");
    for (item, error) in [
        ([0xf9, 0x3c, 0x00].as_slice(), unsigned.clone()),
        (&[0x20], unsigned.clone()),
        (&[0xf6], unsigned),
        (&[0xc2, 0x41, 0x01], DecodeError::NotDeterministic),
    ] {
        refuses_items((NOT_BEFORE, item), (TIME, item), &error);
        refuses_items((0, item), (0, item), &error);
    }
}

#[test]
fn case_12_another_arity_or_version() {
    let arity = DecodeError::Expected("an array of another arity");
    let (mut longer, mut longer_stamp) = (Items::of_grant(), Items::of_stamp(GRANT));
    longer.0.push(vec![0]);
    longer_stamp.0.push(vec![0]);
    refuses_bodies(&longer.body(), &longer_stamp.body(), &arity);
    let (mut shorter, mut shorter_stamp) = (Items::of_grant(), Items::of_stamp(GRANT));
    shorter.0.pop();
    shorter_stamp.0.pop();
    refuses_bodies(&shorter.body(), &shorter_stamp.body(), &arity);

    // whatever else a body of an unknown version holds
    for version in [0u64, 2, u64::MAX] {
        for items in [Items::of_grant().with(0, version.to_cbor()), Items(vec![version.to_cbor(), vec![0xff]])] {
            World::new().refuses(&signed_grant(ROOT, &items.body()), &GrantRefusal::Version(version));
        }
        let body = Items::of_stamp(GRANT).with(0, version.to_cbor()).body();
        assert_eq!(Stamp::parse(&signed_stamp(ALICE, &body)), Err(StampRefusal::Version(version)));
    }
    let mut statement = signed_grant(ROOT, &Items::of_grant().body());
    statement[1] = 3;
    World::new().refuses(&statement, &GrantRefusal::Kind(3));
    statement[0] = 0x84;
    World::new().refuses(&statement, &GrantRefusal::Encoding(arity));
}

#[test]
fn case_13_deep_nesting() {
    let deep = vec![0x81; 100_000];
    World::new().refuses(&deep, &GrantRefusal::TooLong);
    assert_eq!(Stamp::parse(&deep), Err(StampRefusal::TooLong));
    let arity = DecodeError::Expected("an array of another arity");
    assert_eq!(CompactStamp::from_cbor(&deep), Err(arity));
    // as deep as the size limits let it be
    let unsigned = DecodeError::Expected("an unsigned integer");
    refuses_bodies(&[0x81; 1_024], &[0x81; 200], &unsigned);
    let caps = [&[0x81; 700], [0x80].as_slice()].concat();
    let body = Items::of_grant().with(CAPS, caps).body();
    let pair = DecodeError::Expected("an array of another arity");
    World::new().refuses(&signed_grant(ROOT, &body), &GrantRefusal::Encoding(pair));
}

#[test]
fn case_14_a_length_of_two_to_the_63() {
    let huge = |major: u8| [&[major | 27, 0x80], [0; 7].as_slice()].concat();
    let (bytes, array) = (huge(0x40), huge(0x80));
    refuses_bodies(&array, &array, &DecodeError::Truncated);
    refuses_items((NONCE, &bytes), (6, &bytes), &DecodeError::Truncated);
    refuses_items((CAPS, &array), (6, &bytes), &DecodeError::Truncated);
    let envelope = [&[0x83, 0x01], bytes.as_slice()].concat();
    World::new().refuses(&envelope, &GrantRefusal::Encoding(DecodeError::Truncated));
    let envelope = [&[0x82], bytes.as_slice()].concat();
    assert_eq!(Stamp::parse(&envelope), Err(StampRefusal::Encoding(DecodeError::Truncated)));
}

#[test]
fn case_15_a_segment_that_is_not_utf8() {
    // one capability: [4, [segment]]
    let caps = [0x81, 0x82, 0x04, 0x81, 0x62, 0xc3, 0x28];
    let body = Items::of_grant().with(CAPS, caps).body();
    World::new().refuses(&signed_grant(ROOT, &body), &GrantRefusal::Encoding(DecodeError::Invalid("UTF-8")));
}

#[test]
fn case_16_other_bytes_of_the_same_meaning() {
    let original = terms(ALICE, 3, [cap(&Ability::ALL, "w")]);
    let mut world = World::new();
    let grant = Grant::root(&key(ROOT), original).unwrap();
    world.add(&grant);
    // the same depth in two bytes, once under the old signature and once under a new one of the issuer's own
    let bytes = grant.to_bytes();
    let body = &bytes[4..bytes.len() - 66];
    let depth = body.len() - 18;
    let longer = [&body[..depth], &[0x18, 3], &body[depth + 1..]].concat();
    let refusal = GrantRefusal::Encoding(DecodeError::NotDeterministic);
    world.refuses(&signed_grant(ROOT, &longer), &refusal);
    let old = key(ROOT).sign(&[b"memlet/grant/1\0", body].concat());
    assert_eq!(grant_with(body, old), bytes, "the body was cut out right");
    world.refuses(&grant_with(&longer, old), &refusal);
    assert_eq!(world.ids(), [grant.id()]);
}

/// Asserts that the revocation is refused with `error` when one of its items is replaced.
fn refuses_revocation(item: usize, bytes: impl Into<Vec<u8>>, error: DecodeError) {
    let body = Items::of_revocation(GRANT).with(item, bytes).body();
    World::new().refuses(&signed_revocation(ROOT, &body), &RevocationRefusal::Encoding(error));
}

#[test]
fn a_revocation_has_one_encoding() {
    let statement = signed_revocation(ROOT, &Items::of_revocation(GRANT).body());
    assert_eq!(Revocation::parse(&statement).unwrap().to_bytes(), statement);
    assert_eq!(World::new().statements.insert(&statement, public(ALICE)), Ok(Insertion::Parked(GRANT)));

    // cases 8 to 14
    let id = GRANT.to_cbor();
    let target = |head: &[u8]| [head, &id].concat();
    refuses_revocation(TARGET, target(&[0x82, 0x18, 0x00]), DecodeError::NotDeterministic);
    refuses_revocation(TARGET, target(&[0x9f, 0x00]), DecodeError::NotDeterministic);
    refuses_revocation(TARGET, target(&[0x81]), DecodeError::Expected("an array of another arity"));
    refuses_revocation(TARGET, target(&[0x82, 0x20]), DecodeError::Expected("an unsigned integer"));
    refuses_revocation(TARGET, target(&[0x82, 0x02]), DecodeError::Invalid("target of a revocation"));
    refuses_revocation(UPHELD, [0x9b, 0x80, 0, 0, 0, 0, 0, 0, 0], DecodeError::Truncated);
    refuses_revocation(UPHELD, [0x80, 0x00], DecodeError::Expected("a byte string"));
    refuses_revocation(REVOCATION_NONCE, [bytes_item(&[9; 16]), vec![0]].concat(), DecodeError::Trailing);
    for (version, refusal) in [(0, RevocationRefusal::Version(0)), (2, RevocationRefusal::Version(2))] {
        let body = Items::of_revocation(GRANT).with(0, u64::to_cbor(&version)).body();
        World::new().refuses(&signed_revocation(ROOT, &body), &refusal);
    }
    let long = signed_revocation(ROOT, &[0x81; STATEMENT_BYTES_MAX]);
    World::new().refuses(&long, &RevocationRefusal::TooLong);
    assert_eq!(Revocation::parse(&signed_grant(ROOT, &Items::of_grant().body())), Err(RevocationRefusal::Kind(1)));
    let a_grants_signature = [&[0x83, 0x02], &signed_grant(ROOT, &Items::of_revocation(GRANT).body())[2..]].concat();
    World::new().refuses(&a_grants_signature, &RevocationRefusal::Signature);
}

#[test]
fn the_lists_of_a_revocation_rise() {
    let kept = |replica: u8, seq: u64| {
        let actor = Actor { device: public(ALICE), replica: ReplicaId([replica; 8]) };
        [vec![0x83], actor.to_cbor(), seq.to_cbor(), CHANGE.to_cbor()].concat()
    };
    for (first, second) in [(1, 1), (2, 1)] {
        let keep = [vec![0x82], kept(first, 1), kept(second, 2)].concat();
        refuses_revocation(KEEP, keep, DecodeError::NotDeterministic);
        let upheld = [vec![0x82], bytes_item(&[first; 32]), bytes_item(&[second; 32])].concat();
        refuses_revocation(UPHELD, upheld, DecodeError::NotDeterministic);
    }
    let zero = [vec![0x81], kept(1, 0)].concat();
    refuses_revocation(KEEP, zero, DecodeError::Invalid("sequence number of a kept change"));
}
