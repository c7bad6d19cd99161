//! One bidirectional stream that carries messages in frames.
//!
//! A stream ends in one of two ways, and the peer can tell which: [`FrameStream::finish`] after the message that is the last
//! by the protocol, or [`FrameStream::abort`] with a code. A stream that is merely dropped is aborted, because QUIC on its own
//! would make a dropped stream look complete. All waiting is bounded: a peer that stops in the middle of a message, or takes
//! nothing of what is sent, loses the stream.

use std::time::Duration;

use memlet_core::codec::{Decode, DecodeError, Encode};
use memlet_sync::code::CloseCode;
use memlet_sync::frame::{FrameError, FrameReader, frames};
use memlet_sync::limits::FRAME_BYTES_MAX;
use quinn::{ReadError, RecvStream, SendStream, StoppedError, WriteError};
use tokio::time::{Instant, timeout, timeout_at};

use crate::quic::error::{Ended, close_code, quic_code};

/// A stream of messages in both directions, each side usable while the other waits.
#[derive(Debug)]
pub struct FrameStream {
    /// What goes to the peer.
    pub outgoing: Outgoing,
    /// What comes from the peer.
    pub incoming: Incoming,
    ended: bool,
}

/// The sending half. It holds at most one message.
#[derive(Debug)]
pub struct Outgoing {
    quic: SendStream,
    frame_bytes: usize,
    buffer: Vec<u8>,
    sent: usize,
    bytes: u64,
    stalled_at: Instant,
}

/// The receiving half. It holds at most one message and what QUIC gave with it.
#[derive(Debug)]
pub struct Incoming {
    quic: RecvStream,
    reader: FrameReader,
    chunk: Vec<u8>,
    read: usize,
    bytes: u64,
    /// Set while a message has begun and not ended.
    stalled_at: Option<Instant>,
}

/// Why a stream cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The connection has ended.
    #[error(transparent)]
    Connection(#[from] Ended),
    /// The peer gave the stream up.
    #[error("the peer gave the stream up with {0}")]
    Aborted(CloseCode),
    /// The peer sent bytes that are no frames.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The peer sent a frame that holds no message of this stream.
    #[error("a message cannot be read: {0}")]
    Message(#[from] DecodeError),
    /// The peer stopped in the middle of a message, or takes nothing.
    #[error("the peer neither goes on nor gives up")]
    Stalled,
}

impl StreamError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Connection(ended) => ended.code(),
            Self::Aborted(code) => code.code(),
            Self::Frame(error) => error.close_code().code(),
            Self::Message(_) => CloseCode::Malformed.code(),
            Self::Stalled => CloseCode::Timeout.code(),
        }
    }

    /// The code to end the stream with; none if the peer has ended it already.
    pub fn close_code(&self) -> Option<CloseCode> {
        match self {
            Self::Connection(_) | Self::Aborted(_) => None,
            Self::Frame(error) => Some(error.close_code()),
            Self::Message(_) => Some(CloseCode::Malformed),
            Self::Stalled => Some(CloseCode::Timeout),
        }
    }
}

impl FrameStream {
    pub(crate) fn new(quic_send: SendStream, quic_recv: RecvStream) -> Self {
        Self {
            outgoing: Outgoing {
                quic: quic_send,
                frame_bytes: FRAME_BYTES_MAX,
                buffer: Vec::new(),
                sent: 0,
                bytes: 0,
                stalled_at: Instant::now(),
            },
            incoming: Incoming {
                quic: quic_recv,
                reader: FrameReader::default(),
                chunk: Vec::new(),
                read: 0,
                bytes: 0,
                stalled_at: None,
            },
            ended: false,
        }
    }

    /// Ends the stream after the last message, once the peer has received all of it and ended its side. What the peer still
    /// sends is discarded.
    ///
    /// # Errors
    /// The peer is gone, gave up, or does neither in time.
    pub async fn finish(mut self) -> Result<(), StreamError> {
        let (outgoing, incoming) = (&mut self.outgoing, &mut self.incoming);
        // together, because the peer may have to send before it can receive
        let both = async { tokio::try_join!(outgoing.finish(), incoming.discard()) };
        timeout(STALL_MAX, both).await.map_err(|_| StreamError::Stalled)??;
        self.ended = true;
        Ok(())
    }

    /// Gives the stream up in both directions.
    pub fn abort(mut self, code: CloseCode) {
        self.end(code);
    }

    fn end(&mut self, code: CloseCode) {
        self.ended = true;
        // an error means that this direction has ended before
        drop(self.outgoing.quic.reset(quic_code(code)));
        drop(self.incoming.quic.stop(quic_code(code)));
    }
}

impl Drop for FrameStream {
    fn drop(&mut self) {
        if !self.ended {
            self.end(CloseCode::Shutdown);
        }
    }
}

