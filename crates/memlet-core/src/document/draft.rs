//! One atomic mutation: edits are gathered against the present state and written as a single change, or not at all.

use std::collections::BTreeMap;

use automerge::ScalarValue;
use automerge::transaction::{CommitOptions, Transactable};

use crate::body::{Body, Run};
use crate::document::change::{MalformedChange, Parsed};
use crate::document::format::{Binding, Record};
use crate::document::gate::{Effects, Refusal};
use crate::document::{Broken, Document};
use crate::dots::{DotRun, to_runs};
use crate::generation::Generation;
use crate::id::{Actor, Dot, GrantId};
use crate::path::Path;
use crate::value::Value;

/// Who writes, and by what right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Author {
    /// The device and store that commit the change.
    pub actor: Actor,
    /// The grant it is made under: the device's own, or that of the agent it acts for.
    pub grant: GrantId,
}

/// One element of a list's new content.
#[derive(Clone, PartialEq, Debug)]
pub enum Element {
    /// An element that is there, under its own dot.
    Keep(Dot),
    /// A new one.
    New(Value),
}

/// A mutation being gathered. Dropped without [`Draft::commit`], it leaves no trace.
///
/// Edits show in [`Draft::document`] only after the commit; several edits of one list add up.
pub struct Draft<'d> {
    document: &'d mut Document,
    author: Author,
    now_ms: u64,
    lists: BTreeMap<Path, Pending>,
    cells: BTreeMap<Path, Pending>,
    rewrites: BTreeMap<Dot, Value>,
}

struct Pending {
    elements: Vec<Element>,
    deleted: bool,
}

/// A change made here: applied in memory, not yet durable.
#[derive(Debug)]
pub struct Written {
    /// The change.
    pub change: Parsed,
    /// What it does, as every receiving replica will judge it.
    pub effects: Effects,
}

/// Why a draft could not be written. The document must be discarded and loaded again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DraftError {
    /// The change would be refused by every replica: a fault of this build.
    #[error("this build wrote a change that it would refuse from others: {0}")]
    Refused(#[from] Refusal),
    /// Automerge failed.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// The change is larger than every replica takes: see [`MalformedChange::TooLarge`].
    #[error("the change would be larger than a change may be")]
    TooLarge,
}

impl<'d> Draft<'d> {
    pub(super) fn new(document: &'d mut Document, author: Author, now_ms: u64) -> Self {
        Self { document, author, now_ms, lists: BTreeMap::new(), cells: BTreeMap::new(), rewrites: BTreeMap::new() }
    }

    /// The state before this draft.
    pub fn document(&self) -> &Document {
        self.document
    }

    /// Adds an item at the end of a list, which is made if absent.
    pub fn append(&mut self, list: &Path, value: Value) {
        self.pending_list(list).push(Element::New(value));
    }

    /// Replaces the value of an item in place; it keeps its dot and position.
    pub fn edit(&mut self, list: &Path, dot: Dot, value: Value) {
        self.pending_list(list);
        self.rewrites.insert(dot, value);
    }

    /// Removes an item.
    pub fn remove(&mut self, list: &Path, dot: &Dot) {
        self.pending_list(list).retain(|element| *element != Element::Keep(*dot));
        self.rewrites.remove(dot);
    }

    /// Gives a list a whole new content. Elements that are kept keep their dots.
    pub fn rewrite(&mut self, list: &Path, elements: Vec<Element>) {
        self.lists.insert(list.clone(), Pending { elements, deleted: false });
    }

    /// Removes a list with all its items: it reads as absent.
    pub fn delete_list(&mut self, list: &Path) {
        self.lists.insert(list.clone(), Pending { elements: Vec::new(), deleted: true });
    }

    /// Writes a leaf.
    pub fn write_cell(&mut self, path: &Path, value: Value) {
        self.cells.insert(path.clone(), Pending { elements: vec![Element::New(value)], deleted: false });
    }

    /// Removes a leaf, if there is one.
    pub fn delete_cell(&mut self, path: &Path) {
        if self.document.cell(path).is_some() {
            self.cells.insert(path.clone(), Pending { elements: Vec::new(), deleted: false });
        } else {
            self.cells.remove(path);
        }
    }

    fn pending_list(&mut self, list: &Path) -> &mut Vec<Element> {
        let document = &self.document;
        let pending = self.lists.entry(list.clone()).or_insert_with(|| {
            let members = document.list(list).unwrap_or_default();
            Pending { elements: members.iter().copied().map(Element::Keep).collect(), deleted: false }
        });
        pending.deleted = false;
        &mut pending.elements
    }

