//! Bytes of a peer's stream: frames, and the messages in them.

use memlet_core::id::PublicKey;
use memlet_sync::enrol::{Decision, Inviter};
use memlet_sync::frame::{FrameError, FrameReader, frames as cut};
use memlet_sync::limits::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};
use memlet_sync::message::{Control, Join, Message};

use super::device::{EXPORTER, NOW_MS, invite, key};
use super::records::{strict, strict_eq};

/// The first byte says how a stream is cut, the rest is the stream: the messages in it are the same however it is cut.
pub(super) fn frames(data: &[u8]) {
    let Some((cut_bytes, stream)) = data.split_first() else { return };
    let whole = read([stream]);
    assert_eq!(read(stream.chunks(usize::from(*cut_bytes) + 1)), whole);
    let (messages, _) = whole;
    assert!(messages.iter().map(Vec::len).sum::<usize>() <= stream.len(), "more came out than went in");
    for message in &messages {
        for frame_bytes in [FRAME_BYTES_MIN, FRAME_BYTES_MAX] {
            let again: Vec<Vec<u8>> = cut(message, frame_bytes).collect();
            let again = read(again.iter().map(Vec::as_slice));
            // What begins like a part of a message is none itself, and no encoded message does.
            assert!(again == (vec![message.clone()], Ok(())) || message.starts_with(&[0x84, 0x00]));
        }
    }
}

/// The messages of a stream that comes in pieces, and how it ends.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, Result<(), FrameError>) {
    let mut reader = FrameReader::default();
    let mut messages = Vec::new();
    for mut piece in pieces {
        loop {
            match reader.read(&mut piece) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Err(error)),
            }
        }
    }
    (messages, reader.finish())
}

/// One message of either kind of stream. A request to join is answered by the inviter.
pub(super) fn message(data: &[u8]) {
    strict_eq::<Message>(data);
    if let Some(Control::Join(join)) = strict::<Control>(data) {
        ask_to_join(&join);
    }
}

/// Whoever proves the secret of the invite is let in, once; the same device again with the same answer, another one not.
fn ask_to_join(join: &Join) {
    let mut inviter = Inviter::new(invite());
    let mut granted = 0;
    let mut decide = |joiner: PublicKey| {
        let statements = vec![joiner.0.to_vec()];
        let answer = inviter.decide(join, joiner, &EXPORTER, NOW_MS, |_, _| {
            granted += 1;
            Ok(statements)
        });
        answer.unwrap()
    };
    let [laptop, phone] = [1, 2].map(|seed| key(seed).public());
    let (first, other, again) = (decide(laptop), decide(phone), decide(laptop));
    assert_eq!(first, again);
    assert!(!matches!((&first, &other), (Decision::Welcome(_), Decision::Welcome(_))), "one proof lets in two devices");
    assert!(granted <= 1);
}
