//! The signed statements of one namespace: a set that only grows and depends on no order of arrival.
//!
//! [`Statements::insert`] is the only way in, also for what a store kept. A grant is in the set if and only if its whole
//! chain is, verified; so each signature is checked once and no walk over unverified links exists. What arrives before
//! its parent is parked, within bounds.

mod parked;

use std::collections::BTreeMap;
use std::sync::Arc;

use memlet_core::id::{GrantId, GrantRef, NamespaceId, PublicKey};

use self::parked::Parked;
use crate::chain::VerifiedGrant;
use crate::error::{GrantRefusal, KeyError};
use crate::grant::Grant;
use crate::keys::VerifyingKey;
use crate::limits::CHAIN_LINKS_MAX;

/// The verified statements of one namespace, and those that wait for a parent.
///
/// Grants are the only kind of statement so far. The envelope names the kind, and every method but
/// [`Statements::insert`] speaks of verified grants.
#[derive(Debug)]
pub struct Statements {
    namespace: NamespaceId,
    grants: BTreeMap<GrantId, Arc<VerifiedGrant>>,
    /// The namespace key and every audience: keys that need no second check.
    keys: BTreeMap<PublicKey, VerifyingKey>,
    parked: Parked,
}

/// What became of a statement that was not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Insertion {
    /// It is in the set now, and so is what it released. Store these before acting on them.
    New {
        /// The statement and the parked ones that it released, every parent before its children.
        added: Vec<GrantId>,
        /// Why other parked ones were refused when their parent came.
        refused: Vec<GrantRefusal>,
    },
    /// It was in the set already.
    Known(GrantId),
    /// It waits for this parent. It is not in the set and allows nothing.
    Parked(GrantId),
    /// It would have to wait for this parent, but the peer has too many that wait. It may be sent again after its parent.
    Dropped(GrantId),
}

impl Statements {
    /// The empty set of a namespace.
    ///
    /// # Errors
    /// The namespace id is no usable public key.
    pub fn new(namespace: NamespaceId) -> Result<Self, KeyError> {
        let key = VerifyingKey::new(&PublicKey(namespace.0))?;
        let keys = BTreeMap::from([(key.public(), key)]);
        Ok(Self { namespace, grants: BTreeMap::new(), keys, parked: Parked::default() })
    }

    /// The namespace that the statements are about.
    pub fn namespace(&self) -> NamespaceId {
        self.namespace
    }

    /// Takes in one statement that `peer` sent; for one's own, or for a stored one, `peer` is the own device.
    ///
    /// # Errors
    /// The statement is refused for good; nothing of it is kept. Sizes, encoding and links are checked before keys and
    /// signatures.
    pub fn insert(&mut self, statement: &[u8], peer: PublicKey) -> Result<Insertion, GrantRefusal> {
        self.insert_grant(Grant::parse(statement)?, peer)
    }

    fn insert_grant(&mut self, grant: Grant, peer: PublicKey) -> Result<Insertion, GrantRefusal> {
        let (id, body) = (grant.id(), grant.body());
        if body.namespace != self.namespace {
            return Err(GrantRefusal::Namespace);
        }
        if self.grants.get(&id).is_some_and(|known| *known.grant() == grant) {
            return Ok(Insertion::Known(id));
        }
        let parent = body.parent.and_then(|parent| self.grants.get(&parent)).cloned();
        let missing = body.parent.filter(|_| parent.is_none());
        if missing.is_none() {
            VerifiedGrant::check_link(&grant, parent.as_deref())?;
        }
        let issuer = self.key(&body.issuer).map_err(GrantRefusal::IssuerKey)?;
        let audience = self.key(&body.terms.audience).map_err(GrantRefusal::AudienceKey)?;
        grant.verify_signature(&issuer).map_err(|_| GrantRefusal::Signature)?;

        if let Some(missing) = missing {
            let room = self.parked.park(missing, grant, audience, peer);
            return Ok(if room { Insertion::Parked(missing) } else { Insertion::Dropped(missing) });
        }
        if self.grants.contains_key(&id) {
            // the issuer has signed the same body twice: the first signature stays
            return Ok(Insertion::Known(id));
        }
        self.admit(VerifiedGrant::new(grant, audience, parent));
        let mut added = vec![id];
        let refused = self.release(&mut added);
        Ok(Insertion::New { added, refused })
    }

    fn admit(&mut self, grant: VerifiedGrant) {
        self.keys.entry(grant.audience()).or_insert_with(|| grant.audience_key().clone());
        self.grants.insert(grant.id(), Arc::new(grant));
    }

    /// Admits what was parked under `added`, and under what that adds. Ends, because each step empties a part of the
    /// parking place.
    fn release(&mut self, added: &mut Vec<GrantId>) -> Vec<GrantRefusal> {
        let mut refused = Vec::new();
        let mut next = 0;
        while let Some(parent) = added.get(next).map(|id| Arc::clone(&self.grants[id])) {
            next += 1;
            for (grant, audience) in self.parked.take(&parent.id()) {
                match VerifiedGrant::check_link(&grant, Some(&parent)) {
                    Ok(()) => {
                        added.push(grant.id());
                        self.admit(VerifiedGrant::new(grant, audience, Some(Arc::clone(&parent))));
                    }
                    Err(refusal) => refused.push(refusal),
                }
            }
        }
        refused
    }

