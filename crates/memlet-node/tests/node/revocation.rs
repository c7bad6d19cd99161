//! Revocation: who is cut off, what stays of their work, and that every replica shows the same, whatever came first.

use std::collections::BTreeSet;

use memlet_auth::revocation::Target;
use memlet_core::id::PublicKey;
use memlet_node::{Cut, Keep, Namespace, Role};
use memlet_sync::clock::ActorClock;
use memlet_sync::replica::{Budget, Replica as _, StampedChange};

use crate::support::{Device, first, join, key, sync};

fn revoke(by: &Device, whom: &Device, keep: Keep) -> Cut {
    by.home().revoke(Target::Key(whom.node.device()), keep, None).unwrap()
}

fn assert_all_show(devices: &[&Device], expected: &str) {
    for device in devices {
        assert_eq!(device.recall(), expected, "device {}", device.seed);
        assert_eq!(device.home().canonical_bytes().unwrap(), devices[0].home().canonical_bytes().unwrap());
        device.home().verify().unwrap();
        // what is shown is in the store, not in memory alone
        assert_eq!(device.process().recall(), expected, "another process of device {}", device.seed);
    }
}

/// Devices a, b and c; what b wrote early is everywhere, what it wrote late only at b and c.
fn three() -> [Device; 3] {
    let a = first(1, 100);
    let (b, c) = (join(&a, 2), join(&a, 3));
    b.remember("early");
    sync(&a, &b);
    sync(&a, &c);
    b.remember("late");
    sync(&b, &c);
    [a, b, c]
}

#[test]
fn case_51_and_53_what_was_written_beyond_keep_is_shown_nowhere() {
    let [a, b, c] = three();
    assert_eq!(c.recall(), "1. early\n2. late");
    let cut = revoke(&a, &b, Keep::Known);
    assert_eq!((cut.grants.len(), cut.kept, cut.left_out), (1, 1, 0));
    sync(&a, &c);
    assert_all_show(&[&a, &c], "1. early");
    assert_eq!(c.home().status().unwrap().left_out, 1);
    c.remember("after");
    sync(&a, &c);
    assert_all_show(&[&a, &c], "1. early\n2. after");
}

#[test]
fn case_62_what_an_author_in_good_standing_built_on_stays_everywhere() {
    let [a, b, c] = three();
    c.remember("built on it");
    revoke(&a, &b, Keep::Known);
    sync(&a, &c);
    assert_all_show(&[&a, &c], "1. early\n2. late\n3. built on it");
}

#[test]
fn a_change_that_does_not_count_is_kept_for_whoever_built_on_it() {
    let [a, b, c] = three();
    let d = join(&a, 4);
    sync(&c, &d);
    d.remember("built on it");
    revoke(&a, &b, Keep::Known);
    sync(&a, &c);
    assert_all_show(&[&a, &c], "1. early");
    sync(&c, &d);
    sync(&a, &d);
    sync(&a, &c);
    assert_all_show(&[&a, &c, &d], "1. early\n2. late\n3. built on it");
}

#[test]
fn nothing_is_kept_if_so_asked() {
    let [a, b, c] = three();
    let cut = revoke(&a, &b, Keep::Nothing);
    assert_eq!((cut.kept, cut.left_out), (0, 1));
    sync(&a, &c);
    assert_all_show(&[&a, &c], "");
}

#[test]
fn a_device_that_holds_another_grant_goes_on_under_a_new_replica_id() {
    let [a, b, c] = three();
    let grant = b.home().devices().unwrap().into_iter().find(|device| device.here).unwrap().grant;
    a.home().revoke(Target::Grant(grant), Keep::Known, None).unwrap();
    let chain = a.home().grant_device(b.node.device(), Role::Device, None).unwrap();
    b.home().admit_statements(&chain, a.node.device()).unwrap();
    sync(&a, &b);
    assert_all_show(&[&a, &b], "1. early");
    let before = b.node.actor().unwrap();
    b.remember("anew");
    assert_ne!(b.node.actor().unwrap(), before);
    sync(&a, &b);
    sync(&a, &c);
    assert_all_show(&[&a, &b, &c], "1. early\n2. anew");
}

#[test]
fn a_cascade_takes_those_whom_the_revoked_let_in() {
    let a = first(1, 100);
    let b = join(&a, 2);
    let c = join(&b, 3);
    c.remember("of c");
    sync(&b, &c);
    sync(&a, &b);
    let cut = revoke(&a, &b, Keep::Known);
    assert_eq!((cut.grants.len(), cut.kept), (2, 1));
    assert_all_show(&[&a], "1. of c");
    let left: Vec<PublicKey> = a.home().devices().unwrap().iter().map(|device| device.device).collect();
    assert_eq!(left, [a.node.device()]);
}

#[test]
fn what_makes_no_sense_revokes_nothing() {
    let [a, b, _] = three();
    let code = |by: &Device, target| by.home().revoke(target, Keep::Known, None).unwrap_err().code();
    assert_eq!(code(&a, Target::Key(PublicKey([7; 32]))), "NOTHING_TO_REVOKE");
    assert_eq!(code(&a, Target::Key(a.node.device())), "REVOKES_ITSELF");
    // case 59: the shallower one cannot be reached
    assert_eq!(code(&b, Target::Key(a.node.device())), "NOTHING_TO_REVOKE");
    revoke(&a, &b, Keep::Known);
    assert_eq!(code(&a, Target::Key(b.node.device())), "NOTHING_TO_REVOKE");
    assert_all_show(&[&a], "1. early");
}

