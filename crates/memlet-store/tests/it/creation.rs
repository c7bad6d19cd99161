//! A store is made whole or not at all, whoever else makes it at the same time.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Barrier;

use memlet_store::SqliteStore;

use crate::support::{get, open_patient, other_process, put, role};

#[test]
fn file_and_directory_belong_to_their_user_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("one/two/store.db");
    let store = SqliteStore::open(&path).unwrap();
    put(&store, b"k", b"v").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir.path().join("one")), 0o700);
    assert_eq!(mode(&dir.path().join("one/two")), 0o700);
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        assert_eq!(mode(&path.with_file_name(name)), 0o600, "{name}");
    }
}

#[test]
fn threads_that_create_at_once_share_one_store() {
    const THREADS: u8 = 8;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new/store.db");
    let start = Barrier::new(THREADS.into());
    std::thread::scope(|threads| {
        for thread in 0..THREADS {
            let (path, start) = (&path, &start);
            threads.spawn(move || {
                start.wait();
                put(&open_patient(path), &[thread], b"here").unwrap();
            });
        }
    });
    let store = SqliteStore::open(&path).unwrap();
    assert!((0..THREADS).all(|thread| get(&store, &[thread]).unwrap().is_some()), "a creator lost its store");
    drop(store);
    assert_eq!(names(path.parent().unwrap()), ["store.db"]);
}

#[test]
fn processes_that_create_at_once_share_one_store() {
    if let Some(path) = role() {
        let id = std::process::id();
        return put(&open_patient(&path), &id.to_be_bytes(), b"here").unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let start = || {
        let mut command = other_process("creation::processes_that_create_at_once_share_one_store", &path);
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let mut children: Vec<_> = (0..4).map(|_| start()).collect();
    assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
    let store = SqliteStore::open(&path).unwrap();
    for child in children {
        assert!(get(&store, &child.id().to_be_bytes()).unwrap().is_some(), "a creator lost its store");
    }
}

#[test]
fn a_killed_creator_leaves_nothing_or_a_whole_store() {
    if let Some(path) = role() {
        drop(SqliteStore::open(path).unwrap());
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for round in 0..30 {
        let path = dir.path().join(format!("{round}.db"));
        let mut command = other_process("creation::a_killed_creator_leaves_nothing_or_a_whole_store", &path);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_micros(500 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        put(&SqliteStore::open(&path).unwrap(), b"k", b"v").unwrap();
        assert!(path.exists());
        fs::remove_file(&path).unwrap();
        assert_eq!(names(dir.path()), [""; 0], "round {round}");
    }
}

#[test]
fn strays_of_dead_creators_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    for name in [".store.db.new-abc", ".store.db.new-abc-wal", ".other.db.new-abc", "store.db.new-mine"] {
        fs::write(dir.path().join(name), "SQLite format 3").unwrap();
    }
    drop(SqliteStore::open(&path).unwrap());
    assert_eq!(names(dir.path()), [".other.db.new-abc", "store.db", "store.db.new-mine"]);
}

/// The names in a directory, sorted.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