    /// The verified grant of that id.
    pub fn get(&self, id: &GrantId) -> Option<&Arc<VerifiedGrant>> {
        self.grants.get(id)
    }

    /// The verified grant whose id begins with `short`. None too if several do: to make two such grants takes their issuer
    /// about 2^32 attempts, and should gain nothing.
    pub fn find(&self, short: &GrantRef) -> Option<&Arc<VerifiedGrant>> {
        let mut first = [0x00; 32];
        let mut last = [0xff; 32];
        first[..8].copy_from_slice(&short.0);
        last[..8].copy_from_slice(&short.0);
        let mut matches = self.grants.range(GrantId(first)..=GrantId(last));
        let (_, grant) = matches.next()?;
        if matches.next().is_none() { Some(grant) } else { None }
    }

    /// Every verified grant, by rising id: the same on all replicas that have the same statements.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<VerifiedGrant>> {
        self.grants.values()
    }

    /// Every verified grant, parents before children: the order in which to send them, so that none has to be parked.
    pub fn parents_first(&self) -> impl Iterator<Item = &Arc<VerifiedGrant>> {
        (1..=CHAIN_LINKS_MAX).flat_map(|links| self.iter().filter(move |grant| grant.links() == links))
    }

    /// How many statements wait for a parent.
    pub fn parked(&self) -> usize {
        self.parked.len()
    }

    /// A usable key, without a second check if the set knows it.
    pub(crate) fn key(&self, key: &PublicKey) -> Result<VerifyingKey, KeyError> {
        self.keys.get(key).map_or_else(|| VerifyingKey::new(key), |known| Ok(known.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::{Abilities, Cap, GrantBody, Terms};
    use crate::keys::SigningKey;
    use crate::limits::{PARKED_MAX, PARKED_PER_PEER_MAX};
    use memlet_core::path::Path;

    const SEED: [u8; 32] = [1; 32];

    fn statements() -> Statements {
        Statements::new(NamespaceId(SigningKey::from_bytes(&SEED).public().0)).unwrap()
    }

    /// A grant of the root key to itself, under a name that is not its hash.
    fn forged(id: [u8; 32], parent: Option<[u8; 32]>, depth: u8) -> Grant {
        let root = SigningKey::from_bytes(&SEED);
        let audience = root.public();
        let caps = vec![Cap { abilities: Abilities::ALL, path: Path::ROOT }];
        let terms = Terms { audience, caps, not_before: 0, expires: None, depth, nonce: [0; 16] };
        let namespace = NamespaceId(audience.0);
        let body = GrantBody { namespace, issuer: audience, parent: parent.map(GrantId), terms };
        Grant::issue(&root, &body).unwrap().with_forged_id(GrantId(id))
    }

    #[test]
    fn case_24_parent_ids_that_form_a_loop() {
        let peer = PublicKey([0; 32]);
        let mut statements = statements();
        let mut insert = |grant| statements.insert_grant(grant, peer);
        let (a, b) = ([0xa0; 32], [0xb0; 32]);
        // a loop alone never enters the set
        assert_eq!(insert(forged(a, Some(b), 200)), Ok(Insertion::Parked(GrantId(b))));
        assert_eq!(insert(forged(b, Some(a), 200)), Ok(Insertion::Parked(GrantId(a))));
        // hung from a root it is walked until depth no longer falls
        let added = vec![GrantId(b), GrantId(a)];
        assert_eq!(insert(forged(b, None, 201)), Ok(Insertion::New { added, refused: vec![GrantRefusal::Depth] }));
        assert_eq!(statements.parked(), 0);
        assert!(statements.iter().all(|grant| grant.chain().count() == grant.links() && grant.links() <= 2));
    }

    #[test]
    fn two_grants_of_one_short_name_are_found_by_neither() {
        let peer = PublicKey([0; 32]);
        let mut statements = statements();
        let (a, mut b) = ([0xa0; 32], [0xa0; 32]);
        b[31] = 0;
        assert!(statements.insert_grant(forged(a, None, 1), peer).is_ok());
        let short = GrantId(a).short();
        assert!(statements.find(&short).is_some());
        assert!(statements.insert_grant(forged(b, None, 2), peer).is_ok());
        assert!(statements.find(&short).is_none());
        assert!(statements.get(&GrantId(b)).is_some());
    }

    #[test]
    fn all_peers_together_park_within_a_bound() {
        let mut statements = statements();
        let mut park = |peer: u8, number: u8| {
            let id = [[peer; 16], [number; 16]].concat().try_into().unwrap();
            statements.insert_grant(forged(id, Some([0xff; 32]), 1), PublicKey([peer; 32])).unwrap()
        };
        let peers = u8::try_from(PARKED_MAX / PARKED_PER_PEER_MAX).unwrap();
        let each = u8::try_from(PARKED_PER_PEER_MAX).unwrap();
        for (peer, number) in (0..peers).flat_map(|peer| (0..each).map(move |number| (peer, number))) {
            assert_eq!(park(peer, number), Insertion::Parked(GrantId([0xff; 32])));
        }
        assert_eq!(park(peers, 0), Insertion::Dropped(GrantId([0xff; 32])));
        assert_eq!(statements.parked(), PARKED_MAX);
    }
}
