//! Two and three devices that write apart and meet.

use crate::support::{Device, first, join, sync};

/// Both orders of the devices' keys, since Automerge breaks its own ties by actor and nothing of that may show.
fn pairs() -> [(Device, Device); 2] {
    [(1, 2), (2, 1)].map(|(a, b)| {
        let one = first(a, 100);
        let other = join(&one, b);
        (one, other)
    })
}

#[test]
fn a_forget_beside_a_remember_keeps_the_new_and_drops_the_old() {
    for (a, b) in pairs() {
        a.remember("one");
        a.remember("two");
        sync(&a, &b);
        a.forget(1);
        b.remember("three");
        assert!(sync(&a, &b).level);
        assert_eq!(a.recall(), "1. two\n2. three");
        assert_eq!(b.recall(), a.recall());
        b.forget(1);
        a.remember("four");
        sync(&b, &a);
        assert_eq!(a.recall(), "1. three\n2. four");
        assert_eq!(a.home().canonical_bytes().unwrap(), b.home().canonical_bytes().unwrap());
        a.home().verify().unwrap();
    }
}

#[test]
fn a_late_device_with_an_old_copy_brings_nothing_back() {
    let a = first(1, 100);
    let b = join(&a, 2);
    a.remember("secret");
    let late = join(&a, 3);
    late.remember("kept by the late one");
    a.forget(1);
    sync(&a, &b);
    sync(&b, &late);
    sync(&late, &a);
    for device in [&a, &b, &late] {
        assert_eq!(device.recall(), "1. kept by the late one");
    }
}

#[test]
fn one_round_trip_brings_two_replicas_level_however_far_apart() {
    for apart in [1, 10, 100, 1_000] {
        let a = first(1, 100);
        let b = join(&a, 2);
        for n in 0..apart {
            a.remember(&format!("a{n}"));
        }
        b.remember("b");
        let meeting = sync(&a, &b);
        assert!(meeting.level);
        // The first flight there and back levels both; the second carries what the initiator adds, and acknowledgements.
        assert!(meeting.flights <= 2 + apart / 500, "{} flights for {apart} changes", meeting.flights);
        assert_eq!(a.home().canonical_bytes().unwrap(), b.home().canonical_bytes().unwrap());
    }
}

#[test]
fn a_device_let_in_by_another_device_passes_on_what_it_got() {
    let a = first(1, 100);
    a.remember("from a");
    let b = join(&a, 2);
    let c = join(&b, 3);
    c.remember("from c");
    sync(&c, &b);
    // `a` has never met `c`, and learns of its grant on the way.
    sync(&b, &a);
    assert_eq!(a.recall(), "1. from a\n2. from c");
    assert_eq!(a.home().devices().unwrap().len(), 3);
}

/// Writes on one device until `count` items are there, with a copy of its disk taken after each `copies` of them.
fn with_backup(peer_knows: usize, backup_at: usize, count: usize) -> (Device, Device, Device) {
    let a = first(1, 100);
    let peer = join(&a, 2);
    let mut backup = None;
    for n in 0..count {
        if n == backup_at {
            backup = Some(a.disk.copy());
        }
        a.remember(&format!("item {n}"));
        if n + 1 == peer_knows {
            sync(&a, &peer);
        }
    }
    let backup = backup.unwrap();
    let restored = Device::on(1, std::sync::Arc::new(backup), std::sync::Arc::clone(&a.clock));
    (a, peer, restored)
}

#[test]
fn a_restored_store_writes_under_a_new_replica_id_and_loses_nothing_of_either_branch() {
    for peer_knows in [2, 4, 6] {
        let (_gone, peer, restored) = with_backup(peer_knows, 4, 6);
        for n in 0..3 {
            restored.remember(&format!("after the restore {n}"));
        }
        assert!(sync(&restored, &peer).level);
        let recalled = restored.recall();
        assert_eq!(peer.recall(), recalled);
        let mut lines: Vec<&str> = recalled.lines().map(|line| line.split_once(". ").unwrap().1).collect();
        lines.sort_unstable();
        let mut expected: Vec<String> = (0..peer_knows.max(4)).map(|n| format!("item {n}")).collect();
        expected.extend((0..3).map(|n| format!("after the restore {n}")));
        expected.sort_unstable();
        assert_eq!(lines, expected);
    }
}

#[test]
fn a_clone_and_its_original_both_run_on() {
    let (original, peer, clone) = with_backup(6, 4, 6);
    clone.remember("from the clone");
    original.remember("from the original");
    sync(&clone, &peer);
    sync(&original, &peer);
    sync(&clone, &peer);
    assert_eq!(clone.recall().lines().count(), 8);
    for device in [&original, &clone] {
        assert_eq!(device.recall(), peer.recall());
        assert_eq!(device.home().canonical_bytes().unwrap(), peer.home().canonical_bytes().unwrap());
    }
    assert_ne!(clone.node.actor().unwrap().replica, original.node.actor().unwrap().replica);
}

#[test]
fn a_store_set_back_in_place_goes_on_under_a_new_id_once_a_peer_shows_it() {
    let a = first(1, 100);
    let peer = join(&a, 2);
    a.remember("kept");
    a.disk.inject(memlet_store::Fault::SyncLost, 0, 1);
    a.remember("lost by a lying disk");
    sync(&a, &peer);
    a.disk.crash(0);
    let after = a.process();
    assert_eq!(after.recall(), "1. kept");
    let before = after.node.actor().unwrap();
    sync(&after, &peer);
    assert_ne!(after.node.actor().unwrap(), before);
    after.remember("new");
    sync(&after, &peer);
    assert_eq!(after.recall(), "1. kept\n2. lost by a lying disk\n3. new");
    assert_eq!(peer.recall(), after.recall());
}
