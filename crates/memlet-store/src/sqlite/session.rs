//! One operation on the file: a transaction on a connection of its own.
//!
//! Invariant: after an error nothing more reaches the file through this session. SQLite ends some transactions on its
//! own when they fail; a later statement would then take effect alone.

use std::cell::OnceCell;
use std::ops::Bound;

use memlet_core::id::NamespaceId;
use rusqlite::{Connection, OptionalExtension, Params, params};

use super::{SqliteStore, file};
use crate::record::check_sizes;
use crate::turn::TurnGuard;
use crate::{Read, Record, Scope, StoreError, Table, Visit, Write};

const GET: &str = "SELECT value FROM record WHERE scope = ?1 AND kind = ?2 AND key = ?3";
const SCAN_FROM: &str = "SELECT key, value FROM record WHERE scope = ?1 AND kind = ?2 AND key >= ?3 ORDER BY key";
const SCAN_AFTER: &str = "SELECT key, value FROM record WHERE scope = ?1 AND kind = ?2 AND key > ?3 ORDER BY key";
const LAST: &str = "SELECT key, value FROM record WHERE scope = ?1 AND kind = ?2 ORDER BY key DESC LIMIT 1";
const NEXT_SCOPE: &str = "SELECT scope FROM record WHERE scope > ?1 ORDER BY scope LIMIT 1";
const PUT: &str = "INSERT INTO record (scope, kind, key, value) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (scope, kind, key) DO UPDATE SET value = excluded.value";
const DELETE: &str = "DELETE FROM record WHERE scope = ?1 AND kind = ?2 AND key = ?3";
const CLEAR: &str = "DELETE FROM record WHERE scope = ?1 AND kind = ?2";

/// A transaction, rolled back when dropped. What it may do depends on its role: [`Reader`] or [`Writer`].
pub(super) struct Session<'a, R> {
    store: &'a SqliteStore,
    /// There until the session is dropped, when it goes back to the store.
    conn: Option<Connection>,
    /// The error that ended the session.
    failed: OnceCell<StoreError>,
    role: R,
}

/// The role of a session that sees one committed state.
pub(super) struct Reader;

/// The role of the one session that may write.
pub(super) struct Writer<'a> {
    scope: Scope,
    _turn: TurnGuard<'a>,
}

impl<'a> Session<'a, Reader> {
    pub(super) fn read(store: &'a SqliteStore) -> Result<Self, StoreError> {
        Self::begin(store, "BEGIN", Reader)
    }
}

impl<'a> Session<'a, Writer<'a>> {
    pub(super) fn write(store: &'a SqliteStore, scope: Scope) -> Result<Self, StoreError> {
        // First among the writers of this process, then among those of others.
        let Some(_turn) = store.turn.take(store.busy_timeout) else {
            return Err(StoreError::Busy { at: store.at(), waited: store.busy_timeout });
        };
        Self::begin(store, "BEGIN IMMEDIATE", Writer { scope, _turn })
    }

    fn change(&self, sql: &str, params: impl Params) -> Result<(), StoreError> {
        self.run(|conn| conn.prepare_cached(sql)?.execute(params).map(drop))
    }
}

impl<'a, R> Session<'a, R> {
    fn begin(store: &'a SqliteStore, sql: &str, role: R) -> Result<Self, StoreError> {
        let session = Self { store, conn: Some(store.checkout()?), failed: OnceCell::new(), role };
        session.run(|conn| conn.prepare_cached(sql)?.execute([]))?;
        // Being the first statement that reads, it also fixes the state that is seen. A newer program may have changed
        // the format since the store was opened.
        let format = session.run(|conn| conn.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0)))?;
        file::check_format(store.path(), format)?;
        Ok(session)
    }

    /// Runs statements unless the session or the store has failed before.
    fn run<T>(&self, statements: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.store.refuse_if_poisoned()?;
        if let Some(error) = self.failed.get() {
            return Err(error.clone());
        }
        let conn = self.conn.as_ref().expect("a session has its connection until it is dropped");
        statements(conn).map_err(|error| self.failed.get_or_init(|| self.store.fail(error)).clone())
    }
}

impl<R> Drop for Session<'_, R> {
    fn drop(&mut self) {
        let Some(conn) = self.conn.take() else { return };
        let sound = self.failed.get().is_none();
        if sound && (conn.is_autocommit() || conn.execute_batch("ROLLBACK").is_ok()) {
            self.store.give_back(conn);
        }
    }
}

impl<R> Read for Session<'_, R> {
    fn get(&self, scope: Scope, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let place = params![scope.as_bytes(), table.code(), key];
        self.run(|conn| conn.prepare_cached(GET)?.query_row(place, |row| row.get(0)).optional())
    }

    fn scan(&self, scope: Scope, table: Table, from: Bound<&[u8]>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        let (sql, key) = match from {
            Bound::Included(key) => (SCAN_FROM, key),
            Bound::Excluded(key) => (SCAN_AFTER, key),
            Bound::Unbounded => (SCAN_FROM, &[][..]),
        };
        self.run(|conn| {
            let mut statement = conn.prepare_cached(sql)?;
            let mut rows = statement.query(params![scope.as_bytes(), table.code(), key])?;
            while let Some(row) = rows.next()? {
                if visit(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?).is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    fn last(&self, scope: Scope, table: Table) -> Result<Option<Record>, StoreError> {
        let place = params![scope.as_bytes(), table.code()];
        self.run(|conn| {
            let mut statement = conn.prepare_cached(LAST)?;
            statement.query_row(place, |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
    }

    fn namespaces(&self) -> Result<Vec<NamespaceId>, StoreError> {
        self.run(|conn| {
            let mut statement = conn.prepare_cached(NEXT_SCOPE)?;
            let mut found = Vec::new();
            // No name is before the scope of the store itself, which is skipped thereby.
            let mut after = Scope::Store;
            while let Some(id) = statement.query_row([after.as_bytes()], |row| row.get(0)).optional()? {
                let id = NamespaceId(id);
                found.push(id);
                after = Scope::Namespace(id);
            }
            Ok(found)
        })
    }
}

impl Write for Session<'_, Writer<'_>> {
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        check_sizes(key, value)?;
        self.change(PUT, params![self.role.scope.as_bytes(), table.code(), key, value])
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<(), StoreError> {
        self.change(DELETE, params![self.role.scope.as_bytes(), table.code(), key])
    }

    fn clear(&mut self, table: Table) -> Result<(), StoreError> {
        self.change(CLEAR, params![self.role.scope.as_bytes(), table.code()])
    }

    fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.change("COMMIT", [])
    }
}
