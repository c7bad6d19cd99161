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
}
