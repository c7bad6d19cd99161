//! One namespace on this replica: the operations of its owner and agents, and the changes of other replicas.

use std::sync::{Arc, Mutex, PoisonError};

use memlet_auth::chain::VerifiedGrant;
use memlet_auth::stamp::{Stamp, StampContext};
use memlet_core::document::{Broken, DraftError, Written};
use memlet_core::id::NamespaceId;
use memlet_store::{Scope, Write};

use crate::caller::Caller;
use crate::error::NodeError;
use crate::node::Shared;
use log::StoredChange;
use open::Open;

mod admit;
mod devices;
mod documents;
mod index;
mod invoke;
mod log;
mod open;
mod replica;
mod revoke;
mod status;
mod waiting;

pub use devices::{DeviceInfo, Role};
pub use replica::NamespaceReplica;
pub use revoke::{Cut, Keep};
pub use status::{ListEntry, Status};
pub use waiting::{WAITING_BYTES_MAX, WAITING_CHANGES_MAX};

/// A namespace. Cheap to clone; every call is one atomic step, durable when it returns.
#[derive(Clone)]
pub struct Namespace {
    id: NamespaceId,
    shared: Arc<Shared>,
    loaded: Loaded,
}

/// A namespace in memory, shared by all handles to it: none until it is used, and after a failure that may have left it ahead
/// of the store.
#[derive(Clone, Default)]
pub(crate) struct Loaded(Arc<Mutex<Option<Open>>>);

/// What a write transaction comes to.
enum Outcome<T> {
    /// Make what was written durable.
    Commit(T),
    /// Nothing was written, in the store or in memory.
    Leave(T),
}

impl Namespace {
    pub(crate) fn new(shared: Arc<Shared>, id: NamespaceId, loaded: Loaded) -> Self {
        Self { id, shared, loaded }
    }

    /// The namespace's id: its root key.
    pub fn id(&self) -> NamespaceId {
        self.id
    }

    /// Takes in what other processes of this store committed. True if there was anything new.
    pub fn refresh(&self) -> Result<bool, NodeError> {
        let store = Arc::clone(&self.shared.store);
        self.locked(|open| open.catch_up(&*store.read()?))
    }

    /// Stamps a change made here under `grant` and puts it into the log.
    fn append(
        &self,
        open: &mut Open,
        write: &mut dyn Write,
        written: &Written,
        grant: &VerifiedGrant,
        caller: &Caller,
    ) -> Result<(), NodeError> {
        let Written { change, effects } = written;
        admit::check_effects(grant, effects)?;
        let context = StampContext { namespace: self.id, epoch: open.document().epoch().1 };
        // An actor's stamps never run backwards, whatever the wall clock does.
        let time_ms = self.shared.now_ms().max(open.index.stamped_ms(&change.actor));
        let device = &self.shared.device;
        let author = match caller {
            Caller::Device => device,
            Caller::Agent(agent) => &agent.key,
        };
        let stamp = Stamp::sign(context, grant.id(), change.hash, time_ms, author, device);
        let stored = StoredChange { stamp: stamp.compact(), change: change.bytes().to_vec() };
        open.documents.wrote(written, &grant.id())?;
        open.append(write, &change.head(), &stored)
    }

    /// Runs `look` on the namespace brought up to date with the store.
    fn with_current<T>(&self, look: impl FnOnce(&mut Open) -> Result<T, NodeError>) -> Result<T, NodeError> {
        self.locked(|open| {
            open.catch_up(&*self.shared.store.read()?)?;
            look(open)
        })
    }

    /// Runs `act` as the one writer of the namespace, up to date, and makes what it wrote durable. Subscribers are told after.
    fn transact<T>(
        &self,
        act: impl FnOnce(&mut Open, &mut dyn Write) -> Result<Outcome<T>, NodeError>,
    ) -> Result<T, NodeError> {
        let (output, committed) = self.locked(|open| {
            let mut write = self.shared.store.write(Scope::Namespace(self.id))?;
            // The write is also a read of the newest committed state.
            open.catch_up(&*write)?;
            let outcome = act(open, &mut *write)?;
            open.settle(&*write)?;
            match outcome {
                Outcome::Commit(output) => {
                    write.commit()?;
                    Ok((output, true))
                }
                Outcome::Leave(output) => Ok((output, false)),
            }
        })?;
        if committed {
            self.shared.notify(self.id);
        }
        Ok(output)
    }

    /// Runs `act` alone. After an error what is in memory may be ahead of the store, so it is dropped and loaded again.
    fn locked<T>(&self, act: impl FnOnce(&mut Open) -> Result<T, NodeError>) -> Result<T, NodeError> {
        let mut guard = self.loaded.0.lock().unwrap_or_else(|poisoned| {
            let mut guard = PoisonError::into_inner(poisoned);
            *guard = None;
            self.loaded.0.clear_poison();
            guard
        });
        let mut open = match guard.take() {
            Some(open) => open,
            None => Open::new(self.id)?,
        };
        let outcome = act(&mut open);
        if outcome.is_ok() {
            *guard = Some(open);
        }
        outcome
    }
}

fn draft_error(error: DraftError) -> NodeError {
    match error {
        DraftError::TooLarge => NodeError::ChangeTooLarge,
        DraftError::Broken(broken) => broken.into(),
        error => NodeError::Document(Broken(error.to_string())),
    }
}
