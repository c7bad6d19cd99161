//! A link: the sync of one namespace with one peer, on a stream of its own.

mod carry;
mod outcome;

use std::time::Duration;

use memlet_core::id::NamespaceId;
use memlet_node::{NamespaceReplica, NodeError};
use memlet_sync::message::{Limits, Message};
use memlet_sync::replica::Fault;
use memlet_sync::session::{ProtocolError, Session, SessionError};
use tokio::time::timeout;

use self::carry::{Carrier, Speaker};
pub use self::outcome::{SyncError, SyncOutcome};
use crate::blocking::blocking;
use crate::local::Local;
use crate::quic::{Connection, FrameStream, StreamError};

/// How long a peer may leave a stream that it has opened without a word.
const OPEN_WITHIN: Duration = Duration::from_secs(10);

/// When a link ends of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goal {
    /// Once each side has sent all it had and the other has acknowledged it.
    Settle,
    /// Never: what is committed later follows.
    Live,
}

/// The two ends between which links are made.
#[derive(Clone)]
pub(crate) struct Ends {
    pub(crate) local: Local,
    pub(crate) connection: Connection,
    /// What the peer asks to keep to.
    pub(crate) limits: Limits,
}

impl Ends {
    /// Opens a link, waiting for a stream if the peer allows no further one, and runs it to its end.
    pub(crate) async fn open(self, namespace: NamespaceId, goal: Goal) -> Result<SyncOutcome, SyncError> {
        let stream = self.connection.open().await?;
        let (node, peer, exporter, limits) =
            (self.local.node.clone(), self.connection.peer(), self.connection.exporter(), self.limits);
        let speaker = blocking(move || {
            let replica = node.namespace(namespace).map_err(Fault::new)?.replica();
            let session = Session::initiate(&replica, peer, exporter, limits, node.environment().now_ms())?;
            Ok::<_, Fault>(Speaker { node, session, replica })
        });
        let speaker = speaker.await??;
        self.carrier(stream, namespace, goal).run(speaker, None).await
    }

    /// Answers on a stream that the peer has opened, to its end. Gives the namespace too, once the peer has named one.
    pub(crate) async fn answer(self, mut stream: FrameStream) -> (Option<NamespaceId>, Result<SyncOutcome, SyncError>) {
        let opening = match timeout(OPEN_WITHIN, stream.incoming.next()).await.unwrap_or(Err(StreamError::Stalled)) {
            Ok(Some(opening)) => opening,
            Ok(None) => return (None, Err(give_up(stream, SyncError::Unfinished))),
            Err(error) => return (None, Err(give_up(stream, error.into()))),
        };
        let Message::Open(open) = &opening else {
            let error = ProtocolError::TooEarly(opening.name());
            return (None, Err(close(stream, SessionError::from(error)).await));
        };
        let namespace = open.namespace;
        let outcome = match self.replica(namespace).await {
            Ok(replica) => {
                let session = Session::accept(self.connection.peer(), self.connection.exporter(), self.limits);
                let speaker = Speaker { node: self.local.node.clone(), session, replica };
                self.carrier(stream, namespace, Goal::Live).run(speaker, Some(opening)).await
            }
            Err(SyncError::Session(error)) => Err(close(stream, error).await),
            Err(error) => Err(give_up(stream, error)),
        };
        (Some(namespace), outcome)
    }

    /// The namespace, if it is here. If not, the peer learns no more than if it had no right to it.
    async fn replica(&self, namespace: NamespaceId) -> Result<NamespaceReplica, SyncError> {
        let node = self.local.node.clone();
        match blocking(move || node.namespace(namespace)).await? {
            Ok(namespace) => Ok(namespace.replica()),
            Err(error @ NodeError::UnknownNamespace(_)) => Err(SessionError::Denied(error.code()).into()),
            Err(error) => Err(Fault::new(error).into()),
        }
    }

    fn carrier(&self, mut stream: FrameStream, namespace: NamespaceId, goal: Goal) -> Carrier {
        stream.outgoing.limit_frames(self.limits.frame_bytes);
        let (changed, stopping) = (self.local.wakes.watch(namespace), self.local.stopping());
        Carrier { stream, goal, peer: self.connection.peer(), changed, stopping }
    }
}

/// Ends a stream on which no session has begun, as a session would.
async fn close(mut stream: FrameStream, error: SessionError) -> SyncError {
    stream.outgoing.put(&Message::Close(error.close_code()));
    // the peer is told; whether it listens changes nothing
    drop(stream.finish().await);
    error.into()
}

/// Ends a stream on which nothing can be said any more.
fn give_up(stream: FrameStream, error: SyncError) -> SyncError {
    stream.abort(error.close_code());
    error
}
