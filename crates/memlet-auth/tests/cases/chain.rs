//! Cases 17 to 32: what a chain of grants is, and what it allows. Case 24 stands beside the statement set, where ids can
//! be forged.

use memlet_auth::effects::Effects;
use memlet_auth::error::{BadSignature, DelegateError, Denied, GrantRefusal, StampRefusal};
use memlet_auth::grant::{Abilities, Ability, Cap, Grant, GrantBody};
use memlet_auth::keys::{Signature, VerifyingKey};
use memlet_auth::limits::{CHAIN_LINKS_MAX, PARKED_PER_PEER_MAX};
use memlet_auth::proof::{Exporter, open_proof, verify_open_proof};
use memlet_auth::stamp::{Arrival, Verdict};
use memlet_auth::statements::{Insertion, StatementId};
use memlet_core::codec::{DecodeError, Encode};
use memlet_core::id::{GrantId, GrantRef, NamespaceId};
use memlet_core::path::Path;

use crate::fixture::*;

fn denied(ability: Ability, at: &str) -> Result<(), Denied> {
    Err(Denied { ability, path: path(at) })
}

fn effects(of: &[(Ability, &str)]) -> Effects {
    of.iter().map(|(ability, at)| (*ability, path(at))).collect()
}

#[test]
fn case_17_the_audience_is_not_the_author() {
    let mut world = World::new();
    let grant = world.add_root(terms(ALICE, 0, [cap(&[Write], "w")]));
    let stamp = world.stamp(BOB, BOB, grant);
    assert_eq!(world.refusal(&stamp, &arrival(BOB)), StampRefusal::NotTheAudience);
    // the compact form takes Alice for the author, so Bob's signature is no longer hers
    let refusal = stamp.compact().verify(&world.statements, &arrival(BOB)).unwrap_err();
    assert_eq!(refusal, StampRefusal::SignatureCount);
    let refusal = world.stamp(BOB, CAROL, grant).compact().verify(&world.statements, &arrival(CAROL)).unwrap_err();
    assert_eq!(refusal, StampRefusal::AuthorSignature);
}

#[test]
fn a_grant_is_issued_by_its_issuer_alone() {
    let body = GrantBody { namespace: namespace(), issuer: public(ALICE), parent: None, terms: terms(BOB, 0, []) };
    assert_eq!(Grant::issue(&key(BOB), &body), Err(GrantRefusal::Signature));
}

#[test]
fn case_18_the_issuer_is_not_the_parents_audience() {
    let mut world = World::new();
    let parent = world.add_root(terms(ALICE, 3, [cap(&Ability::ALL, "w")]));
    let grant = child(BOB, parent, terms(BOB, 0, [cap(&[Write], "w")]));
    world.refuses(&grant.to_bytes(), &GrantRefusal::NotTheAudience);
}

#[test]
fn case_19_a_child_names_what_its_parent_lacks() {
    let mut world = World::new();
    let parent = world.add_root(terms(ALICE, 1, [cap(&[Write, Ability::Grant], "w")]));
    let grant = world.add(&child(ALICE, parent, terms(BOB, 0, [cap(&[Write, Forget], "w")])));
    let stamp = world.verified(&world.stamp(BOB, BOB, grant), &arrival(BOB));
    assert_eq!(stamp.check_effects(&effects(&[(Write, "w/notes")])), Ok(()));
    let both = effects(&[(Write, "w/notes"), (Forget, "w/notes")]);
    assert_eq!(stamp.check_effects(&both), denied(Forget, "w/notes"));
}

#[test]
fn case_20_a_child_for_more_than_its_parents_path() {
    let mut world = World::new();
    let parent = world.add_root(terms(ALICE, 1, [cap(&[Write, Ability::Grant], "w/notes")]));
    let grant = world.add(&child(ALICE, parent, terms(BOB, 0, [cap(&[Write], "w")])));
    let grant = world.get(grant);
    assert!(grant.permits(Write, &path("w/notes")));
    assert!(grant.permits(Write, &path("w/notes/today")));
    for outside in ["w", "w/memory", "w/notes2", ""] {
        assert!(!grant.permits(Write, &path(outside)), "{outside}");
    }
}

