//! Changes that cannot be judged yet: parked for a missing grant or dependency, or held until the time they claim has come.
//!
//! They are not visible, not relayed and not durable. Their sender has not been told that they arrived, so it keeps them.

use std::collections::VecDeque;

use memlet_sync::replica::StampedChange;

/// How many changes may wait.
pub const WAITING_CHANGES_MAX: usize = 1_024;

/// How many bytes of changes may wait.
pub const WAITING_BYTES_MAX: usize = 16 << 20;

/// What a change waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WaitsFor {
    /// Its grant, or the grant's parent.
    Grant,
    /// A change that it builds on.
    Dependency,
    /// The moment, in Unix milliseconds, from which its stamp's time is believed.
    Time(u64),
}

/// A bounded queue; when it is full the change that has waited longest is let go.
#[derive(Default)]
pub(super) struct Waiting {
    queue: VecDeque<(StampedChange, WaitsFor)>,
    bytes: usize,
}

impl Waiting {
    /// Lets a change wait, unless it does already. Gives how many had to go for it.
    pub(super) fn push(&mut self, change: StampedChange, reason: WaitsFor) -> u64 {
        if self.queue.iter().any(|(waiting, _)| *waiting == change) {
            return 0;
        }
        self.bytes += change.change.len();
        self.queue.push_back((change, reason));
        let mut dropped = 0;
        while self.queue.len() > WAITING_CHANGES_MAX || self.bytes > WAITING_BYTES_MAX {
            let Some((oldest, _)) = self.queue.pop_front() else { break };
            self.bytes -= oldest.change.len();
            dropped += 1;
        }
        dropped
    }

    /// Takes out what `is_due` says can be judged again, in the order it came. Judging costs a signature, so the rest is left.
    pub(super) fn take(&mut self, is_due: impl Fn(WaitsFor) -> bool) -> Vec<StampedChange> {
        let (due, rest): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.queue).into_iter().partition(|(_, reason)| is_due(*reason));
        self.queue = rest;
        self.bytes -= due.iter().map(|(change, _)| change.change.len()).sum::<usize>();
        due.into_iter().map(|(change, _)| change).collect()
    }

    /// How many changes wait.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }
}
