//! Cases 48, 51 to 64 and 75, as far as statements and a history decide them. What a case says of all replicas is asked of
//! every order of statements that turns or mirrors the given one, and of several orders of changes.

use memlet_auth::error::{Denied, RevocationRefusal};
use memlet_auth::grant::{Ability, Grant, Terms};
use memlet_auth::revocation::{Revocation, RevocationBody, Target};
use memlet_auth::statements::{Insertion, StatementId, Statements};
use memlet_core::id::GrantId;

use crate::fixture::*;
use crate::history::History;

use Ability::Revoke;

/// Every ability over everything, and room to pass it on.
fn full(audience: u8, depth: u8) -> Terms {
    terms(audience, depth, [cap(&Ability::ALL, "")])
}

/// Grants and revocations as they are sent.
#[derive(Clone, Default)]
struct Sent(Vec<Vec<u8>>);

impl Sent {
    fn root(&mut self, terms: Terms) -> GrantId {
        self.grant(&Grant::root(&key(ROOT), terms).unwrap())
    }

    fn grant(&mut self, grant: &Grant) -> GrantId {
        self.0.push(grant.to_bytes());
        grant.id()
    }

    fn revoke(&mut self, issuer: u8, body: &RevocationBody) -> Revocation {
        let revocation = revoke(issuer, body);
        self.0.push(revocation.to_bytes());
        revocation
    }

    /// The sets of replicas to which the statements came in different orders.
    fn replicas(&self) -> Vec<Statements> {
        let count = self.0.len();
        let turned = (0..count).map(|by| (0..count).map(|at| (at + by) % count).collect::<Vec<_>>());
        let orders = turned.flat_map(|order| [order.clone(), order.into_iter().rev().collect()]);
        orders
            .map(|order| {
                let mut statements = Statements::new(namespace()).unwrap();
                order.iter().for_each(|at| assert!(statements.insert(&self.0[*at], public(ALICE)).is_ok()));
                assert_eq!((statements.parents_first().count(), statements.parked()), (count, 0));
                statements
            })
            .collect()
    }

    /// Asserts which changes count, on every replica and however they arrive there.
    fn settles(&self, history: &History, expected: &[usize]) {
        let expected = expected.iter().copied().collect();
        for statements in self.replicas() {
            for order in (0..6).map(|salt| history.order(salt)) {
                assert_eq!(history.count(&order, &statements), expected);
                assert_eq!(history.deliver(&order, &statements), expected, "delivered as {order:?}");
            }
        }
    }

    /// Asserts whether `grant` may still be used, on every replica.
    fn denies(&self, grant: GrantId, denied: bool) {
        for statements in self.replicas() {
            let asked = statements.get(&grant).unwrap().check_request(
                Read,
                &path("w/notes"),
                NOW * 1_000,
                statements.revoked(),
            );
            let expected = if denied { Err(Denied { ability: Read, path: path("w/notes") }) } else { Ok(()) };
            assert_eq!(asked, expected);
        }
    }
}

fn keeping(body: RevocationBody, history: &History, kept: &[usize]) -> RevocationBody {
    RevocationBody { keep: kept.iter().map(|number| history.kept(*number)).collect(), ..body }
}

fn by_root(target: Target) -> RevocationBody {
    revocation(ROOT, None, target)
}

/// Two devices under the root key, each with a change; Bob's comes first.
fn two_devices() -> (Sent, History, [GrantId; 2], [usize; 2]) {
    let (mut sent, mut history) = (Sent::default(), History::default());
    let [alice, bob] = [ALICE, BOB].map(|device| sent.root(full(device, 3)));
    let first = history.write(BOB, 0, bob, &[]);
    let second = history.write(ALICE, 0, alice, &[first]);
    (sent, history, [alice, bob], [second, first])
}

