//! The present value of every key, concurrent versions included, and what their join shows.
//!
//! Derived from the changes in the order they are applied, exactly as Automerge's own map does it (a put replaces the operations
//! it names), but with records decoded once. [`super::Document::verify`] holds the two against each other.

use std::collections::BTreeMap;

use crate::body::Body;
use crate::codec::{Encode, Writer};
use crate::document::change::{OpId, Write};
use crate::document::format::{Binding, Record};
use crate::generation::Generation;
use crate::id::{Dot, ReplicaId};
use crate::path::Path;
use crate::sequence::{Joined, join};

/// Everything a document shows now.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) replicas: BTreeMap<ReplicaId, Binding>,
    pub(super) lists: BTreeMap<Path, Register>,
    pub(super) cells: BTreeMap<Path, Register>,
    pub(super) bodies: BTreeMap<Dot, Slot>,
}

/// The concurrent generations of one list or leaf, and their join.
#[derive(Clone, Debug, Default)]
pub(super) struct Register {
    pub(super) versions: BTreeMap<OpId, Generation>,
    pub(super) joined: Joined,
    stale: bool,
}

impl Register {
    pub(super) fn settle(&mut self) {
        if self.stale {
            self.joined = join(&self.versions.values().collect::<Vec<_>>());
            self.stale = false;
        }
    }
}

/// One dot's body as first written, and its rewrites that no later one has replaced.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    original: Body,
    pub(super) rewrites: BTreeMap<OpId, Body>,
}

impl Slot {
    /// The newest version: the highest (hlc, replica).
    pub(super) fn newest(&self, dot: &Dot) -> &Body {
        self.rewrites.values().fold(
            &self.original,
            |newest, body| {
                if body.version(dot) > newest.version(dot) { body } else { newest }
            },
        )
    }
}

impl State {
    /// Puts one record in place of those it replaces. Joins are brought up to date by [`State::settle`].
    pub(super) fn put(&mut self, write: &Write) {
        match &write.record {
            Record::Replica(replica, binding) => {
                self.replicas.insert(*replica, *binding);
            }
            Record::List(path, generation) => put_generation(&mut self.lists, path, write, generation),
            Record::Cell(path, generation) => put_generation(&mut self.cells, path, write, generation),
            Record::Run(first, run) => {
                for (body, counter) in run.0.iter().zip(first.counter..) {
                    let slot = Slot { original: body.clone(), rewrites: BTreeMap::new() };
                    self.bodies.insert(Dot { counter, ..*first }, slot);
                }
            }
            Record::Rewrite(dot, body) => {
                let slot = self.bodies.get_mut(dot).expect("only known dots are rewritten: checked at the gate");
                slot.rewrites.retain(|id, _| !write.replaces.contains(id));
                slot.rewrites.insert(write.id, body.clone());
            }
        }
    }

    /// Joins what has changed.
    pub(super) fn settle(&mut self) {
        self.lists.values_mut().chain(self.cells.values_mut()).for_each(Register::settle);
    }

    /// The newest body of a dot.
    pub(super) fn body(&self, dot: &Dot) -> Option<&Body> {
        self.bodies.get(dot).map(|slot| slot.newest(dot))
    }

    /// What a user can see, byte for byte: equal on every replica that has applied the same changes.
    pub(super) fn encode_visible(&self, w: &mut Writer) {
        for registers in [&self.lists, &self.cells] {
            w.array(registers.len());
            for (path, register) in registers {
                path.encode(w);
                w.bool(register.joined.deleted);
                w.array(2 * register.joined.members.len());
                for dot in &register.joined.members {
                    w.text(&format!("{}:{}", dot.replica, dot.counter));
                    w.option(self.body(dot));
                }
            }
        }
    }
}

fn put_generation(registers: &mut BTreeMap<Path, Register>, path: &Path, write: &Write, generation: &Generation) {
    let register = registers.entry(path.clone()).or_default();
    for id in &write.replaces {
        register.versions.remove(id);
    }
    register.versions.insert(write.id, generation.clone());
    register.stale = true;
}
