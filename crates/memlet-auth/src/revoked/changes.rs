//! Counting a whole set of changes: one walk over the changes, and one for every revocation that hits a grant they use.

use std::collections::{BTreeMap, BTreeSet};

use memlet_core::id::ChangeHash;

use super::Revoked;
use crate::chain::VerifiedGrant;
use crate::revocation::{RevocationId, VerifiedRevocation};

/// One change of a set, as far as counting asks.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// Which change.
    pub hash: ChangeHash,
    /// The grant of its stamp; the author is the grant's audience.
    pub grant: &'a VerifiedGrant,
    /// The positions of its dependencies in the set, all below its own. A dependency that every replica holds and none
    /// signed, as a namespace's first change, is left out.
    pub dependencies: &'a [usize],
}

impl Revoked {
    /// Says of every change, by position, whether it counts. A set holds the dependencies of each of its changes, before it.
    ///
    /// Takes one step for each change, dependency and relevant revocation.
    ///
    /// # Panics
    /// A dependency does not stand before its change.
    pub fn count(&self, changes: &[Change<'_>]) -> Vec<bool> {
        let untouched = changes.iter().map(|change| !self.touched(&change.grant.audience())).collect();
        let brought_in = with_past(changes, untouched);
        let not_kept = self.not_kept(changes);
        let mut counted: Vec<bool> = Vec::with_capacity(changes.len());
        for (position, change) in changes.iter().enumerate() {
            let dependencies_count = change.dependencies.iter().all(|dependency| counted[*dependency]);
            let is_kept = |revocation: &VerifiedRevocation| !not_kept.contains(&(position, revocation.id()));
            counted.push(brought_in[position] || self.counts(change.grant, dependencies_count, is_kept));
        }
        counted
    }

    /// The pairs of a change and a revocation that hits its grant and does not keep it.
    fn not_kept(&self, changes: &[Change<'_>]) -> BTreeSet<(usize, RevocationId)> {
        let mut hit: BTreeMap<RevocationId, (&VerifiedRevocation, Vec<usize>)> = BTreeMap::new();
        for (position, change) in changes.iter().enumerate() {
            for revocation in self.hitting(change.grant) {
                hit.entry(revocation.id()).or_insert_with(|| (revocation, Vec::new())).1.push(position);
            }
        }
        let named: Vec<usize> = (0..changes.len()).filter(|at| self.kept.contains(&changes[*at].hash)).collect();
        let mut not_kept = BTreeSet::new();
        for (id, (revocation, positions)) in hit {
            let mut kept = vec![false; changes.len()];
            named.iter().for_each(|at| kept[*at] = revocation.keeps(&changes[*at].hash));
            let kept = with_past(changes, kept);
            not_kept.extend(positions.into_iter().filter(|at| !kept[*at]).map(|at| (at, id)));
        }
        not_kept
    }
}

/// The changes of a selection and all in their causal past.
fn with_past(changes: &[Change<'_>], mut selected: Vec<bool>) -> Vec<bool> {
    for (position, change) in changes.iter().enumerate().rev() {
        assert!(change.dependencies.iter().all(|at| *at < position), "a dependency stands before its change");
        if selected[position] {
            change.dependencies.iter().for_each(|at| selected[*at] = true);
        }
    }
    selected
}
