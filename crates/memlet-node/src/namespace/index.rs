//! Where each change stands in the log, and where each actor stands: what two replicas compare.

use std::collections::BTreeMap;

use memlet_core::document::ChangeHead;
use memlet_core::id::Actor;
use memlet_sync::clock::{ActorClock, ActorRef, ChangeRef, Tip};

/// The log of changes, without the changes.
#[derive(Default)]
pub(super) struct Index {
    /// Actor and number of each change, by position.
    positions: Vec<(ActorRef, u64)>,
    actors: BTreeMap<ActorRef, Actors>,
}

#[derive(Default)]
struct Actors {
    /// The actor's changes, by number - 1.
    changes: Vec<ChangeRef>,
    /// The stamp time of the last, in Unix milliseconds.
    stamped_ms: u64,
}

impl Index {
    /// Adds the next change of the log, which is the next of its actor.
    pub(super) fn push(&mut self, head: &ChangeHead, stamped_ms: u64) {
        let actor = ActorRef::of(&head.actor);
        let entry = self.actors.entry(actor).or_default();
        entry.changes.push(ChangeRef::of(&head.hash));
        entry.stamped_ms = stamped_ms;
        self.positions.push((actor, entry.changes.len() as u64));
    }

    /// How many changes there are.
    pub(super) fn len(&self) -> u64 {
        self.positions.len() as u64
    }

    /// The last change of every actor.
    pub(super) fn clock(&self) -> ActorClock {
        let tip = |entry: &Actors| {
            entry.changes.last().map(|change| Tip { seq: entry.changes.len() as u64, change: *change })
        };
        self.actors.iter().filter_map(|(actor, entry)| Some((*actor, tip(entry)?))).collect()
    }

    /// The change of `actor` under `seq`.
    pub(super) fn change_at(&self, actor: &ActorRef, seq: u64) -> Option<ChangeRef> {
        let index = usize::try_from(seq.checked_sub(1)?).ok()?;
        self.actors.get(actor)?.changes.get(index).copied()
    }

    /// The stamp time of the last change of `actor`, 0 before its first.
    pub(super) fn stamped_ms(&self, actor: &Actor) -> u64 {
        self.actors.get(&ActorRef::of(actor)).map_or(0, |entry| entry.stamped_ms)
    }

    /// The changes that `clock` lacks, in the order of the log: position, actor, and place among its actor's.
    pub(super) fn beyond(&self, clock: &ActorClock) -> impl Iterator<Item = (u64, ActorRef, Tip)> {
        let lacks = self.actors.iter().any(|(actor, entry)| entry.changes.len() as u64 > clock.seq(actor));
        let positions = if lacks { self.positions.as_slice() } else { &[] };
        let missing = (0..).zip(positions).filter(|(_, (actor, seq))| *seq > clock.seq(actor));
        missing.map(|(position, (actor, seq))| {
            let change = self.change_at(actor, *seq).expect("every position of the log is some actor's change");
            (position, *actor, Tip { seq: *seq, change })
        })
    }
}
