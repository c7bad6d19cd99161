//! Two views of a change's causal past: the present state, when that is all of it, else Automerge's record of the past.

use std::collections::{BTreeMap, BTreeSet};

use automerge::{Automerge, ObjId, ReadDoc, ScalarValue, Value};

use crate::body::Body;
use crate::document::change::{OpId, Parsed};
use crate::document::format::{Binding, Map, Record};
use crate::document::gate::Past;
use crate::document::state::State;
use crate::generation::Generation;
use crate::id::{Actor, ChangeHash, Dot};

/// Replica ids and births are written once, so both views take them from the present.
impl Past for State {
    fn versions(&self, record: &Record) -> BTreeMap<OpId, Generation> {
        let register = match record {
            Record::List(path, _) => self.lists.get(path),
            Record::Cell(path, _) => self.cells.get(path),
            Record::Replica(..) | Record::Run(..) | Record::Rewrite(..) => None,
        };
        register.map(|register| register.versions.clone()).unwrap_or_default()
    }

    fn rewrites(&self, dot: &Dot) -> BTreeSet<OpId> {
        self.bodies.get(dot).map(|slot| slot.rewrites.keys().copied().collect()).unwrap_or_default()
    }

    fn body(&self, dot: &Dot) -> Option<&Body> {
        State::body(self, dot)
    }

    fn binding(&self, change: &Parsed) -> Option<Binding> {
        self.replicas.get(&change.actor.replica).copied()
    }
}

/// The document as it stood at `heads`, for a change that was made beside others.
pub(super) struct AtHeads<'a> {
    pub(super) state: &'a State,
    pub(super) automerge: &'a Automerge,
    pub(super) maps: &'a [ObjId; Map::ALL.len()],
    pub(super) heads: Vec<automerge::ChangeHash>,
}

impl<'a> AtHeads<'a> {
    pub(super) fn new(
        state: &'a State,
        automerge: &'a Automerge,
        maps: &'a [ObjId; Map::ALL.len()],
        deps: &[ChangeHash],
    ) -> Self {
        Self { state, automerge, maps, heads: deps.iter().map(|hash| automerge::ChangeHash(hash.0)).collect() }
    }

    fn records(&self, map: Map, key: &str) -> Vec<(OpId, Record)> {
        read_all(self.automerge, &self.maps[map as usize], map, key, Some(&self.heads))
    }
}

/// The records under one key with their operations, at `heads` or now.
pub(super) fn read_all(
    automerge: &Automerge,
    object: &ObjId,
    map: Map,
    key: &str,
    heads: Option<&[automerge::ChangeHash]>,
) -> Vec<(OpId, Record)> {
    const CHECKED: &str = "the document holds only records that passed the gate";
    let values = match heads {
        Some(heads) => automerge.get_all_at(object, key, heads),
        None => automerge.get_all(object, key),
    };
    let values = values.expect("the maps of the genesis change exist");
    values
        .into_iter()
        .map(|(value, id)| {
            let (Value::Scalar(scalar), ObjId::Id(counter, actor, _)) = (value, id) else { panic!("{CHECKED}") };
            let ScalarValue::Bytes(bytes) = scalar.as_ref() else { panic!("{CHECKED}") };
            let actor = Actor::from_slice(actor.to_bytes()).expect(CHECKED);
            (OpId { counter, actor }, Record::read(map, key, bytes).expect(CHECKED))
        })
        .collect()
}

impl Past for AtHeads<'_> {
    fn versions(&self, record: &Record) -> BTreeMap<OpId, Generation> {
        let (map, key) = record.place();
        let versions = self.records(map, &key).into_iter().filter_map(|(id, record)| match record {
            Record::List(_, generation) | Record::Cell(_, generation) => Some((id, generation)),
            Record::Replica(..) | Record::Run(..) | Record::Rewrite(..) => None,
        });
        versions.collect()
    }

    fn rewrites(&self, dot: &Dot) -> BTreeSet<OpId> {
        let Some(body) = self.state.body(dot) else { return BTreeSet::new() };
        let (map, key) = Record::Rewrite(*dot, body.clone()).place();
        self.records(map, &key).into_iter().map(|(id, _)| id).collect()
    }

    fn body(&self, dot: &Dot) -> Option<&Body> {
        self.state.body(dot)
    }

    fn binding(&self, change: &Parsed) -> Option<Binding> {
        self.state.binding(change)
    }
}