impl Outgoing {
    /// Keeps frames to what the peer asked for, from the next message on.
    pub fn limit_frames(&mut self, frame_bytes: usize) {
        self.frame_bytes = frame_bytes;
    }

    /// Whether all that was put in has been handed to QUIC, so that the next message may be put in.
    pub fn is_empty(&self) -> bool {
        self.sent == self.buffer.len()
    }

    /// Bytes of all that was put in, as frames.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Puts in one message.
    ///
    /// # Panics
    /// If the last one is not flushed: a sender that gathers messages has no bound.
    pub fn put<M: Encode>(&mut self, message: &M) {
        assert!(self.is_empty(), "a message is put in only after the last one is flushed");
        self.buffer = frames(&message.to_cbor(), self.frame_bytes).flatten().collect();
        self.sent = 0;
        self.bytes += self.buffer.len() as u64;
        self.stalled_at = Instant::now() + STALL_MAX;
    }

    /// Hands what was put in to QUIC as the peer makes room. May be dropped and called again.
    ///
    /// # Errors
    /// The peer is gone, has given up, or takes nothing.
    pub async fn flush(&mut self) -> Result<(), StreamError> {
        while !self.is_empty() {
            let write = self.quic.write(&self.buffer[self.sent..]);
            self.sent +=
                timeout_at(self.stalled_at, write).await.map_err(|_| StreamError::Stalled)?.map_err(write_error)?;
            self.stalled_at = Instant::now() + STALL_MAX;
        }
        Ok(())
    }

    /// Ends this direction once the peer's QUIC has all of it.
    async fn finish(&mut self) -> Result<(), StreamError> {
        self.flush().await?;
        // an error here means that the peer has stopped the stream, which `stopped` tells
        drop(self.quic.finish());
        match self.quic.stopped().await {
            Ok(None) => Ok(()),
            Ok(Some(code)) => Err(StreamError::Aborted(close_code(code))),
            Err(StoppedError::ConnectionLost(error)) => Err(Ended::from(error).into()),
            Err(StoppedError::ZeroRttRejected) => unreachable!("early data is never sent"),
        }
    }
}

impl Incoming {
    /// Bytes of all that has come, as frames.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next message; none once the peer has finished. May be dropped and called again.
    ///
    /// Before the first byte of a message it waits for as long as it takes.
    ///
    /// # Errors
    /// The peer is gone, has given up, stopped within a message, or sent what is none.
    pub async fn next<M: Decode>(&mut self) -> Result<Option<M>, StreamError> {
        loop {
            if self.read < self.chunk.len() {
                let mut rest = &self.chunk[self.read..];
                let message = self.reader.read(&mut rest)?;
                self.read = self.chunk.len() - rest.len();
                if let Some(message) = message {
                    self.stalled_at = None;
                    return Ok(Some(M::from_cbor(&message)?));
                }
                self.stalled_at = Some(Instant::now() + STALL_MAX);
            }
            let read = self.quic.read_chunk(CHUNK_BYTES_MAX, true);
            let chunk = match self.stalled_at {
                Some(at) => timeout_at(at, read).await.map_err(|_| StreamError::Stalled)?,
                None => read.await,
            };
            match chunk.map_err(read_error)? {
                Some(chunk) => {
                    self.bytes += chunk.bytes.len() as u64;
                    (self.chunk, self.read) = (chunk.bytes.into(), 0);
                }
                None => {
                    std::mem::take(&mut self.reader).finish()?;
                    return Ok(None);
                }
            }
        }
    }

    /// Takes and drops what still comes, until the peer has ended its side.
    async fn discard(&mut self) -> Result<(), StreamError> {
        loop {
            match self.quic.read_chunk(CHUNK_BYTES_MAX, true).await {
                Ok(Some(_)) => {}
                Ok(None) | Err(ReadError::Reset(_)) => return Ok(()),
                Err(error) => return Err(read_error(error)),
            }
        }
    }
}

fn write_error(error: WriteError) -> StreamError {
    match error {
        WriteError::Stopped(code) => StreamError::Aborted(close_code(code)),
        WriteError::ConnectionLost(error) => Ended::from(error).into(),
        // both are faults of this program, which quinn reports instead of panicking
        WriteError::ClosedStream | WriteError::ZeroRttRejected => Ended::Here.into(),
    }
}

fn read_error(error: ReadError) -> StreamError {
    match error {
        ReadError::Reset(code) => StreamError::Aborted(close_code(code)),
        ReadError::ConnectionLost(error) => Ended::from(error).into(),
        ReadError::ClosedStream | ReadError::IllegalOrderedRead | ReadError::ZeroRttRejected => Ended::Here.into(),
    }
}

/// How long a peer may stop within a message, or take nothing of one.
const STALL_MAX: Duration = Duration::from_secs(30);
/// Bytes taken from QUIC at a time.
const CHUNK_BYTES_MAX: usize = 64 << 10;
