//! Why a data directory cannot be used.

use std::io;
use std::path::{Path, PathBuf};

use memlet_node::NodeError;
use memlet_store::StoreError;

/// A failure of the data directory, or of what is in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// There is no place for it.
    #[error("there is no home directory to keep data in; name a directory with --home or MEMLET_HOME")]
    Nowhere,
    /// The file system refused.
    #[error("{} cannot be used: {source}; check that this user may write there, or name another with --home or MEMLET_HOME",
        .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others than its owner may write in the directory.
    #[error("the directory {path} has mode {mode:04o}, so others may replace what is in it; run `chmod 700 {path}`",
        path = .path.display())]
    DirExposed {
        /// The directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The store is there, the device key is not.
    #[error("the key file {} is missing, and the store beside it is of no use without it; put it back from a copy, or join \
        anew from an empty directory", .0.display())]
    KeyLost(PathBuf),
    /// Others than its owner have rights on a key file.
    #[error("the key file {path} has mode {mode:04o}, so others may read or change it; run `chmod 600 {path}`",
        path = .path.display())]
    KeyExposed {
        /// The key file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A key file holds something else.
    #[error("{} is no memlet key file; put it back from a copy", .0.display())]
    KeyMalformed(PathBuf),
    /// A newer memlet made a key file.
    #[error("the key file {} has a newer format than this program knows; it was left untouched: update memlet",
        .0.display())]
    KeyVersion(PathBuf),
    /// The store failed or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The replica failed or refused.
    #[error(transparent)]
    Node(#[from] NodeError),
}

impl HomeError {
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Nowhere => "HOME_NOWHERE",
            Self::Io { .. } => "HOME_IO",
            Self::DirExposed { .. } => "HOME_EXPOSED",
            Self::KeyLost(_) => "KEY_FILE_LOST",
            Self::KeyExposed { .. } => "KEY_FILE_EXPOSED",
            Self::KeyMalformed(_) => "KEY_FILE_MALFORMED",
            Self::KeyVersion(_) => "KEY_FILE_VERSION",
            Self::Store(error) => error.code(),
            Self::Node(error) => error.code(),
        }
    }
}
