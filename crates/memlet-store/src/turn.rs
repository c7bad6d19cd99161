//! Turns of the writers inside one process: one at a time, and nobody waits for ever.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long a writer waits for others unless told otherwise.
pub const BUSY_TIMEOUT_DEFAULT: Duration = Duration::from_secs(5);

/// A lock that gives up after a while, so that a writer that waits for itself gets an error instead of a deadlock.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    taken: Mutex<bool>,
    freed: Condvar,
}

/// Holding it is having the turn.
#[derive(Debug)]
pub(crate) struct TurnGuard<'a>(&'a Turn);

impl Turn {
    /// Takes the turn; `None` when nobody gave it up within `patience`.
    pub(crate) fn take(&self, patience: Duration) -> Option<TurnGuard<'_>> {
        // A flag is valid whatever a panicking holder did, so lock poisoning is of no interest.
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_timeout_while(taken, patience, |taken| *taken);
        let (mut taken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            return None;
        }
        *taken = true;
        Some(TurnGuard(self))
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_never_for_ever() {
        let turn = Turn::default();
        let first = turn.take(Duration::ZERO);
        assert!(first.is_some());
        assert!(turn.take(Duration::from_millis(1)).is_none(), "two have the turn");
        drop(first);
        assert!(turn.take(Duration::ZERO).is_some(), "the turn was not given back");
    }
}
