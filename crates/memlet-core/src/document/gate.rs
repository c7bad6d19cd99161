//! The gate: what a change may claim, judged from its own operations against its causal past.
//!
//! Every change passes here on every replica, the one that made it included, before it is applied. What it would do to a user's
//! memory comes out as [`Effects`], for the caller to hold against the author's grant.

use std::collections::{BTreeMap, BTreeSet};

use crate::body::Body;
use crate::clock::Clock;
use crate::document::change::{OpId, Parsed, Write};
use crate::document::format::{Binding, Record};
use crate::document::history;
use crate::dots::{DotRun, DotSet, to_runs};
use crate::generation::Generation;
use crate::hlc::Hlc;
use crate::id::{Dot, GrantId, GrantRef};
use crate::path::Path;
use crate::sequence::join;

/// What a write does to one path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Effect {
    /// Something is added or edited; nothing that was there goes.
    Write,
    /// Something that was there goes.
    Forget,
}

/// Everything a change does, path by path.
pub type Effects = BTreeSet<(Effect, Path)>;

/// Why a change is not applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It builds on a change that is not here. May be tried again when that has come.
    #[error("the change builds on one that is not here")]
    MissingDependency,
    /// Its number is not the next one of its actor: a gap, or a second change under a used number.
    #[error("change {found} of its actor does not follow change {last}")]
    Sequence {
        /// The last number known.
        last: u64,
        /// The number it claims.
        found: u64,
    },
    /// It claims something that its causal past and its own operations do not give. Final.
    #[error("the change claims what it cannot: {0}")]
    Claim(&'static str),
}

/// What stood in the document when the author of a change wrote it.
pub(super) trait Past {
    /// The versions of a list (or leaf), by operation.
    fn versions(&self, record: &Record) -> BTreeMap<OpId, Generation>;
    /// The operations that are a dot's present rewrites.
    fn rewrites(&self, dot: &Dot) -> BTreeSet<OpId>;
    /// The newest body of a dot, as far as this replica knows it; its birth never changes.
    fn body(&self, dot: &Dot) -> Option<&Body>;
    /// Whose the author's replica id is, as far as this replica knows.
    fn binding(&self, change: &Parsed) -> Option<Binding>;
}

/// Holds `change`, made under `grant`, against its past: what its author had seen, and what stood there then.
pub(super) fn check(
    change: &Parsed,
    grant: &GrantId,
    seen: &history::Past,
    past: &dyn Past,
) -> Result<Effects, Refusal> {
    let claim = |what| Err(Refusal::Claim(what));
    if change.latest_hlc() > seen.hlc.latest_after(change.ticks()) {
        return claim("a time past the year 2200 that its past does not know");
    }
    let own = change.actor.replica;
    let binding = check_binding(change, grant, past)?;
    let provenance = (binding.grant != *grant).then(|| grant.short());

    let mut fresh = DotSet::default();
    let mut fresh_count = 0;
    let mut keys = BTreeSet::new();
    for write in &change.writes {
        if !keys.insert(write.record.place()) {
            return claim("one key is written twice");
        }
        if let Record::Run(first, run) = &write.record {
            let dots = DotRun { replica: first.replica, start: first.counter, len: run.0.len() as u64 };
            if first.replica != own || !fresh.insert(&dots) || !write.replaces.is_empty() {
                return claim("bodies under dots that are not its own new ones");
            }
            if !run.0.iter().all(|body| body.rewritten.is_none() && body.grant == provenance) {
                return claim("a new body of another time or grant");
            }
            fresh_count += dots.len;
        }
    }
    let next = seen.clock.get(&own) + 1;
    let mut seen = seen.clock.clone();
    seen.raise(own, next - 1 + fresh_count);
    if (next..next + fresh_count).any(|counter| !fresh.contains(&Dot { replica: own, counter })) {
        return claim("dots that do not follow the last one of its replica");
    }

    let mut judge =
        Judge { change, seen: &seen, fresh: &fresh, past, named: 0, members: Vec::new(), effects: Effects::new() };
    for write in &change.writes {
        match &write.record {
            Record::List(path, generation) => judge.generation(write, path, generation, true)?,
            Record::Cell(path, generation) => judge.generation(write, path, generation, false)?,
            Record::Replica(..) | Record::Run(..) | Record::Rewrite(..) => {}
        }
    }
    if judge.named != fresh_count {
        return claim("a new body that no list or leaf of the change names");
    }
    for write in &change.writes {
        if let Record::Rewrite(dot, body) = &write.record {
            judge.rewrite(write, dot, body, provenance)?;
        }
    }
    if judge.members.is_empty() {
        return claim("nothing is written");
    }
    Ok(judge.effects)
}

/// A replica id belongs to the device that bound it first, and its first change binds it.
fn check_binding(change: &Parsed, grant: &GrantId, past: &dyn Past) -> Result<Binding, Refusal> {
    let mine = change.writes.iter().find_map(|write| match &write.record {
        Record::Replica(replica, binding) => Some((write, *replica, *binding)),
        _ => None,
    });
    match (past.binding(change), mine) {
        (Some(binding), None) if binding.device == change.actor.device => Ok(binding),
        (None, Some((write, replica, binding)))
            if replica == change.actor.replica
                && binding == (Binding { device: change.actor.device, grant: *grant })
                && write.replaces.is_empty() =>
        {
            Ok(binding)
        }
        _ => Err(Refusal::Claim("its replica id is not bound to its device, once")),
    }
}

