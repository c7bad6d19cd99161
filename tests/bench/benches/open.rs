//! From a file on disk to the first recall: a namespace of 1,000 items after 1,000 mutations, beside plain Automerge with the
//! same texts. The files are in the page cache.
//!
//! `cargo bench --manifest-path tests/bench/Cargo.toml --bench open`

use std::fs;
use std::path::Path;
use std::sync::Arc;

use automerge::Automerge;
use memlet_bench::measure::{in_turns, print_table, ratio, shown, timed};
use memlet_bench::{ITEMS, device, plain};
use memlet_store::SqliteStore;

const ROUNDS: usize = 50;

fn main() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target directory takes files");
    let [store, saved, log] = ["store.db", "saved", "log"].map(|name| dir.path().join(name));
    let namespace = device::create(1, Arc::new(SqliteStore::open(&store).expect("a new store is made")));
    (0..ITEMS).for_each(|n| device::remember(&namespace, n));
    let expected = device::recall(&namespace);
    drop(namespace);
    let document = plain::document(ITEMS);
    let changes: Vec<u8> = document.get_changes(&[]).iter().flat_map(|change| change.raw_bytes().to_vec()).collect();
    fs::write(&saved, document.save()).expect("the document is written");
    fs::write(&log, changes).expect("the changes are written");

    let [memlet, one_by_one, whole] = in_turns(
        ROUNDS,
        [&mut || checked(&expected, || open(&store)), &mut || checked(&expected, || load(&log)), &mut || {
            checked(&expected, || load(&saved))
        }],
    );
    let row = |name: &str, elapsed, path| {
        let bytes = fs::metadata(path).expect("the file is there").len();
        [name.to_owned(), shown(elapsed), ratio(memlet, elapsed), format!("{bytes} B")]
    };
    print_table(
        "Open 1,000 items after 1,000 mutations and recall them",
        ["what", "time", "memlet / it", "file"],
        &[
            row("memlet, SQLite store", memlet, &store),
            row("plain Automerge, the log of its changes", one_by_one, &log),
            row("plain Automerge, one saved document", whole, &saved),
        ],
    );
}

fn checked(expected: &str, open: impl FnOnce() -> String) -> std::time::Duration {
    let (elapsed, recalled) = timed(open);
    assert_eq!(recalled, expected, "what was remembered is recalled");
    elapsed
}

fn open(path: &Path) -> String {
    let node = device::open(1, Arc::new(SqliteStore::open(path).expect("the store opens")));
    let id = node.home().expect("the store can be read").expect("it has a namespace");
    device::recall(&node.namespace(id).expect("its home is there"))
}

fn load(path: &Path) -> String {
    let document = Automerge::load(&fs::read(path).expect("the file can be read")).expect("the document loads");
    plain::recall(&document)
}
