//! What is not a store of this program is refused with the reason, and left as it was.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use memlet_store::{SqliteStore, StoreError};
use rusqlite::Connection;

use crate::support::{other_process, put, role};

/// Opens what must be refused, and checks that its bytes stay the same.
fn refuse(path: &Path) -> StoreError {
    let before = fs::read(path).unwrap();
    let error = SqliteStore::open(path).unwrap_err();
    assert!(error.to_string().contains(&path.display().to_string()), "the file is not named: {error}");
    assert!(fs::read(path).unwrap() == before, "the file was changed by refusing it: {error}");
    error
}

#[test]
fn a_newer_format_is_left_untouched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    put(&SqliteStore::open(&path).unwrap(), b"k", b"v").unwrap();
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 7).unwrap();
    let error = refuse(&path);
    assert_eq!(error.code(), "STORE_NEWER_FORMAT");
    assert!(matches!(error, StoreError::NewerFormat { found: 7, supported: 1, .. }));
}

#[test]
fn a_newer_format_that_is_still_in_the_log_is_left_untouched() {
    if let Some(path) = role() {
        let conn = Connection::open(path).unwrap();
        conn.pragma_update(None, "user_version", 7).unwrap();
        // A process that dies does not fold its log into the file.
        std::process::abort();
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    drop(SqliteStore::open(&path).unwrap());
    let test = "refusal::a_newer_format_that_is_still_in_the_log_is_left_untouched";
    other_process(test, &path).output().unwrap();
    let log = path.with_file_name("store.db-wal");
    let before = fs::read(&log).unwrap();
    assert!(!before.is_empty());
    assert_eq!(refuse(&path).code(), "STORE_NEWER_FORMAT");
    assert!(fs::read(&log).unwrap() == before, "the log was changed by refusing it");
}

#[test]
fn a_store_made_newer_while_open_is_written_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    put(&store, b"k", b"v").unwrap();
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 2).unwrap();
    assert_eq!(put(&store, b"k", b"w").unwrap_err().code(), "STORE_NEWER_FORMAT");
}

#[test]
fn foreign_files_are_left_untouched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let foreign = |what: &str| {
        let error = refuse(&path);
        assert_eq!(error.code(), "STORE_FOREIGN_FILE");
        assert!(error.to_string().contains(what), "{error}");
    };
    fs::write(&path, "dear diary").unwrap();
    foreign("no SQLite database");
    fs::write(&path, "dear diary".repeat(1000)).unwrap();
    foreign("no SQLite database");
    fs::remove_file(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE record (key, value)").unwrap();
    drop(other);
    foreign("another program");

    let error = SqliteStore::open(dir.path().join("dir/..")).unwrap_err();
    assert_eq!(error.code(), "STORE_IO");
    let error = SqliteStore::open(dir.path()).unwrap_err();
    assert_eq!(error.code(), "STORE_FOREIGN_FILE");
    assert!(error.to_string().contains("no regular file"), "{error}");
}

#[test]
fn empty_and_cut_files_are_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    put(&store, b"k", &[7; 100_000]).unwrap();
    drop(store);
    let whole = fs::read(&path).unwrap();
    for length in [0, 1, 15, 16, 99, 511, 512, 4095, 4096, 5000, whole.len() / 2, whole.len() - 4096] {
        fs::write(&path, &whole[..length]).unwrap();
        fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(refuse(&path).code(), "STORE_DAMAGED", "cut to {length} bytes");
    }
}

#[test]
fn a_path_that_cannot_hold_a_store_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = SqliteStore::open(file.join("store.db")).unwrap_err();
    assert_eq!(error.code(), "STORE_IO");
    assert!(error.to_string().contains("Not a directory"), "{error}");
}

/// A store that this user may read but not write is refused when it is opened, not at the first write.
#[test]
fn a_store_that_may_not_be_written_says_so() {
    if let Some(path) = role() {
        let error = SqliteStore::open(path).unwrap_err();
        assert_eq!(error.code(), "STORE_READ_ONLY", "{error}");
        return;
    }
    for (file_mode, dir_mode) in [(0o444, 0o555), (0o444, 0o777), (0o666, 0o555)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.db");
        put(&SqliteStore::open(&path).unwrap(), b"k", b"v").unwrap();
        let set_mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let mut command = other_process("refusal::a_store_that_may_not_be_written_says_so", &path);
        if fs::metadata(dir.path()).unwrap().uid() == 0 {
            // Modes do not bind root, so another user tries, with a copy of this binary that it can reach.
            let copy = dir.path().join("copy");
            fs::copy(command.get_program(), &copy).unwrap();
            let args: Vec<_> = command.get_args().map(OsStr::to_owned).collect();
            let envs: Vec<_> =
                command.get_envs().map(|(name, value)| (name.to_owned(), value.unwrap().to_owned())).collect();
            command = Command::new(copy);
            command.args(args).envs(envs).uid(65534).gid(65534);
        }
        set_mode(&path, file_mode);
        set_mode(dir.path(), dir_mode);
        let output = command.output().unwrap();
        set_mode(dir.path(), 0o700);
        assert!(
            output.status.success(),
            "file {file_mode:o} in {dir_mode:o}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// Nobody may create files there, root included.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_cannot_be_written_says_so() {
    for path in ["/sys/store.db", "/sys/new/store.db"] {
        let error = SqliteStore::open(path).unwrap_err();
        assert_eq!(error.code(), "STORE_READ_ONLY", "{error}");
        assert!(error.to_string().contains(path), "{error}");
    }
}
