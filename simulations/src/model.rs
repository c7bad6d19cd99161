//! The reference model: what a replica may show, from what was asked of replicas and which changes each of them has.
//!
//! It knows no dots, generations, times or orders of changes. An item was added by one operation and removed by others; it is
//! shown where the first is known and none of the others is. What an operation could remove is what its author's replica held
//! just before. That is all the lattice promises, said without it.

mod holding;
mod shown;

use std::collections::{BTreeMap, BTreeSet};

use memlet_sync::clock::{ActorRef, ChangeRef};

pub use holding::{Holding, Operations};

use crate::failure::{Checker, Failure};

/// Names an operation: its place among the operations of a model.
pub type OperationId = usize;
/// Names an item.
pub type ItemId = usize;

/// One namespace, as it should be.
#[derive(Debug, Default)]
pub struct Model {
    operations: Vec<Operation>,
    /// The operation of every change: actor, number, and which change stands there.
    changes: BTreeMap<(ActorRef, u64, ChangeRef), OperationId>,
    items: Vec<Item>,
    /// Every text that was ever asked for: its item, and which of the item's texts it is.
    texts: BTreeMap<String, (ItemId, usize)>,
}

/// Something that was asked for and did happen, or may have.
#[derive(Debug)]
struct Operation {
    actor: ActorRef,
    /// What its replica held before.
    past: Operations,
    /// The time of its stamp at least, in Unix milliseconds.
    stamped_ms: u64,
}

/// An item of a list, or a value of a leaf.
#[derive(Debug)]
struct Item {
    place: String,
    adder: OperationId,
    /// Whether it was put at the end of a list.
    appended: bool,
    /// What it said first, and after each edit: the operation and the text.
    texts: Vec<(OperationId, String)>,
    removers: Vec<OperationId>,
}

/// What a call asks for, in the model's words.
#[derive(Debug, Clone, Default)]
pub struct Intent {
    /// New items: place, text, whether at the end of a list.
    pub adds: Vec<(String, String, bool)>,
    /// Items whose text is replaced.
    pub edits: Vec<(ItemId, String)>,
    /// Items that go.
    pub removes: Vec<ItemId>,
}

impl Model {
    /// Takes in an operation that `actor` was asked for while its replica held `past`. Whether it has happened is said by
    /// [`Model::happened`].
    pub fn intend(&mut self, intent: Intent, actor: ActorRef, past: Operations, stamped_ms: u64) -> OperationId {
        let id = self.operations.len();
        self.operations.push(Operation { actor, past, stamped_ms });
        for (place, text, appended) in intent.adds {
            let item = self.items.len();
            let known = self.texts.insert(text.clone(), (item, 0));
            assert!(known.is_none(), "every text of a simulation is new");
            self.items.push(Item { place, adder: id, appended, texts: vec![(id, text)], removers: Vec::new() });
        }
        for (item, text) in intent.edits {
            let texts = &mut self.items[item].texts;
            let known = self.texts.insert(text.clone(), (item, texts.len()));
            assert!(known.is_none(), "every text of a simulation is new");
            texts.push((id, text));
        }
        for item in intent.removes {
            self.items[item].removers.push(id);
        }
        id
    }

    /// An operation that has not happened is asked for once more, from a later past.
    pub fn retry(&mut self, id: OperationId, past: Operations) {
        self.operations[id].past = past;
    }

    /// The operation is this change.
    ///
    /// # Errors
    /// Another change stands under that number.
    pub fn happened(&mut self, id: OperationId, seq: u64, change: ChangeRef) -> Result<(), Failure> {
        let actor = self.operations[id].actor;
        let mut under_number = self.changes.range((actor, seq, ChangeRef([0; 8]))..=(actor, seq, ChangeRef([0xff; 8])));
        if under_number.any(|((_, _, other), _)| *other != change) {
            return Err(Failure::new(Checker::OneHash, format!("{actor} wrote two changes under number {seq}")));
        }
        self.changes.insert((actor, seq, change), id);
        Ok(())
    }

    /// The operation of a change.
    pub fn operation(&self, actor: &ActorRef, seq: u64, change: ChangeRef) -> Option<OperationId> {
        self.changes.get(&(*actor, seq, change)).copied()
    }

    /// The item that a text belongs to.
    pub fn item(&self, text: &str) -> Option<ItemId> {
        self.texts.get(text).map(|(item, _)| *item)
    }

    /// The latest stamp time of `actor` up to now, 0 for none.
    pub fn stamped_ms(&self, actor: &ActorRef) -> u64 {
        let changes = self.changes.range((*actor, 0, ChangeRef([0; 8]))..).take_while(|((a, _, _), _)| a == actor);
        changes.map(|(_, id)| self.operations[*id].stamped_ms).max().unwrap_or(0)
    }

    /// The latest stamp time before `end_ms`.
    pub fn stamped_ms_before(&self, end_ms: u64) -> u64 {
        self.operations.iter().map(|operation| operation.stamped_ms).filter(|ms| *ms < end_ms).max().unwrap_or(0)
    }

    /// Whether there is no change.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// How many changes there are.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// The changes that nobody takes in before `latest_ms`: their stamps claim to come from later, or they build on such.
    pub fn late(&self, latest_ms: u64) -> Operations {
        let mut late = Operations::default();
        for id in self.changes.values().copied().collect::<BTreeSet<_>>() {
            let operation = &self.operations[id];
            if operation.stamped_ms > latest_ms || operation.past.intersects(&late) {
                late.insert(id);
            }
        }
        late
    }
}
