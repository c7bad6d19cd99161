//! What several tests need: short reads and writes, and this test binary as another process.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use memlet_core::id::NamespaceId;
use memlet_store::{Scope, SqliteStore, Store, StoreError, Table};

pub(crate) const A: Scope = Scope::Namespace(NamespaceId([0xaa; 32]));

/// Opens a store whose writers wait long enough for any crowd on any disk.
pub(crate) fn open_patient(path: &Path) -> SqliteStore {
    SqliteStore::open_with(path, Duration::from_secs(120)).unwrap()
}

/// Tells a test that it is the other process, and on which path.
const ROLE: &str = "MEMLET_STORE_TEST_PATH";

/// Writes one record in a write of its own.
pub(crate) fn put(store: &impl Store, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
    let mut write = store.write(A)?;
    write.put(Table::Changes, key, value)?;
    write.commit()
}

/// Reads one record.
pub(crate) fn get(store: &impl Store, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
    store.read()?.get(A, Table::Changes, key)
}

/// The path to work on, when this process was started by [`other_process`].
pub(crate) fn role() -> Option<PathBuf> {
    std::env::var_os(ROLE).map(Into::into)
}

/// This binary as another process that runs only `test`, which finds `path` with [`role`].
pub(crate) fn other_process(test: &str, path: &Path) -> Command {
    other_process_through([], test, path)
}

/// As [`other_process`], through a program that starts it.
pub(crate) fn other_process_through<const N: usize>(through: [&str; N], test: &str, path: &Path) -> Command {
    let this = std::env::current_exe().unwrap();
    let mut words = through.iter().map(OsStr::new).chain([this.as_os_str()]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args(["--exact", test, "--nocapture", "--test-threads=1"]).env(ROLE, path);
    command
}