#[test]
fn case_48_a_revocation_closes_an_expired_grant() {
    let (mut sent, mut history, _, [a, b]) = two_devices();
    let expired = sent.root(Terms { expires: Some(NOW - 1), ..full(CAROL, 1) });
    let in_time = history.write(CAROL, 0, expired, &[]);
    let back_dated = history.write(CAROL, 0, expired, &[]);
    sent.settles(&history, &[a, b, in_time, back_dated]);
    sent.revoke(ROOT, &keeping(by_root(Target::Grant(expired)), &history, &[in_time]));
    sent.settles(&history, &[a, b, in_time]);
}

#[test]
fn an_expired_holder_can_still_revoke_what_it_granted() {
    let mut sent = Sent::default();
    let expired = sent.root(Terms { expires: Some(NOW - 1), ..full(CAROL, 1) });
    let below = sent.grant(&child(CAROL, expired, full(DAVE, 0)));
    sent.revoke(CAROL, &revocation(CAROL, Some(expired), Target::Grant(below)));
    for statements in sent.replicas() {
        assert!(statements.revoked().hits(statements.get(&below).unwrap()));
    }
}

#[test]
fn case_51_a_revoked_device_writes_on() {
    let (mut sent, mut history, [alice, bob], [a, b]) = two_devices();
    let late = history.write(BOB, 0, bob, &[a]);
    let later = history.write(BOB, 0, bob, &[late]);
    sent.settles(&history, &[a, b, late, later]);
    sent.denies(bob, false);
    let mut by_key = sent.clone();
    sent.revoke(ROOT, &keeping(by_root(Target::Grant(bob)), &history, &[b]));
    by_key.revoke(ROOT, &keeping(by_root(Target::Key(public(BOB))), &history, &[b]));
    for sent in [sent, by_key] {
        sent.settles(&history, &[a, b]);
        sent.denies(bob, true);
        sent.denies(alice, false);
    }
}

#[test]
fn case_51_a_touched_author_goes_on_under_another_grant_without_what_was_cut_off() {
    let (mut sent, mut history, [_, bob], [a, b]) = two_devices();
    let late = history.write(BOB, 0, bob, &[a]);
    sent.revoke(ROOT, &keeping(by_root(Target::Grant(bob)), &history, &[b]));
    let renewed = sent.root(Terms { nonce: [1; 16], ..full(BOB, 0) });
    let same_replica = history.write(BOB, 0, renewed, &[]);
    let other_replica = history.write(BOB, 1, renewed, &[a]);
    let laundering = history.write(BOB, 1, renewed, &[late]);
    sent.settles(&history, &[a, b, other_replica]);
    assert!(history.changes()[same_replica].dependencies.contains(&late));
    assert!(history.changes()[laundering].dependencies.contains(&other_replica));
    sent.denies(renewed, false);
}

#[test]
fn case_52_a_kept_change_arrives_after_the_revocation() {
    let (mut sent, mut history, [_, bob], [a, b]) = two_devices();
    let kept: Vec<usize> = (0..3).map(|_| history.write(BOB, 0, bob, &[])).collect();
    history.write(BOB, 0, bob, &[]);
    sent.revoke(ROOT, &keeping(by_root(Target::Grant(bob)), &history, &[kept[2]]));
    sent.settles(&history, &[&[a, b], kept.as_slice()].concat());
}

#[test]
fn case_52_one_change_is_kept_for_all_that_it_has_seen() {
    let (mut sent, mut history, [alice, bob], [a, b]) = two_devices();
    let others: Vec<usize> = (1..4).map(|replica| history.write(BOB, replica, bob, &[])).collect();
    let seen = history.write(ALICE, 0, alice, &others);
    history.write(BOB, 1, bob, &[]);
    sent.revoke(ROOT, &keeping(by_root(Target::Key(public(BOB))), &history, &[seen]));
    sent.settles(&history, &[&[a, b, seen], others.as_slice()].concat());
}

#[test]
fn case_53_a_concurrent_change_beyond_keep() {
    let (mut sent, mut history, [alice, bob], [a, b]) = two_devices();
    let _concurrent = history.write(BOB, 0, bob, &[]);
    let after = history.write(ALICE, 0, alice, &[]);
    sent.revoke(ALICE, &keeping(revocation(ALICE, Some(alice), Target::Grant(bob)), &history, &[b]));
    sent.settles(&history, &[a, b, after]);
}

