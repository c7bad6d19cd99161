//! What a session has moved and refused, for status and metrics.

use std::collections::BTreeMap;

use crate::replica::{Admission, StatementAdmission};

/// Counters of one session. They only rise.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// What was sent.
    pub sent: Traffic,
    /// What was received.
    pub received: Traffic,
    /// How often this side had to wait for an answer before it could go on: once, or twice for an initiator that did not
    /// trust the peer from the start.
    pub round_trips: u64,
    /// Changes of the peer that were new here.
    pub applied: u64,
    /// Changes of the peer that were here before.
    pub known: u64,
    /// Changes of the peer that wait for another change or a statement.
    pub parked: u64,
    /// Changes of the peer that wait for the time they claim.
    pub held: u64,
    /// Statements of the peer that wait for a parent.
    pub parked_statements: u64,
    /// Changes and statements of the peer that were refused, by code.
    pub refused: BTreeMap<&'static str, u64>,
    /// How often a history of the peer was found to differ from that held here.
    pub divergences: u64,
}

/// One direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Messages of any kind.
    pub messages: u64,
    /// Messages `Changes` and `Auth`: what `Ack` counts.
    pub batches: u64,
    /// Changes.
    pub changes: u64,
    /// Bytes of the changes themselves; the transport counts what goes with them.
    pub change_bytes: u64,
    /// Signed statements.
    pub statements: u64,
}

impl Stats {
    pub(super) fn count_admission(&mut self, admission: &Admission) {
        self.applied += admission.applied;
        self.known += admission.known;
        self.parked += admission.parked;
        self.held += admission.held;
        self.count_refused(&admission.refused);
    }

    pub(super) fn count_statements(&mut self, admission: &StatementAdmission) {
        self.parked_statements += admission.parked;
        self.count_refused(&admission.refused);
    }

    fn count_refused(&mut self, codes: &[&'static str]) {
        for code in codes {
            *self.refused.entry(code).or_default() += 1;
        }
    }
}

impl Traffic {
    pub(super) fn count_changes(&mut self, change_bytes: impl ExactSizeIterator<Item = usize>) {
        self.batches += 1;
        self.changes += change_bytes.len() as u64;
        self.change_bytes += change_bytes.map(|bytes| bytes as u64).sum::<u64>();
    }

    pub(super) fn count_statements(&mut self, statements: usize) {
        self.batches += 1;
        self.statements += statements as u64;
    }
}
