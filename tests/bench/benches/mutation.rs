//! One mutation in memory, in time and in bytes of the change it makes, by the size of the list.
//!
//! `cargo bench --manifest-path tests/bench/Cargo.toml --bench mutation`

use std::collections::BTreeMap;
use std::time::Duration;

use automerge::Automerge;
use memlet_bench::measure::{median, print_table, ratio, shown, timed};
use memlet_bench::{NOW_MS, plain, text};
use memlet_core::document::{Author, Document, Draft};
use memlet_core::id::{Actor, Dot, GrantId, NamespaceId, PublicKey, ReplicaId};
use memlet_core::path::Path;
use memlet_core::value::Value;

const ROUNDS: u64 = 300;
const REPLACEMENTS: u64 = 20;

fn main() {
    let rows: Vec<_> = [10, 100, 1_000, 5_000].into_iter().flat_map(rows).collect();
    print_table(
        "One mutation in memory",
        ["mutation", "items", "memlet", "plain Automerge, in place", "ratio", "memlet, change", "plain, change"],
        &rows,
    );
    let rows: Vec<_> = [10, 100, 1_000].into_iter().map(replacement).collect();
    print_table("The whole list replaced in plain Automerge", ["items", "time", "change"], &rows);
}

/// How long a mutation took, and the bytes of its change.
type Sample = (Duration, usize);

/// Remember, update and forget in turn, so that the list keeps its size.
fn rows(items: u64) -> [[String; 7]; 3] {
    let (mut lattice, mut document) = (Lattice::new(items), plain::document(items));
    let mut samples = [const { (Vec::new(), Vec::new()) }; 3];
    for n in items..items + ROUNDS {
        let ours = [lattice.remember(n), lattice.update(n), lattice.forget()];
        let middle = usize::try_from(items / 2).expect("it fits");
        let theirs = [
            plainly(&mut document, |document| plain::remember(document, n)),
            plainly(&mut document, |document| plain::update(document, middle, &text(n))),
            plainly(&mut document, |document| plain::forget(document, 0)),
        ];
        for ((samples, ours), theirs) in samples.iter_mut().zip(ours).zip(theirs) {
            samples.0.push(ours);
            samples.1.push(theirs);
        }
    }
    let mut names = ["remember", "update", "forget"].into_iter();
    samples.map(|(ours, theirs)| {
        let [(memlet, memlet_bytes), (automerge, automerge_bytes)] = [ours, theirs].map(medians);
        [
            names.next().expect("one name for each").to_owned(),
            items.to_string(),
            shown(memlet),
            shown(automerge),
            ratio(memlet, automerge),
            format!("{memlet_bytes} B"),
            format!("{automerge_bytes} B"),
        ]
    })
}

fn replacement(items: u64) -> [String; 3] {
    let mut document = plain::document(items);
    let samples = (0..REPLACEMENTS).map(|_| plainly(&mut document, |document| plain::replace(document, items)));
    let (elapsed, bytes) = medians(samples.collect());
    [items.to_string(), shown(elapsed), format!("{bytes} B")]
}

fn medians(samples: Vec<Sample>) -> Sample {
    let (times, bytes) = samples.into_iter().unzip();
    (median(times), median(bytes))
}

fn plainly(document: &mut Automerge, mutate: impl FnOnce(&mut Automerge)) -> Sample {
    let (elapsed, ()) = timed(|| mutate(document));
    (elapsed, plain::change_bytes(document))
}

/// A document of memlet with one list.
struct Lattice {
    document: Document,
    list: Path,
    now_ms: u64,
}

impl Lattice {
    fn new(items: u64) -> Self {
        let list = Path::parse("w/memory").expect("a valid path");
        let mut lattice = Self { document: Document::new(NamespaceId([7; 32])), list, now_ms: NOW_MS };
        for n in 0..items {
            lattice.remember(n);
        }
        lattice
    }

    fn remember(&mut self, n: u64) -> Sample {
        self.write(|draft, list, _, now_ms| draft.append(list, item(n, now_ms)))
    }

    fn update(&mut self, n: u64) -> Sample {
        self.write(|draft, list, dots, now_ms| draft.edit(list, dots[dots.len() / 2], item(n, now_ms)))
    }

    fn forget(&mut self) -> Sample {
        self.write(|draft, list, dots, _| draft.remove(list, &dots[0]))
    }

    /// Makes one mutation. It is given the members of the list.
    fn write(&mut self, gather: impl FnOnce(&mut Draft<'_>, &Path, &[Dot], u64)) -> Sample {
        self.now_ms += 1;
        let actor = Actor { device: PublicKey([1; 32]), replica: ReplicaId([1; 8]) };
        let author = Author { actor, grant: GrantId([9; 32]) };
        let dots = self.document.list(&self.list).unwrap_or_default().to_vec();
        let (elapsed, written) = timed(|| {
            let mut draft = self.document.draft(author, self.now_ms);
            gather(&mut draft, &self.list, &dots, self.now_ms);
            draft.commit().expect("a draft is written").expect("it holds something")
        });
        (elapsed, written.change.bytes().len())
    }
}

fn item(n: u64, now_ms: u64) -> Value {
    let fields = [("text".to_owned(), Value::Text(text(n))), ("ts".to_owned(), Value::Int(now_ms.cast_signed()))];
    Value::Map(BTreeMap::from(fields))
}
