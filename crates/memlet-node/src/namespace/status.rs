//! What the owner may ask of a namespace beside its content: where it stands, and who wrote what.

use memlet_auth::grant::Ability;
use memlet_core::body::Body;
use memlet_core::id::{Dot, EpochId, PublicKey};
use memlet_core::path::Path;
use serde_json::Value as Json;

use super::Namespace;
use super::open::Open;
use crate::caller::Caller;
use crate::error::{InvokeError, NodeError};
use crate::ops::{self, Authority, Code, OpError};

/// Where a namespace stands on this replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The number and id of its epoch.
    pub epoch: (u64, EpochId),
    /// Changes in the epoch.
    pub changes: u64,
    /// Replicas that have written in it.
    pub replicas: u64,
    /// Changes of peers that wait for a grant, for a change before them, or for the time they claim.
    pub waiting: u64,
    /// Changes that are here and not shown, because a revocation does not keep them.
    pub left_out: u64,
}

/// One item of a list, with its history as far as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct ListEntry {
    /// Its number from 1, as recall shows it; none for an item that recall hides.
    pub n: Option<u64>,
    /// Its dot, which never changes: replica id and counter.
    pub id: String,
    /// What it says.
    pub value: Json,
    /// When it was remembered, in Unix milliseconds by its writer's clock.
    pub written_ms: u64,
    /// When it was last rewritten in place, if it was.
    pub rewritten_ms: Option<u64>,
    /// The device that wrote it last.
    pub device: PublicKey,
    /// Whose grant it was written under: that device, or an agent on it. None if the grant is not here.
    pub author: Option<PublicKey>,
}

impl Namespace {
    /// Where the namespace stands.
    pub fn status(&self) -> Result<Status, NodeError> {
        self.with_current(|open| {
            Ok(Status {
                epoch: open.document().epoch(),
                changes: open.index.len(),
                replicas: open.document().replicas().len() as u64,
                waiting: open.waiting.len() as u64,
                left_out: open.documents.left_out(),
            })
        })
    }

    /// The items of the list at `path`, in order, hidden ones included; none if there is no list.
    ///
    /// # Errors
    /// The caller may not read there, or the store fails.
    pub fn entries(&self, caller: &Caller, path: &Path) -> Result<Vec<ListEntry>, InvokeError> {
        let entries = self.with_current(|open| {
            let permitted = self.standing(open, caller).permits(Ability::Read, path);
            let list = open.document().list(path).unwrap_or_default();
            let mut numbers = 1..;
            Ok(permitted.then(|| list.iter().map(|dot| entry(open, dot, &mut numbers)).collect()))
        })?;
        entries.ok_or_else(|| OpError::new(Code::PermissionDenied, format!("no grant allows read at {path}")).into())
    }

    /// Holds what is shown against the stored document, key by key.
    ///
    /// # Errors
    /// The first difference, or why the document cannot be loaded.
    pub fn verify(&self) -> Result<(), NodeError> {
        self.with_current(|open| Ok(open.documents.verify()?))
    }

    /// Everything visible, as bytes: equal on every replica that has taken in the same changes.
    pub fn canonical_bytes(&self) -> Result<Vec<u8>, NodeError> {
        self.with_current(|open| Ok(open.document().canonical_bytes()))
    }
}

/// The item of `dot`, which takes the next of `numbers` if it has one.
fn entry(open: &Open, dot: &Dot, numbers: &mut impl Iterator<Item = u64>) -> ListEntry {
    let Body { birth, rewritten, grant, value } = open.document().body(dot);
    let replica = rewritten.map_or(dot.replica, |(_, replica)| replica);
    let binding = open.document().replicas()[&replica];
    let grant = match grant {
        Some(short) => open.statements.find(short),
        None => open.statements.get(&binding.grant),
    };
    ListEntry {
        n: if ops::is_shown(value) { numbers.next() } else { None },
        id: format!("{}:{}", dot.replica, dot.counter),
        value: ops::to_json(value),
        written_ms: birth.millis(),
        rewritten_ms: rewritten.map(|(hlc, _)| hlc.millis()),
        device: binding.device,
        author: grant.map(|grant| grant.audience()),
    }
}
