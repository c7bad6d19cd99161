//! Why a store refused: one error per cause, each with a stable code and the next step for whoever reads it.

use std::time::Duration;

/// Why a store could not do what it was asked.
///
/// `at` names the store: the path of its file, or `memory`. The environment is to blame for every variant but
/// [`Limit`](StoreError::Limit), which is the caller's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A newer program wrote this store. Not a byte of its file was changed.
    #[error(
        "the store {at} has format {found}, but this program knows formats up to {supported}; \
         it was left untouched: update memlet to open it"
    )]
    NewerFormat {
        /// The store.
        at: String,
        /// The format the file has.
        found: u32,
        /// The newest format this program knows.
        supported: u32,
    },
    /// The file was not made by memlet. Not a byte of it was changed.
    #[error("{at} is not a memlet store: {what}; it was left untouched: choose another path")]
    ForeignFile {
        /// The file.
        at: String,
        /// What it is instead.
        what: String,
    },
    /// The store's own structure is broken.
    #[error("the store {at} is damaged: {what}; stop memlet, keep a copy of the files and restore a backup")]
    Damaged {
        /// The store.
        at: String,
        /// What is broken.
        what: String,
    },
    /// The disk is full. Nothing of the write was kept; the store stays usable once there is space.
    #[error("no space is left for the store {at}; nothing of this write was kept: free some space and repeat it")]
    Full {
        /// The store.
        at: String,
    },
    /// The store may not be written here.
    #[error(
        "the store {at} cannot be written: {what}; give this user write access to the file and its directory, \
         or choose another path"
    )]
    ReadOnly {
        /// The store.
        at: String,
        /// What refused.
        what: String,
    },
    /// Another writer held the store for longer than this one would wait.
    #[error(
        "the store {at} is busy: another writer held it for {waited:?}; \
         try again, and if it stays busy look for a memlet process that hangs"
    )]
    Busy {
        /// The store.
        at: String,
        /// How long this writer waited.
        waited: Duration,
    },
    /// An earlier write failed in a way that leaves the state of the disk unknown, so this handle refuses everything.
    #[error(
        "the store {at} refuses all work after an earlier failure ({cause}); \
         the last write counts as not done: check the disk, then restart memlet"
    )]
    Poisoned {
        /// The store.
        at: String,
        /// The failure that poisoned it.
        cause: String,
    },
    /// Reading or writing failed for another reason.
    #[error("reading or writing the store {at} failed: {what}; check the disk and the path")]
    Io {
        /// The store.
        at: String,
        /// What the system said.
        what: String,
    },
    /// A key or value is larger than a store takes. The write it belongs to goes on without it.
    #[error("a {what} of {bytes} bytes is too large for a store, which takes at most {bytes_max}")]
    Limit {
        /// `key` or `value`.
        what: &'static str,
        /// Its size in bytes.
        bytes: usize,
        /// The largest size in bytes.
        bytes_max: usize,
    },
}

impl StoreError {
    /// The stable code of this error: what programs match on. Messages may change, codes do not.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NewerFormat { .. } => "STORE_NEWER_FORMAT",
            Self::ForeignFile { .. } => "STORE_FOREIGN_FILE",
            Self::Damaged { .. } => "STORE_DAMAGED",
            Self::Full { .. } => "STORE_FULL",
            Self::ReadOnly { .. } => "STORE_READ_ONLY",
            Self::Busy { .. } => "STORE_BUSY",
            Self::Poisoned { .. } => "STORE_POISONED",
            Self::Io { .. } => "STORE_IO",
            Self::Limit { .. } => "STORE_LIMIT",
        }
    }
}
