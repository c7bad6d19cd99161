//! The sessions of one connection, each on a bidirectional stream of its own, as the production shell maps them.
//!
//! Invariant: whatever happens to datagrams, a session sees exactly the bytes that the other one sent, or the end of its
//! stream. So a session that meets an error here is a failure of the run, but for a stream that one side gave up.

use std::collections::BTreeMap;

use bytes::Bytes;
use memlet_auth::proof::Exporter;
use memlet_core::codec::{Decode as _, Encode as _};
use memlet_core::id::{NamespaceId, PublicKey};
use memlet_node::{NamespaceReplica, Node};
use memlet_server::quic::quic_code;
use memlet_sync::code::CloseCode;
use memlet_sync::frame::{FrameReader, frames};
use memlet_sync::limits::FRAME_BYTES_MAX;
use memlet_sync::message::{Limits, Message};
use memlet_sync::session::Session;
use quinn_proto::{Connection, Dir, FinishError, ReadError, StreamId, WriteError};

use super::Journal;
use crate::failure::{Checker, Failure};

/// All sessions of a connection whose handshake is complete.
pub(super) struct Links {
    peer: PublicKey,
    exporter: Exporter,
    links: BTreeMap<StreamId, Link>,
}

#[derive(Default)]
struct Link {
    /// None where the peer has yet to name the namespace.
    speaker: Option<Speaker>,
    reader: FrameReader,
    /// What was said and is not yet written.
    outgoing: Bytes,
    /// The peer has ended its direction.
    heard_all: bool,
    /// This side has ended its own.
    said_all: bool,
}

struct Speaker {
    namespace: NamespaceId,
    session: Session,
    replica: NamespaceReplica,
}

/// Why a stream goes no further.
enum Stop {
    /// The peer gave it up.
    GivenUp,
    /// What must not happen has.
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Links {
    pub(super) fn new(peer: PublicKey, exporter: Exporter) -> Self {
        Self { peer, exporter, links: BTreeMap::new() }
    }

    /// Opens a stream and a session for a namespace.
    pub(super) fn open(&mut self, quic: &mut Connection, node: &Node, namespace: NamespaceId) -> Result<(), Failure> {
        let id = quic.streams().open(Dir::Bi).ok_or_else(|| broken("the peer allows too few streams"))?;
        let replica = node.namespace(namespace).map_err(broken)?.replica();
        let now_ms = node.environment().now_ms();
        let session =
            Session::initiate(&replica, self.peer, self.exporter, Limits::default(), now_ms).map_err(broken)?;
        let speaker = Some(Speaker { namespace, session, replica });
        self.links.insert(id, Link { speaker, ..Link::default() });
        Ok(())
    }

    /// Gives up the stream of a namespace, if there is one that is not about to end.
    pub(super) fn give_up(&mut self, quic: &mut Connection, namespace: NamespaceId) -> bool {
        let runs = |link: &Link| !link.said_all && link.speaker.as_ref().is_some_and(|it| it.namespace == namespace);
        let Some(id) = self.links.iter().find(|(_, link)| runs(link)).map(|(id, _)| *id) else { return false };
        self.links.remove(&id);
        abort(quic, id);
        true
    }

    /// Ends all sessions once they have said what they have to say.
    pub(super) fn close(&mut self) {
        self.links
            .values_mut()
            .filter_map(|link| link.speaker.as_mut())
            .for_each(|it| it.session.close(CloseCode::Done));
    }

    /// Whether every session has ended on both sides.
    pub(super) fn are_over(&self) -> bool {
        self.links.is_empty()
    }

    /// Whether there is a session for each of `namespaces`, and all sessions are level.
    pub(super) fn are_level(&self, namespaces: &[NamespaceId]) -> Result<bool, Failure> {
        let speakers = || self.links.values().filter_map(|link| link.speaker.as_ref());
        if !namespaces.iter().all(|id| speakers().any(|speaker| speaker.namespace == *id)) {
            return Ok(false);
        }
        for speaker in speakers() {
            if !speaker.session.is_level(&speaker.replica).map_err(broken)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Moves all that can move: bytes to sessions, and what they say to the streams.
    pub(super) fn pump(&mut self, quic: &mut Connection, node: &Node, journal: &mut Journal) -> Result<(), Failure> {
        while let Some(id) = quic.streams().accept(Dir::Bi) {
            self.links.insert(id, Link::default());
        }
        let mut over = Vec::new();
        for (id, link) in &mut self.links {
            match link.turn(quic, *id, (self.peer, self.exporter), node, journal) {
                Ok(()) if !(link.heard_all && link.said_all) => continue,
                Ok(()) => {}
                Err(Stop::GivenUp) => {
                    journal.tally.count("streams that the peer gave up");
                    abort(quic, *id);
                }
                Err(Stop::Failed(failure)) => return Err(failure),
            }
            over.push(*id);
        }
        over.iter().for_each(|id| drop(self.links.remove(id)));
        Ok(())
    }
}

impl Link {
    /// Hears what has arrived, and says what is to be said.
    fn turn(
        &mut self,
        quic: &mut Connection,
        id: StreamId,
        from: (PublicKey, Exporter),
        node: &Node,
        journal: &mut Journal,
    ) -> Result<(), Stop> {
        for message in self.hear(quic, id)? {
            self.take(message, from, node)?;
        }
        self.speak(quic, id, node.environment().now_ms(), journal)
    }

    /// The messages that have arrived completely.
    fn hear(&mut self, quic: &mut Connection, id: StreamId) -> Result<Vec<Message>, Stop> {
        let mut messages = Vec::new();
        if self.heard_all {
            return Ok(messages);
        }
        let mut stream = quic.recv_stream(id);
        let mut chunks = stream.read(true).map_err(broken)?;
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    let mut input = &chunk.bytes[..];
                    while let Some(message) = self.reader.read(&mut input).map_err(broken)? {
                        messages.push(Message::from_cbor(&message).map_err(broken)?);
                    }
                }
                Ok(None) => {
                    std::mem::take(&mut self.reader).finish().map_err(broken)?;
                    self.heard_all = true;
                    return Ok(messages);
                }
                Err(ReadError::Blocked) => return Ok(messages),
                Err(ReadError::Reset(_)) => return Err(Stop::GivenUp),
            }
        }
    }

