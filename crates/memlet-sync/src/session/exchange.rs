//! The exchange on an open stream: who lacks what, what is on its way, what has been acknowledged.
//!
//! Nothing is sent twice on one stream, and nothing is sent back to where it came from: `covered` names what the peer holds
//! or is being sent, `announced` what the peer has been told is held here.

use std::collections::BTreeSet;

use memlet_core::id::PublicKey;

use super::grants::GrantTable;
use super::stats::Stats;
use super::{ProtocolError, SessionError};
use crate::clock::{ActorClock, ActorRef, StatementRef, Tip};
use crate::limits::{AUTH_STATEMENTS_MAX, BATCH_CHANGES_MAX, CLOCK_ACTORS_MAX};
use crate::message::{Ack, Changes, Limits, Message, State};
use crate::replica::{Batch, Budget, Divergence, Fault, Replica};

/// What both sides have told each other so far.
#[derive(Debug)]
pub(super) struct Exchange {
    peer: PublicKey,
    /// What the peer has been told is durable here.
    announced: ActorClock,
    /// What the peer has told is durable there.
    durable: ActorClock,
    /// What is durable there or on its way.
    covered: ActorClock,
    /// The statements that the peer holds or that are on their way.
    statements: BTreeSet<StatementRef>,
    sent_grants: GrantTable,
    received_grants: GrantTable,
    budget: Budget,
    /// Whether this side has more than its last `Changes` told. True until its first.
    more_here: bool,
    /// The same of the peer.
    more_there: bool,
    /// How many `Auth` and `Changes` the peer has acknowledged.
    acknowledged: u64,
    /// Whether the peer has sent `Auth` or `Changes` since the last `Ack` to it.
    ack_due: bool,
}

impl Exchange {
    /// Both sides have sent their `State`: `announced` is this side's clock, `shown` the peer's state.
    pub(super) fn begin(
        peer: PublicKey,
        limits: Limits,
        announced: ActorClock,
        shown: State,
        replica: &mut dyn Replica,
        stats: &mut Stats,
    ) -> Result<Self, SessionError> {
        let mut exchange = Self {
            peer,
            announced,
            durable: ActorClock::default(),
            covered: ActorClock::default(),
            statements: shown.statements,
            sent_grants: GrantTable::default(),
            received_grants: GrantTable::default(),
            budget: Budget { changes: BATCH_CHANGES_MAX, bytes: limits.batch_bytes },
            more_here: true,
            more_there: true,
            acknowledged: 0,
            ack_due: false,
        };
        exchange.raise(&shown.clock)?;
        exchange.compare(&shown.clock, replica, stats)?;
        Ok(exchange)
    }

    /// What the peer has told is durable there.
    pub(super) fn durable(&self) -> &ActorClock {
        &self.durable
    }

    /// Whether both sides have sent all and acknowledged all.
    pub(super) fn is_settled(&self, stats: &Stats) -> bool {
        !self.more_here && !self.more_there && !self.ack_due && self.acknowledged == stats.sent.batches
    }

    pub(super) fn take_auth(
        &mut self,
        statements: Vec<Vec<u8>>,
        now_ms: u64,
        replica: &mut dyn Replica,
        stats: &mut Stats,
    ) -> Result<(), SessionError> {
        stats.received.count_statements(statements.len());
        let admission = replica.admit_statements(statements, &self.peer, now_ms)?;
        stats.count_statements(&admission);
        self.statements.extend(admission.held);
        self.ack_due = true;
        Ok(())
    }

    pub(super) fn take_changes(
        &mut self,
        message: Changes,
        now_ms: u64,
        replica: &mut dyn Replica,
        stats: &mut Stats,
    ) -> Result<(), SessionError> {
        stats.received.count_changes(message.entries.iter().map(|entry| entry.change.len()));
        self.more_there = message.more;
        let changes = self.received_grants.unpack(message)?;
        if !changes.is_empty() {
            let admission = replica.admit(changes, &self.peer, now_ms)?;
            stats.count_admission(&admission);
            self.raise(&admission.carried)?;
        }
        self.ack_due = true;
        Ok(())
    }

