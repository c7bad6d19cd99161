//! Why a session ends early, and who is to blame.

use crate::code::CloseCode;
use crate::limits::CLOCK_ACTORS_MAX;
use crate::message::{Epoch, PROTOCOL_VERSION};
use crate::replica::Fault;

/// Why a session cannot go on. Its next output is the `Close` that tells the peer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The peer broke the protocol.
    #[error("the peer broke the protocol: {0}")]
    Protocol(#[from] ProtocolError),
    /// The peer speaks another version on this stream.
    #[error(
        "the peer opened the stream in version {0} of the protocol, but this build speaks {PROTOCOL_VERSION}: upgrade the older side"
    )]
    Version(u64),
    /// The peer may not sync this namespace; the code says why.
    #[error("the peer may not sync this namespace ({0}): its owner can invite it")]
    Denied(&'static str),
    /// The sides stand in different epochs.
    #[error("the peer stands in epoch {} and this replica in epoch {}: they cannot be brought together", theirs.number, ours.number)]
    Epoch {
        /// Where this replica stands.
        ours: Epoch,
        /// Where the peer stands.
        theirs: Epoch,
    },
    /// This side failed.
    #[error("this side cannot go on: {0}")]
    Replica(#[from] Fault),
}

impl SessionError {
    /// With which code the stream ends.
    pub fn close_code(&self) -> CloseCode {
        match self {
            Self::Protocol(ProtocolError::TooManyActors) => CloseCode::TooLarge,
            Self::Protocol(_) => CloseCode::Protocol,
            Self::Version(_) => CloseCode::Version,
            Self::Denied(_) => CloseCode::Denied,
            Self::Epoch { .. } => CloseCode::Epoch,
            Self::Replica(_) => CloseCode::Internal,
        }
    }

    /// The stable name of this error: the label of its counter.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Protocol(error) => error.code(),
            Self::Denied(reason) => reason,
            other => other.close_code().code(),
        }
    }
}

/// How a peer broke the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A second `Open`, or a second `State`.
    #[error("it sent a second {0}")]
    Repeated(&'static str),
    /// A message before the one that must come first.
    #[error("it sent {0} too early")]
    TooEarly(&'static str),
    /// A message after `Close`.
    #[error("it sent {0} after it had closed the stream")]
    AfterClose(&'static str),
    /// An `Open` for another namespace than that of the stream.
    #[error("it opened another namespace than this stream is for")]
    Namespace,
    /// A change names a grant that is not in the stream's table.
    #[error("it named grant {0} of the stream, which it had not announced")]
    GrantIndex(u64),
    /// An `Ack` for more messages than were sent, or for fewer than the last one.
    #[error("it acknowledged {acknowledged} messages, where only {from} to {to} are possible")]
    Acknowledged {
        /// What it acknowledged.
        acknowledged: u64,
        /// What it had acknowledged before.
        from: u64,
        /// What has been sent to it.
        to: u64,
    },
    /// More actors than a clock may name.
    #[error("it named more than {CLOCK_ACTORS_MAX} actors")]
    TooManyActors,
}

impl ProtocolError {
    /// The stable name of this error: the label of its counter.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Repeated(_) => "PROTOCOL_REPEATED",
            Self::TooEarly(_) => "PROTOCOL_TOO_EARLY",
            Self::AfterClose(_) => "PROTOCOL_AFTER_CLOSE",
            Self::Namespace => "PROTOCOL_NAMESPACE",
            Self::GrantIndex(_) => "PROTOCOL_GRANT_INDEX",
            Self::Acknowledged { .. } => "PROTOCOL_ACKNOWLEDGED",
            Self::TooManyActors => "PROTOCOL_TOO_MANY_ACTORS",
        }
    }
}
