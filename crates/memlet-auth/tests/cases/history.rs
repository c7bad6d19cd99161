//! A history of changes, as far as counting them asks, and replicas that receive it in some order.

use std::collections::{BTreeMap, BTreeSet};

use memlet_auth::revocation::Kept;
use memlet_auth::revoked::{Change, Next};
use memlet_auth::statements::Statements;
use memlet_core::id::{Actor, ChangeHash, GrantId, ReplicaId};

use crate::fixture::public;

/// Changes by number, every dependency before its dependents.
#[derive(Clone, Default)]
pub(crate) struct History(Vec<Written>);

#[derive(Clone)]
pub(crate) struct Written {
    pub(crate) actor: Actor,
    pub(crate) seq: u64,
    pub(crate) hash: ChangeHash,
    pub(crate) grant: GrantId,
    pub(crate) dependencies: BTreeSet<usize>,
}

impl History {
    /// A device writes under `grant` on one of its replicas, after its last change there and after `seen`.
    pub(crate) fn write(&mut self, device: u8, replica: u8, grant: GrantId, seen: &[usize]) -> usize {
        let actor = Actor { device: public(device), replica: ReplicaId([replica; 8]) };
        let last = self.0.iter().rposition(|written| written.actor == actor);
        let seq = last.map_or(0, |last| self.0[last].seq) + 1;
        self.push(actor, seq, grant, seen.iter().copied().chain(last).collect())
    }

    /// Another change under the actor and number of change `of`.
    pub(crate) fn equivocate(&mut self, of: usize, seen: &[usize]) -> usize {
        let Written { actor, seq, grant, .. } = self.0[of];
        self.push(actor, seq, grant, seen.iter().copied().collect())
    }

    fn push(&mut self, actor: Actor, seq: u64, grant: GrantId, dependencies: BTreeSet<usize>) -> usize {
        let number = self.0.len();
        let hash = ChangeHash(*blake3::hash(&number.to_be_bytes()).as_bytes());
        self.0.push(Written { actor, seq, hash, grant, dependencies });
        number
    }

    pub(crate) fn changes(&self) -> &[Written] {
        &self.0
    }

    /// What a revocation says to keep change `number`.
    pub(crate) fn kept(&self, number: usize) -> (Actor, Kept) {
        let Written { actor, seq, hash, .. } = self.0[number];
        (actor, Kept { seq, change: hash })
    }

    /// An order of delivery in which every dependency comes first, another one for each salt.
    pub(crate) fn order(&self, salt: u8) -> Vec<usize> {
        let rank = |number: usize| blake3::hash(&[&number.to_be_bytes(), [salt].as_slice()].concat()).to_hex();
        let mut waiting: BTreeSet<_> = (0..self.0.len()).map(|number| (rank(number), number)).collect();
        let mut order = Vec::new();
        while let Some(ready) =
            waiting.iter().find(|(_, at)| self.0[*at].dependencies.iter().all(|d| order.contains(d)))
        {
            let ready = *ready;
            order.push(ready.1);
            waiting.remove(&ready);
        }
        order
    }

    /// The changes of `order` that count on a replica that has these and no others.
    pub(crate) fn count(&self, order: &[usize], statements: &Statements) -> BTreeSet<usize> {
        let positions: BTreeMap<usize, usize> = order.iter().enumerate().map(|(at, number)| (*number, at)).collect();
        let written = || order.iter().map(|number| &self.0[*number]);
        let dependencies: Vec<Vec<usize>> =
            written().map(|written| written.dependencies.iter().map(|number| positions[number]).collect()).collect();
        let changes: Vec<Change<'_>> = written()
            .zip(&dependencies)
            .map(|(written, dependencies)| {
                let grant = statements.get(&written.grant).unwrap();
                Change { hash: written.hash, grant, dependencies }
            })
            .collect();
        let counted = statements.revoked().count(&changes);
        order.iter().zip(counted).filter(|(_, counts)| *counts).map(|(number, _)| *number).collect()
    }

    /// The changes that count on a replica to which they come one by one.
    pub(crate) fn deliver(&self, order: &[usize], statements: &Statements) -> BTreeSet<usize> {
        let mut counted = BTreeSet::new();
        for (position, number) in order.iter().enumerate() {
            let Written { hash, grant, dependencies, .. } = &self.0[*number];
            let grant = statements.get(grant).unwrap();
            match statements.revoked().next(hash, grant, dependencies.is_subset(&counted)) {
                Next::Counts => drop(counted.insert(*number)),
                Next::DoesNotCount => {}
                Next::Recount => counted = self.count(&order[..=position], statements),
            }
        }
        counted
    }
}
