//! One namespace on this replica: the operations of its owner and agents, and the changes of other replicas.

use std::sync::{Arc, Mutex, PoisonError};

use memlet_auth::chain::VerifiedGrant;
use memlet_auth::keys::SigningKey;
use memlet_auth::stamp::{Stamp, StampContext};
use memlet_core::document::{Author, Document, Draft, DraftError, Written};
use memlet_core::id::NamespaceId;
use memlet_store::{Scope, Write};

use crate::caller::Caller;
use crate::error::NodeError;
use crate::node::Shared;
use log::StoredChange;
use open::Open;

mod admit;
mod devices;
mod index;
mod log;
mod open;
mod replica;
mod waiting;

pub use devices::{DeviceInfo, Role};
pub use replica::NamespaceReplica;
pub use waiting::{WAITING_BYTES_MAX, WAITING_CHANGES_MAX};

/// A namespace. Cheap to clone; every call is one atomic step, durable when it returns.
#[derive(Clone)]
pub struct Namespace {
    id: NamespaceId,
    shared: Arc<Shared>,
    /// None until it is used, and after a failure that may have left it ahead of the store.
    open: Arc<Mutex<Option<Open>>>,
}

/// What a write transaction comes to.
enum Outcome<T> {
    /// Make what was written durable.
    Commit(T),
    /// Nothing was written, in the store or in memory.
    Leave(T),
}

/// The caller of one operation, as its grant stands now.
pub(crate) struct Standing {
    pub(crate) grant: Arc<VerifiedGrant>,
    pub(crate) now_ms: u64,
}

impl Namespace {
    pub(crate) fn new(shared: Arc<Shared>, id: NamespaceId) -> Self {
        Self { id, shared, open: Arc::default() }
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

    /// Looks at the document as it is now, for this caller.
    pub(crate) fn read<T>(
        &self,
        caller: &Caller,
        look: impl FnOnce(&Document, Option<&Standing>) -> T,
    ) -> Result<T, NodeError> {
        self.with_current(|open| {
            let standing = self.standing(open, caller);
            Ok(look(&open.document, standing.as_ref()))
        })
    }

    /// Gathers a mutation by this caller and makes it durable. `gather` decides: on its error nothing is written.
    pub(crate) fn mutate<T, E>(
        &self,
        caller: &Caller,
        gather: impl FnOnce(&mut Draft<'_>, Option<&Standing>, &mut dyn Write) -> Result<T, E>,
    ) -> Result<Result<T, E>, NodeError> {
        self.transact(|open, write| {
            let standing = self.standing(open, caller);
            // Without a grant `gather` refuses before it writes, so this one is never used.
            let grant = standing.as_ref().map_or(memlet_core::id::GrantId([0; 32]), |standing| standing.grant.id());
            let author = Author { actor: self.shared.actor, grant };
            let mut draft = open.document.draft(author, self.shared.now_ms());
            let output = match gather(&mut draft, standing.as_ref(), write) {
                Ok(output) => output,
                Err(error) => return Ok(Outcome::Leave(Err(error))),
            };
            match (draft.commit().map_err(draft_error)?, standing) {
                (Some(written), Some(standing)) => {
                    self.append(open, write, &written, &standing, caller)?;
                    Ok(Outcome::Commit(Ok(output)))
                }
                (Some(_), None) => Err(NodeError::NoGrant),
                (None, _) => Ok(Outcome::Leave(Ok(output))),
            }
        })
    }

    /// Stamps a change made here and puts it into the log.
    fn append(
        &self,
        open: &mut Open,
        write: &mut dyn Write,
        written: &Written,
        standing: &Standing,
        caller: &Caller,
    ) -> Result<(), NodeError> {
        let Written { change, effects } = written;
        admit::check_effects(&standing.grant, effects)?;
        let context = StampContext { namespace: self.id, epoch: open.document.epoch().1 };
        let time_ms = standing.now_ms.max(open.index.stamped_ms(&change.actor));
        let author = self.key_of(caller);
        let stamp = Stamp::sign(context, standing.grant.id(), change.hash, time_ms, author, &self.shared.device);
        let stored = StoredChange { stamp: stamp.compact(), change: change.bytes().to_vec() };
        open.append(write, &change.head(), &stored)
    }

    fn key_of<'a>(&'a self, caller: &'a Caller) -> &'a SigningKey {
        match caller {
            Caller::Device => &self.shared.device,
            Caller::Agent(agent) => &agent.key,
        }
    }

    /// The caller's grant, if there is one that holds now.
    fn standing(&self, open: &Open, caller: &Caller) -> Option<Standing> {
        let now_ms = self.shared.now_ms();
        let grant = match caller {
            Caller::Device => open.grant_of(&self.shared.actor.device, now_ms),
            Caller::Agent(agent) => {
                let grant = open.statements.get(&agent.grant);
                grant.filter(|grant| grant.audience() == agent.key.public() && grant.window().contains(now_ms))
            }
        };
        grant.map(|grant| Standing { grant: Arc::clone(grant), now_ms })
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
            match act(open, &mut *write)? {
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
        let mut guard = self.open.lock().unwrap_or_else(|poisoned| {
            let mut guard = PoisonError::into_inner(poisoned);
            *guard = None;
            self.open.clear_poison();
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
        error => NodeError::Document(memlet_core::document::Broken(error.to_string())),
    }
}
