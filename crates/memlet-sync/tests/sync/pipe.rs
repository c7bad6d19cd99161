//! Two sessions and the bytes between them.

use memlet_auth::proof::Exporter;
use memlet_core::codec::{Decode as _, Encode as _};
use memlet_core::id::PublicKey;
use memlet_core::limits::CHANGE_BYTES_MAX;
use memlet_sync::frame::{FrameReader, frames};
use memlet_sync::limits::{BATCH_CHANGES_MAX, FRAME_BYTES_MAX};
use memlet_sync::message::{Limits, Message};
use memlet_sync::session::{Session, SessionError};

use crate::model::Model;

pub(crate) const NOW_MS: u64 = 1_700_000_000_000;
pub(crate) const EXPORTER: Exporter = Exporter([3; 32]);

/// The side that opens the stream.
pub(crate) const INITIATOR: usize = 0;
/// The side at which it arrives.
pub(crate) const ACCEPTOR: usize = 1;

/// One connection between two models: side 0 initiates, side 1 accepts.
pub(crate) struct Pipe {
    pub(crate) sessions: [Session; 2],
    limits: Limits,
    readers: [FrameReader; 2],
    /// Bytes on their way to that side.
    bytes: [Vec<u8>; 2],
}

impl Pipe {
    pub(crate) fn new(models: &[Model; 2], limits: Limits) -> Self {
        let initiator = Session::initiate(&models[INITIATOR], PublicKey([1; 32]), EXPORTER, limits, NOW_MS).unwrap();
        let acceptor = Session::accept(PublicKey([0; 32]), EXPORTER, limits);
        Self { sessions: [initiator, acceptor], limits, readers: Default::default(), bytes: Default::default() }
    }

    /// Asks `side` for one message and puts it on its way. Gives it back, if there was one.
    pub(crate) fn send(&mut self, side: usize, models: &mut [Model; 2]) -> Result<Option<Message>, SessionError> {
        let message = self.sessions[side].poll(NOW_MS, &mut models[side])?;
        if let Some(message) = &message {
            let encoded = message.to_cbor();
            self.check_bounds(message, encoded.len());
            for frame in frames(&encoded, self.limits.frame_bytes) {
                assert!(frame.len() <= self.limits.frame_bytes + 4);
                self.bytes[1 - side].extend(frame);
            }
        }
        Ok(message)
    }

    fn check_bounds(&self, message: &Message, encoded: usize) {
        if let Message::Changes(changes) = message {
            let bytes: usize = changes.entries.iter().map(|entry| entry.change.len()).sum();
            let max = if changes.entries.len() == 1 { CHANGE_BYTES_MAX } else { self.limits.batch_bytes };
            assert!(bytes <= max && changes.entries.len() <= BATCH_CHANGES_MAX);
        } else {
            assert!(encoded <= FRAME_BYTES_MAX);
        }
    }

    /// Delivers up to `bytes` bytes to `side`. Gives how many messages they completed.
    pub(crate) fn deliver(
        &mut self,
        side: usize,
        bytes: usize,
        models: &mut [Model; 2],
    ) -> Result<usize, SessionError> {
        let arrived: Vec<u8> = self.bytes[side].drain(..bytes.min(self.bytes[side].len())).collect();
        let mut input = arrived.as_slice();
        let mut messages = 0;
        while let Some(encoded) = self.readers[side].read(&mut input).unwrap() {
            let message = Message::from_cbor(&encoded).unwrap();
            self.sessions[side].receive(message, NOW_MS, &mut models[side])?;
            messages += 1;
        }
        Ok(messages)
    }

    /// Sends all that `side` has to say and delivers it. Gives the messages.
    pub(crate) fn flight(&mut self, side: usize, models: &mut [Model; 2]) -> Vec<Message> {
        let mut messages = Vec::new();
        while let Some(message) = self.send(side, models).unwrap() {
            messages.push(message);
        }
        self.deliver(1 - side, usize::MAX, models).unwrap();
        messages
    }

    /// Flights to and fro until both are silent. Gives how many messages that took.
    pub(crate) fn settle(&mut self, models: &mut [Model; 2]) -> usize {
        let mut messages = 0;
        loop {
            let arrived = [INITIATOR, ACCEPTOR].map(|side| self.deliver(side, usize::MAX, models).unwrap());
            let sent = self.flight(INITIATOR, models).len() + self.flight(ACCEPTOR, models).len();
            if sent == 0 && arrived == [0, 0] {
                return messages;
            }
            messages += sent;
        }
    }

    pub(crate) fn are_level(&self, models: &[Model; 2]) -> bool {
        [INITIATOR, ACCEPTOR].into_iter().all(|side| self.sessions[side].is_level(&models[side]).unwrap())
    }
}