struct Judge<'a> {
    change: &'a Parsed,
    /// What every generation of the change must say it has seen: its past and its own new dots, no more and no less.
    seen: &'a Clock,
    fresh: &'a DotSet,
    past: &'a dyn Past,
    /// New dots that generations name so far.
    named: u64,
    /// The lists and leaves written so far, with their members.
    members: Vec<(&'a Path, DotSet)>,
    effects: Effects,
}

impl<'a> Judge<'a> {
    /// A generation joins all its writer saw: it replaces every version there, and its members are survivors of them or new.
    fn generation(
        &mut self,
        write: &'a Write,
        path: &'a Path,
        generation: &'a Generation,
        is_list: bool,
    ) -> Result<(), Refusal> {
        let claim = |what| Err(Refusal::Claim(what));
        if generation.replica != self.change.actor.replica || generation.seen != *self.seen {
            return claim("a generation that says another writer, or to have seen more or less than its past");
        }
        if !is_list && (generation.len() > 1 || generation.deleted) {
            return claim("a leaf of several values");
        }
        let versions = self.past.versions(&write.record);
        if !write.replaces.iter().eq(versions.keys()) {
            return claim("a generation that does not replace what its writer saw");
        }
        if versions.values().any(|version| version.hlc >= generation.hlc) {
            return claim("a generation older than what it replaces");
        }
        let before = join(&versions.values().collect::<Vec<_>>()).members;
        let survivors = DotSet::from_runs(&to_runs(&before)).expect("a join names no dot twice");
        let mut kept = Vec::new();
        for dot in generation.members.iter().flat_map(|run| run.dots()) {
            if self.fresh.contains(&dot) {
                self.named += 1;
            } else if survivors.contains(&dot) {
                kept.push(dot);
            } else {
                return claim("a member that is neither new nor was there");
            }
        }
        let members = generation.member_set();
        let adds = generation.len() > kept.len() as u64;
        let drops = before.len() > kept.len();
        let reorders = !kept.iter().eq(before.iter().filter(|dot| members.contains(dot)));
        // A leaf that is written anew is edited: its old value goes, but the leaf stays.
        let forgets = generation.deleted || if is_list { drops } else { generation.is_empty() };
        if forgets {
            self.effects.insert((Effect::Forget, path.clone()));
        }
        if adds || reorders || !forgets {
            self.effects.insert((Effect::Write, path.clone()));
        }
        self.members.push((path, members));
        Ok(())
    }

    /// A body is rewritten in place only together with a new generation that still names it.
    fn rewrite(&mut self, write: &Write, dot: &Dot, body: &Body, provenance: Option<GrantRef>) -> Result<(), Refusal> {
        let claim = |what| Err(Refusal::Claim(what));
        let Some((path, _)) = self.members.iter().find(|(_, members)| members.contains(dot)) else {
            return claim("a body is rewritten that no list or leaf of the change names");
        };
        let known = self.past.body(dot).filter(|_| !self.fresh.contains(dot));
        if known.is_none_or(|known| known.birth != body.birth) {
            return claim("a body is rewritten that was not there, or with another birth");
        }
        if body.rewritten.is_none_or(|(_, replica)| replica != self.change.actor.replica) {
            return claim("a body rewritten in another replica's name");
        }
        if body.grant != provenance {
            return claim("a body of another grant");
        }
        if !write.replaces.iter().eq(self.past.rewrites(dot).iter()) {
            return claim("a rewrite that does not replace what its writer saw");
        }
        self.effects.insert((Effect::Write, (*path).clone()));
        Ok(())
    }
}

impl Parsed {
    /// The last dot the change introduces; none if it only removes or rewrites.
    pub(super) fn last_new_dot(&self) -> Option<Dot> {
        let runs = self.writes.iter().filter_map(|write| match &write.record {
            Record::Run(first, run) => Some(Dot { counter: first.counter - 1 + run.0.len() as u64, ..*first }),
            _ => None,
        });
        runs.max()
    }

    /// How many values with a time of their own the change writes.
    fn ticks(&self) -> u64 {
        let ticks = self.writes.iter().map(|write| match &write.record {
            Record::Replica(..) => 0,
            Record::Run(_, run) => run.0.len() as u64,
            Record::List(..) | Record::Cell(..) | Record::Rewrite(..) => 1,
        });
        ticks.sum()
    }

    /// The latest time in anything the change writes.
    pub(super) fn latest_hlc(&self) -> Hlc {
        let hlcs = self.writes.iter().filter_map(|write| match &write.record {
            Record::Replica(..) => None,
            Record::List(_, generation) | Record::Cell(_, generation) => Some(generation.hlc),
            Record::Run(_, run) => run.0.iter().map(|body| body.birth).max(),
            Record::Rewrite(_, body) => body.rewritten.map(|(hlc, _)| hlc),
        });
        hlcs.max().unwrap_or_default()
    }
}
