//! Running an operation of the surfaces on this namespace, for one caller, as one atomic step.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use memlet_auth::chain::VerifiedGrant;
use memlet_auth::grant::Ability;
use memlet_auth::revoked::Revoked;
use memlet_core::document::Author;
use memlet_core::id::{GrantId, NamespaceId, PublicKey, ReplicaId};
use memlet_core::path::Path;
use memlet_store::{Read, Scope, Table, Write};
use serde_json::Value as Json;

use super::open::Open;
use super::{Namespace, Outcome, draft_error};
use crate::caller::Caller;
use crate::environment::random;
use crate::error::{InvokeError, NodeError};
use crate::ops::{self, Authority, Code, Mutation, OpError, Operation, REQUEST_KEPT_MS, Reading, Requests, Stored};
use crate::replica;

/// What became of a mutation.
enum Tried {
    Done(Json),
    /// Nothing was written.
    Refused(OpError),
    /// Nothing was written: the next number of this replica id is taken by a change that counts no longer, so it needs another id.
    CutOff(ReplicaId),
}

/// The caller of one operation: its grant, if it has one that holds now.
pub(super) struct Standing {
    grant: Option<Arc<VerifiedGrant>>,
    revoked: Arc<Revoked>,
    agent: Option<PublicKey>,
    now_ms: u64,
}

impl Authority for Standing {
    fn permits(&self, ability: Ability, path: &Path) -> bool {
        let allows =
            |grant: &Arc<VerifiedGrant>| grant.check_request(ability, path, self.now_ms, &self.revoked).is_ok();
        self.grant.as_ref().is_some_and(allows)
    }

    fn agent(&self) -> Option<PublicKey> {
        self.agent
    }
}

impl Namespace {
    /// Runs an operation (`v/ops/memory`, `v/ops/covia/read`, …) on this namespace. When it returns, its effect is durable, and
    /// the next read sees it.
    ///
    /// # Errors
    /// What the operation refuses, with nothing written; or the store or the document fails.
    pub fn invoke(&self, caller: &Caller, operation: &str, input: &Json) -> Result<Json, InvokeError> {
        let operation = Operation::find(operation, input)?;
        if operation.namespace(input, self.id)? != self.id {
            return Err(OpError::new(Code::PermissionDenied, "no grant of this caller opens that namespace").into());
        }
        match operation {
            Operation::Reading(reading) => self.run_reading(caller, reading, input),
            Operation::Mutation(mutation) => self.run_mutation(caller, mutation, input),
        }
    }

    fn run_reading(&self, caller: &Caller, reading: Reading, input: &Json) -> Result<Json, InvokeError> {
        let mut random = || u64::from_be_bytes(random(&*self.shared.environment));
        let output = self.with_current(|open| {
            let standing = self.standing(open, caller);
            Ok(ops::read(reading, input, open.document(), &standing, &mut random))
        })?;
        Ok(output?)
    }

    fn run_mutation(&self, caller: &Caller, mutation: Mutation, input: &Json) -> Result<Json, InvokeError> {
        loop {
            match self.try_mutation(caller, mutation, input)? {
                Tried::Done(output) => return Ok(output),
                Tried::Refused(error) => return Err(error.into()),
                Tried::CutOff(own) => replica::replace(&*self.shared.store, &own, &*self.shared.environment)?,
            }
        }
    }

    fn try_mutation(&self, caller: &Caller, mutation: Mutation, input: &Json) -> Result<Tried, NodeError> {
        self.transact(|open, write| {
            let standing = self.standing(open, caller);
            let actor = self.shared.actor(&*write)?;
            if open.documents.cut_off(&actor) {
                return Ok(Outcome::Leave(Tried::CutOff(actor.replica)));
            }
            // Without a grant the operation is refused before anything is drafted under this id.
            let grant = standing.grant.as_ref().map_or(GrantId([0; 32]), |grant| grant.id());
            let author = Author { actor, grant };
            let mut draft = open.documents.shown_mut().draft(author, standing.now_ms);
            let requests = StoredRequests { read: &*write, id: self.id };
            let done = match ops::mutate(mutation, input, &mut draft, &standing, &requests, standing.now_ms) {
                Ok(done) => done,
                Err(error) => return Ok(Outcome::Leave(Tried::Refused(error))),
            };
            let written = draft.commit().map_err(draft_error)?;
            if let Some(written) = &written {
                let grant = standing.grant.as_deref().ok_or(NodeError::NoGrant)?;
                self.append(open, write, written, grant, caller)?;
            }
            if let Some(request) = &done.request {
                prune_requests(write, self.id, standing.now_ms)?;
                write.put(Table::Requests, request.id.as_bytes(), &request.stored.to_bytes())?;
            }
            let output = Tried::Done(done.output);
            let is_news = written.is_some() || done.request.is_some();
            Ok(if is_news { Outcome::Commit(output) } else { Outcome::Leave(output) })
        })
    }

    pub(super) fn standing(&self, open: &Open, caller: &Caller) -> Standing {
        let now_ms = self.shared.now_ms();
        let (grant, agent) = match caller {
            Caller::Device => (open.grant_of(&self.shared.device.public(), now_ms), None),
            Caller::Agent(agent) => {
                let key = agent.key.public();
                (open.statements.get(&agent.grant).filter(|grant| grant.audience() == key), Some(key))
            }
        };
        Standing { grant: grant.cloned(), revoked: Arc::clone(open.statements.revoked()), agent, now_ms }
    }
}

/// The requests that this store remembers, in the transaction of the call that asks.
struct StoredRequests<'a> {
    read: &'a dyn Read,
    id: NamespaceId,
}

impl Requests for StoredRequests<'_> {
    fn find(&self, id: &str) -> Result<Option<Stored>, OpError> {
        let fault = |what: String| OpError::new(Code::Internal, what);
        let record = self.read.get(Scope::Namespace(self.id), Table::Requests, id.as_bytes());
        let record = record.map_err(|error| fault(error.to_string()))?;
        record
            .map(|bytes| Stored::from_bytes(&bytes).ok_or_else(|| fault("a remembered request cannot be read".into())))
            .transpose()
    }
}

/// Forgets requests that have been kept long enough, a few at a time, so that no call pays for all of them.
fn prune_requests(write: &mut dyn Write, id: NamespaceId, now_ms: u64) -> Result<(), NodeError> {
    const LOOKED_AT_MAX: usize = 16;
    const CURSOR: &[u8] = b"requests pruned up to";
    let from = write.get(Scope::Namespace(id), Table::Counters, CURSOR)?.unwrap_or_default();
    let mut seen = Vec::new();
    write.scan(Scope::Namespace(id), Table::Requests, Bound::Excluded(&from), &mut |key, value| {
        let kept =
            Stored::from_bytes(value).is_some_and(|stored| now_ms < stored.at_ms.saturating_add(REQUEST_KEPT_MS));
        seen.push((key.to_vec(), kept));
        if seen.len() < LOOKED_AT_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    let cursor = if seen.len() < LOOKED_AT_MAX { Vec::new() } else { seen[LOOKED_AT_MAX - 1].0.clone() };
    for (key, _) in seen.iter().filter(|(_, kept)| !kept) {
        write.delete(Table::Requests, key)?;
    }
    if cursor != from {
        write.put(Table::Counters, CURSOR, &cursor)?;
    }
    Ok(())
}
