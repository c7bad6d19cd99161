//! A replica in memory that keeps the contract of the seam: changes are opaque bytes that name their past.

use std::collections::{BTreeMap, BTreeSet};

use memlet_auth::keys::Signature;
use memlet_auth::proof::Exporter;
use memlet_auth::stamp::Signatures;
use memlet_core::codec::{Decode, DecodeError, Encode, Reader, Writer};
use memlet_core::id::{EpochId, GrantRef, NamespaceId, PublicKey};
use memlet_sync::clock::{ActorClock, ActorRef, ChangeRef, StatementRef, Tip};
use memlet_sync::message::{Epoch, Open, PROTOCOL_VERSION, State};
use memlet_sync::replica::{
    Admission, Batch, Budget, Divergence, Entitlement, Fault, Replica, StampedChange, StatementAdmission,
};

pub(crate) const NAMESPACE: NamespaceId = NamespaceId([7; 32]);
pub(crate) const EPOCH: Epoch = Epoch { number: 0, id: EpochId([8; 32]) };

/// What the bytes of a model's change say.
#[derive(Clone, Debug)]
struct Content {
    actor: ActorRef,
    seq: u64,
    past: ActorClock,
    padding: Vec<u8>,
}

impl Encode for Content {
    fn encode(&self, w: &mut Writer) {
        w.array(4);
        self.actor.encode(w);
        w.uint(self.seq);
        self.past.encode(w);
        w.bytes(&self.padding);
    }
}

impl Decode for Content {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.array(4)?;
        Ok(Self {
            actor: ActorRef::decode(r)?,
            seq: r.uint()?,
            past: ActorClock::decode(r)?,
            padding: r.bytes()?.to_vec(),
        })
    }
}

/// One replica. Its fields are the knobs of a test.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) actor: ActorRef,
    pub(crate) epoch: Epoch,
    /// The changes, in the order in which they were admitted.
    log: Vec<(ActorRef, Tip, StampedChange)>,
    held: BTreeMap<(ActorRef, u64), ChangeRef>,
    clock: ActorClock,
    statements: Vec<(StatementRef, Vec<u8>)>,
    parked: Vec<StampedChange>,
    /// The grant of the next own change.
    grant: GrantRef,
    /// Changes of this actor are refused.
    pub(crate) refuses: Option<ActorRef>,
    /// What it answers to every `Open`.
    pub(crate) entitlement: Entitlement,
    /// Whether it trusts peers from the start.
    pub(crate) trusts: bool,
    /// Whether every call of its store fails.
    pub(crate) broken: bool,
    pub(crate) divergences: Vec<Divergence>,
}

impl Model {
    pub(crate) fn new(id: u8) -> Self {
        let mut model = Self {
            actor: ActorRef([id; 16]),
            epoch: EPOCH,
            log: Vec::new(),
            held: BTreeMap::new(),
            clock: ActorClock::default(),
            statements: Vec::new(),
            parked: Vec::new(),
            grant: GrantRef([0; 8]),
            refuses: None,
            entitlement: Entitlement::Entitled,
            trusts: true,
            broken: false,
            divergences: Vec::new(),
        };
        model.add_grant(0);
        model
    }

    /// A new statement, under which the following writes stand.
    pub(crate) fn add_grant(&mut self, nonce: u64) {
        let statement = [&self.actor.0[..], &nonce.to_be_bytes()].concat();
        self.grant = GrantRef(statement_ref(&statement).0);
        self.keep_statement(statement);
    }

    fn keep_statement(&mut self, statement: Vec<u8>) -> StatementRef {
        let reference = statement_ref(&statement);
        if !self.statements.iter().any(|(known, _)| *known == reference) {
            self.statements.push((reference, statement));
        }
        reference
    }

    /// Commits a change of about `bytes` bytes.
    pub(crate) fn write(&mut self, bytes: usize) {
        let seq = self.clock.seq(&self.actor) + 1;
        let content = Content { actor: self.actor, seq, past: self.clock.clone(), padding: vec![0; bytes] };
        let signatures = Signatures { author: Signature([self.actor.0[0]; 64]), device: None };
        let change =
            StampedChange { grant: self.grant, time_ms: 1_700_000_000_000, signatures, change: content.to_cbor() };
        self.commit(&content, change);
    }

    fn commit(&mut self, content: &Content, change: StampedChange) {
        let tip = Tip { seq: content.seq, change: change_ref(&change.change) };
        self.held.insert((content.actor, tip.seq), tip.change);
        self.clock.raise(content.actor, tip);
        self.log.push((content.actor, tip, change));
    }

    /// Every change, whatever the order in which they came.
    pub(crate) fn changes(&self) -> BTreeSet<Vec<u8>> {
        self.log.iter().map(|(_, _, change)| change.change.clone()).collect()
    }

    pub(crate) fn statements(&self) -> BTreeSet<Vec<u8>> {
        self.statements.iter().map(|(_, statement)| statement.clone()).collect()
    }

    pub(crate) fn clock_now(&self) -> ActorClock {
        self.clock.clone()
    }

    pub(crate) fn parked(&self) -> usize {
        self.parked.len()
    }

    /// The replica as it was when it had admitted only its first `changes` changes.
    pub(crate) fn restored_to(&self, changes: usize) -> Self {
        let mut restored =
            Self { statements: self.statements.clone(), grant: self.grant, ..Self::new(self.actor.0[0]) };
        for (_, _, change) in &self.log[..changes] {
            restored.commit(&Content::from_cbor(&change.change).unwrap(), change.clone());
        }
        restored
    }

