//! The parking place: well-signed grants whose parent is unknown, bounded per peer and in all.

use std::collections::BTreeMap;

use memlet_core::id::{GrantId, PublicKey};

use crate::grant::Grant;
use crate::keys::VerifyingKey;
use crate::limits::{PARKED_MAX, PARKED_PER_PEER_MAX};

/// Parked grants by missing parent, then by own id, and how many each peer has left here.
#[derive(Debug, Default)]
pub(super) struct Parked {
    waiting: BTreeMap<GrantId, BTreeMap<GrantId, Waiting>>,
    per_peer: BTreeMap<PublicKey, usize>,
}

#[derive(Debug)]
struct Waiting {
    grant: Grant,
    audience: VerifyingKey,
    peer: PublicKey,
}

impl Parked {
    /// Parks a grant on the account of `peer`; says no when there is no room. One that waits already takes no more room.
    pub(super) fn park(&mut self, parent: GrantId, grant: Grant, audience: VerifyingKey, peer: PublicKey) -> bool {
        if self.waiting.get(&parent).is_some_and(|children| children.contains_key(&grant.id())) {
            return true;
        }
        let of_peer = self.per_peer.get(&peer).copied().unwrap_or(0);
        if of_peer >= PARKED_PER_PEER_MAX || self.len() >= PARKED_MAX {
            return false;
        }
        self.per_peer.insert(peer, of_peer + 1);
        self.waiting.entry(parent).or_default().insert(grant.id(), Waiting { grant, audience, peer });
        true
    }

    /// Takes out what waits for `parent`, by rising id.
    pub(super) fn take(&mut self, parent: &GrantId) -> Vec<(Grant, VerifyingKey)> {
        let children = self.waiting.remove(parent).unwrap_or_default();
        children
            .into_values()
            .map(|Waiting { grant, audience, peer }| {
                self.release(peer);
                (grant, audience)
            })
            .collect()
    }

    fn release(&mut self, peer: PublicKey) {
        let of_peer = self.per_peer.get_mut(&peer).expect("every parked grant is on its peer's account");
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
