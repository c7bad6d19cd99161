//! How the sync of one namespace with one peer ends.

use memlet_core::id::{NamespaceId, PublicKey};
use memlet_sync::code::CloseCode;
use memlet_sync::replica::Fault;
use memlet_sync::session::{SessionError, Stats};

use crate::blocking::Crashed;
use crate::quic::{Ended, StreamError};

/// How the sync of one namespace with one peer has ended.
#[derive(Clone, Debug)]
pub struct SyncOutcome {
    /// The peer.
    pub peer: PublicKey,
    /// The namespace.
    pub namespace: NamespaceId,
    /// With which code the stream ended; [`CloseCode::Done`] if all was said.
    pub code: CloseCode,
    /// Whether both sides held the same, durably, at the end.
    pub level: bool,
    /// What was moved and refused.
    pub stats: Stats,
    /// Bytes sent on the stream, frames and all.
    pub sent_bytes: u64,
    /// Bytes received on the stream, frames and all.
    pub received_bytes: u64,
}

/// Why the sync of one namespace with one peer has failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The stream broke, or the peer broke its rules.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The peer ended the stream without a word.
    #[error("the peer ended the stream in the middle of the sync")]
    Unfinished,
    /// The sides do not get along, or this one failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// This side failed.
    #[error(transparent)]
    Crashed(#[from] Crashed),
}

impl SyncError {
    /// With which code this side gives the stream up, or has closed it.
    pub(crate) fn close_code(&self) -> CloseCode {
        match self {
            Self::Stream(error) => error.close_code().unwrap_or(CloseCode::Done),
            Self::Unfinished => CloseCode::Protocol,
            Self::Session(error) => error.close_code(),
            Self::Crashed(_) => CloseCode::Internal,
        }
    }

    /// Whether this side has refused something, and not merely lost the peer or failed itself.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            Self::Stream(error) => error.close_code().is_some(),
            Self::Session(SessionError::Replica(_)) | Self::Crashed(_) => false,
            Self::Unfinished | Self::Session(_) => true,
        }
    }

    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Stream(error) => error.code(),
            Self::Unfinished => "STREAM_UNFINISHED",
            Self::Session(error) => error.code(),
            Self::Crashed(error) => error.code(),
        }
    }
}

impl From<Ended> for SyncError {
    fn from(ended: Ended) -> Self {
        StreamError::from(ended).into()
    }
}

impl From<Fault> for SyncError {
    fn from(fault: Fault) -> Self {
        SessionError::from(fault).into()
    }
}
