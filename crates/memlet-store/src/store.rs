//! The contract every store keeps, proven for each by the conformance suite.

use std::ops::{Bound, ControlFlow};

use memlet_core::id::NamespaceId;

use crate::{Scope, StoreError, Table};

/// An ordered map of records that survives, shared by threads and processes.
///
/// Take a [`read`](Store::read) or a [`write`](Store::write), use it for one operation and let it go.
///
/// * **Atomic.** All of a write appears at its commit, or nothing does. A write that is dropped or fails leaves nothing.
/// * **Durable.** A commit that returned `Ok` survives the loss of power.
/// * **One writer.** At most one write of a scope is open, across threads and processes; a store may allow fewer. It sees
///   everything committed before it, so that a number it allots is never allotted twice.
/// * **Readers wait for nobody** and nobody waits for readers, [`scrub`](Store::scrub) apart. A read sees one committed
///   state throughout.
/// * **Ordered.** Keys of one scope and table are ordered bytewise, a prefix before what it begins.
/// * **No retry.** When the disk fails a write, what it holds is unknown. The handle is then poisoned: every later call
///   is refused with [`StoreError::Poisoned`] until the process starts anew. Lack of space poisons nothing.
pub trait Store: Send + Sync {
    /// Opens the state committed now. It must not outlive one operation: an open read keeps old bytes on disk.
    fn read(&self) -> Result<Box<dyn Read + '_>, StoreError>;

    /// Becomes the one writer of `scope`; waits for others a bounded time, then fails with [`StoreError::Busy`].
    ///
    /// A thread that holds a write and asks for another waits for itself.
    fn write(&self, scope: Scope) -> Result<Box<dyn Write + '_>, StoreError>;

    /// Bytes that tell this store from every copy of it: the same for as long as it stays where it is, others for a copy, for
    /// what a backup put back, and for a disk that moved to another machine. A difference proves a copy; equality proves
    /// nothing, since a machine can be set back under a file that never moved.
    fn place(&self) -> Result<Vec<u8>, StoreError>;

    /// Makes every byte that no committed record holds disappear from the store's files, and gives space back.
    ///
    /// `false` means that a reader or writer was in the way for the whole bounded wait: old bytes may still be there, so
    /// repeat it later. It costs time in proportion to the whole store.
    fn scrub(&self) -> Result<bool, StoreError>;
}

/// A key and its value.
pub type Record = (Vec<u8>, Vec<u8>);

/// What a scan shows each key and value to, until it breaks.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// One committed state of a store.
///
/// Any error means that this read is of no more use.
pub trait Read {
    /// The value at `key`.
    fn get(&self, scope: Scope, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;

    /// Visits the records of a table in key order from `from` on, until `visit` breaks.
    fn scan(&self, scope: Scope, table: Table, from: Bound<&[u8]>, visit: &mut Visit<'_>) -> Result<(), StoreError>;

    /// The record with the greatest key.
    fn last(&self, scope: Scope, table: Table) -> Result<Option<Record>, StoreError>;

    /// The namespaces that have a record, ordered.
    fn namespaces(&self) -> Result<Vec<NamespaceId>, StoreError>;
}

/// The one writer of a scope. As a [`Read`] it also sees its own changes; of other scopes it sees a committed state.
///
/// Dropped without a commit, it leaves nothing. Any error but [`StoreError::Limit`] ends it: later calls, the commit
/// too, fail.
pub trait Write: Read {
    /// Sets the value at `key`.
    ///
    /// Keys have at most [`KEY_BYTES_MAX`](crate::KEY_BYTES_MAX) bytes, values at most
    /// [`VALUE_BYTES_MAX`](crate::VALUE_BYTES_MAX); a larger one is refused with [`StoreError::Limit`] and changes nothing.
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), StoreError>;

    /// Removes the record at `key`, if there is one.
    fn delete(&mut self, table: Table, key: &[u8]) -> Result<(), StoreError>;

    /// Removes every record of a table in this scope.
    fn clear(&mut self, table: Table) -> Result<(), StoreError>;

    /// Makes the changes visible to all and durable. `Ok` is a promise; an error means the write counts as not done.
    fn commit(self: Box<Self>) -> Result<(), StoreError>;
}
