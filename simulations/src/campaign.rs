//! Many seeds, one after another and several at a time, and what came of them together.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::failure::Failure;
use crate::plan::{Profile, generate};
use crate::tally::Tally;
use crate::world::run;

/// What came of many seeds.
#[derive(Debug, Default)]
pub struct Campaign {
    /// How many ran.
    pub seeds: u64,
    /// All counters together.
    pub tally: Tally,
    /// The seeds that failed.
    pub failures: BTreeMap<u64, Failure>,
}

/// Runs seeds from `first` on, `jobs` at a time, until `enough` says so of the next one.
pub fn campaign(first: u64, jobs: usize, profile: Profile, enough: impl Fn(u64) -> bool + Sync) -> Campaign {
    let next = AtomicU64::new(first);
    let is_over = AtomicBool::new(false);
    let total = Mutex::new(Campaign::default());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if enough(seed) {
                        is_over.store(true, Ordering::Relaxed);
                        return;
                    }
                    let ran = run(&generate(seed, profile), false);
                    let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                    total.seeds += 1;
                    total.tally.join(&ran.tally);
                    total.failures.extend(ran.failure.map(|failure| (seed, failure)));
                }
            });
        }
    });
    total.into_inner().unwrap_or_else(PoisonError::into_inner)
}
