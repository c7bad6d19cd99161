//! The clock and the randomness of one device: true time seen through a clock that may lie.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use memlet_node::Environment;

use crate::plan::Skew;
use crate::random::Stream;

/// True time at the start of every world, in Unix milliseconds: 2026-09-01.
pub const START_MS: u64 = 1_788_220_800_000;

/// True time, in milliseconds since the start of the world. Clones show the same.
#[derive(Debug, Clone, Default)]
pub struct TrueTime(Arc<AtomicU64>);

impl TrueTime {
    /// Milliseconds since the start.
    pub fn elapsed_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Jumps ahead.
    pub fn advance_to(&self, elapsed_ms: u64) {
        assert!(elapsed_ms >= self.elapsed_ms(), "true time does not run backwards");
        self.0.store(elapsed_ms, Ordering::Relaxed);
    }
}

/// What all processes of one device see of the world besides their store.
#[derive(Debug)]
pub struct DeviceEnvironment {
    time: TrueTime,
    /// How the clock lies, and since when.
    skew: Mutex<(Skew, u64)>,
    random: Mutex<Stream>,
}

impl DeviceEnvironment {
    /// An honest clock, and random bytes from `random`.
    pub fn new(time: TrueTime, random: Stream) -> Self {
        Self { time, skew: Mutex::new((Skew::None, 0)), random: Mutex::new(random) }
    }

    /// The clock goes wrong, or right again.
    pub fn set_skew(&self, skew: Skew) {
        *self.skew.lock().unwrap_or_else(PoisonError::into_inner) = (skew, self.time.elapsed_ms());
    }
}

impl Environment for DeviceEnvironment {
    fn now_ms(&self) -> u64 {
        let elapsed_ms = self.time.elapsed_ms();
        let true_ms = START_MS + elapsed_ms;
        let (skew, since_ms) = *self.skew.lock().unwrap_or_else(PoisonError::into_inner);
        match skew {
            Skew::None => true_ms,
            Skew::Offset(ms) => true_ms.saturating_add_signed(ms),
            Skew::Drift(per_mille) => {
                let passed_ms = i64::try_from(elapsed_ms - since_ms).unwrap_or(i64::MAX);
                true_ms.saturating_add_signed(passed_ms.saturating_mul(per_mille) / 1_000)
            }
            Skew::Stuck(ms) => ms,
        }
    }

    fn fill_random(&self, out: &mut [u8]) {
        self.random.lock().unwrap_or_else(PoisonError::into_inner).fill(out);
    }
}