#[test]
fn case_54_another_change_under_a_number_within_keep() {
    let (mut sent, mut history, [_, bob], [a, b]) = two_devices();
    let kept = history.write(BOB, 0, bob, &[]);
    let forged = history.equivocate(b, &[]);
    history.equivocate(kept, &[forged]);
    sent.revoke(ROOT, &keeping(by_root(Target::Grant(bob)), &history, &[kept]));
    sent.settles(&history, &[a, b, kept]);
}

#[test]
fn case_55_a_revocation_before_its_target_before_its_issuer_or_twice() {
    let root = Grant::root(&key(ROOT), full(ALICE, 3)).unwrap();
    let target = child(ALICE, root.id(), full(BOB, 0));
    let body = revocation(ALICE, Some(root.id()), Target::Grant(target.id()));
    let revocation = revoke(ALICE, &body);
    let id = StatementId::Revocation(revocation.id());
    let insert = |world: &mut World| world.statements.insert(&revocation.to_bytes(), public(ALICE));

    let mut world = World::new();
    for _ in 0..2 {
        assert_eq!(insert(&mut world), Ok(Insertion::Parked(root.id())));
        assert_eq!((world.statement_ids(), world.statements.parked()), (vec![], 1));
    }
    world.add(&root);
    assert_eq!(insert(&mut world), Ok(Insertion::Parked(target.id())));
    assert_eq!(world.statements.parked(), 1);
    let added = vec![StatementId::Grant(target.id()), id];
    assert_eq!(world.insert(&target), Ok(Insertion::New { added, refused: vec![] }));
    assert_eq!(insert(&mut world), Ok(Insertion::Known(id)));
    assert_eq!(world.statements.parked(), 0);
    assert!(world.statements.revoked().hits(world.get(target.id())));
    assert_eq!(world.statements.statement(&id).unwrap().to_bytes(), revocation.to_bytes());

    // a known issuer is judged at once, an unknown one when it comes
    let stranger = revoke(BOB, &RevocationBody { issuer: public(BOB), ..body });
    world.refuses(&stranger.to_bytes(), &RevocationRefusal::NotTheAudience);
    let mut world = World::new();
    let parked = world.statements.insert(&stranger.to_bytes(), public(ALICE));
    assert_eq!(parked, Ok(Insertion::Parked(root.id())));
    let added = vec![StatementId::Grant(root.id())];
    let refused = vec![RevocationRefusal::NotTheAudience.into()];
    assert_eq!(world.insert(&root), Ok(Insertion::New { added, refused }));
}

#[test]
fn case_55_a_grant_after_the_revocation_of_its_audience_is_hit_as_well() {
    let (mut sent, mut history, _, [a, _]) = two_devices();
    sent.revoke(ROOT, &by_root(Target::Key(public(BOB))));
    let another = sent.root(Terms { nonce: [1; 16], ..full(BOB, 0) });
    history.write(BOB, 1, another, &[]);
    // Alice has built on Bob's first change, which brings it in
    sent.settles(&history, &[a, 0]);
    sent.denies(another, true);
}

#[test]
fn case_56_a_revocation_without_the_right() {
    let (mut sent, mut history, [_, bob], [a, b]) = two_devices();
    let late = history.write(BOB, 0, bob, &[]);
    let carol = sent.root(terms(CAROL, 3, [cap(&[Read, Write, Forget, Ability::Grant], "")]));
    let below = sent.grant(&child(CAROL, carol, terms(DAVE, 0, [cap(&[Read, Write], "")])));
    for target in [Target::Grant(bob), Target::Key(public(BOB))] {
        sent.revoke(CAROL, &revocation(CAROL, Some(carol), target));
    }
    // nor may it revoke itself, which would take back what it wrote
    sent.revoke(CAROL, &revocation(CAROL, Some(carol), Target::Grant(carol)));
    // nor may the one below the one above
    sent.revoke(DAVE, &revocation(DAVE, Some(below), Target::Grant(carol)));
    sent.settles(&history, &[a, b, late]);
    for grant in [bob, carol, below] {
        sent.denies(grant, false);
    }
    // what stands under it, it may
    sent.revoke(CAROL, &revocation(CAROL, Some(carol), Target::Grant(below)));
    sent.denies(below, true);
    sent.denies(carol, false);
}

