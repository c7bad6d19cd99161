//! What the store's contract costs over bare SQLite: one durable record per commit, the same pragmas, the same disk.
//!
//! `cargo bench -p memlet-store`

#![expect(clippy::unwrap_used, reason = "a bench that cannot write has nothing to measure")]

use divan::Bencher;
use memlet_store::{Scope, SqliteStore, Store, Table};
use rusqlite::Connection;
use tempfile::TempDir;

const VALUE: [u8; 250] = [7; 250];

fn main() {
    divan::main();
}

/// On the disk of the build, since a temporary directory may be in memory.
fn dir() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[divan::bench(sample_count = 2000, sample_size = 1)]
fn durable_put(bencher: Bencher<'_, '_>) {
    let dir = dir();
    let store = SqliteStore::open(dir.path().join("store.db")).unwrap();
    let mut number = 0_u64;
    bencher.bench_local(|| {
        number += 1;
        let mut write = store.write(Scope::Store).unwrap();
        write.put(Table::Changes, &number.to_be_bytes(), &VALUE).unwrap();
        write.commit().unwrap();
    });
}

#[divan::bench(sample_count = 2000, sample_size = 1)]
fn bare_insert(bencher: Bencher<'_, '_>) {
    let dir = dir();
    let conn = Connection::open(dir.path().join("bare.db")).unwrap();
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
         CREATE TABLE record (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    )
    .unwrap();
    let mut number = 0_u64;
    bencher.bench_local(|| {
        number += 1;
        let mut insert = conn.prepare_cached("INSERT INTO record VALUES (?1, ?2)").unwrap();
        insert.execute((number.to_be_bytes(), VALUE)).unwrap();
    });
}

/// What a reader of one record pays, most of it for opening the snapshot.
#[divan::bench]
fn get(bencher: Bencher<'_, '_>) {
    let dir = dir();
    let store = SqliteStore::open(dir.path().join("store.db")).unwrap();
    let mut write = store.write(Scope::Store).unwrap();
    write.put(Table::Changes, b"key", &VALUE).unwrap();
    write.commit().unwrap();
    bencher.bench_local(|| store.read().unwrap().get(Scope::Store, Table::Changes, b"key").unwrap());
}
