//! The store on disk: one SQLite file, shared by any number of threads and processes.
//!
//! Invariants: a commit is in the synced log before it is reported (`synchronous=FULL` with a write-ahead log); no
//! pragma that writes runs before the format is known to be ours; a connection that saw an error is never used again.

mod failure;
mod file;
mod place;
mod session;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, MAIN_DB, OpenFlags};

pub use self::file::FORMAT;
use self::session::Session;
use crate::turn::{BUSY_TIMEOUT_DEFAULT, Turn};
use crate::{Read, Scope, Store, StoreError, Write};

/// How many idle connections are kept for the next operations. More may be open at once.
const IDLE_MAX: usize = 8;

/// How many damages a check names before it stops looking.
const DAMAGES_MAX: u32 = 20;

/// A store in one SQLite file (`PATH`, with `PATH-wal` and `PATH-shm` beside it while it is open).
///
/// Share one value between the threads of a process; each operation takes its own connection. The directory must be on
/// a local file system, as SQLite's write-ahead log needs shared memory.
///
/// The process must not open and close the file by other means while this value lives: POSIX drops all of a process's
/// locks on a file when it closes any descriptor of it.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    busy_timeout: Duration,
    idle: Mutex<Vec<Connection>>,
    turn: Turn,
    /// Why this handle refuses everything, once it does.
    poison: OnceLock<String>,
}

