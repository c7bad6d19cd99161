//! What a durable remember through the node costs over a bare SQLite insert of the same bytes, with the same pragmas, on the
//! same disk.
//!
//! `cargo bench --manifest-path tests/bench/Cargo.toml --bench remember`

use std::path::Path;
use std::sync::Arc;

use memlet_bench::measure::{in_turns, print_table, ratio, shown, timed};
use memlet_bench::{ITEMS, device};
use memlet_store::{MemoryStore, Read, Scope, SqliteStore, Store, Table};
use rusqlite::Connection;

const ROUNDS: usize = 500;

fn main() {
    let rows = [100, ITEMS].map(row);
    print_table(
        "A durable remember",
        ["items before", "bare insert", "remember on SQLite", "ratio", "remember in memory", "bytes written"],
        &rows,
    );
}

fn row(items: u64) -> [String; 6] {
    // On the disk of the build, since a temporary directory may be in memory.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target directory takes files");
    let store = Arc::new(SqliteStore::open(dir.path().join("store.db")).expect("a new store is made"));
    let on_disk = device::create(1, Arc::clone(&store) as Arc<dyn Store>);
    let in_memory = device::create(1, Arc::new(MemoryStore::new()));
    (0..items).for_each(|n| device::remember(&on_disk, n));
    (0..items).for_each(|n| device::remember(&in_memory, n));

    let read = store.read().expect("the store can be read");
    let (key, value) = last_change(&*read, Scope::Namespace(on_disk.id()));
    drop(read);
    let bare = bare(&dir.path().join("bare.db"));

    let (mut disk_n, mut memory_n, mut bare_n) = (items, items, 0_u64);
    let [remember, compute, insert] = in_turns(
        ROUNDS,
        [
            &mut || {
                disk_n += 1;
                timed(|| device::remember(&on_disk, disk_n)).0
            },
            &mut || {
                memory_n += 1;
                timed(|| device::remember(&in_memory, memory_n)).0
            },
            &mut || {
                bare_n += 1;
                timed(|| {
                    let mut insert = bare.prepare_cached("INSERT INTO record VALUES (?1, ?2)").expect("it is prepared");
                    insert.execute((bare_n.to_be_bytes(), &value)).expect("it is inserted");
                })
                .0
            },
        ],
    );
    let bytes = format!("{} B", key.len() + value.len());
    [items.to_string(), shown(insert), shown(remember), ratio(remember, insert), shown(compute), bytes]
}

/// What a remember puts into the store.
fn last_change(read: &dyn Read, scope: Scope) -> (Vec<u8>, Vec<u8>) {
    read.last(scope, Table::Changes).expect("the store can be read").expect("it has a change")
}

/// A database that is as durable as a store, and nothing else.
fn bare(path: &Path) -> Connection {
    let database = Connection::open(path).expect("a new database is made");
    let schema = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
        PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON;
        CREATE TABLE record (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID";
    database.execute_batch(schema).expect("it takes its schema");
    database
}
