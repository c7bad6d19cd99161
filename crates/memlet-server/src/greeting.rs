//! The greeting that begins every connection, on its control stream: the first stream of the side that dialled.

use std::time::Duration;

use memlet_sync::code::CloseCode;
use memlet_sync::message::{Control, Hello};
use tokio::time::timeout;

use crate::quic::{Connection, Ended, FrameStream, StreamError};

/// How long a greeting may take.
const GREET_WITHIN: Duration = Duration::from_secs(10);

/// Which end of a connection this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// It dialled.
    Dialler,
    /// It was dialled.
    Acceptor,
}

/// Why two nodes did not come to talk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GreetError {
    /// The connection has ended.
    #[error(transparent)]
    Connection(#[from] Ended),
    /// The control stream broke.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The peer said something else first.
    #[error("the peer did not greet: it speaks no protocol of this name")]
    NoGreeting,
    /// The sides share no version of the protocol.
    #[error("the peer speaks versions {0:?} of the protocol and this build none of them; upgrade the older side")]
    Version(Vec<u64>),
    /// The peer did not greet in time.
    #[error("the peer did not greet in time")]
    Late,
}

impl GreetError {
    /// The code to close the connection with.
    pub(crate) fn close_code(&self) -> CloseCode {
        match self {
            Self::Connection(_) => CloseCode::Done,
            Self::Stream(error) => error.close_code().unwrap_or(CloseCode::Done),
            Self::NoGreeting => CloseCode::Protocol,
            Self::Version(_) => CloseCode::Version,
            Self::Late => CloseCode::Timeout,
        }
    }

    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Connection(ended) => ended.code(),
            Self::Stream(error) => error.code(),
            other => other.close_code().code(),
        }
    }

    /// Whether this side has refused the peer, and not merely lost it.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            Self::Connection(_) => false,
            Self::Stream(error) => error.close_code().is_some(),
            Self::NoGreeting | Self::Version(_) | Self::Late => true,
        }
    }
}

/// Greets. Gives the control stream and what the peer said of itself.
pub(crate) async fn greet(
    connection: &Connection,
    side: Side,
    ours: &Hello,
) -> Result<(FrameStream, Hello), GreetError> {
    timeout(GREET_WITHIN, exchange(connection, side, ours)).await.unwrap_or(Err(GreetError::Late))
}

async fn exchange(connection: &Connection, side: Side, ours: &Hello) -> Result<(FrameStream, Hello), GreetError> {
    let mut control = match side {
        Side::Dialler => connection.open().await?,
        Side::Acceptor => connection.accept().await?,
    };
    control.outgoing.put(&Control::Hello(ours.clone()));
    control.outgoing.flush().await?;
    match control.incoming.next().await? {
        Some(Control::Hello(theirs)) if ours.common_version(&theirs).is_some() => {
            control.outgoing.limit_frames(theirs.limits.frame_bytes);
            Ok((control, theirs))
        }
        Some(Control::Hello(theirs)) => Err(GreetError::Version(theirs.versions)),
        _ => Err(GreetError::NoGreeting),
    }
}
