//! Time and randomness as the operating system gives them.

use std::time::{SystemTime, UNIX_EPOCH};

use memlet_node::Environment;

/// The wall clock and the random source of this machine.
#[derive(Clone, Copy, Debug)]
pub struct SystemEnvironment;

impl Environment for SystemEnvironment {
    fn now_ms(&self) -> u64 {
        // A clock set before 1970 is as wrong as one set to 1970.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    /// # Panics
    /// The system has no randomness to give, so that no key would be safe.
    fn fill_random(&self, out: &mut [u8]) {
        getrandom::fill(out).expect("every supported system has a source of randomness");
    }
}