#[test]
fn case_21_a_child_that_outlives_its_parent() {
    let mut world = World::new();
    let mut limited = terms(ALICE, 1, [cap(&[Write, Ability::Grant], "w")]);
    limited.expires = Some(NOW);
    let parent = world.add_root(limited);
    let grant = world.add(&child(ALICE, parent, terms(BOB, 0, [cap(&[Write], "w")])));
    let last = NOW * 1_000;
    assert_eq!(world.get(grant).window().last_ms(), last);
    world.verified(&world.stamp_at(BOB, BOB, grant, last), &arrival(BOB));
    let late = world.stamp_at(BOB, BOB, grant, last + 1);
    assert_eq!(world.refusal(&late, &arrival(BOB)), StampRefusal::Window);
}

#[test]
fn case_22_depth_must_fall() {
    let mut world = World::new();
    let all = || [cap(&Ability::ALL, "")];
    let parent = world.add_root(terms(ALICE, 2, all()));
    for depth in [2, 3, 255] {
        world.refuses(&child(ALICE, parent, terms(BOB, depth, all())).to_bytes(), &GrantRefusal::Depth);
    }
    let leaf = world.add(&child(ALICE, parent, terms(BOB, 0, all())));
    world.refuses(&child(BOB, leaf, terms(CAROL, 0, all())).to_bytes(), &GrantRefusal::Depth);
}

#[test]
fn case_23_too_long_before_any_signature_is_checked() {
    let unsigned = |grant: &Grant| {
        let mut bytes = grant.to_bytes();
        bytes.splice(grant_signature_at(&bytes).., [0; 64]);
        bytes
    };
    let mut world = World::new();
    let all = || [cap(&Ability::ALL, "")];
    let mut last = world.add_root(terms(ALICE, 100, all()));
    for link in 2..=9u8 {
        let grant = child(ALICE, last, terms(ALICE, 100 - link, all()));
        if usize::from(link) > CHAIN_LINKS_MAX {
            world.refuses(&unsigned(&grant), &GrantRefusal::ChainTooLong);
        } else {
            world.refuses(&unsigned(&grant), &GrantRefusal::Signature);
            last = world.add(&grant);
        }
    }
    assert_eq!(world.get(last).chain().count(), CHAIN_LINKS_MAX);

    let (full, longer) = (body_of_bytes(1_024), body_of_bytes(1_025));
    world.refuses(&grant_with(&full, Signature([0; 64])), &GrantRefusal::Signature);
    assert!(world.statements.insert(&signed_grant(ROOT, &full), public(ALICE)).is_ok());
    world.refuses(&grant_with(&longer, Signature([0; 64])), &GrantRefusal::TooLong);
    world.refuses(&signed_grant(ROOT, &longer), &GrantRefusal::TooLong);

    let long = Path::new(vec!["s".repeat(128); 8]).unwrap();
    let too_long = terms(BOB, 0, [Cap { abilities: Abilities::ALL, path: long }]);
    assert_eq!(Grant::root(&key(ROOT), too_long), Err(GrantRefusal::TooLong));

    let caps = |count: usize| (0..count).map(|_| cap(&[Read], "w"));
    let root = GrantBody { namespace: namespace(), issuer: public(ROOT), parent: None, terms: terms(BOB, 0, caps(17)) };
    let refusal = GrantRefusal::Encoding(DecodeError::Limit("a grant's list of capabilities"));
    assert_eq!(Grant::issue(&key(ROOT), &root), Err(refusal.clone()));
    let body = Items::of_grant().with(5, [vec![0x91], [0x82, 0x01, 0x80].repeat(17)].concat()).body();
    world.refuses(&grant_with(&body, Signature([0; 64])), &refusal);
    world.add_root(terms(BOB, 0, caps(16)));
}

