//! The signed statements of one namespace: a set that only grows and depends on no order of arrival.
//!
//! [`Statements::insert`] is the only way in, also for what a store kept. A grant is in the set if and only if its whole
//! chain is, verified; so each signature is checked once and no walk over unverified links exists. A revocation is in the
//! set if and only if the grants that it names are, its issuer's and its target. What arrives before those is parked,
//! within bounds.

mod parked;
mod statement;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use memlet_core::id::{GrantId, GrantRef, NamespaceId, PublicKey};

pub use statement::{Statement, StatementId};

use self::parked::{Parked, Signed, Waiting};
use crate::chain::VerifiedGrant;
use crate::error::{GrantRefusal, KeyError, RevocationRefusal, StatementRefusal};
use crate::grant::Grant;
use crate::keys::VerifyingKey;
use crate::limits::CHAIN_LINKS_MAX;
use crate::revocation::{self, Revocation, RevocationId, Target, VerifiedRevocation};
use crate::revoked::Revoked;

/// The verified statements of one namespace, and those that wait for a grant.
///
/// [`Statements::insert`] adds, [`Statements::get`], [`Statements::find`] and [`Statements::iter`] give grants,
/// [`Statements::revoked`] what the revocations do to them. [`Statements::parents_first`] gives statements of both kinds to
/// whoever sends or stores them.
#[derive(Debug)]
pub struct Statements {
    namespace: NamespaceId,
    grants: BTreeMap<GrantId, Arc<VerifiedGrant>>,
    revocations: BTreeMap<RevocationId, Arc<VerifiedRevocation>>,
    /// The namespace key and every audience: keys that need no second check.
    keys: BTreeMap<PublicKey, VerifyingKey>,
    parked: Parked,
    /// What the revocations amount to, computed when first asked for after an addition.
    revoked: OnceLock<Arc<Revoked>>,
}

/// What became of a statement that was not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Insertion {
    /// It is in the set now, and so is what it released. Store these before acting on them.
    New {
        /// The statement and the parked ones that it released, every grant before those that name it.
        added: Vec<StatementId>,
        /// Why other parked ones were refused when their grant came.
        refused: Vec<StatementRefusal>,
    },
    /// It was in the set already.
    Known(StatementId),
    /// It waits for this grant. It is not in the set and has no effect.
    Parked(GrantId),
    /// It would have to wait for this grant, but the peer has too many that wait. It may be sent again after the grant.
    Dropped(GrantId),
}

impl Statements {
    /// The empty set of a namespace.
    ///
    /// # Errors
    /// The namespace id is no usable public key.
    pub fn new(namespace: NamespaceId) -> Result<Self, KeyError> {
        let key = VerifyingKey::new(&PublicKey(namespace.0))?;
        Ok(Self {
            namespace,
            grants: BTreeMap::new(),
            revocations: BTreeMap::new(),
            keys: BTreeMap::from([(key.public(), key)]),
            parked: Parked::default(),
            revoked: OnceLock::new(),
        })
    }

    /// The namespace that the statements are about.
    pub fn namespace(&self) -> NamespaceId {
        self.namespace
    }

    /// Takes in one statement that `peer` sent; for one's own, or for a stored one, `peer` is the own device.
    ///
    /// # Errors
    /// The statement is refused for good; nothing of it is kept. Sizes, encoding and links are checked before keys and
    /// signatures. What does not claim to be a revocation is judged as a grant.
    pub fn insert(&mut self, statement: &[u8], peer: PublicKey) -> Result<Insertion, StatementRefusal> {
        if revocation::KIND.is_of(statement) {
            Ok(self.insert_revocation(Revocation::parse(statement)?, peer)?)
        } else {
            Ok(self.insert_grant(Grant::parse(statement)?, peer)?)
        }
    }

    fn insert_grant(&mut self, grant: Grant, peer: PublicKey) -> Result<Insertion, GrantRefusal> {
        let (id, body) = (grant.id(), grant.body());
        let name = StatementId::Grant(id);
        if body.namespace != self.namespace {
            return Err(GrantRefusal::Namespace);
        }
        if self.grants.get(&id).is_some_and(|known| *known.grant() == grant) {
            return Ok(Insertion::Known(name));
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
            return Ok(self.park(missing, Waiting { statement: Signed::Grant(grant, audience), peer }));
        }
        if self.grants.contains_key(&id) {
            // the issuer has signed the same body twice: the first signature stays
            return Ok(Insertion::Known(name));
        }
        self.admit_grant(VerifiedGrant::new(grant, audience, parent));
        let mut added = vec![name];
        let refused = self.release(&mut added);
        Ok(Insertion::New { added, refused })
    }

    fn insert_revocation(&mut self, revocation: Revocation, peer: PublicKey) -> Result<Insertion, RevocationRefusal> {
        let (id, body) = (revocation.id(), revocation.body());
        let name = StatementId::Revocation(id);
        if body.namespace != self.namespace {
            return Err(RevocationRefusal::Namespace);
        }
        if self.revocations.get(&id).is_some_and(|known| *known.revocation() == revocation) {
            return Ok(Insertion::Known(name));
        }
        let missing = self.missing(&revocation);
        if body.grant.is_none() || body.grant != missing {
            self.check_issuer(&revocation)?;
        }
        let issuer = self.key(&body.issuer).map_err(RevocationRefusal::IssuerKey)?;
        revocation.verify_signature(&issuer).map_err(|_| RevocationRefusal::Signature)?;

        if let Some(missing) = missing {
            return Ok(self.park(missing, Waiting { statement: Signed::Revocation(revocation), peer }));
        }
        if self.revocations.contains_key(&id) {
            // as for a grant that was signed twice
            return Ok(Insertion::Known(name));
        }
        self.admit_revocation(revocation);
        Ok(Insertion::New { added: vec![name], refused: Vec::new() })
    }