    fn check(&self) -> Result<(), Fault> {
        if self.broken { Err(Fault::new("the disk is gone")) } else { Ok(()) }
    }

    fn admit_one(&mut self, change: StampedChange, admission: &mut Admission) {
        let Ok(content) = Content::from_cbor(&change.change) else {
            admission.refused.push("UNREADABLE");
            return;
        };
        if self.refuses == Some(content.actor) {
            admission.refused.push("NOT_ALLOWED");
            return;
        }
        let reference = change_ref(&change.change);
        match self.held.get(&(content.actor, content.seq)) {
            Some(held) if *held == reference => admission.known += 1,
            Some(_) => {
                admission.refused.push("FORK");
                return;
            }
            None if self.is_missing_something(&content, &change) => {
                admission.parked += 1;
                self.parked.push(change);
                return;
            }
            None => {
                admission.applied += 1;
                self.commit(&content, change);
            }
        }
        admission.carried.raise(content.actor, Tip { seq: content.seq, change: reference });
    }

    fn is_missing_something(&self, content: &Content, change: &StampedChange) -> bool {
        !content.past.beyond(&self.clock).is_empty()
            || content.seq != self.clock.seq(&content.actor) + 1
            || !self.statements.iter().any(|(reference, _)| reference.0 == change.grant.0)
    }
}

impl Replica for Model {
    fn namespace(&self) -> NamespaceId {
        NAMESPACE
    }

    fn actor(&self) -> Result<ActorRef, Fault> {
        Ok(self.actor)
    }

    fn open(&self, exporter: &Exporter) -> Result<Open, Fault> {
        self.check()?;
        let mut proof = [0; 64];
        proof[..32].copy_from_slice(&exporter.0);
        let chain = vec![self.statements[0].1.clone()];
        Ok(Open { version: PROTOCOL_VERSION, namespace: NAMESPACE, chain, proof: Signature(proof) })
    }

    fn trusts(&self, _: &PublicKey, _: u64) -> Result<bool, Fault> {
        self.check()?;
        Ok(self.trusts)
    }

    fn check_open(&mut self, open: &Open, _: &PublicKey, exporter: &Exporter, _: u64) -> Result<Entitlement, Fault> {
        self.check()?;
        if open.proof.0[..32] != exporter.0 {
            return Ok(Entitlement::Refused("BAD_PROOF"));
        }
        self.trusts |= self.entitlement == Entitlement::Entitled;
        Ok(self.entitlement)
    }

    fn state(&self) -> Result<State, Fault> {
        self.check()?;
        let statements = self.statements.iter().map(|(reference, _)| *reference).collect();
        Ok(State { epoch: self.epoch, clock: self.clock.clone(), statements })
    }

    fn clock(&self) -> Result<ActorClock, Fault> {
        self.check()?;
        Ok(self.clock.clone())
    }

    fn change_at(&self, actor: &ActorRef, seq: u64) -> Result<Option<ChangeRef>, Fault> {
        self.check()?;
        Ok(self.held.get(&(*actor, seq)).copied())
    }

    fn statements_beyond(
        &self,
        known: &BTreeSet<StatementRef>,
        items_max: usize,
    ) -> Result<Vec<(StatementRef, Vec<u8>)>, Fault> {
        self.check()?;
        let missing = self.statements.iter().filter(|(reference, _)| !known.contains(reference));
        Ok(missing.take(items_max).cloned().collect())
    }

    fn admit_statements(
        &mut self,
        statements: Vec<Vec<u8>>,
        _: &PublicKey,
        _: u64,
    ) -> Result<StatementAdmission, Fault> {
        self.check()?;
        let held = statements.into_iter().map(|statement| self.keep_statement(statement)).collect();
        let mut released = Admission::default();
        for change in std::mem::take(&mut self.parked) {
            self.admit_one(change, &mut released);
        }
        Ok(StatementAdmission { held, ..StatementAdmission::default() })
    }

    fn changes_beyond(&self, clock: &ActorClock, budget: Budget) -> Result<Batch, Fault> {
        self.check()?;
        let mut batch = Batch::default();
        let mut room = budget.bytes;
        for (actor, tip, change) in self.log.iter().filter(|(actor, tip, _)| tip.seq > clock.seq(actor)) {
            let full = batch.changes.len() == budget.changes || change.change.len() > room;
            if full && !batch.changes.is_empty() {
                batch.more = true;
                break;
            }
            room = room.saturating_sub(change.change.len());
            batch.changes.push((*actor, *tip, change.clone()));
        }
        Ok(batch)
    }

    fn admit(&mut self, changes: Vec<StampedChange>, _: &PublicKey, _: u64) -> Result<Admission, Fault> {
        self.check()?;
        let mut admission = Admission::default();
        for change in changes {
            self.admit_one(change, &mut admission);
        }
        Ok(admission)
    }

    fn history_differs(&mut self, divergence: Divergence) -> Result<(), Fault> {
        self.check()?;
        self.divergences.push(divergence);
        Ok(())
    }
}

fn statement_ref(statement: &[u8]) -> StatementRef {
    StatementRef(*blake3::hash(statement).as_bytes().first_chunk().unwrap())
}

fn change_ref(change: &[u8]) -> ChangeRef {
    ChangeRef(*blake3::hash(change).as_bytes().first_chunk().unwrap())
}