    fn take(&mut self, message: Message, (peer, exporter): (PublicKey, Exporter), node: &Node) -> Result<(), Failure> {
        if let (None, Message::Open(open)) = (&self.speaker, &message) {
            let replica = node.namespace(open.namespace).map_err(broken)?.replica();
            let session = Session::accept(peer, exporter, Limits::default());
            self.speaker = Some(Speaker { namespace: open.namespace, session, replica });
        }
        let speaker = self.speaker.as_mut().ok_or_else(|| broken("a stream does not begin with its namespace"))?;
        speaker.session.receive(message, node.environment().now_ms(), &mut speaker.replica).map_err(broken)
    }

    /// Says what the session has to say, as far as the stream takes it, and ends the stream after the last word.
    fn speak(&mut self, quic: &mut Connection, id: StreamId, now_ms: u64, journal: &mut Journal) -> Result<(), Stop> {
        let Some(Speaker { session, replica, .. }) = &mut self.speaker else { return Ok(()) };
        while !self.said_all {
            if !self.outgoing.is_empty() {
                match quic.send_stream(id).write(&self.outgoing) {
                    Ok(written) => drop(self.outgoing.split_to(written)),
                    Err(WriteError::Blocked) => {
                        journal.tally.count("writes that had to wait for room");
                        return Ok(());
                    }
                    Err(WriteError::Stopped(_)) => return Err(Stop::GivenUp),
                    Err(error) => return Err(broken(error).into()),
                }
            } else if let Some(message) = session.poll(now_ms, replica).map_err(broken)? {
                journal.tally.count("messages");
                journal.note(format_args!("{id} says {}", message.name()));
                self.outgoing = frames(&message.to_cbor(), FRAME_BYTES_MAX).flatten().collect();
            } else if session.ended().is_some() {
                match quic.send_stream(id).finish() {
                    Ok(()) => self.said_all = true,
                    Err(FinishError::Stopped(_)) => return Err(Stop::GivenUp),
                    Err(error) => return Err(broken(error).into()),
                }
            } else {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Ends a stream in both directions.
fn abort(quic: &mut Connection, id: StreamId) {
    // an error means that this direction has ended before
    drop(quic.send_stream(id).reset(quic_code(CloseCode::Shutdown)));
    drop(quic.recv_stream(id).stop(quic_code(CloseCode::Shutdown)));
}

pub(super) fn broken(what: impl std::fmt::Display) -> Failure {
    Failure::new(Checker::Answers, what.to_string())
}
