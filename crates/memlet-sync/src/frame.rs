//! Frames: how messages lie in a stream of bytes.
//!
//! A frame is 4 bytes of length, big-endian, and that many bytes of payload, 1 byte to 1 MiB. The payload is one encoded
//! message or one part of a message that does not fit: `[0, offset, total, bytes]`, parts in order and nothing between them.
//! A length is checked before anything is allocated for it, and memory grows only with bytes that have come.

use memlet_core::codec::{DecodeError, Reader, Writer};

use crate::code::CloseCode;
use crate::limits::{FRAME_BYTES_MAX, FRAME_BYTES_MIN, MESSAGE_BYTES_MAX};

/// Bytes of a frame's length.
const LENGTH_BYTES: usize = 4;
/// How a part begins: an array of four, the first item 0, which is no message's number.
const PART_START: [u8; 2] = [0x84, 0x00];
/// All of a part but its bytes, at most: its start, two integers below 2^32 and the head of a byte string.
const PART_OVERHEAD_BYTES: usize = PART_START.len() + 5 + 5 + 5;

const _: () = assert!(PART_OVERHEAD_BYTES < FRAME_BYTES_MIN);
const _: () = assert!(MESSAGE_BYTES_MAX <= u32::MAX as usize, "offset and total of a part take 5 bytes at most");

/// Cuts an encoded message into frames with payloads of at most `frame_bytes`, each made when it is asked for.
///
/// # Panics
/// If `frame_bytes` is not a limit that a peer may ask for, or the message is empty or beyond the limit of messages.
pub fn frames(message: &[u8], frame_bytes: usize) -> impl Iterator<Item = Vec<u8>> {
    assert!((FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&frame_bytes), "a frame limit lies within the protocol's");
    assert!((1..=MESSAGE_BYTES_MAX).contains(&message.len()), "a message is not empty and within its limit");
    let whole = message.len() <= frame_bytes;
    let chunk_bytes = if whole { frame_bytes } else { frame_bytes - PART_OVERHEAD_BYTES };
    message.chunks(chunk_bytes).enumerate().map(move |(index, chunk)| {
        if whole { framed(chunk) } else { framed(&part(index * chunk_bytes, message.len(), chunk)) }
    })
}

fn framed(payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).expect("a payload is at most 1 MiB");
    [&len.to_be_bytes(), payload].concat()
}

fn part(offset: usize, total: usize, bytes: &[u8]) -> Vec<u8> {
    let mut w = Writer::default();
    w.array(4);
    w.uint(0);
    w.uint(offset as u64);
    w.uint(total as u64);
    w.bytes(bytes);
    w.into_bytes()
}

/// Puts messages together from the bytes of one stream, however they are cut.
///
/// Call [`FrameReader::read`] with what has come until it gives no more messages, and [`FrameReader::finish`] when the
/// stream has ended. After an error the stream is of no further use.
#[derive(Default, Debug)]
pub struct FrameReader {
    length: Vec<u8>,
    payload: Vec<u8>,
    message: Option<Partial>,
}

/// A message of which some parts have come.
#[derive(Debug)]
struct Partial {
    total: usize,
    bytes: Vec<u8>,
}

/// Why bytes are no frames. Whoever sent them is to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A frame announces more than a frame may have.
    #[error("a frame of {0} bytes was announced, but one has at most {FRAME_BYTES_MAX}")]
    FrameTooLarge(usize),
    /// A part announces a message of more than a message may have.
    #[error("a message of {0} bytes was announced, but one has at most {MESSAGE_BYTES_MAX}")]
    MessageTooLarge(u64),
    /// A frame without a payload.
    #[error("a frame is empty")]
    Empty,
    /// A part is not encoded as one.
    #[error("a part of a message cannot be read: {0}")]
    Part(#[from] DecodeError),
    /// A part does not continue the message, or something else came between its parts.
    #[error("the parts of a message do not fit together")]
    Parts,
    /// The stream ended inside a frame or between two parts.
    #[error("the stream ended inside a message")]
    Truncated,
}

impl FrameError {
    /// With which code to end the stream.
    pub fn close_code(&self) -> CloseCode {
        match self {
            Self::FrameTooLarge(_) | Self::MessageTooLarge(_) => CloseCode::TooLarge,
            Self::Empty | Self::Part(_) | Self::Parts | Self::Truncated => CloseCode::Malformed,
        }
    }
}

