//! Which operations a replica holds.

use std::collections::BTreeMap;

use memlet_sync::clock::{ActorRef, Tip};

use super::OperationId;

/// A set of operations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Operations(Vec<u64>);

impl Operations {
    /// Puts one in.
    pub fn insert(&mut self, id: OperationId) {
        let word = id / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (id % 64);
    }

    /// Whether one is in.
    pub fn contains(&self, id: OperationId) -> bool {
        self.0.get(id / 64).is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    /// Puts in all of `other`.
    pub fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }

    /// Those that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let others = other.0.iter().chain(std::iter::repeat(&0));
        Self(self.0.iter().zip(others).map(|(word, less)| word & !less).collect())
    }

    /// Whether any of `other` is in.
    pub fn intersects(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// Those that `other` lacks.
    pub fn missing_in<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = OperationId> + 'a {
        (0..64 * self.0.len()).filter(|id| self.contains(*id) && !other.contains(*id))
    }
}

/// What one store holds of a namespace, as far as it has been looked at.
#[derive(Debug, Clone, Default)]
pub struct Holding {
    /// The last change of every actor.
    pub tips: BTreeMap<ActorRef, Tip>,
    /// The operations of all changes.
    pub operations: Operations,
}