#[test]
fn case_56_revoking_a_key_ends_what_the_issuer_has_the_right_to() {
    let mut sent = Sent::default();
    let alice = sent.root(terms(ALICE, 3, [cap(&[Read, Write, Ability::Grant], "")]));
    let from_alice = sent.grant(&child(ALICE, alice, full(BOB, 1)));
    let from_bob = sent.grant(&child(BOB, from_alice, full(CAROL, 0)));
    let from_root = sent.root(full(BOB, 0));
    sent.revoke(ALICE, &revocation(ALICE, Some(alice), Target::Key(public(BOB))));
    for (grant, denied) in [(from_alice, true), (from_root, false), (alice, false)] {
        sent.denies(grant, denied);
    }
    for statements in sent.replicas() {
        assert!(statements.revoked().hits(statements.get(&from_bob).unwrap()));
    }
}

#[test]
fn case_57_two_revocations_with_different_keep() {
    let (mut sent, mut history, [alice, bob], [a, b]) = two_devices();
    let c = history.write(BOB, 0, bob, &[]);
    let d = history.write(BOB, 0, bob, &[]);
    let other_replica = history.write(BOB, 1, bob, &[]);
    sent.revoke(ROOT, &keeping(by_root(Target::Grant(bob)), &history, &[c, other_replica]));
    sent.settles(&history, &[a, b, c, other_replica]);
    sent.revoke(ALICE, &keeping(revocation(ALICE, Some(alice), Target::Key(public(BOB))), &history, &[d]));
    sent.settles(&history, &[a, b, c]);
}

#[test]
fn case_58_two_of_equal_rank_revoke_each_other() {
    let (mut sent, mut history, [alice, bob], [_, b]) = two_devices();
    let carol = sent.root(full(CAROL, 0));
    let c = history.write(CAROL, 0, carol, &[b]);
    let by_alice = sent.revoke(ALICE, &revocation(ALICE, Some(alice), Target::Grant(bob)));
    let by_bob = sent.revoke(BOB, &revocation(BOB, Some(bob), Target::Grant(alice)));
    for (grant, denied) in [(alice, true), (bob, true), (carol, false)] {
        sent.denies(grant, denied);
    }
    sent.settles(&history, &[b, c]);
    for statements in sent.replicas() {
        let revoked = statements.revoked();
        for (grant, revocation) in [(alice, &by_bob), (bob, &by_alice)] {
            let hitting: Vec<_> = revoked.hitting(statements.get(&grant).unwrap()).map(|by| by.id()).collect();
            assert_eq!(hitting, [revocation.id()]);
        }
    }
    // the root key grants anew
    let renewed = sent.root(Terms { nonce: [1; 16], ..full(ALICE, 3) });
    sent.denies(renewed, false);
    // had Bob named the key, the new grant would be hit as well, until the root key takes Bob's word from him
    sent.revoke(BOB, &revocation(BOB, Some(bob), Target::Key(public(ALICE))));
    sent.denies(renewed, true);
    sent.revoke(ROOT, &by_root(Target::Grant(bob)));
    sent.denies(renewed, false);
}

