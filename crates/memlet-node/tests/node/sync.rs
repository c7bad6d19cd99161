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
