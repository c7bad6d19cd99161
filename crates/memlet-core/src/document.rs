//! The Automerge document of one namespace, and the only way into it.
//!
//! **Reading** ([`Document::list`], [`Document::body`], [`Document::cell`], …) shows the join of everything applied. **Writing**
//! goes through a [`Draft`], one change per mutation. **Receiving** goes through [`Document::admit`], change by change in causal
//! order, and is sealed by [`Document::seal`]. After an error of [`Draft::commit`] or [`Document::seal`] the document may hold
//! what was never stored: discard it and [`Document::load`] again.
//!
//! Invariant: the document holds only changes that passed the gate (`gate.rs`), and what it shows depends only on which changes
//! those are, not on the order in which they came.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use automerge::{Automerge, ObjId};

use crate::body::Body;
use crate::clock::Clock;
use crate::codec::{Encode, Writer};
use crate::hlc::Hlc;
use crate::id::{Actor, ChangeHash, Dot, EpochId, GrantId, NamespaceId, ReplicaId};
use crate::path::Path;
use crate::value::Value;

mod change;
mod draft;
mod format;
mod gate;
mod genesis;
mod history;
mod past;
mod state;

pub use change::{ChangeHead, MalformedChange, Parsed};
pub use draft::{Author, Draft, DraftError, Element, Written};
pub use format::{Binding, FORMAT};
pub use gate::{Effect, Effects, Refusal};
pub use history::Tip;

use change::OpId;
use format::Map;
use history::History;
use past::AtHeads;
use state::{Register, State};

/// Automerge failed or contradicted what the gate had checked. The document must be discarded and loaded again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the document cannot go on and must be loaded again: {0}")]
pub struct Broken(pub String);

/// One namespace in memory.
#[derive(Clone)]
pub struct Document {
    namespace: NamespaceId,
    epoch: EpochId,
    automerge: Automerge,
    maps: [ObjId; Map::ALL.len()],
    history: History,
    state: State,
    /// Admitted, in the state, but not yet in `automerge`.
    unsealed: Vec<automerge::Change>,
}

impl Document {
    /// The document that every namespace starts from.
    pub fn new(namespace: NamespaceId) -> Self {
        let genesis = genesis::genesis(&namespace);
        let mut automerge = Automerge::new();
        automerge.apply_changes([genesis.change.clone()]).expect("the genesis change fits an empty document");
        let root = automerge::ActorId::from(&genesis::ROOT_ACTOR);
        let maps = std::array::from_fn(|index| ObjId::Id(index as u64 + 1, root.clone(), 0));
        let history = History::new(&genesis);
        Self {
            namespace,
            epoch: genesis.epoch,
            automerge,
            maps,
            history,
            state: State::default(),
            unsealed: Vec::new(),
        }
    }

    /// The first change of every document of a namespace, from which all replicas start: one uncompressed chunk.
    pub fn genesis_change(namespace: &NamespaceId) -> Vec<u8> {
        genesis::genesis(namespace).change.raw_bytes().to_vec()
    }

