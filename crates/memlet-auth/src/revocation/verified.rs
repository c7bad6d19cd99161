//! Revocations whose signature and issuer hold, and what each may reach by its issuer's rank and right.

use std::sync::Arc;

use memlet_core::id::ChangeHash;

use super::{Revocation, RevocationId, Target};
use crate::chain::VerifiedGrant;
use crate::error::RevocationRefusal;
use crate::grant::Ability;

/// A revocation that its issuer signed, acting by a verified grant of its own or as the namespace key.
///
/// That says nothing yet about an effect: it may reach no grant, or be void (see [`crate::revoked::Revoked`]). It carries
/// no time, so the window of the issuer's grant is not asked: an expired holder can still take away what it could grant,
/// until its own grant is revoked.
#[derive(Debug)]
pub struct VerifiedRevocation {
    revocation: Revocation,
    issuer: Option<Arc<VerifiedGrant>>,
}

impl VerifiedRevocation {
    /// Whether `revocation`, whose namespace is right, may act by `issuer`. Costs no signature.
    pub(crate) fn check_issuer(
        revocation: &Revocation,
        issuer: Option<&VerifiedGrant>,
    ) -> Result<(), RevocationRefusal> {
        let body = revocation.body();
        match issuer {
            None if body.issuer.0 != body.namespace.0 => Err(RevocationRefusal::NotRoot),
            Some(issuer) if body.issuer != issuer.audience() => Err(RevocationRefusal::NotTheAudience),
            _ => Ok(()),
        }
    }

    /// The revocation, once [`VerifiedRevocation::check_issuer`] and the signature have passed.
    pub(crate) fn new(revocation: Revocation, issuer: Option<Arc<VerifiedGrant>>) -> Self {
        Self { revocation, issuer }
    }

    /// The name of this revocation.
    pub fn id(&self) -> RevocationId {
        self.revocation.id()
    }

    /// The statement itself.
    pub fn revocation(&self) -> &Revocation {
        &self.revocation
    }

    /// The grant by which its issuer acts; none for the namespace key.
    pub fn issuer(&self) -> Option<&Arc<VerifiedGrant>> {
        self.issuer.as_ref()
    }

    /// The rank of its issuer: the links of its chain, 0 for the namespace key. The lower, the stronger.
    pub fn rank(&self) -> usize {
        self.issuer.as_ref().map_or(0, |issuer| issuer.links())
    }

    /// Whether it names `grant` and its issuer has the right to: it is the namespace key, or stands above `grant` in its
    /// chain, or holds `revoke` wherever `grant` allows anything and is of no higher rank.
    pub fn reaches(&self, grant: &VerifiedGrant) -> bool {
        let named = match self.revocation.body().target {
            Target::Grant(id) => id == grant.id(),
            Target::Key(key) => key == grant.audience(),
        };
        named && self.issuer.as_ref().is_none_or(|issuer| may_revoke(issuer, grant))
    }

    /// Whether it keeps the change `hash` by name. What it keeps besides lies in the causal past of such a change.
    pub fn keeps(&self, hash: &ChangeHash) -> bool {
        self.revocation.body().keep.values().any(|kept| kept.change == *hash)
    }
}

fn may_revoke(issuer: &VerifiedGrant, grant: &VerifiedGrant) -> bool {
    if grant.chain().skip(1).any(|link| link.id() == issuer.id()) {
        return true;
    }
    let mut paths = grant.effective_paths().peekable();
    // a grant that allows nothing leaves no path to hold `revoke` at
    issuer.links() <= grant.links() && paths.peek().is_some() && paths.all(|path| issuer.permits(Ability::Revoke, path))
}
