//! The join: what a list shows when several writers replaced it without knowing of each other.
//!
//! A member survives iff every generation either has it or had not seen its dot: unknown to a side, it is kept; seen by a side
//! and left out, it is gone. The order is that of the newest generation; what only older ones have goes behind the rightmost of
//! the members before it in its own generation. A leaf is the same thing with at most one member in each generation.

use std::collections::{BTreeMap, BTreeSet};

use crate::dots::DotSet;
use crate::generation::Generation;
use crate::id::Dot;

/// What a set of concurrent generations shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Joined {
    /// The surviving members in order.
    pub members: Vec<Dot>,
    /// Without members: whether the list is absent (deleted) rather than empty. Decided by the newest generation.
    pub deleted: bool,
}

/// Joins concurrent generations of one list or leaf; they may come in any order.
pub fn join(generations: &[&Generation]) -> Joined {
    let mut newest_first = generations.to_vec();
    newest_first.sort_by(|a, b| b.cmp(a));
    let Some((newest, older)) = newest_first.split_first() else {
        return Joined { members: Vec::new(), deleted: true };
    };
    let mut members: Vec<Dot> = newest.members.iter().flat_map(|run| run.dots()).collect();
    if !older.is_empty() {
        let sets: Vec<DotSet> = newest_first.iter().map(|generation| generation.member_set()).collect();
        let survives = |dot: &Dot| {
            newest_first.iter().zip(&sets).all(|(generation, set)| set.contains(dot) || !generation.seen.covers(dot))
        };
        members.retain(survives);
        for generation in older {
            let survivors: Vec<Dot> =
                generation.members.iter().flat_map(|run| run.dots()).filter(|dot| survives(dot)).collect();
            members = merge_older(members, &survivors);
        }
    }
    Joined { deleted: members.is_empty() && newest.deleted, members }
}

/// Places what only `older` has into `placed`: each maximal run of it right behind the rightmost of the members before it.
fn merge_older(placed: Vec<Dot>, older: &[Dot]) -> Vec<Dot> {
    let known: BTreeSet<&Dot> = older.iter().collect();
    let positions: BTreeMap<Dot, usize> =
        placed.iter().enumerate().filter(|(_, dot)| known.contains(dot)).map(|(at, dot)| (*dot, at)).collect();
    // What to insert behind how many placed members.
    let mut inserts: BTreeMap<usize, Vec<Dot>> = BTreeMap::new();
    let mut behind = 0;
    for dot in older {
        match positions.get(dot) {
            Some(at) => behind = behind.max(at + 1),
            None => inserts.entry(behind).or_default().push(*dot),
        }
    }
    if inserts.is_empty() {
        return placed;
    }
    let mut merged = inserts.remove(&0).unwrap_or_default();
    for (at, dot) in placed.into_iter().enumerate() {
        merged.push(dot);
        merged.extend(inserts.remove(&(at + 1)).unwrap_or_default());
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::dots::to_runs;
    use crate::hlc::Hlc;
    use crate::id::ReplicaId;

    fn dot(name: &str) -> Dot {
        let (replica, counter) = name.split_at(1);
        Dot { replica: ReplicaId([replica.as_bytes()[0]; 8]), counter: counter.parse().unwrap() }
    }

    /// A generation by `writer` at `time`, having seen up to the given dots.
    fn generation(writer: &str, time: u64, seen: &str, members: &str) -> Generation {
        let mut clock = Clock::default();
        for name in seen.split_whitespace() {
            clock.raise(dot(name).replica, dot(name).counter);
        }
        let members: Vec<Dot> = members.split_whitespace().map(dot).collect();
        Generation {
            hlc: Hlc::default().tick(time),
            replica: ReplicaId([writer.as_bytes()[0]; 8]),
            seen: clock,
            deleted: false,
            members: to_runs(&members),
        }
    }

    fn shown(generations: &[&Generation]) -> String {
        let names: Vec<String> = join(generations)
            .members
            .iter()
            .map(|dot| format!("{}{}", char::from(dot.replica.0[0]), dot.counter))
            .collect();
        names.join(" ")
    }

    #[test]
    fn forget_beside_remember_keeps_the_new_and_drops_the_old() {
        let forgot = generation("a", 3, "a2", "a2");
        let remembered = generation("b", 4, "a2 b1", "a1 a2 b1");
        assert_eq!(shown(&[&forgot, &remembered]), "a2 b1");
        assert_eq!(shown(&[&remembered, &forgot]), "a2 b1");
    }

    #[test]
    fn every_replica_keeps_its_own_order() {
        // A [a1], B [b1]; C sees both and appends; A appends a2; D sees A's and B's and appends; A sees C's and appends a3.
        let d = generation("d", 7, "a2 b1 d1", "b1 a1 a2 d1");
        let a = generation("a", 6, "a3 b1 c1", "b1 a1 a2 c1 a3");
        assert_eq!(shown(&[&a, &d]), "b1 a1 a2 c1 a3 d1");
    }

    #[test]
    fn an_older_run_at_the_same_spot_stands_nearer_to_its_anchor() {
        let newest = generation("a", 9, "a1", "a1");
        let middle = generation("b", 8, "a1 b2", "a1 b1 b2");
        let oldest = generation("c", 7, "a1 c1", "a1 c1");
        assert_eq!(shown(&[&middle, &newest, &oldest]), "a1 c1 b1 b2");
        let heads = [&generation("b", 8, "a1 b1", "b1 a1"), &newest];
        assert_eq!(shown(&heads), "b1 a1");
    }

    #[test]
    fn with_no_survivor_the_newest_decides_between_empty_and_absent() {
        let emptied = generation("a", 1, "a1", "");
        let deleted = Generation { deleted: true, ..generation("b", 2, "a1", "") };
        assert!(join(&[&emptied, &deleted]).deleted);
        assert!(!join(&[&emptied]).deleted);
        assert!(join(&[]).deleted);
    }
}