impl SqliteStore {
    /// Opens the store at `path`, or creates it whole: several processes may do so at once. A directory that is missing
    /// is created for this user alone (mode 0700), as is the file (mode 0600).
    ///
    /// Fails without changing a byte of the file when it has a [newer format](StoreError::NewerFormat), is
    /// [foreign](StoreError::ForeignFile) or so [damaged](StoreError::Damaged) that it cannot be read.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::open_with(path, BUSY_TIMEOUT_DEFAULT)
    }

    /// As [`open`](Self::open), with another bound on the wait for other writers.
    pub fn open_with(path: impl Into<PathBuf>, busy_timeout: Duration) -> Result<Self, StoreError> {
        let path = path.into();
        file::ensure(&path)?;
        file::inspect(&path, busy_timeout)?;
        let store = Self { path, busy_timeout, idle: Mutex::default(), turn: Turn::default(), poison: OnceLock::new() };
        let first = store.connect()?;
        store.give_back(first);
        Ok(store)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Looks for damage in the file's structure; [`StoreError::Damaged`] names what it finds. Takes time in proportion
    /// to the whole store. Values carry no checksum of their own: whoever reads them judges them.
    pub fn check(&self) -> Result<(), StoreError> {
        let conn = self.checkout()?;
        let mut found: Vec<String> = Vec::new();
        let walked = conn.prepare(&format!("PRAGMA quick_check({DAMAGES_MAX})")).and_then(|mut check| {
            check.query_map([], |row| row.get(0))?.try_for_each(|damage| damage.map(|damage| found.push(damage)))
        });
        match walked.map_err(|error| self.fail(error)) {
            // The walk itself broke off at a damage.
            Err(StoreError::Damaged { what, .. }) => found.push(what),
            other => other?,
        }
        if found != ["ok"] {
            return Err(StoreError::Damaged { at: self.at(), what: found.join("; ") });
        }
        self.give_back(conn);
        Ok(())
    }

    /// The name of this store in errors.
    fn at(&self) -> String {
        file::name(&self.path)
    }

    /// Says what an error of SQLite means for this store.
    fn blame(&self, error: rusqlite::Error) -> StoreError {
        failure::explain(&self.path, self.busy_timeout, error)
    }

    /// As [`blame`](Self::blame), for an error of an operation: one that leaves the disk unknown poisons this handle.
    fn fail(&self, error: rusqlite::Error) -> StoreError {
        let error = self.blame(error);
        if let StoreError::Io { what, .. } = &error {
            self.poison.get_or_init(|| what.clone());
        }
        error
    }

    fn refuse_if_poisoned(&self) -> Result<(), StoreError> {
        match self.poison.get() {
            Some(cause) => Err(StoreError::Poisoned { at: self.at(), cause: cause.clone() }),
            None => Ok(()),
        }
    }

    /// An idle connection, or a new one.
    fn checkout(&self) -> Result<Connection, StoreError> {
        self.refuse_if_poisoned()?;
        let idle = self.idle().pop();
        idle.map_or_else(|| self.connect(), Ok)
    }

    /// Keeps a connection, which must be outside any transaction and never have failed, for the next operation.
    fn give_back(&self, conn: Connection) {
        let mut idle = self.idle();
        if idle.len() < IDLE_MAX {
            idle.push(conn);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        // The list is whole between any two of its methods, so a panic elsewhere does not spoil it.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&self.path, flags).map_err(|error| self.blame(error))?;
        // SQLite does not mind, until the first write.
        if conn.is_readonly(MAIN_DB).map_err(|error| self.blame(error))? {
            return Err(StoreError::ReadOnly { at: self.at(), what: "the file is read-only".into() });
        }
        self.configure(&conn).map_err(|error| self.blame(error))?;
        Ok(conn)
    }

    fn configure(&self, conn: &Connection) -> rusqlite::Result<()> {
        conn.busy_timeout(self.busy_timeout)?;
        // A no-op but for a file that came back from a backup, which may be in another mode.
        conn.pragma_update(None, "journal_mode", "WAL")?;
        conn.pragma_update(None, "synchronous", "FULL")?;
        conn.pragma_update(None, "secure_delete", "ON")?;
        // What SQLite sets aside while it works must not reach other directories.
        conn.pragma_update(None, "temp_store", "MEMORY")?;
        // Finds a damaged page when it is read instead of when it does harm.
        conn.pragma_update(None, "cell_size_check", "ON")
    }
}

impl Store for SqliteStore {
    fn read(&self) -> Result<Box<dyn Read + '_>, StoreError> {
        Ok(Box::new(Session::read(self)?))
    }

    fn write(&self, scope: Scope) -> Result<Box<dyn Write + '_>, StoreError> {
        Ok(Box::new(Session::write(self, scope)?))
    }

    fn place(&self) -> Result<Vec<u8>, StoreError> {
        place::of(&self.path)
    }

    /// `secure_delete` zeroes what is deleted, but not the copies that SQLite leaves in the free space of a page when it
    /// moves records to another. So the whole file is rewritten, and the log, which holds the old pages, cut to nothing.
    fn scrub(&self) -> Result<bool, StoreError> {
        self.refuse_if_poisoned()?;
        let Some(_turn) = self.turn.take(self.busy_timeout) else { return Ok(false) };
        let conn = self.checkout()?;
        let rewritten = conn
            .execute_batch("VACUUM")
            .and_then(|()| conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)))
            .map_err(|error| self.fail(error));
        let in_the_way: bool = match rewritten {
            Err(StoreError::Busy { .. }) => return Ok(false),
            other => other?,
        };
        self.give_back(conn);
        if !in_the_way {
            // Until the log's new length is on disk, a crash could bring the old one back.
            file::sync_log(&self.path).map_err(|error| {
                self.poison.get_or_init(|| error.to_string());
                failure::explain_io(&self.path, &error)
            })?;
        }
        Ok(!in_the_way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Table;

    /// A bound on the pages of the file fails as a full disk does. SQLite then ends the transaction on its own, and what
    /// is written after that must not take effect alone.
    #[test]
    fn a_full_disk_keeps_nothing_and_poisons_nothing() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let store = SqliteStore::open(dir.path().join("store.db"))?;
        let conn = store.checkout()?;
        conn.pragma_update(None, "max_page_count", 20)?;
        store.give_back(conn);

        let mut write = store.write(Scope::Store)?;
        write.put(Table::Node, b"before", b"")?;
        let full = Err(StoreError::Full { at: store.at() });
        assert_eq!(write.put(Table::Node, b"big", &[7; 200_000]), full);
        assert_eq!(write.put(Table::Node, b"after", b""), full);
        assert_eq!(write.commit(), full);
        assert_eq!(store.read()?.last(Scope::Store, Table::Node)?, None);

        let mut write = store.write(Scope::Store)?;
        write.put(Table::Node, b"small", b"")?;
        write.commit()?;
        assert!(store.read()?.get(Scope::Store, Table::Node, b"small")?.is_some());
        Ok(())
    }
}
