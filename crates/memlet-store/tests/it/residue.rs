//! After a scrub, what was deleted is nowhere in the files.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use memlet_store::{SqliteStore, Store, Table};

use crate::support::{A, put};

const CANARY: &str = "the canary sings at noon";

/// Whether any file in a directory holds the canary. A process of its own looks: reading the file of an open store here
/// would drop its locks.
fn sings(dir: &Path) -> bool {
    let status = Command::new("grep").args(["-rqaF", CANARY]).arg(dir).status().unwrap();
    assert!(matches!(status.code(), Some(0 | 1)), "grep failed");
    status.success()
}

/// SQLite's `secure_delete` does not suffice: this failed without rewriting the file. When a page is split or merged,
/// SQLite copies records to other pages and leaves the old copy in the page's free space; deleting the record zeroes the
/// new copy only.
#[test]
fn deleted_bytes_are_gone_from_all_files() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path().join("store.db")).unwrap();
    let idle = SqliteStore::open(dir.path().join("store.db")).unwrap();
    put(&idle, b"idle", b"but open").unwrap();
    // Keys in mixed order and sizes from a few bytes to several pages split and merge many pages.
    for batch in 0..40_u32 {
        let mut write = store.write(A).unwrap();
        for number in 0..50_u32 {
            let key = (batch * 50 + number).wrapping_mul(2_654_435_761).to_be_bytes();
            let value = if number % 3 == 0 { CANARY } else { "the sparrow is free" };
            let repeat = usize::from(key[3] % 31).pow(2) / 4 + 1;
            write.put(Table::Changes, &key, value.repeat(repeat).as_bytes()).unwrap();
        }
        write.commit().unwrap();
    }
    assert!(store.scrub().unwrap());
    assert!(sings(dir.path()), "the records to delete are not there");
    let mut write = store.write(A).unwrap();
    for number in (0..2000_u32).filter(|number| number % 50 % 3 == 0) {
        write.delete(Table::Changes, &number.wrapping_mul(2_654_435_761).to_be_bytes()).unwrap();
    }
    write.commit().unwrap();
    assert!(store.scrub().unwrap());
    assert!(!sings(dir.path()), "deleted bytes are still in the files");
    store.check().unwrap();
}

#[test]
fn a_rolled_back_write_is_gone_from_all_files() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path().join("store.db")).unwrap();
    let mut write = store.write(A).unwrap();
    // More than the page cache holds, so that SQLite moves some of it to the log before the end.
    write.put(Table::Changes, b"k", CANARY.repeat(300_000).as_bytes()).unwrap();
    drop(write);
    assert!(sings(dir.path()), "nothing was written ahead, so this proves nothing");
    assert!(store.scrub().unwrap());
    assert!(!sings(dir.path()), "bytes that were rolled back are still in the files");
}

#[test]
fn a_scrub_says_when_a_reader_was_in_its_way() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let store = SqliteStore::open_with(&path, Duration::from_millis(20)).unwrap();
    put(&store, b"k", CANARY.as_bytes()).unwrap();
    let other = SqliteStore::open(&path).unwrap();
    let read = other.read().unwrap();
    put(&store, b"k", b"").unwrap();
    assert!(!store.scrub().unwrap(), "a reader still sees the old bytes");
    assert!(sings(dir.path()));
    drop(read);
    assert!(store.scrub().unwrap());
    assert!(!sings(dir.path()));
}

#[test]
fn a_scrub_gives_space_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    put(&store, b"k", &vec![7; 4 << 20]).unwrap();
    put(&store, b"k", b"").unwrap();
    assert!(store.scrub().unwrap());
    let sizes = ["store.db", "store.db-wal"].map(|name| path.with_file_name(name).metadata().unwrap().len());
    assert!(sizes[0] < 64 << 10, "the file keeps {} bytes", sizes[0]);
    assert_eq!(sizes[1], 0, "the log keeps {} bytes", sizes[1]);
}
