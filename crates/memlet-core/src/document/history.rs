//! What has been applied: changes, their order, and the clock each of them could have known.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Clock;
use crate::document::change::Parsed;
use crate::document::genesis::{GENESIS_OPS, Genesis};
use crate::hlc::Hlc;
use crate::id::{Actor, ChangeHash};

/// The last change of one actor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tip {
    /// Its number, from 1.
    pub seq: u64,
    /// Its hash.
    pub hash: ChangeHash,
}

/// The applied changes of one epoch.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// The first change of the epoch, which nobody signed.
    root: ChangeHash,
    entries: BTreeMap<ChangeHash, Entry>,
    heads: BTreeSet<ChangeHash>,
    tips: BTreeMap<Actor, Tip>,
    clock: Clock,
    hlc: Hlc,
}

#[derive(Clone, Debug)]
struct Entry {
    max_op: u64,
    /// Every dot in the causal past of the change, its own included.
    clock: Clock,
    /// The latest time in that past, its own included.
    hlc: Hlc,
    deps: Vec<ChangeHash>,
}

/// What the dependencies of a change amount to.
pub(super) struct Past {
    /// Every dot its writer can have seen.
    pub(super) clock: Clock,
    /// The latest time in it.
    pub(super) hlc: Hlc,
    /// The highest operation counter in it.
    pub(super) max_op: u64,
}

impl History {
    pub(super) fn new(genesis: &Genesis) -> Self {
        let entry = Entry { max_op: GENESIS_OPS, clock: Clock::default(), hlc: Hlc::default(), deps: Vec::new() };
        Self {
            root: genesis.hash,
            entries: BTreeMap::from([(genesis.hash, entry)]),
            heads: BTreeSet::from([genesis.hash]),
            tips: BTreeMap::new(),
            clock: Clock::default(),
            hlc: Hlc::default(),
        }
    }

    /// The past that `deps` fix; none if one of them is unknown here.
    pub(super) fn past(&self, deps: &[ChangeHash]) -> Option<Past> {
        let mut past = Past { clock: Clock::default(), hlc: Hlc::default(), max_op: 0 };
        for hash in deps {
            let entry = self.entries.get(hash)?;
            past.clock.join(&entry.clock);
            past.hlc = past.hlc.max(entry.hlc);
            past.max_op = past.max_op.max(entry.max_op);
        }
        Some(past)
    }

    /// Whether `deps` are everything applied so far, so that the present state is the past of the change.
    pub(super) fn is_present(&self, deps: &[ChangeHash]) -> bool {
        deps.len() == self.heads.len() && deps.iter().all(|hash| self.heads.contains(hash))
    }

    pub(super) fn knows(&self, hash: &ChangeHash) -> bool {
        self.entries.contains_key(hash)
    }

    pub(super) fn root(&self) -> &ChangeHash {
        &self.root
    }

    /// What the change depends on; none if it is unknown here.
    pub(super) fn deps(&self, hash: &ChangeHash) -> Option<&[ChangeHash]> {
        self.entries.get(hash).map(|entry| entry.deps.as_slice())
    }

    pub(super) fn heads(&self) -> &BTreeSet<ChangeHash> {
        &self.heads
    }

    pub(super) fn tips(&self) -> &BTreeMap<Actor, Tip> {
        &self.tips
    }

    /// Every dot of every change applied; kept from the changes, never derived from current values.
    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The latest time in anything applied.
    pub(super) fn hlc(&self) -> Hlc {
        self.hlc
    }

    /// Records a change whose dependencies are all known.
    pub(super) fn push(&mut self, change: &Parsed) {
        let Past { mut clock, hlc, .. } =
            self.past(&change.deps).expect("the dependencies of a change are known before it is applied");
        if let Some(last) = change.last_new_dot() {
            clock.raise(last.replica, last.counter);
        }
        self.clock.join(&clock);
        let hlc = hlc.max(change.latest_hlc());
        self.hlc = self.hlc.max(hlc);
        for hash in &change.deps {
            self.heads.remove(hash);
        }
        self.heads.insert(change.hash);
        self.tips.insert(change.actor, Tip { seq: change.seq, hash: change.hash });
        self.entries.insert(change.hash, Entry { max_op: change.max_op(), clock, hlc, deps: change.deps.clone() });
    }
}
