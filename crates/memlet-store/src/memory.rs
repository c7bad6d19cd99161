//! A store in memory: deterministic, with a disk that a simulation can make lose, refuse and fail.
//!
//! A [`MemoryDisk`] is what survives, a [`MemoryStore`] one process that opened it.

mod disk;
mod view;

use std::sync::{Arc, OnceLock};

pub use disk::{Fault, MemoryDisk};

use self::disk::CommitFailure;
use self::view::View;
use crate::record::check_sizes;
use crate::turn::{BUSY_TIMEOUT_DEFAULT, TurnGuard};
use crate::{Read, Scope, Store, StoreError, Table, Write};

/// The name of a memory store in errors.
const AT: &str = "memory";

/// One process with a [`MemoryDisk`] open. Clones are threads of it: they share its fate.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    disk: MemoryDisk,
    /// The boot of the disk this process belongs to: it does not outlive a crash.
    boot: u64,
    /// Why this process refuses everything, once it does.
    poison: Arc<OnceLock<String>>,
}

impl MemoryStore {
    /// A process on a new, empty disk.
    pub fn new() -> Self {
        MemoryDisk::new().open()
    }

    /// The disk below.
    pub fn disk(&self) -> &MemoryDisk {
        &self.disk
    }

    fn on(disk: &MemoryDisk, boot: u64) -> Self {
        Self { disk: disk.clone(), boot, poison: Arc::default() }
    }

    fn refuse_if_poisoned(&self) -> Result<(), StoreError> {
        if self.disk.boot() != self.boot {
            self.poison.get_or_init(|| "the power failed".into());
        }
        match self.poison.get() {
            Some(cause) => Err(StoreError::Poisoned { at: AT.into(), cause: cause.clone() }),
            None => Ok(()),
        }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for MemoryStore {
    fn read(&self) -> Result<Box<dyn Read + '_>, StoreError> {
        self.refuse_if_poisoned()?;
        Ok(Box::new(View::of(self.disk.committed(), ())))
    }

    fn write(&self, scope: Scope) -> Result<Box<dyn Write + '_>, StoreError> {
        self.refuse_if_poisoned()?;
        let Some(_turn) = self.disk.turn().take(BUSY_TIMEOUT_DEFAULT) else {
            return Err(StoreError::Busy { at: AT.into(), waited: BUSY_TIMEOUT_DEFAULT });
        };
        self.refuse_if_poisoned()?;
        Ok(Box::new(View::of(self.disk.committed(), Writer { store: self, scope, _turn })))
    }

    fn place(&self) -> Result<Vec<u8>, StoreError> {
        self.refuse_if_poisoned()?;
        Ok(self.disk.place())
    }

    fn scrub(&self) -> Result<bool, StoreError> {
        self.refuse_if_poisoned()?;
        Ok(true)
    }
}

/// The role of the one view that may write.
struct Writer<'a> {
    store: &'a MemoryStore,
    scope: Scope,
    _turn: TurnGuard<'a>,
}

impl Write for View<Writer<'_>> {
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        check_sizes(key, value)?;
        self.set(self.role.scope, table, key, Some(value.to_vec()));
        Ok(())
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<(), StoreError> {
        self.set(self.role.scope, table, key, None);
        Ok(())
    }

    fn clear(&mut self, table: Table) -> Result<(), StoreError> {
        self.forget_all(self.role.scope, table);
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), StoreError> {
        let (batch, writer) = self.into_parts();
        let store = writer.store;
        store.refuse_if_poisoned()?;
        store.disk.commit(batch).map_err(|failure| match failure {
            CommitFailure::Refused(error) => error,
            CommitFailure::Unknown(what) => {
                store.poison.get_or_init(|| what.into());
                StoreError::Io { at: AT.into(), what: what.into() }
            }
        })
    }
}