fn grant_signature_at(statement: &[u8]) -> usize {
    statement.len() - 64
}

/// A grant body of exactly this many bytes, filled up with long paths.
fn body_of_bytes(bytes: usize) -> Vec<u8> {
    let with_segments = |segments: &[usize]| {
        let caps: Vec<Cap> = segments
            .iter()
            .map(|length| Cap { abilities: Abilities::ALL, path: Path::new(["s".repeat(*length)]).unwrap() })
            .collect();
        let mut w = memlet_core::codec::Writer::default();
        w.list(caps.iter());
        Items::of_grant().with(5, w.into_bytes()).body()
    };
    let mut segments = [110; 8];
    segments[7] = 60;
    segments[7] += bytes - with_segments(&segments).len();
    let body = with_segments(&segments);
    assert_eq!(body.len(), bytes);
    body
}

#[test]
fn case_25_an_unknown_parent() {
    let mut world = World::new();
    let parent = Grant::root(&key(ROOT), terms(ALICE, 2, [cap(&[Write, Ability::Grant], "w")])).unwrap();
    let middle = child(ALICE, parent.id(), terms(BOB, 1, [cap(&[Write, Ability::Grant], "w")]));
    let leaf = child(BOB, middle.id(), terms(CAROL, 0, [cap(&[Write], "w")]));
    let stranger = child(CAROL, middle.id(), terms(CAROL, 0, [cap(&[Write], "w")]));

    let stamp = world.stamp(CAROL, CAROL, leaf.id());
    for grant in [&leaf, &stranger, &leaf] {
        assert_eq!(world.insert(grant), Ok(Insertion::Parked(middle.id())));
    }
    assert_eq!(world.insert(&middle), Ok(Insertion::Parked(parent.id())));
    assert_eq!((world.ids(), world.statements.parked()), (vec![], 3));
    assert!(matches!(stamp.verify(&world.statements, &arrival(CAROL)), Ok(Verdict::Parked(id)) if id == leaf.id()));
    let compact = stamp.compact().verify(&world.statements, &arrival(CAROL));
    assert!(matches!(compact, Ok(Verdict::Parked(id)) if id == leaf.id()));

    let added = [parent.id(), middle.id(), leaf.id()].map(StatementId::Grant).to_vec();
    let refused = vec![GrantRefusal::NotTheAudience.into()];
    assert_eq!(world.insert(&parent), Ok(Insertion::New { added, refused }));
    assert_eq!(world.statements.parked(), 0);
    assert_eq!(world.insert(&leaf), Ok(Insertion::Known(StatementId::Grant(leaf.id()))));
    world.verified(&stamp, &arrival(CAROL));
    assert!(world.get(leaf.id()).permits(Write, &path("w/notes")));
}

#[test]
fn case_25_a_peer_parks_within_its_bound() {
    let mut world = World::new();
    let orphan = |number: u8| child(BOB, GrantId([number; 32]), terms(BOB, 0, [cap(&[Read], "")]));
    let bound = u8::try_from(PARKED_PER_PEER_MAX).unwrap();
    for number in 0..bound {
        assert_eq!(world.insert(&orphan(number)), Ok(Insertion::Parked(GrantId([number; 32]))));
    }
    let one_more = orphan(bound);
    assert_eq!(world.insert(&one_more), Ok(Insertion::Dropped(GrantId([bound; 32]))));
    assert_eq!(world.statements.parked(), PARKED_PER_PEER_MAX);
    // another peer is not affected
    let of_bob = world.statements.insert(&one_more.to_bytes(), public(BOB));
    assert_eq!(of_bob, Ok(Insertion::Parked(GrantId([bound; 32]))));
    // an unsigned orphan takes no room
    let unsigned = [one_more.to_bytes()[..grant_signature_at(&one_more.to_bytes())].to_vec(), vec![0; 64]].concat();
    world.refuses(&unsigned, &GrantRefusal::Signature);
}