#[test]
fn case_58_equals_revoke_each_other_and_root_lets_them_in_again() {
    let a = first(1, 100);
    let (b, c) = (join(&a, 2), join(&a, 3));
    sync(&a, &b);
    revoke(&b, &c, Keep::Known);
    revoke(&c, &b, Keep::Known);
    for (device, by) in [(&b, &c), (&c, &b)] {
        let (statements, _) = said(&[by]);
        a.home().admit_statements(&statements, device.node.device()).unwrap();
    }
    let left: Vec<PublicKey> = a.home().devices().unwrap().iter().map(|device| device.device).collect();
    assert_eq!(left, [a.node.device()]);
    // a grant of root is out of their reach
    a.home().grant_device(b.node.device(), Role::Device, Some(&key(100))).unwrap();
    assert!(a.home().devices().unwrap().iter().any(|device| device.device == b.node.device()));
    let cut = a.home().revoke(Target::Key(b.node.device()), Keep::Known, Some(&key(100))).unwrap();
    assert_eq!(cut.grants.len(), 1);
}

#[test]
fn root_takes_back_what_a_thief_revoked() {
    let a = first(1, 100);
    let b = Device::new(2);
    let chain = a.home().grant_device(b.node.device(), Role::Device, Some(&key(100))).unwrap();
    b.node.join_namespace(a.home().id(), &chain).unwrap();
    sync(&a, &b);
    revoke(&b, &a, Keep::Nothing);
    let (statements, _) = said(&[&b]);
    a.home().admit_statements(&statements, b.node.device()).unwrap();
    assert!(a.home().devices().unwrap().iter().all(|device| !device.here), "equals may cut each other off");
    a.home().revoke(Target::Key(b.node.device()), Keep::Nothing, Some(&key(100))).unwrap();
    let left: Vec<PublicKey> = a.home().devices().unwrap().iter().map(|device| device.device).collect();
    assert_eq!(left, [a.node.device()]);
    a.remember("still here");
}

/// Everything a replica could be sent: statements and changes.
fn said(by: &[&Device]) -> (Vec<Vec<u8>>, Vec<StampedChange>) {
    let budget = Budget { changes: 1_000, bytes: 1 << 20 };
    let (mut statements, mut changes) = (Vec::new(), Vec::new());
    for device in by {
        let replica = device.home().replica();
        statements
            .extend(replica.statements_beyond(&BTreeSet::new(), 100).unwrap().into_iter().map(|(_, bytes)| bytes));
        changes
            .extend(replica.changes_beyond(&ActorClock::default(), budget).unwrap().changes.into_iter().map(|c| c.2));
    }
    (statements, changes)
}

#[test]
fn every_order_of_delivery_shows_the_same() {
    let [a, b, c] = three();
    let d = join(&c, 4);
    d.remember("of d");
    c.remember("of c");
    c.forget(1);
    b.remember("later still");
    revoke(&a, &b, Keep::Known);
    a.remember("of a");
    // c revokes its own guest, which it has not heard the last of
    d.remember("d again");
    revoke(&c, &d, Keep::Nothing);
    let (statements, changes) = said(&[&a, &b, &c, &d]);

    let mut expected: Option<Vec<u8>> = None;
    for order in 0..300u64 {
        let device = Device::new(9);
        let home = joined(&device, &a);
        let mut steps: Vec<(u64, usize)> =
            (0..statements.len() + changes.len()).map(|step| (draw(order, step as u64), step)).collect();
        steps.sort_unstable();
        for (_, step) in steps {
            match step.checked_sub(statements.len()) {
                None => drop(home.admit_statements(&statements[step..=step], a.node.device()).unwrap()),
                Some(change) => drop(home.admit(vec![changes[change].clone()]).unwrap()),
            }
        }
        assert_eq!(home.status().unwrap().waiting, 0, "order {order}");
        assert!(device.node.refusals().is_empty(), "order {order}: {:?}", device.node.refusals());
        home.verify().unwrap();
        let shown = home.canonical_bytes().unwrap();
        assert_eq!(
            device.process().home().canonical_bytes().unwrap(),
            shown,
            "order {order}: the store says otherwise"
        );
        assert_eq!(*expected.get_or_insert_with(|| shown.clone()), shown, "order {order}");
    }
}

/// A new device that holds nothing but its own chain.
fn joined(device: &Device, owner: &Device) -> Namespace {
    let chain = owner.home().grant_device(device.node.device(), Role::Device, None).unwrap();
    device.node.join_namespace(owner.home().id(), &chain).unwrap()
}

fn draw(order: u64, step: u64) -> u64 {
    let hash = blake3::hash(&[order.to_be_bytes(), step.to_be_bytes()].concat());
    u64::from_be_bytes(hash.as_bytes()[..8].try_into().unwrap())
}
