//! Invariants 1 to 3 of the lattice on random histories: replicas mutate, exchange changes in random order, twice or partly, and
//! must agree on what is shown, show nothing that was removed, and keep everything that was not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};

use memlet_core::document::{AdmitError, Author, Document, Element, Parsed, Refusal};
use memlet_core::id::{Actor, Dot, GrantId, NamespaceId, PublicKey, ReplicaId};
use memlet_core::path::Path;
use memlet_core::value::Value;
use proptest::prelude::*;

const GRANT: GrantId = GrantId([9; 32]);

#[derive(Clone, Debug)]
enum Step {
    Append { list: u8, items: u8 },
    Edit { list: u8, pick: prop::sample::Index },
    Remove { list: u8, pick: prop::sample::Index },
    Clear { list: u8, delete: bool },
    Rewrite { list: u8, keep: u8, insert: prop::sample::Index },
    WriteCell { cell: u8 },
    DeleteCell { cell: u8 },
    Pull { from: usize, order: u64, part: bool },
}

fn step() -> impl Strategy<Value = (usize, Step)> {
    let kind = prop_oneof![
        6 => (0..2u8, 1..4u8).prop_map(|(list, items)| Step::Append { list, items }),
        3 => (0..2u8, any::<prop::sample::Index>()).prop_map(|(list, pick)| Step::Edit { list, pick }),
        4 => (0..2u8, any::<prop::sample::Index>()).prop_map(|(list, pick)| Step::Remove { list, pick }),
        1 => (0..2u8, any::<bool>()).prop_map(|(list, delete)| Step::Clear { list, delete }),
        2 => (0..2u8, any::<u8>(), any::<prop::sample::Index>())
            .prop_map(|(list, keep, insert)| Step::Rewrite { list, keep, insert }),
        3 => (0..2u8).prop_map(|cell| Step::WriteCell { cell }),
        2 => (0..2u8).prop_map(|cell| Step::DeleteCell { cell }),
        12 => (0..5usize, any::<u64>(), any::<bool>()).prop_map(|(from, order, part)| Step::Pull { from, order, part }),
    ];
    (0..5usize, kind)
}

/// One replica, and what a model remembers of what it has seen.
struct Replica {
    author: Author,
    document: Document,
    /// Every change it has, as bytes in the order it got them.
    log: Vec<Vec<u8>>,
    /// Dots removed by changes it has.
    removed: BTreeSet<Dot>,
    /// Skewed by replica; the lattice must not care.
    wall_ms: u64,
}

struct World {
    replicas: Vec<Replica>,
    /// What each change removed, and in which list or cell each dot was born.
    removals: BTreeMap<Vec<u8>, BTreeSet<Dot>>,
    births: BTreeMap<Dot, Path>,
    written: u64,
}

fn list(n: u8) -> Path {
    Path::parse(["w/memory", "w/notes/deep"][usize::from(n)]).unwrap()
}

fn cell(n: u8) -> Path {
    Path::parse(["w/memory", "w/settings/units"][usize::from(n)]).unwrap()
}

impl World {
    fn new(replicas: usize) -> Self {
        let replica = |n: usize| {
            let n = u8::try_from(n).unwrap();
            let actor = Actor { device: PublicKey([0x40 ^ n.wrapping_mul(0x35); 32]), replica: ReplicaId([n + 1; 8]) };
            Replica {
                author: Author { actor, grant: GRANT },
                document: Document::new(NamespaceId([7; 32])),
                log: Vec::new(),
                removed: BTreeSet::new(),
                wall_ms: 1_000_000 - 100_000 * u64::from(n),
            }
        };
        Self {
            replicas: (0..replicas).map(replica).collect(),
            removals: BTreeMap::new(),
            births: BTreeMap::new(),
            written: 0,
        }
    }

    fn text(&mut self) -> Value {
        self.written += 1;
        Value::Text(format!("t{}", self.written))
    }

