//! The parking place: well-signed statements that name an unknown grant, bounded per peer and in all.

use std::collections::BTreeMap;

use memlet_core::id::{GrantId, PublicKey};

use super::StatementId;
use crate::grant::Grant;
use crate::keys::VerifyingKey;
use crate::limits::{PARKED_MAX, PARKED_PER_PEER_MAX};
use crate::revocation::Revocation;

/// Parked statements by missing grant, then by own id, and how many each peer has left here.
#[derive(Debug, Default)]
pub(super) struct Parked {
    waiting: BTreeMap<GrantId, BTreeMap<StatementId, Waiting>>,
    per_peer: BTreeMap<PublicKey, usize>,
}

/// A parked statement and the peer on whose account it is.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) statement: Signed,
    pub(super) peer: PublicKey,
}

/// A statement whose signature holds.
#[derive(Debug)]
pub(super) enum Signed {
    /// A grant and the key of its audience.
    Grant(Grant, VerifyingKey),
    Revocation(Revocation),
}

impl Signed {
    fn id(&self) -> StatementId {
        match self {
            Self::Grant(grant, _) => StatementId::Grant(grant.id()),
            Self::Revocation(revocation) => StatementId::Revocation(revocation.id()),
        }
    }
}

impl Parked {
    /// Parks a statement; says no when there is no room. One that waits already takes no more room.
    pub(super) fn park(&mut self, missing: GrantId, waiting: Waiting) -> bool {
        let id = waiting.statement.id();
        if self.waiting.get(&missing).is_some_and(|others| others.contains_key(&id)) {
            return true;
        }
        let of_peer = self.per_peer.get(&waiting.peer).copied().unwrap_or(0);
        if of_peer >= PARKED_PER_PEER_MAX || self.len() >= PARKED_MAX {
            return false;
        }
        self.per_peer.insert(waiting.peer, of_peer + 1);
        self.waiting.entry(missing).or_default().insert(id, waiting);
        true
    }

    /// Takes out what waits for `grant`, by rising id, grants first.
    pub(super) fn take(&mut self, grant: &GrantId) -> Vec<Waiting> {
        let taken: Vec<Waiting> = self.waiting.remove(grant).unwrap_or_default().into_values().collect();
        taken.iter().for_each(|waiting| self.release(waiting.peer));
        taken
    }

    fn release(&mut self, peer: PublicKey) {
        let of_peer = self.per_peer.get_mut(&peer).expect("every parked statement is on its peer's account");
        *of_peer -= 1;
        if *of_peer == 0 {
            self.per_peer.remove(&peer);
        }
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.per_peer.values().sum()
    }
}
