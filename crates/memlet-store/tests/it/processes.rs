//! Many threads and processes on one file: every acknowledged write is there once.

use std::ops::{Bound, ControlFlow};
use std::process::Stdio;
use std::time::{Duration, Instant};

use memlet_store::{SqliteStore, Store, StoreError, Table};

use crate::support::{A, open_patient, other_process, role};

/// Appends under the next free number, which it allots in the same write.
fn append(store: &SqliteStore) -> Result<(), StoreError> {
    let mut write = store.write(A)?;
    let next = write.last(A, Table::Events)?.map_or(0, |(key, _)| u64::from_be_bytes(key.try_into().unwrap()) + 1);
    write.put(Table::Events, &next.to_be_bytes(), &[7; 100])?;
    write.commit()
}

/// The numbers allotted, which must have no gap.
fn appended(store: &SqliteStore) -> u64 {
    let mut count = 0_u64;
    let mut visit = |key: &[u8], _: &[u8]| {
        assert_eq!(key, count.to_be_bytes());
        count += 1;
        ControlFlow::Continue(())
    };
    store.read().unwrap().scan(A, Table::Events, Bound::Unbounded, &mut visit).unwrap();
    count
}

#[test]
fn twenty_threads_on_two_handles_lose_nothing() {
    const ROUNDS: u64 = 25;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let stores = [open_patient(&path), open_patient(&path)];
    std::thread::scope(|threads| {
        for thread in 0..20 {
            let store = &stores[thread % 2];
            threads.spawn(move || {
                for _ in 0..ROUNDS {
                    append(store).unwrap();
                    assert!(appended(store) > 0);
                }
            });
        }
    });
    assert_eq!(appended(&stores[0]), 20 * ROUNDS);
}

#[test]
fn four_processes_lose_nothing() {
    const ROUNDS: u64 = 50;
    if let Some(path) = role() {
        let store = open_patient(&path);
        return (0..ROUNDS).for_each(|_| append(&store).unwrap());
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let start =
        || other_process("processes::four_processes_lose_nothing", &path).stdout(Stdio::null()).spawn().unwrap();
    let mut children: Vec<_> = (0..4).map(|_| start()).collect();
    assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
    assert_eq!(appended(&open_patient(&path)), 4 * ROUNDS);
}

#[test]
fn a_killed_writer_loses_only_what_was_not_acknowledged() {
    if let Some(path) = role() {
        let store = open_patient(&path);
        loop {
            append(&store).unwrap();
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let store = open_patient(&path);
    let mut before = 0;
    for _ in 0..5 {
        let mut command = other_process("processes::a_killed_writer_loses_only_what_was_not_acknowledged", &path);
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while appended(&store) < before + 20 {
            assert!(Instant::now() < deadline, "the writer makes no progress");
        }
        let seen = appended(&store);
        child.kill().unwrap();
        child.wait().unwrap();
        before = appended(&store);
        assert!(before >= seen, "a committed write is gone");
        append(&store).unwrap();
    }
    store.check().unwrap();
}

#[test]
fn a_writer_waits_for_others_only_so_long() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let waited = Duration::from_millis(20);
    let store = SqliteStore::open_with(&path, waited).unwrap();
    let other = SqliteStore::open_with(&path, waited).unwrap();
    let held = other.write(A).unwrap();
    for busy in [&store, &other] {
        let error = busy.write(A).map(drop).unwrap_err();
        assert_eq!(error, StoreError::Busy { at: path.display().to_string(), waited });
        assert_eq!(error.code(), "STORE_BUSY");
        assert!(!busy.scrub().unwrap());
    }
    drop(held);
    append(&store).unwrap();
    append(&other).unwrap();
    assert!(store.scrub().unwrap());
}
