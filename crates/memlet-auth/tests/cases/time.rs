//! Cases 43 to 50, as far as grants and stamps decide them: validity windows and claimed times.

use memlet_auth::error::{Denied, GrantRefusal, StampRefusal};
use memlet_auth::grant::{Grant, Terms};
use memlet_auth::limits::{STAMP_AHEAD_MS_MAX, TIME_SECONDS_MAX};
use memlet_auth::stamp::{Arrival, Verdict};
use memlet_core::id::GrantId;

use crate::fixture::*;

const SECOND: u64 = 1_000;

fn within(not_before: u64, expires: Option<u64>) -> Terms {
    Terms { not_before, expires, ..terms(ALICE, 0, [cap(&[Write], "w")]) }
}

fn world_within(not_before: u64, expires: Option<u64>) -> (World, GrantId) {
    let mut world = World::new();
    let grant = world.add_root(within(not_before, expires));
    (world, grant)
}

#[test]
fn case_43_an_expired_grant_allows_no_request() {
    let (world, grant) = world_within(0, Some(NOW));
    let (grant, at, none) = (world.get(grant), path("w/notes"), world.statements.revoked());
    assert_eq!(grant.check_request(Write, &at, NOW * SECOND, none), Ok(()));
    let denied = Err(Denied { ability: Write, path: at.clone() });
    assert_eq!(grant.check_request(Write, &at, NOW * SECOND + 1, none), denied);
}

#[test]
fn case_44_a_grant_allows_nothing_before_its_time() {
    let (world, grant) = world_within(NOW, None);
    let (grant, at, none) = (world.get(grant), path("w/notes"), world.statements.revoked());
    let denied = Err(Denied { ability: Write, path: at.clone() });
    assert_eq!(grant.check_request(Write, &at, NOW * SECOND - 1, none), denied);
    assert_eq!(grant.check_request(Write, &at, NOW * SECOND, none), Ok(()));
}

#[test]
fn case_45_both_ends_of_the_window_count() {
    let (first, last) = (NOW * SECOND, (NOW + 5) * SECOND);
    let (world, grant) = world_within(NOW, Some(NOW + 5));
    for time_ms in [first, first + 1, last - 1, last] {
        let stamp = world.stamp_at(ALICE, ALICE, grant, time_ms);
        assert_eq!(world.verified(&stamp, &arrival(ALICE)).body().time_ms, time_ms);
    }
    for time_ms in [first - 1, last + 1, 0, u64::MAX] {
        let stamp = world.stamp_at(ALICE, ALICE, grant, time_ms);
        assert_eq!(world.refusal(&stamp, &arrival(ALICE)), StampRefusal::Window);
    }
    let (world, grant) = world_within(NOW, Some(NOW));
    world.verified(&world.stamp_at(ALICE, ALICE, grant, first), &arrival(ALICE));
}

#[test]
fn case_46_a_time_far_ahead_is_held() {
    let (world, grant) = world_within(0, None);
    let now_ms = arrival(ALICE).now_ms;
    let eleven_minutes = now_ms + 11 * 60 * SECOND;
    let stamp = world.stamp_at(ALICE, ALICE, grant, eleven_minutes);
    let due = eleven_minutes - STAMP_AHEAD_MS_MAX;
    let judged_at = |now_ms| stamp.verify(&world.statements, &Arrival { now_ms, ..arrival(ALICE) });
    for early in [now_ms, due - 1] {
        assert!(matches!(judged_at(early), Ok(Verdict::Held { due_ms }) if due_ms == due));
    }
    assert!(matches!(judged_at(due), Ok(Verdict::Verified(_))));
    // what is wrong for good is refused, not held
    let unsigned = world.stamp_at(BOB, BOB, grant, eleven_minutes);
    assert_eq!(world.refusal(&unsigned, &arrival(BOB)), StampRefusal::NotTheAudience);
}

#[test]
fn case_47_time_may_not_run_backwards() {
    let (world, grant) = world_within(0, None);
    let stamp = world.stamp(ALICE, ALICE, grant);
    let time_ms = stamp.body().time_ms;
    let after = |previous_ms| Arrival { previous_ms, ..arrival(ALICE) };
    assert_eq!(world.refusal(&stamp, &after(time_ms + 1)), StampRefusal::Backwards);
    world.verified(&stamp, &after(time_ms));
}

#[test]
fn case_48_a_back_dated_stamp_counts_until_a_revocation_closes_the_grant() {
    let (world, grant) = world_within(0, Some(NOW));
    let year_ms = 365 * 24 * 3_600 * SECOND;
    let late = Arrival { now_ms: NOW * SECOND + year_ms, ..arrival(ALICE) };
    world.verified(&world.stamp_at(ALICE, ALICE, grant, NOW * SECOND), &late);
}

#[test]
fn case_49_windows_that_no_grant_may_have() {
    for (not_before, expires) in [
        (0, Some(0)),
        (NOW, Some(0)),
        (NOW, Some(NOW - 1)),
        (0, Some(TIME_SECONDS_MAX + 1)),
        (0, Some(u64::MAX)),
        (TIME_SECONDS_MAX + 1, None),
    ] {
        assert_eq!(Grant::root(&key(ROOT), within(not_before, expires)), Err(GrantRefusal::Window));
        let expires = expires.map_or(vec![0xf6], |seconds| memlet_core::codec::Encode::to_cbor(&seconds));
        let not_before = memlet_core::codec::Encode::to_cbor(&not_before);
        let body = Items::of_grant().with(6, not_before).with(7, expires).body();
        World::new().refuses(&signed_grant(ROOT, &body), &GrantRefusal::Window);
    }
    for (not_before, expires) in [(0, Some(1)), (NOW, Some(NOW)), (0, Some(TIME_SECONDS_MAX)), (TIME_SECONDS_MAX, None)]
    {
        assert!(Grant::root(&key(ROOT), within(not_before, expires)).is_ok());
    }
}

#[test]
fn case_50_a_wrong_clock_refuses_nothing_for_good() {
    let (world, grant) = world_within(NOW, Some(NOW + 1));
    let stamp = world.stamp(ALICE, ALICE, grant);
    let year_ms = 365 * 24 * 3_600 * SECOND;
    for now_ms in [0, NOW * SECOND - year_ms, NOW * SECOND + year_ms, u64::MAX] {
        assert!(stamp.verify(&world.statements, &Arrival { now_ms, ..arrival(ALICE) }).is_ok());
    }
    world.verified(&stamp, &arrival(ALICE));
}