#[test]
fn case_25_a_release_makes_room_again() {
    let mut world = World::new();
    let parent = Grant::root(&key(ROOT), terms(ALICE, 1, [cap(&Ability::ALL, "")])).unwrap();
    let orphan = |number: u8| {
        let mut terms = terms(BOB, 0, [cap(&[Read], "")]);
        terms.nonce = [number; 16];
        child(ALICE, parent.id(), terms)
    };
    let bound = u8::try_from(PARKED_PER_PEER_MAX).unwrap();
    for number in 0..bound {
        assert_eq!(world.insert(&orphan(number)), Ok(Insertion::Parked(parent.id())));
    }
    assert_eq!(world.insert(&orphan(bound)), Ok(Insertion::Dropped(parent.id())));
    assert!(
        matches!(world.insert(&parent), Ok(Insertion::New { added, .. }) if added.len() == 1 + PARKED_PER_PEER_MAX)
    );
    let elsewhere = child(ALICE, GrantId([1; 32]), terms(BOB, 0, [cap(&[Read], "")]));
    assert_eq!(world.insert(&elsewhere), Ok(Insertion::Parked(GrantId([1; 32]))));
}

#[test]
fn case_26_no_parent_and_not_the_namespace_key() {
    let body = GrantBody {
        namespace: namespace(),
        issuer: public(BOB),
        parent: None,
        terms: terms(BOB, 9, [cap(&[Read], "")]),
    };
    World::new().refuses(&Grant::issue(&key(BOB), &body).unwrap().to_bytes(), &GrantRefusal::NotRoot);
}

#[test]
fn case_27_a_link_of_another_namespace() {
    let mut world = World::new();
    let parent = world.add_root(terms(ALICE, 3, [cap(&Ability::ALL, "")]));
    let other = GrantBody {
        namespace: NamespaceId(public(BOB).0),
        issuer: public(ALICE),
        parent: Some(parent),
        terms: terms(BOB, 0, [cap(&[Read], "")]),
    };
    world.refuses(&Grant::issue(&key(ALICE), &other).unwrap().to_bytes(), &GrantRefusal::Namespace);
    let root_of_other = Grant::root(&key(BOB), terms(ALICE, 3, [cap(&Ability::ALL, "")])).unwrap();
    world.refuses(&root_of_other.to_bytes(), &GrantRefusal::Namespace);
}

#[test]
fn case_28_wider_caps_for_oneself() {
    let mut world = World::new();
    let own = world.add_root(terms(ALICE, 1, [cap(&[Read, Write, Ability::Grant], "w/notes")]));
    let wider = world.add(&child(ALICE, own, terms(ALICE, 0, [cap(&Ability::ALL, "")])));
    for (ability, at) in Ability::ALL.into_iter().flat_map(|ability| ["", "w", "w/notes", "n"].map(|at| (ability, at)))
    {
        let gained = world.get(wider).permits(ability, &path(at));
        assert!(!gained || world.get(own).permits(ability, &path(at)), "{ability} at {at}");
    }
    assert!(world.get(own).permits(Write, &path("w/notes")));
    assert!(world.get(wider).permits(Write, &path("w/notes")));
    let widened = world.get(own).delegate(&key(ALICE), terms(ALICE, 0, [cap(&[Read], "w")]));
    assert_eq!(widened, Err(DelegateError::Widens(Denied { ability: Ability::Grant, path: path("w") })));
}

