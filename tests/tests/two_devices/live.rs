//! Devices that stay connected: what one commits shows on the other without anyone asking for it.

use std::time::Duration;

use memlet_tests::Device;

use super::support::{Serving, assert_level, in_both_orders, texts, until};

/// How soon a change is to show on the other device.
const SOON: Duration = Duration::from_secs(2);

/// Adds items by processes of their own and waits until each shows on the other device. Gives the median time it took.
fn spread(from: &Device, to: &Device, name: &str) -> Duration {
    let mut took: Vec<Duration> = (0..5)
        .map(|n| {
            let text = format!("{name} {n}");
            from.remember(&text);
            until(&text, || texts(to).contains(&text))
        })
        .collect();
    took.sort();
    took[took.len() / 2]
}

#[test]
fn devices_that_serve_keep_each_other_level_also_after_one_was_killed() {
    in_both_orders(|[a, b]| {
        let a_serves = Serving::begin(a);
        let address = a_serves.address.to_string();
        // from here on b knows where a is
        b.run(["sync", "--peer", &address]).succeeded();
        let b_serves = Serving::begin(b);
        for (from, to, name) in [(a, b, "by a"), (b, a, "by b")] {
            let took = spread(from, to, name);
            assert!(took <= SOON, "{name}: {took:?}");
        }

        drop(a_serves);
        a.remember("while a was away");
        b.remember("while b was alone");
        let a_serves = Serving::at(a, &address);
        until("they have found each other again", || texts(a).len() == 12 && texts(b).len() == 12);
        assert!(a_serves.end().is_empty());
        assert!(b_serves.end().is_empty());
        assert_level(a, b);
    });
}

#[test]
fn what_one_device_brings_is_passed_on_to_the_other() {
    in_both_orders(|[hub, left, right]| {
        let serving = Serving::begin(hub);
        let address = serving.address.to_string();
        for device in [left, right] {
            device.run(["sync", "--peer", &address]).succeeded();
        }
        let (left_serves, right_serves) = (Serving::begin(left), Serving::begin(right));
        spread(left, right, "from the left");
        right.run(["forget", "1"]).succeeded();
        until("it is forgotten on the left", || texts(left).len() == 4);
        for served in [left_serves, right_serves, serving] {
            assert!(served.end().is_empty());
        }
        assert_level(left, right);
        assert_level(left, hub);
    });
}
