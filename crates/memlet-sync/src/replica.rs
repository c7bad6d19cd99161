//! The seam between the protocol and a replica: all that a [`crate::session::Session`] asks of one namespace on one store.
//!
//! The session decides **what is said and when**; the replica decides **what is true**: it verifies, stores and refuses. The
//! contract rests on one promise, [persistence](Replica#persistence); with it a crash at any point costs nothing but a
//! repeated message.

use std::collections::BTreeSet;
use std::error::Error;

use memlet_auth::proof::Exporter;
use memlet_auth::stamp::Signatures;
use memlet_core::id::{GrantRef, NamespaceId, PublicKey};

use crate::clock::{ActorClock, ActorRef, ChangeRef, StatementRef, Tip};
use crate::message::{Open, State};

/// One namespace on one store, as the protocol sees it. Calls may block on the store; none may wait for the peer.
///
/// # Persistence
///
/// Whatever a replica **gives out** ([`state`](Replica::state), [`clock`](Replica::clock),
/// [`statements_beyond`](Replica::statements_beyond), [`changes_beyond`](Replica::changes_beyond)) is durable, and whatever it
/// says it **has taken in** ([`admit`](Replica::admit), [`admit_statements`](Replica::admit_statements)) is durable before the
/// call returns. A replica that sends what it may still lose writes other changes under the same numbers after a crash, and
/// never converges again.
///
/// # Growth
///
/// Clock and statements only grow during a session, also by other sessions, other processes of the store, and its own writes.
pub trait Replica {
    /// The namespace.
    fn namespace(&self) -> NamespaceId;

    /// The actor under which this replica writes now.
    ///
    /// # Errors
    /// The store fails.
    fn actor(&self) -> Result<ActorRef, Fault>;

    /// Why this device may sync, and its proof over the connection of `exporter`.
    ///
    /// # Errors
    /// The store fails, or this device holds no grant.
    fn open(&self, exporter: &Exporter) -> Result<Open, Fault>;

    /// Whether statements held here allow `peer` to sync at `now_ms`. So a peer may be told the state before it has said a word,
    /// and is told nothing more once its grant has ended. It is asked for before every message.
    ///
    /// # Errors
    /// The store fails.
    fn trusts(&self, peer: &PublicKey, now_ms: u64) -> Result<bool, Fault>;

    /// Judges the peer's `Open`: the proof against the device key that the connection has authenticated, the chain as
    /// statements of this namespace, and that they allow that device `sync` at `now_ms`. Valid statements of the chain are
    /// kept if that is so: [`trusts`](Replica::trusts) says the same from then on. Version and namespace have been checked.
    ///
    /// # Errors
    /// The store fails. A peer that may not sync is no error but [`Entitlement::Refused`].
    fn check_open(
        &mut self,
        open: &Open,
        peer: &PublicKey,
        exporter: &Exporter,
        now_ms: u64,
    ) -> Result<Entitlement, Fault>;

    /// Epoch, clock and statements at one moment.
    ///
    /// # Errors
    /// The store fails.
    fn state(&self) -> Result<State, Fault>;

    /// The clock alone. It is asked for often.
    ///
    /// # Errors
    /// The store fails.
    fn clock(&self) -> Result<ActorClock, Fault>;

    /// Which change of `actor` is held under `seq`; none if none is.
    ///
    /// # Errors
    /// The store fails.
    fn change_at(&self, actor: &ActorRef, seq: u64) -> Result<Option<ChangeRef>, Fault>;

    /// The first statements that are not in `known`, every parent before its children; at most `items_max`. Empty only if
    /// there are none.
    ///
    /// # Errors
    /// The store fails.
    fn statements_beyond(
        &self,
        known: &BTreeSet<StatementRef>,
        items_max: usize,
    ) -> Result<Vec<(StatementRef, Vec<u8>)>, Fault>;