    pub(super) fn take_ack(
        &mut self,
        ack: &Ack,
        replica: &mut dyn Replica,
        stats: &mut Stats,
    ) -> Result<(), SessionError> {
        let (from, to) = (self.acknowledged, stats.sent.batches);
        if !(from..=to).contains(&ack.received) {
            return Err(ProtocolError::Acknowledged { acknowledged: ack.received, from, to }.into());
        }
        self.acknowledged = ack.received;
        self.raise(&ack.durable)?;
        self.compare(&ack.durable, replica, stats)?;
        Ok(())
    }

    /// Statements before the changes that need them, acknowledgements before what may take long.
    pub(super) fn next(&mut self, replica: &dyn Replica, stats: &mut Stats) -> Result<Option<Message>, Fault> {
        let statements = replica.statements_beyond(&self.statements, AUTH_STATEMENTS_MAX)?;
        if !statements.is_empty() {
            return Ok(Some(self.auth(statements, stats)));
        }
        if self.ack_due {
            return Ok(Some(self.ack(&replica.clock()?, stats)));
        }
        let batch = replica.changes_beyond(&self.covered, self.budget)?;
        if self.more_here || !batch.changes.is_empty() {
            return Ok(Some(self.changes(batch, stats)));
        }
        let clock = replica.clock()?;
        let risen = !clock.beyond(&self.announced).is_empty();
        Ok(risen.then(|| self.ack(&clock, stats)))
    }

    fn auth(&mut self, statements: Vec<(StatementRef, Vec<u8>)>, stats: &mut Stats) -> Message {
        assert!(statements.len() <= AUTH_STATEMENTS_MAX, "a replica gives no more statements than it is asked for");
        stats.sent.count_statements(statements.len());
        self.statements.extend(statements.iter().map(|(reference, _)| *reference));
        Message::Auth(statements.into_iter().map(|(_, statement)| statement).collect())
    }

    fn changes(&mut self, batch: Batch, stats: &mut Stats) -> Message {
        let Batch { changes, more } = batch;
        assert!(changes.len() <= self.budget.changes, "a replica keeps to the budget");
        assert!(!more || !changes.is_empty(), "a replica that has more gives some of it");
        stats.sent.count_changes(changes.iter().map(|(_, _, change)| change.change.len()));
        self.more_here = more;
        for (actor, tip, _) in &changes {
            self.covered.raise(*actor, *tip);
            self.announced.raise(*actor, *tip);
        }
        let changes = changes.into_iter().map(|(_, _, change)| change).collect();
        Message::Changes(self.sent_grants.pack(changes, more))
    }

    fn ack(&mut self, clock: &ActorClock, stats: &Stats) -> Message {
        let durable = clock.beyond(&self.announced);
        self.announced.join(&durable);
        self.ack_due = false;
        Message::Ack(Ack { received: stats.received.batches, durable })
    }

    /// The peer holds `clock` too.
    fn raise(&mut self, clock: &ActorClock) -> Result<(), ProtocolError> {
        self.durable.join(clock);
        self.covered.join(clock);
        if self.durable.len() > CLOCK_ACTORS_MAX { Err(ProtocolError::TooManyActors) } else { Ok(()) }
    }

    /// Looks for histories that differ in what the peer shows, and tells the replica.
    fn compare(&mut self, shown: &ActorClock, replica: &mut dyn Replica, stats: &mut Stats) -> Result<(), Fault> {
        let (own, clock) = (replica.actor()?, replica.clock()?);
        for (actor, theirs) in shown.iter() {
            let ours = match clock.get(actor) {
                Some(ours) if ours.seq == theirs.seq => Some(ours.change),
                Some(ours) if ours.seq > theirs.seq => replica.change_at(actor, theirs.seq)?,
                _ => None,
            };
            let divergence = match ours {
                Some(ours) if ours != theirs.change => {
                    self.skip(*actor, *theirs);
                    Divergence::Fork { actor: *actor, seq: theirs.seq, ours, theirs: theirs.change }
                }
                None if *actor == own => Divergence::Ahead { actor: own, theirs: *theirs },
                _ => continue,
            };
            stats.divergences += 1;
            replica.history_differs(divergence)?;
        }
        Ok(())
    }

    /// Sends nothing more of an actor: the peer could not put it under its own branch.
    fn skip(&mut self, actor: ActorRef, theirs: Tip) {
        self.covered.raise(actor, Tip { seq: u64::MAX, ..theirs });
    }
}