#[test]
fn case_59_a_deeper_and_a_shallower_device_revoke_each_other() {
    let (mut sent, mut history, [alice, bob], [a, b]) = two_devices();
    let carol = sent.grant(&child(BOB, bob, full(CAROL, 1)));
    let c = history.write(CAROL, 0, carol, &[a, b]);
    sent.revoke(CAROL, &revocation(CAROL, Some(carol), Target::Grant(alice)));
    sent.revoke(CAROL, &revocation(CAROL, Some(carol), Target::Key(public(ALICE))));
    // a deeper device cannot hit a shallower one in any case
    sent.settles(&history, &[a, b, c]);
    sent.denies(alice, false);
    sent.revoke(ALICE, &revocation(ALICE, Some(alice), Target::Grant(carol)));
    sent.settles(&history, &[a, b]);
    sent.denies(carol, true);
    sent.denies(alice, false);
}

#[test]
fn case_59_a_revoked_issuers_revocations_fall_unless_they_are_upheld() {
    let mut sent = Sent::default();
    let alice = sent.root(full(ALICE, 3));
    let bob = sent.grant(&child(ALICE, alice, full(BOB, 2)));
    let carol = sent.root(full(CAROL, 3));
    let dave = sent.grant(&child(CAROL, carol, full(DAVE, 0)));
    let by_bob = sent.revoke(BOB, &revocation(BOB, Some(bob), Target::Grant(dave)));
    sent.denies(dave, true);

    let (mut falls, mut stands) = (sent.clone(), sent);
    let body = revocation(ALICE, Some(alice), Target::Grant(bob));
    falls.revoke(ALICE, &body);
    falls.denies(dave, false);
    stands.revoke(ALICE, &RevocationBody { upheld: [by_bob.id()].into(), ..body });
    stands.denies(dave, true);
    // what Bob signs afterwards is not among the names, whatever it looks like
    let renewed = stands.grant(&child(CAROL, carol, Terms { nonce: [1; 16], ..full(DAVE, 0) }));
    stands.revoke(BOB, &revocation(BOB, Some(bob), Target::Grant(renewed)));
    stands.denies(renewed, false);

    // every counted revocation that hits the issuer must uphold it
    let mut both = stands.clone();
    both.revoke(ROOT, &by_root(Target::Key(public(BOB))));
    both.denies(dave, false);

    // one that is void itself makes nothing void: the root key hits Alice, so Alice's word on Bob falls, and Bob's stands
    let mut chain = falls.clone();
    chain.revoke(ROOT, &RevocationBody { upheld: [by_bob.id()].into(), ..by_root(Target::Key(public(ALICE))) });
    chain.denies(dave, true);
}

#[test]
fn case_60_a_revoked_device_issues_a_fresh_grant() {
    let (mut sent, mut history, [alice, bob], [a, b]) = two_devices();
    let fresh = sent.grant(&child(BOB, bob, Terms { not_before: 0, ..full(CAROL, 1) }));
    let fresher = sent.grant(&child(CAROL, fresh, full(DAVE, 0)));
    let c = history.write(CAROL, 0, fresh, &[a]);
    history.write(DAVE, 0, fresher, &[c]);
    let mut by_key = sent.clone();
    sent.revoke(ALICE, &keeping(revocation(ALICE, Some(alice), Target::Grant(bob)), &history, &[b]));
    by_key.revoke(ROOT, &keeping(by_root(Target::Key(public(BOB))), &history, &[b]));
    for sent in [sent, by_key] {
        sent.settles(&history, &[a, b]);
        for grant in [bob, fresh, fresher] {
            sent.denies(grant, true);
        }
    }
}

#[test]
fn case_61_a_revocation_kept_from_half_of_the_replicas() {
    let (mut sent, mut history, [_, bob], [a, b]) = two_devices();
    let late = history.write(BOB, 0, bob, &[]);
    let order = history.order(0);
    let revocation = revoke(ROOT, &keeping(by_root(Target::Grant(bob)), &history, &[b]));
    // a replica that has answered without it
    let mut uninformed = World { statements: sent.replicas().swap_remove(0) };
    assert_eq!(history.deliver(&order, &uninformed.statements), [a, b, late].into());
    assert!(!uninformed.statements.revoked().touched(&public(BOB)));
    // and one that has had it all along
    sent.0.push(revocation.to_bytes());
    sent.settles(&history, &[a, b]);

    uninformed.add_revocation(&revocation);
    assert_eq!(history.count(&order, &uninformed.statements), [a, b].into());
    assert!(uninformed.statements.revoked().touched(&public(BOB)));
}