    fn mutate(&mut self, at: usize, step: &Step) {
        let values = [self.text(), self.text(), self.text()];
        let replica = &mut self.replicas[at];
        replica.wall_ms += 7;
        let shown_lists: Vec<Vec<Dot>> =
            (0..2).map(|n| replica.document.list(&list(n)).unwrap_or_default().to_vec()).collect();
        let shown_cells: Vec<Vec<Dot>> = (0..2).map(|n| replica.document.cell_dots(&cell(n)).to_vec()).collect();
        let mut draft = replica.document.draft(replica.author, replica.wall_ms);
        let mut removed = BTreeSet::new();
        let mut born = None;
        match step {
            Step::Append { list: n, items } => {
                for value in values.into_iter().take(usize::from(*items)) {
                    draft.append(&list(*n), value);
                }
                born = Some(list(*n));
            }
            Step::Edit { list: n, pick } => {
                let members = &shown_lists[usize::from(*n)];
                if !members.is_empty() {
                    draft.edit(&list(*n), *pick.get(members), values[0].clone());
                }
            }
            Step::Remove { list: n, pick } => {
                let members = &shown_lists[usize::from(*n)];
                if !members.is_empty() {
                    removed.insert(*pick.get(members));
                    draft.remove(&list(*n), pick.get(members));
                }
            }
            Step::Clear { list: n, delete } => {
                removed.extend(&shown_lists[usize::from(*n)]);
                if *delete {
                    draft.delete_list(&list(*n));
                } else {
                    draft.rewrite(&list(*n), Vec::new());
                }
            }
            Step::Rewrite { list: n, keep, insert } => {
                let members = &shown_lists[usize::from(*n)];
                let kept = |at: usize| (keep >> (at % 8)) & 1 == 1;
                let mut elements: Vec<Element> = members
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| kept(*at))
                    .map(|(_, dot)| Element::Keep(*dot))
                    .collect();
                elements.insert(insert.index(elements.len() + 1), Element::New(values[0].clone()));
                removed.extend(members.iter().enumerate().filter(|(at, _)| !kept(*at)).map(|(_, dot)| *dot));
                draft.rewrite(&list(*n), elements);
                born = Some(list(*n));
            }
            Step::WriteCell { cell: n } => {
                removed.extend(&shown_cells[usize::from(*n)]);
                draft.write_cell(&cell(*n), values[0].clone());
                born = Some(cell(*n));
            }
            Step::DeleteCell { cell: n } => {
                removed.extend(&shown_cells[usize::from(*n)]);
                draft.delete_cell(&cell(*n));
            }
            Step::Pull { .. } => unreachable!("pulls are not mutations"),
        }
        let own = replica.author.actor.replica;
        let before = draft.document().clock().get(&own);
        if let Some(written) = draft.commit().unwrap() {
            for counter in before + 1..=replica.document.clock().get(&own) {
                self.births.insert(Dot { replica: own, counter }, born.clone().unwrap());
            }
            let bytes = written.change.bytes().to_vec();
            replica.removed.extend(&removed);
            self.removals.insert(bytes.clone(), removed);
            replica.log.push(bytes);
        }
        self.check(at);
    }

    /// `to` gets what `from` has, in an order drawn from `order`, every other change twice; with `part`, only some of it.
    fn pull(&mut self, to: usize, from: usize, order: u64, part: bool) {
        let mut waiting = self.replicas[from].log.clone();
        let mut state = order | 1;
        let mut random = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % below as u64).unwrap()
        };
        for at in (1..waiting.len()).rev() {
            waiting.swap(at, random(at + 1));
        }
        if part {
            waiting.truncate(waiting.len() / 2);
        }
        let doubles: Vec<_> = waiting.iter().step_by(2).cloned().collect();
        waiting.extend(doubles);
        let replica = &mut self.replicas[to];
        loop {
            let before = waiting.len();
            waiting.retain(|bytes| {
                let change = Parsed::from_bytes(bytes).unwrap();
                if replica.document.knows(&change.hash) {
                    return false;
                }
                match replica.document.admit::<Refusal>(&change, &GRANT, |_| Ok(())) {
                    Ok(()) => {
                        replica.removed.extend(&self.removals[bytes]);
                        replica.log.push(bytes.clone());
                        false
                    }
                    Err(AdmitError::Refused(Refusal::MissingDependency | Refusal::Sequence { .. })) => true,
                    Err(error) => panic!("{error}"),
                }
            });
            if waiting.len() == before {
                break;
            }
        }
        replica.document.seal().unwrap();
        self.check(to);
    }

    /// No resurrection; own appends in order; state and Automerge agree.
    fn check(&self, at: usize) {
        let replica = &self.replicas[at];
        for n in 0..2 {
            let shown = replica.document.list(&list(n)).unwrap_or_default();
            for dot in shown {
                assert!(!replica.removed.contains(dot), "a removed item is shown again");
                let _ = replica.document.body(dot);
            }
        }
        replica.document.verify().unwrap();
    }

    /// Everybody gets everything; then all must be equal, and nothing that nobody removed may be missing.
    fn settle(&mut self) {
        let count = self.replicas.len();
        for round in 0..2 {
            for to in 0..count {
                for from in 0..count {
                    self.pull(to, from, (round * 31 + to * 7 + from) as u64, false);
                }
            }
        }
        let first = self.replicas[0].document.canonical_bytes();
        let removed: BTreeSet<Dot> = self.removals.values().flatten().copied().collect();
        for replica in &self.replicas {
            assert!(replica.document.canonical_bytes() == first, "replicas diverge");
            let loaded = Document::load(NamespaceId([7; 32]), replica.log.iter().map(Vec::as_slice)).unwrap();
            assert!(loaded.canonical_bytes() == first, "a loaded document differs");
            for (dot, path) in &self.births {
                let in_list = replica.document.list(path).unwrap_or_default().contains(dot);
                let in_cell = replica.document.cell_dots(path).contains(dot);
                assert_eq!(in_list || in_cell, !removed.contains(dot), "{dot:?} of {path}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn replicas_agree_forget_and_keep(count in 3..=5usize, steps in prop::collection::vec(step(), 5..60)) {
        let mut world = World::new(count);
        for (at, step) in &steps {
            match step {
                Step::Pull { from, order, part } => world.pull(at % count, from % count, *order, *part),
                _ => world.mutate(at % count, step),
            }
        }
        world.settle();
    }

    #[test]
    fn own_appends_keep_their_order(count in 3..=5usize, steps in prop::collection::vec((0..5usize, 0..5usize, any::<bool>()), 5..60)) {
        let mut world = World::new(count);
        for (at, from, pull) in steps {
            if pull {
                world.pull(at % count, from % count, 5, false);
            } else {
                world.mutate(at % count, &Step::Append { list: 0, items: 1 });
            }
            for replica in &world.replicas {
                let mut last = BTreeMap::new();
                for dot in replica.document.list(&list(0)).unwrap_or_default() {
                    let before = last.insert(dot.replica, dot.counter);
                    prop_assert!(before.is_none_or(|before| before < dot.counter));
                }
            }
        }
        world.settle();
    }
}
