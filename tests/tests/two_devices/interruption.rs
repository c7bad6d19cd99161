//! A process that serves is stopped while others sync with it.

use std::collections::BTreeSet;

use memlet_node::{Caller, Namespace};
use memlet_tests::{Device, Running};
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

    /// Has `here` bring much to `there` and `stop`s that in the middle. Gives the process that brought it, and whether
    /// something is missing.
    fn interrupt(&self, round: u64, stop: impl FnOnce(Serving)) -> (Running, bool) {
        remember_long(&self.from, round);
        let before = changes(&self.to);
        let serving = Serving::begin(&self.there);
        let sync = self.here.start(["sync", "--peer", &serving.address.to_string()]);
        until("something has come", || changes(&self.to) > before);
        stop(serving);
        (sync, changes(&self.to) < changes(&self.from))
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
    let killed: Vec<_> = (0..5).map(|round| pair.interrupt(round, |mut serving| serving.process.kill())).collect();
    let cut_short = killed.into_iter().rfind(|(_, is_short)| *is_short);
    let (mut sync, _) = cut_short.expect("one kill of five comes in time");
    assert!(!sync.wait().success(), "it does not say that both are level");
    pair.is_whole();
}

#[test]
fn a_server_that_is_told_to_end_in_the_middle_of_a_sync_ends_in_order() {
    let pair = Pair::new();
    for round in 0..2 {
        let (mut sync, is_short) = pair.interrupt(round, |serving| assert!(serving.end().is_empty()));
        assert_eq!(sync.wait().success(), !is_short, "it says whether both are level");
    }
    pair.is_whole();
}

#[test]
fn a_client_that_is_killed_in_the_middle_of_a_sync_costs_the_server_nothing() {
    let pair = Pair::new();
    remember_long(&pair.from, 0);
    let before = changes(&pair.to);
    let serving = Serving::begin(&pair.there);
    let address = serving.address.to_string();
    let mut sync = pair.here.start(["sync", "--peer", &address]);
    until("something has come", || changes(&pair.to) > before);
    sync.kill();
    pair.there.remember("meanwhile");
    pair.here.run(["sync", "--peer", &address]).succeeded();
    serving.end();
    assert_level(&pair.here, &pair.there);
    pair.is_whole();
}