#[test]
fn case_62_an_author_in_good_standing_built_on_a_late_change() {
    let (mut sent, mut history, [alice, bob], [a, b]) = two_devices();
    let late = history.write(BOB, 0, bob, &[]);
    let alone = history.write(BOB, 0, bob, &[]);
    let built = history.write(ALICE, 0, alice, &[late]);
    sent.revoke(ROOT, &keeping(by_root(Target::Grant(bob)), &history, &[b]));
    sent.settles(&history, &[a, b, late, built]);
    assert!(!history.changes()[built].dependencies.contains(&alone));
}

#[test]
fn case_63_keep_names_a_change_that_nobody_has_shown() {
    let (mut sent, mut history, [_, bob], [a, b]) = two_devices();
    let c = history.write(BOB, 0, bob, &[]);
    let d = history.write(BOB, 0, bob, &[]);
    let beyond = history.write(BOB, 0, bob, &[]);
    sent.revoke(ROOT, &keeping(by_root(Target::Grant(bob)), &history, &[d]));
    for statements in sent.replicas() {
        let shown = [b, a, c];
        assert_eq!(history.deliver(&shown, &statements), [a, b].into(), "nothing is guessed");
        assert_eq!(history.count(&shown, &statements), [a, b].into());
        assert_eq!(history.deliver(&[b, a, c, d, beyond], &statements), [a, b, c, d].into());
    }
    sent.settles(&history, &[a, b, c, d]);
}

#[test]
fn case_64_the_right_to_revoke_elsewhere() {
    let mut sent = Sent::default();
    let carol = sent.root(terms(CAROL, 0, [cap(&[Read, Revoke], "w/notes")]));
    let within = sent.root(terms(BOB, 0, [cap(&[Read, Write], "w/notes")]));
    let beside = sent.root(terms(BOB, 0, [cap(&[Read, Write], "w/notes"), cap(&[Write], "w/memory")]));
    let elsewhere = sent.root(terms(DAVE, 0, [cap(&[Read], "w")]));
    // a child may claim more than it has: what it can do decides
    let parent = sent.root(terms(ALICE, 1, [cap(&[Read, Ability::Grant], "w/notes")]));
    let claims_more = sent.grant(&child(ALICE, parent, terms(BOB, 0, [cap(&Ability::ALL, "")])));
    // a grant that allows nothing gives no one the right to it
    let nothing = sent.root(terms(DAVE, 0, []));
    for target in [within, beside, elsewhere, claims_more, nothing] {
        sent.revoke(CAROL, &revocation(CAROL, Some(carol), Target::Grant(target)));
    }
    for (grant, denied) in [(within, true), (beside, false), (elsewhere, false), (claims_more, true)] {
        sent.denies(grant, denied);
    }
    for statements in sent.replicas() {
        assert!(!statements.revoked().hits(statements.get(&nothing).unwrap()));
        assert!(!statements.revoked().touched(&public(DAVE)));
    }
}

#[test]
fn case_75_keep_points_into_a_closed_epoch() {
    let (mut sent, mut closed, [alice, bob], [_, b]) = two_devices();
    let revocation = keeping(by_root(Target::Grant(bob)), &closed, &[b]);
    // the new epoch's changes do not depend on the closed one's
    let root = closed.write(ALICE, 1, alice, &[]);
    let built = closed.write(BOB, 1, bob, &[root]);
    let after = closed.write(ALICE, 1, alice, &[]);
    sent.revoke(ROOT, &revocation);
    for statements in sent.replicas() {
        let moved_before = [root, built, after];
        assert_eq!(closed.deliver(&moved_before, &statements), [root, after].into());
        let moved_after = closed.count(&closed.order(0), &statements);
        assert_eq!(moved_after.iter().filter(|number| **number >= root).count(), 2);
        assert!(!moved_after.contains(&built));
    }
}
