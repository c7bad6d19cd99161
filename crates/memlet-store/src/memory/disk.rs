//! The simulated disk: what survives a crash, and the faults that a simulation puts on its commits.
//!
//! Invariant: the committed state is the durable state plus the unsynced writes, and each of these can be undone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::view::{Batch, Records, apply};
use super::{AT, MemoryStore};
use crate::StoreError;
use crate::turn::Turn;

/// What goes wrong with a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The disk fails before anything reached it: [`StoreError::Io`], and the process is poisoned.
    WriteError,
    /// The disk fails to sync: [`StoreError::Io`], and the process is poisoned. A crash may keep or lose the write; the
    /// next commit of another process overwrites it.
    SyncError,
    /// The disk lies: the commit returns `Ok`, but a crash before the next honest sync may lose it.
    SyncLost,
    /// No space: [`StoreError::Full`]. Nothing is kept.
    Full,
    /// The file system was mounted read-only: [`StoreError::ReadOnly`]. Nothing is kept.
    ReadOnly,
}

/// A disk in memory. Clones are the same disk.
///
/// [`open`](Self::open) starts a process on it. A plan of faults is made with [`inject`](Self::inject) and dropped with
/// [`heal`](Self::heal). [`crash`](Self::crash) ends all processes and may take unsynced writes with it.
/// [`copy`](Self::copy) is a backup, or the clone of a machine.
#[derive(Debug, Clone, Default)]
pub struct MemoryDisk(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    turn: Turn,
    platter: Mutex<Platter>,
}

#[derive(Debug, Default)]
struct Platter {
    records: Arc<Records>,
    /// What undoes each write that was reported but not synced, oldest first.
    unsynced: Vec<Batch>,
    /// A write that failed to sync: not visible, but a crash may bring it up.
    in_doubt: Option<Batch>,
    plan: Vec<Planned>,
    commits: u64,
    boot: u64,
    /// Which copy of which copy this is.
    lineage: Vec<u32>,
    copies: u32,
}

/// A fault that strikes the commits numbered `first..end`.
#[derive(Debug)]
struct Planned {
    fault: Fault,
    first: u64,
    end: u64,
}

/// Why a commit failed.
pub(super) enum CommitFailure {
    /// Nothing was kept.
    Refused(StoreError),
    /// What was kept is unknown.
    Unknown(&'static str),
}

impl MemoryDisk {
    /// An empty disk without faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a process on this disk.
    pub fn open(&self) -> MemoryStore {
        MemoryStore::on(self, self.boot())
    }

    /// After `after` more commits, lets `times` commits suffer `fault` (`u64::MAX`: all later ones). Of several faults
    /// planned for one commit the first planned strikes. A commit without changes does not reach the disk.
    pub fn inject(&self, fault: Fault, after: u64, times: u64) {
        let mut platter = self.platter();
        let first = platter.commits.saturating_add(after);
        platter.plan.push(Planned { fault, first, end: first.saturating_add(times) });
    }

    /// Drops all planned faults. Poisoned processes stay poisoned.
    pub fn heal(&self) {
        self.platter().plan.clear();
    }

    /// How many writes a crash may lose now.
    pub fn unsynced(&self) -> usize {
        let platter = self.platter();
        platter.unsynced.len() + usize::from(platter.in_doubt.is_some())
    }

    /// The power fails: all processes end, and of the unsynced writes only the oldest `keep` survive. A write is never
    /// torn, since a store that keeps the contract makes it whole or not at all.
    pub fn crash(&self, keep: usize) {
        let platter = &mut *self.platter();
        let kept_reported = keep.min(platter.unsynced.len());
        let in_doubt_survives = keep > platter.unsynced.len();
        let records = Arc::make_mut(&mut platter.records);
        for undo in platter.unsynced.drain(..).skip(kept_reported).rev() {
            apply(records, undo);
        }
        if let Some(batch) = platter.in_doubt.take()
            && in_doubt_survives
        {
            apply(records, batch);
        }
        platter.boot += 1;
    }

    /// A second disk with the state committed now, durable and without faults.
    pub fn copy(&self) -> Self {
        let copy = Self::new();
        let platter = &mut *self.platter();
        platter.copies += 1;
        let mut lineage = platter.lineage.clone();
        lineage.push(platter.copies);
        {
            let mut copied = copy.platter();
            copied.records = Arc::clone(&platter.records);
            copied.lineage = lineage;
        }
        copy
    }

    /// Tells this disk from its copies.
    pub(super) fn place(&self) -> Vec<u8> {
        self.platter().lineage.iter().flat_map(|copy| copy.to_be_bytes()).collect()
    }

    /// Writes a batch as the fault planned for it, if any, lets it.
    pub(super) fn commit(&self, batch: Batch) -> Result<(), CommitFailure> {
        if batch.is_empty() {
            return Ok(());
        }
        let platter = &mut *self.platter();
        let number = platter.commits;
        platter.commits += 1;
        let fault = platter.plan.iter().find(|planned| (planned.first..planned.end).contains(&number));
        match fault.map(|planned| planned.fault) {
            Some(Fault::WriteError) => return Err(CommitFailure::Unknown("the disk failed to write")),
            Some(Fault::SyncError) => {
                platter.in_doubt = Some(batch);
                return Err(CommitFailure::Unknown("the disk failed to sync"));
            }
            Some(Fault::Full) => return Err(CommitFailure::Refused(StoreError::Full { at: AT.into() })),
            Some(Fault::ReadOnly) => {
                let what = "the file system is read-only".into();
                return Err(CommitFailure::Refused(StoreError::ReadOnly { at: AT.into(), what }));
            }
            Some(Fault::SyncLost) => platter.unsynced.push(apply(Arc::make_mut(&mut platter.records), batch)),
            None => {
                apply(Arc::make_mut(&mut platter.records), batch);
                platter.unsynced.clear();
            }
        }
        platter.in_doubt = None;
        Ok(())
    }

    /// The state committed now. Letting it go before the next commit saves a copy of it.
    pub(super) fn committed(&self) -> Arc<Records> {
        Arc::clone(&self.platter().records)
    }

    pub(super) fn boot(&self) -> u64 {
        self.platter().boot
    }

    pub(super) fn turn(&self) -> &Turn {
        &self.0.turn
    }

    fn platter(&self) -> MutexGuard<'_, Platter> {
        // Nothing in this file leaves the platter half changed, so a panic elsewhere does not spoil it.
        self.0.platter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
