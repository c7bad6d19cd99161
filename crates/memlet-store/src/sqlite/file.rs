//! The file itself: made whole or not at all, and recognised before anything may change it.
//!
//! Invariant: whatever stands at the path of a store is a whole store. It is built under another name in the same
//! directory, synced, and only then given its name. Strays of builders that died are removed by the next to open.
//!
//! An existing database is looked at through SQLite alone: closing a descriptor of our own would drop the locks that
//! this process holds on the file.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::failure::{explain, explain_io};
use crate::StoreError;

/// The newest format of the file this program knows, and the one it writes (SQLite's `user_version`).
pub const FORMAT: u32 = 1;

/// Marks a SQLite file as a memlet store (SQLite's `application_id`): `mmlt`.
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"mmlt");

/// How every SQLite file begins.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// No SQLite file is shorter, in bytes: the smallest page.
const FILE_BYTES_MIN: u64 = 512;

/// One table for all records. Blobs compare bytewise; a row is found by its place alone, so it needs no row id.
const SCHEMA: &str = "CREATE TABLE record (
    scope BLOB NOT NULL, kind INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (scope, kind, key)
) STRICT, WITHOUT ROWID";

/// A file's name in errors.
pub(super) fn name(path: &Path) -> String {
    path.display().to_string()
}

/// Makes sure that a durable directory entry for a whole store stands at `path`.
pub(super) fn ensure(path: &Path) -> Result<(), StoreError> {
    ensure_entry(path).map_err(|error| match error {
        Failure::Io(error) => explain_io(path, &error),
        Failure::Sqlite(error) => explain(path, Duration::ZERO, error),
    })
}

/// Refuses what is not a store of a format this program knows, without changing a byte of it.
pub(super) fn inspect(path: &Path, busy_timeout: Duration) -> Result<(), StoreError> {
    let foreign = |what: String| StoreError::ForeignFile { at: name(path), what };
    let metadata = fs::metadata(path).map_err(|error| explain_io(path, &error))?;
    if !metadata.is_file() {
        return Err(foreign("it is no regular file".into()));
    }
    if metadata.len() < FILE_BYTES_MIN {
        // Too short to be in use as a database, so there are no locks to lose by reading it.
        let bytes = fs::read(path).map_err(|error| explain_io(path, &error))?;
        return Err(if MAGIC.starts_with(&bytes) || bytes.starts_with(MAGIC) {
            StoreError::Damaged { at: name(path), what: format!("the file was cut to {} bytes", bytes.len()) }
        } else {
            foreign("it is no SQLite database".into())
        });
    }
    let (application_id, format) = read_marks(path, busy_timeout).map_err(|error| {
        if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
            return foreign("it is no SQLite database".into());
        }
        explain(path, busy_timeout, error)
    })?;
    if application_id != APPLICATION_ID {
        return Err(foreign("it is the database of another program".into()));
    }
    check_format(path, format)
}

/// Refuses formats that this program does not know.
pub(super) fn check_format(path: &Path, found: u32) -> Result<(), StoreError> {
    match found {
        FORMAT => Ok(()),
        0 => Err(StoreError::Damaged { at: name(path), what: "its format number is gone".into() }),
        _ => Err(StoreError::NewerFormat { at: name(path), found, supported: FORMAT }),
    }
}

/// Makes the length of the log durable. The log carries no locks, so closing it is harmless.
pub(super) fn sync_log(path: &Path) -> io::Result<()> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    File::open(log)?.sync_all()
}

/// Reads whose file it is and its format, also where they are still in the log. Nothing is written to either: a
/// connection that only reads cannot fold the log into the file when it closes.
fn read_marks(path: &Path, busy_timeout: Duration) -> rusqlite::Result<(i32, u32)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(busy_timeout)?;
    let application_id = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok((application_id, conn.pragma_query_value(None, "user_version", |row| row.get(0))?))
}

/// What can fail while a store is made.
enum Failure {
    Io(io::Error),
    Sqlite(rusqlite::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn ensure_entry(path: &Path) -> Result<(), Failure> {
    let Some(file_name) = path.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path does not end in a file name").into());
    };
    let dir = parent(path);
    make_dir(dir)?;
    // One process at a time looks after the files of this directory; a crash gives the lock back.
    let dir_lock = File::open(dir)?;
    dir_lock.lock()?;
    let prefix = format!(".{}.new-", file_name.display());
    sweep(dir, &prefix)?;
    if !path.try_exists()? {
        build(dir, &prefix, path)?;
    }
    // Also for a file found: its maker may have died before this.
    Ok(dir_lock.sync_all()?)
}

/// Builds a store under a name with `prefix`, then moves it to `path`, which must stay free meanwhile.
fn build(dir: &Path, prefix: &str, path: &Path) -> Result<(), Failure> {
    let (file, temporary) = tempfile::Builder::new()
        .prefix(prefix)
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(dir)?
        .into_parts();
    let conn = Connection::open_with_flags(&temporary, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.execute_batch(&format!(
        "BEGIN; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT}; {SCHEMA}; COMMIT;
         PRAGMA journal_mode = WAL"
    ))?;
    conn.close().map_err(|(_, error)| error)?;
    file.sync_all()?;
    // From the moment it has its name others may lock the file, and closing it would drop locks of this process.
    drop(file);
    temporary.persist_noclobber(path).map_err(|error| error.error)?;
    Ok(())
}

/// Removes what builders left that died. Call with the directory's lock: then no builder is alive.
fn sweep(dir: &Path, prefix: &str) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Creates a directory and its missing parents for this user alone, each durable in its own parent.
fn make_dir(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    make_dir(parent(dir))?;
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => File::open(parent(dir))?.sync_all(),
    }
}

/// The directory that holds `path`.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) => Path::new("."),
        None => Path::new("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_takes_the_name_meanwhile_is_kept() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("store.db");
        fs::write(&path, "mine")?;
        let built = build(dir.path(), ".new-", &path);
        assert!(matches!(built, Err(Failure::Io(error)) if error.kind() == io::ErrorKind::AlreadyExists));
        assert_eq!(fs::read(&path)?, b"mine");
        assert_eq!(fs::read_dir(dir.path())?.count(), 1, "a stray was left");
        Ok(())
    }
}