#[test]
fn case_29_the_parent_differs_in_nonce_and_audience() {
    let mut world = World::new();
    let of_alice = world.add_root(terms(ALICE, 3, [cap(&Ability::ALL, "")]));
    let mut other = terms(BOB, 3, [cap(&Ability::ALL, "")]);
    other.nonce = [1; 16];
    let of_bob = world.add_root(other);
    let grant = child(ALICE, of_bob, terms(CAROL, 0, [cap(&[Read], "")]));
    world.refuses(&grant.to_bytes(), &GrantRefusal::NotTheAudience);
    world.add(&child(ALICE, of_alice, terms(CAROL, 0, [cap(&[Read], "")])));
}

#[test]
fn case_30_a_proof_belongs_to_its_connection() {
    let (bobs, carols) = (Exporter([1; 32]), Exporter([2; 32]));
    let proof = open_proof(&key(BOB), &namespace(), &bobs);
    let [bob, carol] = [BOB, CAROL].map(|seed| VerifyingKey::new(&public(seed)).unwrap());
    assert_eq!(verify_open_proof(&bob, &namespace(), &bobs, &proof), Ok(()));
    // the connection has authenticated Carol
    assert_eq!(verify_open_proof(&carol, &namespace(), &carols, &proof), Err(BadSignature));
    assert_eq!(verify_open_proof(&carol, &namespace(), &bobs, &proof), Err(BadSignature));
    assert_eq!(verify_open_proof(&bob, &namespace(), &carols, &proof), Err(BadSignature));
}

#[test]
fn case_31_an_empty_path_under_a_limited_parent() {
    let mut world = World::new();
    let parent = world.add_root(terms(ALICE, 1, [cap(&[Write, Ability::Grant], "w/notes")]));
    let grant = world.add(&child(ALICE, parent, terms(BOB, 0, [cap(&[Write], "")])));
    assert!(world.get(grant).permits(Write, &path("w/notes")));
    assert!(!world.get(grant).permits(Write, &path("w/memory")));
    assert!(!world.get(grant).permits(Write, &Path::ROOT));
}

#[test]
fn case_32_an_unknown_ability() {
    let refusal = GrantRefusal::Encoding(DecodeError::Invalid("ability"));
    for bits in [0x80u64, 0xff, 0x100, u64::MAX] {
        // a known capability first, so that it is the whole grant that falls
        let caps = [vec![0x82, 0x82, 0x01, 0x80, 0x82], bits.to_cbor(), vec![0x80]].concat();
        let body = Items::of_grant().with(5, caps).body();
        World::new().refuses(&signed_grant(ROOT, &body), &refusal);
    }
}

#[test]
fn a_stamp_fits_one_namespace_epoch_change_and_actor() {
    let mut world = World::new();
    let grant = world.add_root(terms(ALICE, 0, [cap(&[Write], "w")]));
    let stamp = world.stamp(ALICE, ALICE, grant);
    let here = arrival(ALICE);
    let bob = arrival(BOB).actor;
    for (elsewhere, refusal) in [
        (Arrival { epoch: memlet_core::id::EpochId([1; 32]), ..here }, StampRefusal::Epoch),
        (Arrival { change: memlet_core::id::ChangeHash([1; 32]), ..here }, StampRefusal::Change),
        (Arrival { actor: bob, ..here }, StampRefusal::Actor),
    ] {
        assert_eq!(world.refusal(&stamp, &elsewhere), refusal);
        assert!(stamp.compact().verify(&world.statements, &elsewhere).is_err());
    }
    let other = memlet_auth::statements::Statements::new(NamespaceId(public(BOB).0)).unwrap();
    assert_eq!(stamp.verify(&other, &here).unwrap_err(), StampRefusal::Namespace);
    assert!(matches!(stamp.compact().verify(&world.statements, &here), Ok(Verdict::Verified(_))));
}

#[test]
fn a_grant_is_found_by_its_short_name() {
    let mut world = World::new();
    let grant = world.add_root(terms(ALICE, 0, [cap(&[Write], "w")]));
    assert_eq!(world.statements.find(&grant.short()).map(|found| found.id()), Some(grant));
    assert!(world.statements.find(&GrantRef([0; 8])).is_none());
}
