//! The faults of a disk in memory: each does what a real disk may do, and the same on every run.

use memlet_store::{Fault, MemoryDisk, MemoryStore, Store, StoreError, Table};

use crate::support::{A, get, put};

fn code(result: Result<(), StoreError>) -> &'static str {
    result.unwrap_err().code()
}

fn holds(disk: &MemoryDisk, key: &[u8]) -> bool {
    get(&disk.open(), key).unwrap().is_some()
}

#[test]
fn acknowledged_writes_survive_a_crash() {
    let store = MemoryStore::new();
    put(&store, b"k", b"v").unwrap();
    let threads = store.clone();
    store.disk().crash(0);
    assert_eq!(code(put(&store, b"l", b"")), "STORE_POISONED");
    assert_eq!(get(&threads, b"k").unwrap_err().code(), "STORE_POISONED", "a thread outlives its process");
    assert!(holds(store.disk(), b"k"));
}

#[test]
fn a_write_open_at_the_crash_is_lost() {
    let store = MemoryStore::new();
    let mut write = store.write(A).unwrap();
    write.put(Table::Changes, b"k", b"v").unwrap();
    store.disk().crash(usize::MAX);
    assert_eq!(code(write.commit()), "STORE_POISONED");
    assert!(!holds(store.disk(), b"k"));
}

#[test]
fn a_failed_write_poisons_its_process_and_keeps_nothing() {
    let disk = MemoryDisk::new();
    disk.inject(Fault::WriteError, 1, 1);
    let (store, other) = (disk.open(), disk.open());
    put(&store, b"a", b"").unwrap();
    assert_eq!(code(put(&store, b"b", b"")), "STORE_IO");
    let error = put(&store, b"c", b"").unwrap_err();
    assert_eq!(error.code(), "STORE_POISONED");
    assert!(error.to_string().contains("failed to write"), "the first failure is not named: {error}");
    assert_eq!(get(&store, b"a").unwrap_err().code(), "STORE_POISONED");
    put(&other, b"d", b"").unwrap();
    assert_eq!(disk.unsynced(), 0);
    disk.crash(usize::MAX);
    assert!(holds(&disk, b"a") && !holds(&disk, b"b") && holds(&disk, b"d"));
}

#[test]
fn a_failed_sync_leaves_its_write_to_the_crash() {
    for (keep, survives) in [(0, false), (1, true)] {
        let disk = MemoryDisk::new();
        let store = disk.open();
        put(&store, b"a", b"").unwrap();
        disk.inject(Fault::SyncError, 0, u64::MAX);
        assert_eq!(code(put(&store, b"b", b"")), "STORE_IO");
        assert!(!holds(&disk, b"b"), "an unacknowledged write is shown");
        assert_eq!(disk.unsynced(), 1);
        disk.crash(keep);
        assert_eq!(holds(&disk, b"b"), survives);
        assert_eq!(code(put(&disk.open(), b"c", b"")), "STORE_IO", "the fault does not last");
        disk.heal();
        put(&disk.open(), b"c", b"").unwrap();
        disk.crash(usize::MAX);
        assert!(holds(&disk, b"a") && holds(&disk, b"c"));
    }
}

#[test]
fn a_commit_overwrites_one_that_failed_to_sync() {
    let disk = MemoryDisk::new();
    disk.inject(Fault::SyncError, 0, 1);
    assert_eq!(code(put(&disk.open(), b"a", b"")), "STORE_IO");
    put(&disk.open(), b"b", b"").unwrap();
    assert_eq!(disk.unsynced(), 0);
    disk.crash(usize::MAX);
    assert!(!holds(&disk, b"a") && holds(&disk, b"b"));
}

#[test]
fn a_lying_disk_loses_the_newest_writes_first() {
    for keep in 0..=3 {
        let disk = MemoryDisk::new();
        let store = disk.open();
        put(&store, b"k", b"before").unwrap();
        disk.inject(Fault::SyncLost, 0, 3);
        for value in [b"1", b"2", b"3"] {
            put(&store, b"k", value).unwrap();
        }
        assert_eq!(disk.unsynced(), 3);
        disk.crash(keep);
        let expected: [&[u8]; 4] = [b"before", b"1", b"2", b"3"];
        assert_eq!(get(&disk.open(), b"k").unwrap().unwrap(), expected[keep]);
        assert_eq!(disk.unsynced(), 0);
    }
}

#[test]
fn an_honest_sync_saves_what_went_before() {
    let disk = MemoryDisk::new();
    let store = disk.open();
    disk.inject(Fault::SyncLost, 0, 1);
    put(&store, b"a", b"").unwrap();
    put(&store, b"b", b"").unwrap();
    disk.crash(0);
    assert!(holds(&disk, b"a") && holds(&disk, b"b"));
}

#[test]
fn a_full_or_read_only_disk_poisons_nothing() {
    let disk = MemoryDisk::new();
    let store = disk.open();
    disk.inject(Fault::Full, 1, 2);
    disk.inject(Fault::ReadOnly, 3, 1);
    put(&store, b"a", b"").unwrap();
    assert_eq!(code(put(&store, b"b", b"")), "STORE_FULL");
    assert_eq!(code(put(&store, b"b", b"")), "STORE_FULL");
    assert_eq!(code(put(&store, b"b", b"")), "STORE_READ_ONLY");
    assert!(get(&store, b"a").unwrap().is_some() && get(&store, b"b").unwrap().is_none());
    put(&store, b"b", b"").unwrap();
    assert!(holds(&disk, b"b"));
}

#[test]
fn a_copy_lives_its_own_life() {
    let disk = MemoryDisk::new();
    put(&disk.open(), b"a", b"").unwrap();
    let copy = disk.copy();
    disk.inject(Fault::Full, 0, u64::MAX);
    put(&copy.open(), b"b", b"").unwrap();
    disk.crash(0);
    assert!(holds(&copy, b"a") && holds(&copy, b"b") && holds(&disk, b"a") && !holds(&disk, b"b"));
}
