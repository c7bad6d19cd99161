//! Carries messages between a stream and a session until either ends.
//!
//! The session says what to send, and only when the last message has gone out, so a slow peer holds one message here and no
//! more. Meanwhile the peer is still listened to, or two peers with much to say would block each other.

use std::time::Duration;

use memlet_core::id::PublicKey;
use memlet_node::{NamespaceReplica, Node};
use memlet_sync::code::CloseCode;
use memlet_sync::message::Message;
use memlet_sync::replica::Replica as _;
use memlet_sync::session::{Session, SessionError};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::Goal;
use super::outcome::{SyncError, SyncOutcome};
use crate::blocking::{Crashed, blocking};
use crate::quic::{FrameStream, StreamError};

/// How long a peer that owes an answer may say nothing.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// A session and the replica it speaks for, which move to where they may block and back.
pub(super) struct Speaker {
    pub(super) node: Node,
    pub(super) session: Session,
    pub(super) replica: NamespaceReplica,
}

impl Speaker {
    /// Runs `step` where it may block.
    async fn turn<T: Send + 'static>(
        mut self,
        step: impl FnOnce(&mut Self) -> T + Send + 'static,
    ) -> Result<(Self, T), Crashed> {
        blocking(move || {
            let output = step(&mut self);
            (self, output)
        })
        .await
    }

    fn receive(&mut self, message: Message) -> Result<(), SessionError> {
        self.session.receive(message, self.node.environment().now_ms(), &mut self.replica)
    }

    /// The next message. With nothing left to say or to wait for, and no goal beyond that, it is `Close`.
    fn poll(&mut self, goal: Goal) -> Result<Option<Message>, SessionError> {
        let now_ms = self.node.environment().now_ms();
        let message = self.session.poll(now_ms, &mut self.replica)?;
        if message.is_some() || goal == Goal::Live || !self.session.is_settled() {
            return Ok(message);
        }
        self.session.close(CloseCode::Done);
        self.session.poll(now_ms, &mut self.replica)
    }
}

/// One stream and what its session waits for besides the peer.
pub(super) struct Carrier {
    pub(super) stream: FrameStream,
    pub(super) goal: Goal,
    pub(super) peer: PublicKey,
    /// Changes when the namespace does.
    pub(super) changed: watch::Receiver<()>,
    /// True once this node is stopping.
    pub(super) stopping: watch::Receiver<bool>,
}

impl Carrier {
    /// Runs the session to its end, beginning with the message that has opened the stream, if the peer did.
    pub(super) async fn run(mut self, speaker: Speaker, opening: Option<Message>) -> Result<SyncOutcome, SyncError> {
        match self.carry(speaker, opening).await {
            Ok((speaker, failure)) => {
                let (speaker, level) = speaker.turn(|speaker| speaker.session.is_level(&speaker.replica)).await?;
                let (sent_bytes, received_bytes) = (self.stream.outgoing.bytes(), self.stream.incoming.bytes());
                // a `Close` has been said; how the stream ends after it changes nothing
                if let Err(error) = self.stream.finish().await {
                    tracing::debug!(%error, "a stream did not end cleanly");
                }
                if let Some(failure) = failure {
                    return Err(failure.into());
                }
                Ok(SyncOutcome {
                    peer: self.peer,
                    namespace: speaker.replica.namespace(),
                    code: speaker.session.ended().unwrap_or(CloseCode::Done),
                    level: level.map_err(SessionError::from)?,
                    stats: speaker.session.stats().clone(),
                    sent_bytes,
                    received_bytes,
                })
            }
            Err(error) => {
                self.stream.abort(error.close_code());
                Err(error)
            }
        }
    }

    /// Gives back the session once it has ended, with the first error it met.
    async fn carry(
        &mut self,
        mut speaker: Speaker,
        opening: Option<Message>,
    ) -> Result<(Speaker, Option<SessionError>), SyncError> {
        let (outgoing, incoming) = (&mut self.stream.outgoing, &mut self.stream.incoming);
        let goal = self.goal;
        let mut failure = None;
        let mut arrived = opening;
        let mut answer_by = Instant::now() + ANSWER_WITHIN;
        loop {
            if let Some(message) = arrived.take() {
                let received;
                (speaker, received) = speaker.turn(|speaker| speaker.receive(message)).await?;
                failure = failure.or(received.err());
                answer_by = Instant::now() + ANSWER_WITHIN;
            }
            if outgoing.is_empty() {
                let next;
                (speaker, next) = speaker.turn(move |speaker| speaker.poll(goal)).await?;
                match next {
                    Ok(Some(message)) => {
                        outgoing.put(&message);
                        answer_by = Instant::now() + ANSWER_WITHIN;
                    }
                    Ok(None) => {}
                    Err(error) => {
                        failure = failure.or(Some(error));
                        continue;
                    }
                }
            }
            if speaker.session.ended().is_some() {
                return Ok((speaker, failure));
            }
            let idle = outgoing.is_empty();
            let (settled, stopped) = (speaker.session.is_settled(), *self.stopping.borrow());
            tokio::select! {
                flushed = outgoing.flush(), if !idle => flushed?,
                message = incoming.next() => match message? {
                    Some(message) => arrived = Some(message),
                    None => return Err(SyncError::Unfinished),
                },
                Ok(()) = self.changed.changed(), if idle => {}
                Ok(()) = self.stopping.changed(), if !stopped => {}
                () = sleep_until(answer_by), if !settled => return Err(StreamError::Stalled.into()),
            }
            if *self.stopping.borrow() {
                speaker.session.close(CloseCode::Shutdown);
            }
        }
    }
}