    /// The first grant that `revocation` names and that is unknown: its issuer's, then its target.
    fn missing(&self, revocation: &Revocation) -> Option<GrantId> {
        let body = revocation.body();
        let target = if let Target::Grant(id) = body.target { Some(id) } else { None };
        body.grant.into_iter().chain(target).find(|id| !self.grants.contains_key(id))
    }

    fn check_issuer(&self, revocation: &Revocation) -> Result<(), RevocationRefusal> {
        let issuer = revocation.body().grant.and_then(|id| self.grants.get(&id));
        VerifiedRevocation::check_issuer(revocation, issuer.map(|issuer| &**issuer))
    }

    fn park(&mut self, missing: GrantId, waiting: Waiting) -> Insertion {
        if self.parked.park(missing, waiting) { Insertion::Parked(missing) } else { Insertion::Dropped(missing) }
    }

    fn admit_grant(&mut self, grant: VerifiedGrant) {
        self.keys.entry(grant.audience()).or_insert_with(|| grant.audience_key().clone());
        self.grants.insert(grant.id(), Arc::new(grant));
        self.revoked.take();
    }

    fn admit_revocation(&mut self, revocation: Revocation) {
        let issuer = revocation.body().grant.map(|id| Arc::clone(&self.grants[&id]));
        self.revocations.insert(revocation.id(), Arc::new(VerifiedRevocation::new(revocation, issuer)));
        self.revoked.take();
    }

    /// Admits what was parked for `added`, and for what that adds. Ends, because each step empties a part of the parking
    /// place, and what moves on there waits for another grant.
    fn release(&mut self, added: &mut Vec<StatementId>) -> Vec<StatementRefusal> {
        let mut refused = Vec::new();
        let mut next = 0;
        while let Some(id) = added.get(next).copied() {
            next += 1;
            let StatementId::Grant(id) = id else { continue };
            let parent = Arc::clone(&self.grants[&id]);
            for waiting in self.parked.take(&id) {
                match self.place(waiting, &parent) {
                    Ok(placed) => added.extend(placed),
                    Err(refusal) => refused.push(refusal),
                }
            }
        }
        refused
    }

    /// Admits what waited for `grant`, or parks it again for another one.
    fn place(&mut self, waiting: Waiting, grant: &Arc<VerifiedGrant>) -> Result<Option<StatementId>, StatementRefusal> {
        let Waiting { statement, peer } = waiting;
        match statement {
            Signed::Grant(child, audience) => {
                VerifiedGrant::check_link(&child, Some(grant))?;
                let id = StatementId::Grant(child.id());
                self.admit_grant(VerifiedGrant::new(child, audience, Some(Arc::clone(grant))));
                Ok(Some(id))
            }
            Signed::Revocation(revocation) => {
                self.check_issuer(&revocation)?;
                if let Some(missing) = self.missing(&revocation) {
                    let parked = self.parked.park(missing, Waiting { statement: Signed::Revocation(revocation), peer });
                    assert!(parked, "the room that it took before is free");
                    return Ok(None);
                }
                let id = StatementId::Revocation(revocation.id());
                self.admit_revocation(revocation);
                Ok(Some(id))
            }
        }
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

    /// Every verified revocation, by rising id, whether or not it has an effect.
    pub fn revocations(&self) -> impl Iterator<Item = &Arc<VerifiedRevocation>> {
        self.revocations.values()
    }

    /// The verified statement of that name.
    pub fn statement(&self, id: &StatementId) -> Option<Statement<'_>> {
        match id {
            StatementId::Grant(id) => self.grants.get(id).map(Statement::Grant),
            StatementId::Revocation(id) => self.revocations.get(id).map(Statement::Revocation),
        }
    }

    /// Every verified statement, grants before those that name them: the order in which to send them, so that none has to
    /// be parked.
    pub fn parents_first(&self) -> impl Iterator<Item = Statement<'_>> {
        let by_links = (1..=CHAIN_LINKS_MAX).flat_map(|links| self.iter().filter(move |grant| grant.links() == links));
        by_links.map(Statement::Grant).chain(self.revocations().map(Statement::Revocation))
    }

    /// What the revocations amount to now. It is computed anew after an addition, in a few steps for each statement.
    pub fn revoked(&self) -> &Arc<Revoked> {
        self.revoked.get_or_init(|| Arc::new(Revoked::of(self)))
    }

    /// How many statements wait for a grant.
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
        let added = [b, a].map(|id| StatementId::Grant(GrantId(id))).to_vec();
        let refused = vec![GrantRefusal::Depth.into()];
        assert_eq!(insert(forged(b, None, 201)), Ok(Insertion::New { added, refused }));
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
