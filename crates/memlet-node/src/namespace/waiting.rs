//! Changes that cannot be judged yet: parked for a missing grant or dependency, or held until the time they claim has come.
//!
//! They are not visible, not relayed and not durable. Their sender has not been told that they arrived, so it keeps them.

use std::collections::VecDeque;

use memlet_sync::replica::StampedChange;

/// How many changes may wait.
pub const WAITING_CHANGES_MAX: usize = 1_024;

/// How many bytes of changes may wait.
pub const WAITING_BYTES_MAX: usize = 16 << 20;

/// A bounded queue; when it is full the change that has waited longest is let go.
#[derive(Default)]
pub(super) struct Waiting {
    queue: VecDeque<StampedChange>,
    bytes: usize,
}

impl Waiting {
    /// Lets a change wait, unless it does already. Gives how many had to go for it.
    pub(super) fn push(&mut self, change: StampedChange) -> u64 {
        if self.queue.contains(&change) {
            return 0;
        }
        self.bytes += change.change.len();
        self.queue.push_back(change);
        let mut dropped = 0;
        while self.queue.len() > WAITING_CHANGES_MAX || self.bytes > WAITING_BYTES_MAX {
            let Some(oldest) = self.queue.pop_front() else { break };
            self.bytes -= oldest.change.len();
            dropped += 1;
        }
        dropped
    }

    /// Takes out everything that waits, to be judged again.
    pub(super) fn take(&mut self) -> Vec<StampedChange> {
        self.bytes = 0;
        self.queue.drain(..).collect()
    }

    /// How many changes wait.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }
}
