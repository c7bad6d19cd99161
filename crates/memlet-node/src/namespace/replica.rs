//! A namespace as the sync protocol sees it.

use std::collections::BTreeSet;

use memlet_auth::keys::{Signature, VerifyingKey};
use memlet_auth::proof::{Exporter, open_proof, verify_open_proof};
use memlet_core::id::{NamespaceId, PublicKey};
use memlet_sync::clock::{ActorClock, ActorRef, ChangeRef, StatementRef};
use memlet_sync::message::{Epoch, Open as OpenMessage, PROTOCOL_VERSION, State};
use memlet_sync::replica::{
    Admission, Batch, Budget, Divergence, Entitlement, Fault, Replica, StampedChange, StatementAdmission,
};

use super::devices::chain_bytes;
use super::{Namespace, log};
use crate::error::NodeError;

/// Implements the protocol's [`Replica`] for one namespace. Calls block on the store.
pub struct NamespaceReplica(Namespace);

impl Namespace {
    /// This namespace for a sync session.
    pub fn replica(&self) -> NamespaceReplica {
        NamespaceReplica(self.clone())
    }

    fn open_message(&self, exporter: &Exporter) -> Result<OpenMessage, NodeError> {
        let chain = self.with_current(|open| {
            let grant = open.grant_of(&self.shared.device.public(), self.shared.now_ms());
            grant.map(|grant| chain_bytes(grant)).ok_or(NodeError::NoGrant)
        })?;
        let proof = open_proof(&self.shared.device, &self.id, exporter);
        Ok(OpenMessage { version: PROTOCOL_VERSION, namespace: self.id, chain, proof })
    }

    fn check_peer(
        &self,
        chain: &[Vec<u8>],
        proof: &Signature,
        peer: &PublicKey,
        exporter: &Exporter,
        now_ms: u64,
    ) -> Result<Entitlement, NodeError> {
        let refused = |code| Ok(Entitlement::Refused(code));
        let Ok(key) = VerifyingKey::new(peer) else { return refused("KEY_REFUSED") };
        if verify_open_proof(&key, &self.id, exporter, proof).is_err() {
            return refused("OPEN_PROOF");
        }
        if self.trusts(peer, now_ms)? {
            return Ok(Entitlement::Entitled);
        }
        // The chain may hold grants that are news here.
        let admission = self.admit_statements(chain, *peer)?;
        if self.trusts(peer, now_ms)? {
            return Ok(Entitlement::Entitled);
        }
        refused(admission.refused.first().copied().unwrap_or("OPEN_NO_GRANT"))
    }

    fn own_actor(&self) -> Result<ActorRef, NodeError> {
        Ok(ActorRef::of(&self.shared.actor(&*self.shared.store.read()?)?))
    }

    /// What this store once wrote is elsewhere and not here, or stands here under a number that means something else there: the
    /// store was set back. It goes on under another replica id.
    fn settle_divergence(&self, divergence: Divergence) -> Result<(), NodeError> {
        let (code, actor) = match divergence {
            Divergence::Ahead { actor, .. } => ("HISTORY_AHEAD", actor),
            Divergence::Fork { actor, .. } => ("HISTORY_FORK", actor),
        };
        self.shared.count_refusal(code);
        let own = self.shared.actor(&*self.shared.store.read()?)?;
        if actor == ActorRef::of(&own) {
            tracing::warn!(code, "this store was set back to an older state, so it gets a new replica id");
            crate::replica::renew(&*self.shared.store, &own.replica, &*self.shared.environment)?;
        }
        Ok(())
    }

    fn trusts(&self, peer: &PublicKey, now_ms: u64) -> Result<bool, NodeError> {
        self.with_current(|open| Ok(open.grant_of(peer, now_ms).is_some()))
    }

    fn batch(&self, clock: &ActorClock, budget: Budget) -> Result<Batch, NodeError> {
        self.with_current(|open| {
            let read = self.shared.store.read()?;
            let mut batch = Batch::default();
            let mut bytes = 0;
            for (position, actor, tip) in open.index.beyond(clock) {
                let stored = log::change(&*read, self.id, position)?;
                bytes += stored.change.len();
                let full = batch.changes.len() == budget.changes || bytes > budget.bytes;
                if full && !batch.changes.is_empty() {
                    batch.more = true;
                    break;
                }
                let stamp = stored.stamp;
                let change = StampedChange {
                    grant: stamp.grant.short(),
                    time_ms: stamp.time_ms,
                    signatures: stamp.signatures,
                    change: stored.change,
                };
                batch.changes.push((actor, tip, change));
            }
            Ok(batch)
        })
    }
}

impl Replica for NamespaceReplica {
    fn namespace(&self) -> NamespaceId {
        self.0.id
    }

    fn actor(&self) -> Result<ActorRef, Fault> {
        self.0.own_actor().map_err(Fault::new)
    }

    fn open(&self, exporter: &Exporter) -> Result<OpenMessage, Fault> {
        self.0.open_message(exporter).map_err(Fault::new)
    }

    fn trusts(&self, peer: &PublicKey, now_ms: u64) -> Result<bool, Fault> {
        self.0.trusts(peer, now_ms).map_err(Fault::new)
    }

    fn check_open(
        &mut self,
        open: &OpenMessage,
        peer: &PublicKey,
        exporter: &Exporter,
        now_ms: u64,
    ) -> Result<Entitlement, Fault> {
        self.0.check_peer(&open.chain, &open.proof, peer, exporter, now_ms).map_err(Fault::new)
    }

    fn state(&self) -> Result<State, Fault> {
        let state = self.0.with_current(|open| {
            let (number, id) = open.document().epoch();
            let statements = open.statements.parents_first().map(|held| StatementRef::of(&held.id())).collect();
            Ok(State { epoch: Epoch { number, id }, clock: open.index.clock(), statements })
        });
        state.map_err(Fault::new)
    }

    fn clock(&self) -> Result<ActorClock, Fault> {
        self.0.with_current(|open| Ok(open.index.clock())).map_err(Fault::new)
    }

    fn change_at(&self, actor: &ActorRef, seq: u64) -> Result<Option<ChangeRef>, Fault> {
        self.0.with_current(|open| Ok(open.index.change_at(actor, seq))).map_err(Fault::new)
    }

    fn statements_beyond(
        &self,
        known: &BTreeSet<StatementRef>,
        items_max: usize,
    ) -> Result<Vec<(StatementRef, Vec<u8>)>, Fault> {
        let beyond = self.0.with_current(|open| {
            let named = open.statements.parents_first().map(|held| (StatementRef::of(&held.id()), held));
            let missing = named.filter(|(name, _)| !known.contains(name)).take(items_max);
            Ok(missing.map(|(name, held)| (name, held.to_bytes())).collect())
        });
        beyond.map_err(Fault::new)
    }

    fn admit_statements(
        &mut self,
        statements: Vec<Vec<u8>>,
        peer: &PublicKey,
        _now_ms: u64,
    ) -> Result<StatementAdmission, Fault> {
        self.0.admit_statements(&statements, *peer).map_err(Fault::new)
    }

    fn changes_beyond(&self, clock: &ActorClock, budget: Budget) -> Result<Batch, Fault> {
        self.0.batch(clock, budget).map_err(Fault::new)
    }

    fn admit(&mut self, changes: Vec<StampedChange>, _peer: &PublicKey, _now_ms: u64) -> Result<Admission, Fault> {
        self.0.admit(changes).map_err(Fault::new)
    }

    fn history_differs(&mut self, divergence: Divergence) -> Result<(), Fault> {
        self.0.settle_divergence(divergence).map_err(Fault::new)
    }
}