    /// Verifies statements that `peer` sent and keeps the valid ones. It returns the names of those that are kept now or
    /// were kept before, and says what became of the rest.
    ///
    /// # Errors
    /// The store fails. An invalid statement is no error: it is counted.
    fn admit_statements(
        &mut self,
        statements: Vec<Vec<u8>>,
        peer: &PublicKey,
        now_ms: u64,
    ) -> Result<StatementAdmission, Fault>;

    /// The first changes whose sequence number is above their actor's in `clock`, in causal order and each actor's without
    /// gaps, within `budget`.
    ///
    /// # Errors
    /// The store fails.
    fn changes_beyond(&self, clock: &ActorClock, budget: Budget) -> Result<Batch, Fault>;

    /// Takes changes that `peer` sent through the whole gate, in order: stamp, structure, effects, rights. All or nothing
    /// becomes durable; what is refused, parked or held does not stop the rest.
    ///
    /// # Errors
    /// The store fails. A bad change is no error: it is counted.
    fn admit(&mut self, changes: Vec<StampedChange>, peer: &PublicKey, now_ms: u64) -> Result<Admission, Fault>;

    /// The peer shows another history of some actor than is held here. May be called again for the same divergence.
    ///
    /// # Errors
    /// The store fails.
    fn history_differs(&mut self, divergence: Divergence) -> Result<(), Fault>;
}

/// This side cannot go on: its store failed, or it holds no grant itself. The peer is not to blame.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Fault(Box<dyn Error + Send + Sync>);

impl Fault {
    /// A fault with its cause.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

/// Whether a peer may sync.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entitlement {
    /// It may.
    Entitled,
    /// It may not, with the code of the reason. The peer is not told the reason.
    Refused(&'static str),
}

/// How much a batch may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Changes, at least 1.
    pub changes: usize,
    /// Bytes of the changes together. A first change that is larger is given alone.
    pub bytes: usize,
}

/// Changes to send.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Batch {
    /// Each with its place among its actor's changes.
    pub changes: Vec<(ActorRef, Tip, StampedChange)>,
    /// Whether the budget left some out. Never with an empty batch.
    pub more: bool,
}

/// A change and what travels of its stamp; the rest of the stamp follows from the change, the grant and the namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StampedChange {
    /// The grant under which it was made. As it comes from a peer, it may be of no grant that is held here.
    pub grant: GrantRef,
    /// The stamp's time in Unix milliseconds.
    pub time_ms: u64,
    /// The stamp's signatures.
    pub signatures: Signatures,
    /// One uncompressed Automerge change.
    pub change: Vec<u8>,
}

/// What became of a peer's changes. Every change of the batch is counted once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Admission {
    /// The last change of every actor in the batch whose stamp was verified: the peer holds these.
    pub carried: ActorClock,
    /// New here, and durable.
    pub applied: u64,
    /// Here before.
    pub known: u64,
    /// Waiting for a change or a statement that is not here.
    pub parked: u64,
    /// Waiting for the time that their stamps claim.
    pub held: u64,
    /// Refused for good, by code.
    pub refused: Vec<&'static str>,
}

/// What became of a peer's statements.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StatementAdmission {
    /// The statements that are held, now or before.
    pub held: Vec<StatementRef>,
    /// Waiting for a parent that is not here.
    pub parked: u64,
    /// Refused for good, by code.
    pub refused: Vec<&'static str>,
}

/// Two histories of one actor. Neither side may go on under that actor as if nothing were (lattice rules, restore and
/// copies).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Divergence {
    /// The peer holds changes of this replica's own actor that are not here: the store was restored from an older copy, or
    /// copied.
    Ahead {
        /// The own actor.
        actor: ActorRef,
        /// The last change of it that the peer holds.
        theirs: Tip,
    },
    /// Two changes stand under one number of one actor: its own, or another's.
    Fork {
        /// The actor.
        actor: ActorRef,
        /// The number.
        seq: u64,
        /// The change that is held here.
        ours: ChangeRef,
        /// The change that the peer holds.
        theirs: ChangeRef,
    },
}
