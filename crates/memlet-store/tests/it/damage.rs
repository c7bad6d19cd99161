//! Damage and a failing disk: told apart, and never taken for success.

use std::fs;
use std::ops::{Bound, ControlFlow};
use std::path::Path;

use memlet_store::{SqliteStore, Store, Table};

use crate::support::{A, get, other_process_through, put, role};

#[test]
fn a_broken_page_is_found_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    for number in 0..200_u16 {
        put(&store, &number.to_be_bytes(), &[7; 300]).unwrap();
    }
    store.check().unwrap();
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    let page = 4096 * 5;
    bytes[page..page + 200].fill(0x55);
    fs::write(&path, bytes).unwrap();

    let store = SqliteStore::open(&path).unwrap();
    let error = store.check().unwrap_err();
    assert_eq!(error.code(), "STORE_DAMAGED");
    assert!(error.to_string().contains("page 6"), "the damage is not named: {error}");
    let read = store.read().unwrap();
    let mut visit = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
    let error = read.scan(A, Table::Changes, Bound::Unbounded, &mut visit).unwrap_err();
    assert_eq!(error.code(), "STORE_DAMAGED");
}

#[test]
fn a_failing_disk_poisons_the_store_and_keeps_what_was_acknowledged() {
    if let Some(path) = role() {
        return write_until_the_disk_fails(&path);
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    // A limit on the size of files, with its signal ignored, makes a write fail as a bad disk does: not for lack of
    // space.
    let limited = ["sh", "-c", "trap '' XFSZ; ulimit -f 400; exec \"$0\" \"$@\""];
    let test = "damage::a_failing_disk_poisons_the_store_and_keeps_what_was_acknowledged";
    let output = other_process_through(limited, test, &path).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    let acknowledged: u32 =
        stdout.lines().find_map(|line| line.strip_prefix("acknowledged ")).unwrap().parse().unwrap();
    assert!(acknowledged > 0);

    let store = SqliteStore::open(&path).unwrap();
    for number in 0..acknowledged {
        assert!(get(&store, &number.to_be_bytes()).unwrap().is_some(), "record {number} was lost");
    }
    assert_eq!(get(&store, &(acknowledged + 1).to_be_bytes()).unwrap(), None, "a write after the failure was kept");
    store.check().unwrap();
}

#[expect(clippy::print_stdout, reason = "the way to tell the parent")]
fn write_until_the_disk_fails(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    let mut acknowledged: u32 = 0;
    let error = loop {
        match put(&store, &acknowledged.to_be_bytes(), &[7; 1000]) {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), "STORE_IO", "{error}");
    let error = put(&store, &(acknowledged + 1).to_be_bytes(), b"").unwrap_err();
    assert_eq!(error.code(), "STORE_POISONED", "{error}");
    assert!(error.to_string().contains("disk I/O error"), "the first failure is not named: {error}");
    assert_eq!(get(&store, &0_u32.to_be_bytes()).unwrap_err().code(), "STORE_POISONED");
    assert_eq!(store.scrub().unwrap_err().code(), "STORE_POISONED");
    println!("\nacknowledged {acknowledged}");
}