    /// Builds a document from changes that passed the gate before they were stored, in the order they were stored.
    ///
    /// # Errors
    /// The bytes are not those that were stored: the store is damaged.
    pub fn load<'a>(namespace: NamespaceId, changes: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, Broken> {
        let mut document = Self::new(namespace);
        document.extend_stored(changes)?;
        Ok(document)
    }

    /// Applies further stored changes, such as another process of this store committed.
    ///
    /// # Errors
    /// As [`Document::load`].
    pub fn extend_stored<'a>(&mut self, changes: impl IntoIterator<Item = &'a [u8]>) -> Result<(), Broken> {
        for bytes in changes {
            let change = Parsed::stored(bytes).map_err(|error| Broken(error.to_string()))?;
            if self.history.past(&change.deps).is_none() {
                return Err(Broken("a stored change lacks its past".into()));
            }
            self.push(&change);
            self.unsealed.push(change.change);
        }
        self.state.settle();
        self.seal()
    }

    /// Begins a mutation. `now_ms` is wall-clock time in milliseconds since 1970.
    pub fn draft(&mut self, author: Author, now_ms: u64) -> Draft<'_> {
        Draft::new(self, author, now_ms)
    }

    /// Whether the change has been applied.
    pub fn knows(&self, change: &ChangeHash) -> bool {
        self.history.knows(change)
    }

    /// Takes in a change from outside, made under `grant`, if it passes the gate and `permits` lets its effects through.
    ///
    /// The caller has checked its signatures and its grant. Call [`Document::seal`] before storing or showing anything of it.
    ///
    /// # Errors
    /// A [`Refusal`], or whatever `permits` answers; the document is as before.
    pub fn admit<E: From<Refusal>>(
        &mut self,
        change: &Parsed,
        grant: &GrantId,
        permits: impl FnOnce(&Effects) -> Result<(), E>,
    ) -> Result<(), AdmitError<E>> {
        let effects = self.judge(change, grant)?;
        permits(&effects).map_err(AdmitError::Refused)?;
        self.push(change);
        self.state.settle();
        self.unsealed.push(change.change.clone());
        Ok(())
    }

    /// Applies what was admitted to the Automerge document, and checks that both agree on what is now known.
    ///
    /// # Errors
    /// [`Broken`] if Automerge panics, refuses a change, or ends elsewhere than expected.
    pub fn seal(&mut self) -> Result<(), Broken> {
        let changes = std::mem::take(&mut self.unsealed);
        if changes.is_empty() {
            return Ok(());
        }
        let automerge = &mut self.automerge;
        catch_unwind(AssertUnwindSafe(|| automerge.apply_changes(changes)))
            .map_err(|_| Broken("automerge panicked on a change".into()))?
            .map_err(|error| Broken(error.to_string()))?;
        let mut heads: Vec<[u8; 32]> = self.automerge.get_heads().iter().map(|hash| hash.0).collect();
        heads.sort_unstable();
        if !heads.iter().eq(self.history.heads().iter().map(|hash| &hash.0)) {
            return Err(Broken("automerge did not take every change".into()));
        }
        Ok(())
    }

    /// Judges a change made here, whose operations the Automerge document already has, and shows it.
    fn enter(&mut self, change: &Parsed, grant: &GrantId) -> Result<Effects, Refusal> {
        let past = self.history.past(&change.deps).ok_or(Refusal::MissingDependency)?;
        let effects = gate::check(change, grant, &past, &self.state)?;
        self.push(change);
        self.state.settle();
        Ok(effects)
    }

    fn judge<E>(&mut self, change: &Parsed, grant: &GrantId) -> Result<Effects, AdmitError<E>>
    where
        E: From<Refusal>,
    {
        let past = self.history.past(&change.deps).ok_or_else(|| E::from(Refusal::MissingDependency));
        let past = past.map_err(AdmitError::Refused)?;
        let last = self.history.tips().get(&change.actor).map_or(0, |tip| tip.seq);
        let refuse = |refusal| Err(AdmitError::Refused(E::from(refusal)));
        if change.seq != last + 1 {
            return refuse(Refusal::Sequence { last, found: change.seq });
        }
        if change.start_op != past.max_op + 1 {
            return refuse(Refusal::Claim("operation numbers that do not follow its past"));
        }
        let effects = if self.history.is_present(&change.deps) {
            gate::check(change, grant, &past, &self.state)
        } else {
            self.seal()?;
            let at = AtHeads::new(&self.state, &self.automerge, &self.maps, &change.deps);
            gate::check(change, grant, &past, &at)
        };
        effects.or_else(refuse)
    }

    fn push(&mut self, change: &Parsed) {
        self.history.push(change);
        for write in &change.writes {
            self.state.put(write);
        }
    }

    fn automerge_mut(&mut self) -> (&mut Automerge, &[ObjId; Map::ALL.len()]) {
        (&mut self.automerge, &self.maps)
    }
}

/// Why [`Document::admit`] did not take a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdmitError<E> {
    /// The change is at fault; the document is as before.
    #[error("{0}")]
    Refused(E),
    /// The document is at fault and must be loaded again.
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// What is known.
impl Document {
    /// The namespace.
    pub fn namespace(&self) -> NamespaceId {
        self.namespace
    }

    /// The epoch: its number and id.
    pub fn epoch(&self) -> (u64, EpochId) {
        (0, self.epoch)
    }

    /// Every dot of every change applied.
    pub fn clock(&self) -> &Clock {
        self.history.clock()
    }

    /// The latest time in anything applied.
    pub fn hlc(&self) -> Hlc {
        self.history.hlc()
    }

