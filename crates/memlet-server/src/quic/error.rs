//! What can go wrong between two sockets, told apart by who can do something about it.

use std::io;
use std::net::SocketAddr;

use memlet_core::id::PublicKey;
use memlet_sync::code::CloseCode;
use memlet_sync::name::Address;
use quinn::{ConnectionError, VarInt};

/// Why a node cannot listen.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}; choose another address or port")]
pub struct BindError {
    /// The address that was asked for.
    pub address: SocketAddr,
    /// What the system said.
    pub source: io::Error,
}

impl BindError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        "LISTEN_FAILED"
    }
}

/// Why no connection came about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DialError {
    /// Another device answers at the address.
    #[error("the device {found} answers at {address}, not {expected}: the address may have passed to another machine")]
    WrongPeer {
        /// Where it answered.
        address: SocketAddr,
        /// Who was meant to be there.
        expected: PublicKey,
        /// Who was there.
        found: PublicKey,
    },
    /// No address of the device is known.
    #[error("no address of the device {0} is known; name one, or let it connect to this one")]
    NoAddress(PublicKey),
    /// The name of a machine could not be resolved.
    #[error("{address} cannot be resolved: {source}")]
    Resolve {
        /// The address.
        address: Address,
        /// What the system said.
        source: io::Error,
    },
    /// Nobody answers.
    #[error("no answer from {0}: is the other device on, and does its firewall let UDP through?")]
    NoAnswer(SocketAddr),
    /// The peer is full or stopping.
    #[error("{0} takes no more connections at the moment; try again later")]
    Busy(SocketAddr),
    /// The peer speaks no protocol that this node speaks.
    #[error("{0} speaks another protocol or version; the older of the two needs an update")]
    Protocol(SocketAddr),
    /// This machine has no way to the address.
    #[error("{address} cannot be reached from this machine: {reason}")]
    Route {
        /// Where to.
        address: SocketAddr,
        /// What the system or QUIC said.
        reason: String,
    },
    /// The handshake failed in another way.
    #[error("the handshake with {address} failed: {reason}")]
    Handshake {
        /// With whom.
        address: SocketAddr,
        /// What TLS or QUIC said.
        reason: String,
    },
    /// The peer ended the connection at once.
    #[error("{address} ended the connection: {ended}")]
    Ended {
        /// Who did.
        address: SocketAddr,
        /// With which word.
        ended: Ended,
    },
}

impl DialError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::WrongPeer { .. } => "PEER_KEY_MISMATCH",
            Self::NoAddress(_) => "PEER_NO_ADDRESS",
            Self::Resolve { .. } => "PEER_UNRESOLVED",
            Self::NoAnswer(_) => "PEER_NO_ANSWER",
            Self::Busy(_) => "PEER_BUSY",
            Self::Protocol(_) => "PEER_PROTOCOL",
            Self::Route { .. } => "PEER_NO_ROUTE",
            Self::Handshake { .. } => "PEER_HANDSHAKE",
            Self::Ended { ended, .. } => ended.code(),
        }
    }
}

/// How a connection came to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Ended {
    /// The peer said so.
    #[error("the peer ended it with {0}")]
    Peer(CloseCode),
    /// This side said so.
    #[error("this side ended it")]
    Here,
    /// The peer fell silent: it is off, asleep or elsewhere.
    #[error("the peer is no longer heard")]
    Silence,
    /// The peer broke QUIC's rules, or its QUIC gave up.
    #[error("the connection broke: {0}")]
    Broken(String),
}

impl Ended {
    /// The stable code of this end.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Peer(code) => code.code(),
            Self::Here => "CLOSED_HERE",
            Self::Silence => "PEER_SILENT",
            Self::Broken(_) => "CONNECTION_BROKEN",
        }
    }
}

impl From<ConnectionError> for Ended {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::ApplicationClosed(close) => Self::Peer(close_code(close.error_code)),
            ConnectionError::LocallyClosed => Self::Here,
            ConnectionError::TimedOut | ConnectionError::Reset => Self::Silence,
            other => Self::Broken(other.to_string()),
        }
    }
}

/// A close code as QUIC carries it.
pub fn quic_code(code: CloseCode) -> VarInt {
    VarInt::from_u32(code.number().into())
}

/// The close code of a number that QUIC carried. Numbers beyond the table's width read as its highest, which is no code.
pub fn close_code(number: VarInt) -> CloseCode {
    CloseCode::from_number(u16::try_from(number.into_inner()).unwrap_or(u16::MAX))
}
