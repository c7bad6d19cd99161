//! Many dots in little space: ordered runs for the members of a generation, disjoint intervals for sets.

use std::collections::BTreeMap;

use crate::id::{Dot, ReplicaId};

/// Consecutive dots of one replica: `start`, `start + 1`, … `len` of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DotRun {
    /// The replica of all of them.
    pub replica: ReplicaId,
    /// The first counter, from 1.
    pub start: u64,
    /// How many, at least 1.
    pub len: u64,
}

impl DotRun {
    /// The counter behind the last one.
    pub fn end(&self) -> u64 {
        self.start + self.len
    }

    /// The dots of this run, in order.
    pub fn dots(self) -> impl Iterator<Item = Dot> {
        (self.start..self.end()).map(move |counter| Dot { replica: self.replica, counter })
    }
}

/// Gathers dots in their order into the fewest runs.
pub fn to_runs<'a>(dots: impl IntoIterator<Item = &'a Dot>) -> Vec<DotRun> {
    let mut runs: Vec<DotRun> = Vec::new();
    for dot in dots {
        match runs.last_mut() {
            Some(run) if run.replica == dot.replica && run.end() == dot.counter => run.len += 1,
            _ => runs.push(DotRun { replica: dot.replica, start: dot.counter, len: 1 }),
        }
    }
    runs
}

/// A set of dots as disjoint intervals: (replica, first counter) to the counter behind the last.
#[derive(Clone, Debug, Default)]
pub struct DotSet(BTreeMap<(ReplicaId, u64), u64>);

impl DotSet {
    /// A set of the dots of `runs`.
    ///
    /// # Errors
    /// `None` if a dot stands in two of them.
    pub fn from_runs<'a>(runs: impl IntoIterator<Item = &'a DotRun>) -> Option<Self> {
        let mut set = Self::default();
        for run in runs {
            if !set.insert(run) {
                return None;
            }
        }
        Some(set)
    }

    /// Adds a run none of whose dots is in the set; false (and no change) if one is.
    pub fn insert(&mut self, run: &DotRun) -> bool {
        let before = self.0.range(..(run.replica, run.end())).next_back();
        if before.is_some_and(|((replica, _), end)| *replica == run.replica && *end > run.start) {
            return false;
        }
        self.0.insert((run.replica, run.start), run.end());
        true
    }

    /// Whether the dot is in the set.
    pub fn contains(&self, dot: &Dot) -> bool {
        let before = self.0.range(..=(dot.replica, dot.counter)).next_back();
        before.is_some_and(|((replica, _), end)| *replica == dot.replica && *end > dot.counter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(replica: u8, counter: u64) -> Dot {
        Dot { replica: ReplicaId([replica; 8]), counter }
    }

    #[test]
    fn runs_keep_the_order_and_join_only_neighbours() {
        let dots = [dot(1, 1), dot(1, 2), dot(2, 3), dot(1, 3), dot(1, 2 + 7)];
        let runs = to_runs(&dots);
        assert_eq!(runs.iter().map(|run| run.len).collect::<Vec<_>>(), [2, 1, 1, 1]);
        assert_eq!(runs.iter().flat_map(|run| run.dots()).collect::<Vec<_>>(), dots);
    }

    #[test]
    fn sets_refuse_overlap_and_know_their_edges() {
        let run = |replica, start, len| DotRun { replica: ReplicaId([replica; 8]), start, len };
        let mut set = DotSet::from_runs(&[run(1, 5, 5), run(1, 1, 2), run(2, 1, 1)]).unwrap();
        for counter in [1, 2, 5, 9] {
            assert!(set.contains(&dot(1, counter)));
        }
        for counter in [3, 4, 10] {
            assert!(!set.contains(&dot(1, counter)));
        }
        assert!(!set.insert(&run(1, 4, 2)) && !set.insert(&run(1, 9, 1)) && !set.insert(&run(1, 1, 1)));
        assert!(set.insert(&run(1, 3, 2)));
        assert!(DotSet::from_runs(&[run(1, 1, 3), run(1, 3, 1)]).is_none());
    }
}
