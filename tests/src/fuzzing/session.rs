//! A peer's whole stream, from its first byte: whatever it says, the session ends or goes on in order and the store stays sound.

use memlet_core::codec::Decode as _;
use memlet_sync::frame::FrameReader;
use memlet_sync::message::{Limits, Message};
use memlet_sync::session::{Session, SessionError};

use super::device::{Device, EXPORTER, NOW_MS, key};

/// The first byte says who has opened the stream: 0 the peer, all else this side. The rest is what the peer sends.
pub(super) fn run(data: &[u8]) {
    let Some((opened_here, mut stream)) = data.split_first() else { return };
    let host = Device::host();
    let mut replica = host.home().replica();
    let peer = key(1).public();
    let mut session = match opened_here {
        0 => Session::accept(peer, EXPORTER, Limits::default()),
        _ => Session::initiate(&replica, peer, EXPORTER, Limits::default(), NOW_MS).unwrap(),
    };
    let mut reader = FrameReader::default();
    let mut failed = false;
    loop {
        loop {
            match session.poll(NOW_MS, &mut replica) {
                Ok(Some(Message::Close(_))) => {}
                Ok(Some(said)) => assert!(!failed, "a session that failed says {}", said.name()),
                Ok(None) => break,
                Err(SessionError::Denied(_)) => failed = true,
                Err(error) => panic!("this side failed: {error}"),
            }
        }
        assert!(!failed || session.ended().is_some(), "a session that failed does not end");
        let Ok(Some(message)) = reader.read(&mut stream) else { break };
        let Ok(message) = Message::from_cbor(&message) else { break };
        failed |= session.receive(message, NOW_MS, &mut replica).is_err();
    }
    host.assert_sound();
}