    /// Writes everything gathered as one change; none if nothing was.
    ///
    /// # Errors
    /// See [`DraftError`]. After one, the document no longer shows what is stored and must be loaded again.
    pub fn commit(self) -> Result<Option<Written>, DraftError> {
        let Self { document, author, now_ms, lists, cells, rewrites } = self;
        if lists.is_empty() && cells.is_empty() {
            return Ok(None);
        }
        let records = Records::new(document, author, now_ms).build(lists, cells, rewrites);
        let change = document.write(author.actor, &records)?;
        let effects = document.enter(&change, &author.grant)?;
        Ok(Some(Written { change, effects }))
    }
}

/// Turns what was gathered into records: dots in order of their lists, one clock tick for every value written.
struct Records<'d> {
    document: &'d Document,
    author: Author,
    now_ms: u64,
    hlc: crate::hlc::Hlc,
    next: u64,
    grant: Option<crate::id::GrantRef>,
    records: Vec<Record>,
}

impl<'d> Records<'d> {
    fn new(document: &'d Document, author: Author, now_ms: u64) -> Self {
        let replica = author.actor.replica;
        let bound = document.replicas().get(&replica).copied();
        let binding = bound.unwrap_or(Binding { device: author.actor.device, grant: author.grant });
        Self {
            document,
            author,
            now_ms,
            hlc: document.hlc(),
            next: document.clock().get(&replica) + 1,
            grant: (binding.grant != author.grant).then(|| author.grant.short()),
            records: bound.is_none().then_some(Record::Replica(replica, binding)).into_iter().collect(),
        }
    }

    fn tick(&mut self) -> crate::hlc::Hlc {
        self.hlc = self.hlc.tick(self.now_ms);
        self.hlc
    }

    fn build(
        mut self,
        lists: BTreeMap<Path, Pending>,
        cells: BTreeMap<Path, Pending>,
        rewrites: BTreeMap<Dot, Value>,
    ) -> Vec<Record> {
        let replica = self.author.actor.replica;
        let list_members: Vec<_> = lists.into_iter().map(|(path, list)| self.bodies(path, list)).collect();
        let cell_members: Vec<_> = cells.into_iter().map(|(path, cell)| self.bodies(path, cell)).collect();
        for (dot, value) in rewrites {
            let body = self.document.body(&dot).clone();
            let rewritten = Some((self.tick(), replica));
            self.records.push(Record::Rewrite(dot, Body { rewritten, grant: self.grant, value, ..body }));
        }
        let mut seen = self.document.clock().clone();
        seen.raise(replica, self.next - 1);
        for (is_list, all) in [(true, list_members), (false, cell_members)] {
            for (path, members, deleted) in all {
                let generation = Generation { hlc: self.tick(), replica, seen: seen.clone(), deleted, members };
                self.records.push(if is_list {
                    Record::List(path, generation)
                } else {
                    Record::Cell(path, generation)
                });
            }
        }
        self.records
    }

    /// Gives the new elements dots and bodies, one run for each list, and names all members.
    fn bodies(&mut self, path: Path, pending: Pending) -> (Path, Vec<DotRun>, bool) {
        let replica = self.author.actor.replica;
        let first = Dot { replica, counter: self.next };
        let mut run = Vec::new();
        let mut members = Vec::with_capacity(pending.elements.len());
        for element in pending.elements {
            members.push(match element {
                Element::Keep(dot) => dot,
                Element::New(value) => {
                    let counter = self.next;
                    self.next += 1;
                    run.push(Body { birth: self.tick(), rewritten: None, grant: self.grant, value });
                    Dot { replica, counter }
                }
            });
        }
        if !run.is_empty() {
            self.records.push(Record::Run(first, Run(run)));
        }
        (path, to_runs(&members), pending.deleted)
    }
}

impl Document {
    /// Puts records into the Automerge document as one change of `actor`.
    fn write(&mut self, actor: Actor, records: &[Record]) -> Result<Parsed, DraftError> {
        let (automerge, maps) = self.automerge_mut();
        automerge.set_actor(automerge::ActorId::from(&actor.to_bytes()[..]));
        let mut transaction = automerge.transaction();
        for record in records {
            let (map, key) = record.place();
            transaction
                .put(&maps[map as usize], key, ScalarValue::Bytes(record.to_bytes()))
                .map_err(|error| Broken(error.to_string()))?;
        }
        transaction.commit_with(CommitOptions::default().with_time(0));
        let change = automerge.get_last_local_change().ok_or_else(|| Broken("a change was lost".into()))?;
        match Parsed::check_size(change.raw_bytes()) {
            Err(MalformedChange::TooLarge) => return Err(DraftError::TooLarge),
            checked => checked.map_err(|error| Broken(error.to_string()))?,
        }
        Ok(Parsed::trusted(change).map_err(|error| Broken(error.to_string()))?)
    }
}