    /// The last change of every actor.
    pub fn tips(&self) -> &BTreeMap<Actor, Tip> {
        self.history.tips()
    }

    /// The changes that nothing applied depends on; all else lies in the past of one of them. The first change of the epoch, which
    /// nobody signed, is left out.
    pub fn heads(&self) -> impl Iterator<Item = &ChangeHash> {
        self.history.heads().iter().filter(|hash| *hash != self.history.root())
    }

    /// What an applied change depends on, the first change of the epoch left out. None if the change has not been applied.
    pub fn dependencies(&self, change: &ChangeHash) -> Option<impl Iterator<Item = &ChangeHash>> {
        let deps = self.history.deps(change)?;
        Some(deps.iter().filter(|hash| *hash != self.history.root()))
    }

    /// Whose each replica id is.
    pub fn replicas(&self) -> &BTreeMap<ReplicaId, Binding> {
        &self.state.replicas
    }
}

/// What is shown.
impl Document {
    /// The members of a list in order. None if there is no list there; an emptied list has no members.
    pub fn list(&self, path: &Path) -> Option<&[Dot]> {
        self.state.lists.get(path).and_then(shown_list)
    }

    /// The body of a member of a list or leaf.
    ///
    /// # Panics
    /// The dot is not one that this document shows.
    pub fn body(&self, dot: &Dot) -> &Body {
        self.state.body(dot).expect("every member has a body: checked at the gate")
    }

    /// The visible value of a leaf: the surviving one written last.
    pub fn cell(&self, path: &Path) -> Option<&Value> {
        self.cell_dot(path).map(|dot| &self.body(&dot).value)
    }

    /// The dot of the visible value of a leaf.
    pub fn cell_dot(&self, path: &Path) -> Option<Dot> {
        self.cell_dots(path).iter().copied().max_by_key(|dot| self.body(dot).version(dot))
    }

    /// The dots of all values of a leaf that concurrent writers left there; one of them is visible.
    pub fn cell_dots(&self, path: &Path) -> &[Dot] {
        self.state.cells.get(path).map(|register| register.joined.members.as_slice()).unwrap_or_default()
    }

    /// The lists at or below a path, in path order.
    pub fn lists_below(&self, path: &Path) -> impl Iterator<Item = (&Path, &[Dot])> {
        below(&self.state.lists, path).filter_map(|(path, register)| Some((path, shown_list(register)?)))
    }

    /// The visible leaves at or below a path, in path order.
    pub fn cells_below(&self, path: &Path) -> impl Iterator<Item = (&Path, &Value)> {
        below(&self.state.cells, path).filter_map(|(path, _)| Some((path, self.cell(path)?)))
    }

    /// Everything visible and the clock, as bytes: equal on every replica that has applied the same changes.
    pub fn canonical_bytes(&self) -> Vec<u8> {
        let mut w = Writer::default();
        self.clock().encode(&mut w);
        self.state.encode_visible(&mut w);
        w.into_bytes()
    }

    /// Holds the state shown against the Automerge document, key by key, for `memlet doctor` and tests.
    ///
    /// # Errors
    /// The first key where they differ.
    pub fn verify(&self) -> Result<(), Broken> {
        for (map, registers) in [(Map::Sequences, &self.state.lists), (Map::Cells, &self.state.cells)] {
            for (path, register) in registers {
                let stored = past::read_all(&self.automerge, &self.maps[map as usize], map, &path.to_string(), None);
                let stored: BTreeMap<OpId, Vec<u8>> =
                    stored.into_iter().map(|(id, record)| (id, record.to_bytes())).collect();
                let shown: BTreeMap<OpId, Vec<u8>> =
                    register.versions.iter().map(|(id, generation)| (*id, generation.to_cbor())).collect();
                if stored != shown {
                    return Err(Broken(format!("{path} differs from the stored document")));
                }
            }
        }
        Ok(())
    }
}

fn shown_list(register: &Register) -> Option<&[Dot]> {
    let joined = &register.joined;
    (!joined.deleted && !register.versions.is_empty()).then_some(joined.members.as_slice())
}

fn below<'a>(registers: &'a BTreeMap<Path, Register>, path: &Path) -> impl Iterator<Item = (&'a Path, &'a Register)> {
    let top = path.clone();
    registers.range(path.clone()..).take_while(move |(path, _)| top.covers(path))
}
