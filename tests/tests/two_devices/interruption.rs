//! A process that serves is stopped while others sync with it.

use std::collections::BTreeSet;

use memlet_node::{Caller, Namespace};
use memlet_tests::Device;
use serde_json::json;

use super::support::{Serving, assert_level, by_rising_key, home, join, meet, texts, until};

/// Long items, so that what a device has to bring does not fit into a few batches.
fn remember_long(namespace: &Namespace, round: u64) {
    const ITEMS: u64 = 40;
    const ITEM_BYTES: usize = 32 << 10;
    for n in 0..ITEMS {
        let text = format!("{round} {n} {}", "x".repeat(ITEM_BYTES));
        namespace.invoke(&Caller::Device, "v/ops/memory", &json!({"command": "remember", "text": text})).unwrap();
    }
}

fn changes(namespace: &Namespace) -> u64 {
    namespace.status().unwrap().changes
}

/// Two devices that share a memory, and what this process sees of each.
struct Pair {
    here: Device,
    there: Device,
    from: Namespace,
    to: Namespace,
}

impl Pair {
    fn new() -> Self {
        let [here, there] = by_rising_key();
        there.remember("first");
        join(&there, &here);
        let opened = |device: &Device| home(device).namespace().unwrap().unwrap();
        let (from, to) = (opened(&here), opened(&there));
        Self { here, there, from, to }
    }

    /// Has `here` bring much to `there` and `stop`s that in the middle. True if it was the middle.
    fn interrupt(&self, round: u64, stop: impl FnOnce(Serving)) -> bool {
        remember_long(&self.from, round);
        let before = changes(&self.to);
        let serving = Serving::begin(&self.there);
        let mut sync = self.here.start(["sync", "--peer", &serving.address.to_string()]);
        until("something has come", || changes(&self.to) > before);
        stop(serving);
        let some_are_missing = changes(&self.to) < changes(&self.from);
        assert_eq!(sync.wait().success(), !some_are_missing, "it says whether both are level");
        some_are_missing
    }

    /// After another sync both hold everything, once.
    fn is_whole(&self) {
        meet(&self.here, &self.there);
        let found = texts(&self.there);
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len(), "an item is there twice");
        assert_eq!(found.len() as u64, changes(&self.from), "every change has brought an item");
        for device in [&self.here, &self.there] {
            device.run(["doctor"]).succeeded();
        }
    }
}

#[test]
fn a_server_that_is_killed_in_the_middle_of_a_sync_has_nothing_lost_and_nothing_twice() {
    let pair = Pair::new();
    let in_the_middle = |round| pair.interrupt(round, |mut serving| serving.process.kill());
    assert!((0..4).map(in_the_middle).filter(|cut| *cut).count() > 0, "no kill came in time to show anything");
    pair.is_whole();
}

#[test]
fn a_server_that_is_told_to_end_in_the_middle_of_a_sync_ends_in_order() {
    let pair = Pair::new();
    for round in 0..2 {
        pair.interrupt(round, |serving| assert!(serving.end().is_empty()));
    }
    pair.is_whole();
}

#[test]
fn a_client_that_is_killed_in_the_middle_of_a_sync_costs_the_server_nothing() {
    let pair = Pair::new();
    remember_long(&pair.from, 0);
    let before = changes(&pair.to);
    let serving = Serving::begin(&pair.there);
    let mut sync = pair.here.start(["sync", "--peer", &serving.address.to_string()]);
    until("something has come", || changes(&pair.to) > before);
    sync.kill();
    pair.there.remember("meanwhile");
    pair.here.run(["sync", "--peer", &serving.address.to_string()]).succeeded();
    serving.end();
    assert_level(&pair.here, &pair.there);
    pair.is_whole();
}