impl FrameReader {
    /// Takes bytes off the front of `input` until a message is complete; none when `input` is used up first.
    ///
    /// # Errors
    /// The bytes are no frames.
    pub fn read(&mut self, input: &mut &[u8]) -> Result<Option<Vec<u8>>, FrameError> {
        while !input.is_empty() {
            if let Some(payload) = self.read_payload(input)?
                && let Some(message) = self.put_together(payload)?
            {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// The stream has ended: nothing may be left unfinished.
    ///
    /// # Errors
    /// [`FrameError::Truncated`].
    pub fn finish(self) -> Result<(), FrameError> {
        let between_messages = self.length.is_empty() && self.message.is_none();
        if between_messages { Ok(()) } else { Err(FrameError::Truncated) }
    }

    /// One frame's payload, if `input` completes it.
    fn read_payload(&mut self, input: &mut &[u8]) -> Result<Option<Vec<u8>>, FrameError> {
        take_up_to(LENGTH_BYTES, &mut self.length, input);
        let Some(length) = self.length.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > FRAME_BYTES_MAX {
            return Err(FrameError::FrameTooLarge(length));
        }
        if length == 0 {
            return Err(FrameError::Empty);
        }
        take_up_to(length, &mut self.payload, input);
        if self.payload.len() < length {
            return Ok(None);
        }
        self.length.clear();
        Ok(Some(std::mem::take(&mut self.payload)))
    }

    /// The message that `payload` is or completes.
    fn put_together(&mut self, payload: Vec<u8>) -> Result<Option<Vec<u8>>, FrameError> {
        if !payload.starts_with(&PART_START) {
            return if self.message.is_none() { Ok(Some(payload)) } else { Err(FrameError::Parts) };
        }
        let (offset, total, bytes) = read_part(&payload)?;
        let message = self.message.get_or_insert_with(|| Partial { total, bytes: Vec::new() });
        let missing = message.total - message.bytes.len();
        let continues = offset == message.bytes.len() as u64 && total == message.total;
        // a part that is all of its message should have been sent whole: one message has one form
        let fits = (1..=missing).contains(&bytes.len()) && bytes.len() < total;
        if !continues || !fits {
            return Err(FrameError::Parts);
        }
        message.bytes.extend_from_slice(bytes);
        if message.bytes.len() < total {
            return Ok(None);
        }
        Ok(self.message.take().map(|message| message.bytes))
    }
}

/// Moves bytes from `input` to `buffer` until that has `len`.
fn take_up_to(len: usize, buffer: &mut Vec<u8>, input: &mut &[u8]) {
    let missing = len.saturating_sub(buffer.len());
    let (taken, rest) = input.split_at(missing.min(input.len()));
    buffer.extend_from_slice(taken);
    *input = rest;
}

/// Offset, total and bytes of a part.
fn read_part(payload: &[u8]) -> Result<(u64, usize, &[u8]), FrameError> {
    let mut r = Reader::new(&payload[PART_START.len()..]);
    let offset = r.uint()?;
    let total = r.uint()?;
    let bytes = r.bytes()?;
    r.finish()?;
    match usize::try_from(total) {
        Ok(total) if total <= MESSAGE_BYTES_MAX => Ok((offset, total, bytes)),
        _ => Err(FrameError::MessageTooLarge(total)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(mut bytes: &[u8]) -> Result<Vec<Vec<u8>>, FrameError> {
        let mut reader = FrameReader::default();
        let mut messages = Vec::new();
        while let Some(message) = reader.read(&mut bytes)? {
            messages.push(message);
        }
        reader.finish()?;
        Ok(messages)
    }

    fn message(len: usize) -> Vec<u8> {
        (0..len).map(|index| u8::try_from(index % 251).unwrap()).collect()
    }

    #[test]
    fn a_message_within_the_frame_limit_costs_4_bytes() {
        let frames: Vec<_> = frames(&message(FRAME_BYTES_MIN), FRAME_BYTES_MIN).collect();
        assert_eq!(frames.len(), 1);
        assert_eq!(frames[0].len(), FRAME_BYTES_MIN + 4);
        assert_eq!(read_all(&frames[0]), Ok(vec![message(FRAME_BYTES_MIN)]));
    }

    #[test]
    fn a_larger_message_spans_frames_and_is_put_together() {
        for (len, frame_bytes) in
            [(FRAME_BYTES_MIN + 1, FRAME_BYTES_MIN), (100_000, FRAME_BYTES_MIN), (MESSAGE_BYTES_MAX, FRAME_BYTES_MAX)]
        {
            let mut stream = Vec::new();
            for frame in frames(&message(len), frame_bytes) {
                assert!(frame.len() <= frame_bytes + 4);
                stream.extend(frame);
            }
            stream.extend(frames(&[7], frame_bytes).flatten());
            assert_eq!(read_all(&stream), Ok(vec![message(len), vec![7]]));
        }
    }

    #[test]
    fn bytes_may_come_one_by_one() {
        let stream: Vec<u8> = [message(2_000), vec![1], message(10)]
            .iter()
            .flat_map(|message| frames(message, FRAME_BYTES_MIN).flatten().collect::<Vec<_>>())
            .collect();
        let mut reader = FrameReader::default();
        let mut messages = Vec::new();
        for byte in stream {
            messages.extend(reader.read(&mut [byte].as_slice()).unwrap());
        }
        assert_eq!(reader.finish(), Ok(()));
        assert_eq!(messages, [message(2_000), vec![1], message(10)]);
    }

    #[test]
    fn every_cut_of_the_stream_is_noticed() {
        let stream: Vec<u8> = frames(&message(2_000), FRAME_BYTES_MIN).flatten().collect();
        for end in 1..stream.len() {
            assert_eq!(read_all(&stream[..end]), Err(FrameError::Truncated), "cut at {end}");
        }
    }

    #[test]
    fn a_length_is_judged_before_its_payload_has_come() {
        let mut reader = FrameReader::default();
        assert_eq!(reader.read(&mut [0xff; 4].as_slice()), Err(FrameError::FrameTooLarge(u32::MAX as usize)));
        assert_eq!(reader.payload.capacity(), 0);
        assert_eq!(read_all(&[0x00, 0x10, 0x00, 0x01]), Err(FrameError::FrameTooLarge(FRAME_BYTES_MAX + 1)));
        assert_eq!(read_all(&[0, 0, 0, 0]), Err(FrameError::Empty));
        let mut reader = FrameReader::default();
        assert_eq!(reader.read(&mut [0x00, 0x10, 0x00, 0x00, 0x80].as_slice()), Ok(None));
        assert!(reader.payload.capacity() < 100, "one byte has come of the 1 MiB announced");
    }

    #[test]
    fn parts_that_do_not_fit_together_are_refused() {
        let stream = |parts: &[(usize, usize, &[u8])]| -> Vec<u8> {
            parts.iter().flat_map(|(offset, total, bytes)| framed(&part(*offset, *total, bytes))).collect()
        };
        assert_eq!(read_all(&stream(&[(0, 3, &[1, 2]), (2, 3, &[3])])), Ok(vec![vec![1, 2, 3]]));
        for wrong in [
            stream(&[(1, 3, &[1])]),
            stream(&[(0, 3, &[1]), (2, 3, &[3])]),
            stream(&[(0, 3, &[1, 2]), (0, 3, &[1, 2])]),
            stream(&[(0, 3, &[1, 2]), (2, 4, &[3])]),
            stream(&[(0, 3, &[1, 2]), (2, 3, &[3, 4])]),
            stream(&[(0, 3, &[1, 2, 3])]),
            stream(&[(0, 3, &[1, 2]), (2, 3, &[])]),
            stream(&[(0, 0, &[])]),
            [stream(&[(0, 3, &[1, 2])]), framed(&[7])].concat(),
        ] {
            assert_eq!(read_all(&wrong), Err(FrameError::Parts), "{wrong:02x?}");
        }
        let endless = framed(&part(0, MESSAGE_BYTES_MAX + 1, &[1]));
        assert_eq!(read_all(&endless), Err(FrameError::MessageTooLarge(MESSAGE_BYTES_MAX as u64 + 1)));
        let trailing = framed(&[&part(0, 3, &[1])[..], &[0]].concat());
        assert_eq!(read_all(&trailing), Err(FrameError::Part(DecodeError::Trailing)));
    }
}
