//! How often each fault struck and each interesting state was reached: a long run that never saw one proves less than it says.

use std::collections::BTreeMap;

/// Counters by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    /// Something happened.
    pub fn count(&mut self, what: &'static str) {
        self.add(what, 1);
    }

    /// Something happened so many times.
    pub fn add(&mut self, what: &'static str, times: u64) {
        *self.0.entry(what).or_default() += times;
    }

    /// How often it happened.
    pub fn get(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// Takes in the counters of another run.
    pub fn join(&mut self, other: &Self) {
        other.0.iter().for_each(|(what, times)| self.add(what, *times));
    }

    /// All counters, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(what, times)| (*what, *times))
    }

    /// The faults and states that a long run of worlds must reach and this one did not.
    pub fn unreached(&self) -> impl Iterator<Item = &'static str> {
        FAULTS.iter().chain(STATES).copied().filter(|what| self.get(what) == 0)
    }
}

/// Every kind of fault that strikes worlds.
pub const FAULTS: &[&str] = &[
    "a clock at its end",
    "a clock before 1970",
    "a clock put ahead",
    "a clock put back",
    "a clock that drifts",
    "a cut inside a message",
    "a direction blocked",
    "a disk replaced by an older copy",
    "a disk that fails to sync",
    "a disk that fails to write",
    "a disk that is read-only",
    "a full disk",
    "a link blocked both ways",
    "a link of another quality",
    "a machine cloned",
    "a process ended",
    "a process paused",
    "a reader stalled",
    "a second process",
    "attack: a bit turned",
    "attack: a change beyond its grant",
    "attack: a change of another namespace",
    "attack: a change tampered with",
    "attack: a code that nobody knows",
    "attack: a forged actor",
    "attack: a grant of everything to itself",
    "attack: a grant that nobody knows",
    "attack: a huge length",
    "attack: a message too early",
    "attack: a truncated frame",
    "attack: an empty frame",
    "attack: changes replayed",
    "attack: garbage",
    "attack: more acknowledged than there is",
    "attack: statements that are none",
    "attack: the change of another restamped",
    "attack: the grant of another",
    "attack: the opening of another connection",
    "crashes",
];

/// States in which mistakes like to hide.
pub const STATES: &[&str] = &[
    "a call repeated without effect",
    "a crash between two messages",
    "a crash with writes that were not synced",
    "a disk repaired",
    "a doubtful write came up after a crash",
    "a failed call repeated with effect",
    "a guest came too late",
    "a name given up for a lie",
    "a peer out of reach",
    "a process that gave up on its store",
    "a read without a grant",
    "a session that its own side failed",
    "a session that refused its peer",
    "a wait for stamps from the future",
    "a write left in doubt",
    "a write refused by the disk",
    "a write without a grant",
    "bytes lost on a blocked link",
    "changes that were known",
    "cuts with bytes in flight",
    "held changes",
    "invite failed on a faulty disk",
    "let in by another device",
    "messages that span frames",
    "parked changes",
    "refused changes and statements",
    "two connections of one pair",
];
