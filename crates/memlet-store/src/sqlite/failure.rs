//! What the errors of SQLite and of the file system mean for a store.

use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::ErrorCode;

use super::file::name;
use crate::StoreError;

/// Maps every error of SQLite to the store error with the right advice.
pub(super) fn explain(path: &Path, waited: Duration, error: rusqlite::Error) -> StoreError {
    let at = name(path);
    let what = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { at, waited },
        Some(ErrorCode::DiskFull) => StoreError::Full { at },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly { at, what },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged { at, what },
        _ => StoreError::Io { at, what },
    }
}

/// Maps every error of the file system likewise.
pub(super) fn explain_io(path: &Path, error: &io::Error) -> StoreError {
    let at = name(path);
    let what = error.to_string();
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { at, what },
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { at },
        _ => StoreError::Io { at, what },
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn every_cause_has_its_code() {
        let code = |sqlite_code| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(sqlite_code), None);
            explain(Path::new("memlet.db"), Duration::ZERO, error).code()
        };
        assert_eq!(code(ffi::SQLITE_BUSY), "STORE_BUSY");
        assert_eq!(code(ffi::SQLITE_FULL), "STORE_FULL");
        assert_eq!(code(ffi::SQLITE_READONLY), "STORE_READ_ONLY");
        assert_eq!(code(ffi::SQLITE_READONLY_DIRECTORY), "STORE_READ_ONLY");
        assert_eq!(code(ffi::SQLITE_PERM), "STORE_READ_ONLY");
        assert_eq!(code(ffi::SQLITE_CORRUPT), "STORE_DAMAGED");
        assert_eq!(code(ffi::SQLITE_NOTADB), "STORE_DAMAGED");
        assert_eq!(code(ffi::SQLITE_IOERR_FSYNC), "STORE_IO");
        assert_eq!(code(ffi::SQLITE_CANTOPEN), "STORE_IO");

        let code = |kind: io::ErrorKind| explain_io(Path::new("memlet.db"), &kind.into()).code();
        assert_eq!(code(io::ErrorKind::PermissionDenied), "STORE_READ_ONLY");
        assert_eq!(code(io::ErrorKind::ReadOnlyFilesystem), "STORE_READ_ONLY");
        assert_eq!(code(io::ErrorKind::StorageFull), "STORE_FULL");
        assert_eq!(code(io::ErrorKind::NotADirectory), "STORE_IO");
    }
}
