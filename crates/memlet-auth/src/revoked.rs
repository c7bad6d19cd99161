//! What the revocations of a namespace amount to: which of them count, which grants they hit, and which changes stay.
//!
//! **Which revocations count.** By the rank of the issuer, lowest first: one is void if and only if a counted one of a
//! strictly lower rank hits its issuer without upholding it. Equal ranks hit each other, and both are out. One that reaches
//! no grant is inert. A revocation hits the grants that it reaches and all that stand under them.
//!
//! **Which changes count.** An author is touched if a grant given to it is hit, used or not: that depends on statements
//! alone. (i) Every change of an untouched author counts, with its whole causal past, so nothing is lost that an author in
//! good standing built on. (ii) Another change counts if and only if every revocation that hits its grant has it in the
//! causal past of some change of its `keep`, and all its dependencies count. A change belongs to its own causal past.
//!
//! So the counted changes are closed downwards, depend on the two sets only, grow when a change arrives, and shrink when a
//! counted revocation is added. A change that no replica has shown yet keeps nothing.

mod changes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use memlet_core::id::{ChangeHash, GrantId, PublicKey};

pub use changes::Change;

use crate::chain::VerifiedGrant;
use crate::revocation::{Target, VerifiedRevocation};
use crate::statements::Statements;

/// The counted revocations of one set of statements and what they hit. [`Statements::revoked`] gives it.
///
/// Ask [`Revoked::hits`] about a request and [`Revoked::next`] about a change that arrives. When a statement was added, or
/// [`Next::Recount`] says so, ask [`Revoked::count`] about all changes.
#[derive(Debug, Default)]
pub struct Revoked {
    /// The counted revocations that reach a grant, by grant.
    reaching: BTreeMap<GrantId, Vec<Arc<VerifiedRevocation>>>,
    /// The audiences of the grants that are hit.
    touched: BTreeSet<PublicKey>,
    /// The changes that any of the revocations keeps by name.
    kept: BTreeSet<ChangeHash>,
}

/// What one more change does to the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Next {
    /// It counts; all else stays as it is.
    Counts,
    /// It does not count; all else stays as it is. A later change may still change that, and then says [`Next::Recount`].
    DoesNotCount,
    /// Changes in its past may count because of it: count all anew.
    Recount,
}

impl Revoked {
    pub(crate) fn of(statements: &Statements) -> Self {
        let mut given: BTreeMap<PublicKey, Vec<&VerifiedGrant>> = BTreeMap::new();
        for grant in statements.iter() {
            given.entry(grant.audience()).or_default().push(grant);
        }
        let mut by_rank: Vec<_> = statements.revocations().collect();
        by_rank.sort_by_key(|revocation| revocation.rank());

        let mut revoked = Self::default();
        for equals in by_rank.chunk_by(|a, b| a.rank() == b.rank()) {
            // all of one rank are judged by what lower ranks do, before any of them is added
            let counted: Vec<_> = equals.iter().filter(|revocation| !revoked.voids(revocation)).collect();
            for revocation in counted {
                let named = match revocation.revocation().body().target {
                    Target::Grant(id) => statements.get(&id).map(|grant| vec![&**grant]).unwrap_or_default(),
                    Target::Key(key) => given.get(&key).cloned().unwrap_or_default(),
                };
                named.into_iter().for_each(|grant| revoked.add(revocation, grant));
            }
        }
        let hit = statements.iter().filter(|grant| revoked.hits(grant)).map(|grant| grant.audience());
        revoked.touched = hit.collect();
        revoked
    }

    fn voids(&self, revocation: &VerifiedRevocation) -> bool {
        let Some(issuer) = revocation.issuer() else { return false };
        self.hitting(issuer).any(|lower| !lower.revocation().body().upheld.contains(&revocation.id()))
    }

    fn add(&mut self, revocation: &Arc<VerifiedRevocation>, grant: &VerifiedGrant) {
        if revocation.reaches(grant) {
            self.reaching.entry(grant.id()).or_default().push(Arc::clone(revocation));
            self.kept.extend(revocation.revocation().body().keep.values().map(|kept| kept.change));
        }
    }

    /// Whether no revocation reaches a grant, so that every change counts.
    pub fn is_empty(&self) -> bool {
        self.reaching.is_empty()
    }

    /// Whether `grant` is revoked, or stands under one that is. What it keeps of the past makes no difference here.
    pub fn hits(&self, grant: &VerifiedGrant) -> bool {
        self.hitting(grant).next().is_some()
    }

    /// The counted revocations that hit `grant`, nearest link first; one that reaches several links comes once for each.
    pub fn hitting(&self, grant: &VerifiedGrant) -> impl Iterator<Item = &Arc<VerifiedRevocation>> {
        grant.chain().filter_map(|link| self.reaching.get(&link.id())).flatten()
    }

    /// Whether a grant given to `author` is hit. Its changes no longer count for their own sake, not even those under
    /// another grant: else it could bring back by them what has been cut off.
    pub fn touched(&self, author: &PublicKey) -> bool {
        self.touched.contains(author)
    }

    /// The rule for one change, written by the audience of `grant`, but for what others bring in that build on it: whether
    /// its author is untouched, or else `dependencies_count` (all of them) and each revocation that hits `grant` keeps the
    /// change, which `is_kept` says.
    pub fn counts(
        &self,
        grant: &VerifiedGrant,
        dependencies_count: bool,
        is_kept: impl Fn(&VerifiedRevocation) -> bool,
    ) -> bool {
        !self.touched(&grant.audience())
            || dependencies_count && self.hitting(grant).all(|revocation| is_kept(revocation))
    }

    /// Judges a change that nothing known depends on, written by the audience of `grant`; its dependencies are known and
    /// `dependencies_count` says whether all of them count.
    pub fn next(&self, hash: &ChangeHash, grant: &VerifiedGrant, dependencies_count: bool) -> Next {
        let opens = !self.touched(&grant.audience()) || self.kept.contains(hash);
        if !dependencies_count && opens {
            Next::Recount
        } else if self.counts(grant, dependencies_count, |revocation| revocation.keeps(hash)) {
            Next::Counts
        } else {
            Next::DoesNotCount
        }
    }
}
