//! Peers that greet properly and then break the rules, against a server that goes on serving everyone else.

use memlet_core::codec::Encode as _;
use memlet_sync::code::CloseCode;
use memlet_sync::frame::frames;
use memlet_sync::limits::FRAME_BYTES_MAX;
use memlet_sync::message::{Control, Message};
use quinn::{Connection, ConnectionError, RecvStream, SendStream, VarInt};

use crate::device::Device;
use crate::hostile::{Manner, connect};
use crate::support::{hello, until, within};

fn framed(message: &[u8]) -> Vec<u8> {
    frames(message, FRAME_BYTES_MAX).flatten().collect()
}

/// Greets as anyone would.
async fn greeted(connection: &Connection) -> (SendStream, RecvStream) {
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    send.write_all(&framed(&hello().to_cbor())).await.unwrap();
    recv.read_exact(&mut [0; 4]).await.unwrap();
    (send, recv)
}

async fn closed_with(connection: &Connection) -> CloseCode {
    match within(connection.closed()).await {
        ConnectionError::ApplicationClosed(close) => {
            CloseCode::from_number(close.error_code.into_inner().try_into().unwrap())
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn bad_bytes_on_a_namespace_stream_end_it_with_a_code_and_others_sync_on() {
    let a = Device::first(1, 100);
    let b = Device::let_in_by(&a, 2);
    let a_serves = a.serve(vec![]);
    let (_endpoint, connection) = connect(a_serves.address, Manner::default()).await.unwrap();
    let _control = greeted(&connection).await;
    for (what, bytes, code) in [
        ("truncated", framed(&Message::Close(CloseCode::Done).to_cbor())[..5].to_vec(), CloseCode::Malformed),
        ("oversized", vec![0xff; 4], CloseCode::TooLarge),
        ("garbage", framed(b"\x9f\x00garbage"), CloseCode::Malformed),
        ("deep", framed(&[0x81; 100_000]), CloseCode::Malformed),
    ] {
        let before = a_serves.refusals(code.code());
        let (mut send, mut recv) = connection.open_bi().await.unwrap();
        send.write_all(&bytes).await.unwrap();
        send.finish().unwrap();
        let reset = within(recv.received_reset()).await.unwrap();
        assert_eq!(reset.map(VarInt::into_inner), Some(code.number().into()), "{what}");
        until(|| a_serves.refusals(code.code()) == before + 1).await;
    }
    b.remember("all the same");
    b.sync(&[&a_serves]).await;
    assert!(a.recall().contains("all the same"));
    assert!(connection.close_reason().is_none());
}

#[tokio::test]
async fn a_stream_that_does_not_begin_with_open_is_closed_as_by_a_session() {
    let a_serves = Device::first(1, 100).serve(vec![]);
    let (_endpoint, connection) = connect(a_serves.address, Manner::default()).await.unwrap();
    let _control = greeted(&connection).await;
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    send.write_all(&framed(&Message::Auth(Vec::new()).to_cbor())).await.unwrap();
    send.finish().unwrap();
    let answer = within(recv.read_to_end(1_000)).await.unwrap();
    assert_eq!(answer, framed(&Message::Close(CloseCode::Protocol).to_cbor()));
    until(|| a_serves.refusals("PROTOCOL_TOO_EARLY") == 1).await;
}

#[tokio::test]
async fn a_connection_that_does_not_begin_with_a_greeting_is_closed() {
    let a_serves = Device::first(1, 100).serve(vec![]);
    let (_endpoint, connection) = connect(a_serves.address, Manner::default()).await.unwrap();
    let (mut send, _recv) = connection.open_bi().await.unwrap();
    send.write_all(&framed(&Control::Close(CloseCode::Done).to_cbor())).await.unwrap();
    assert_eq!(closed_with(&connection).await, CloseCode::Protocol);
    assert_eq!(a_serves.refusals("PROTOCOL"), 1);
}

#[tokio::test]
async fn a_peer_of_another_version_is_told_so() {
    let a_serves = Device::first(1, 100).serve(vec![]);
    let (_endpoint, connection) = connect(a_serves.address, Manner::default()).await.unwrap();
    let Control::Hello(mut newer) = hello() else { unreachable!() };
    newer.versions = vec![7];
    let (mut send, _recv) = connection.open_bi().await.unwrap();
    send.write_all(&framed(&Control::Hello(newer).to_cbor())).await.unwrap();
    assert_eq!(closed_with(&connection).await, CloseCode::Version);
    assert_eq!(a_serves.refusals("VERSION"), 1);
}

#[tokio::test]
async fn a_second_greeting_ends_the_connection() {
    let a_serves = Device::first(1, 100).serve(vec![]);
    let (_endpoint, connection) = connect(a_serves.address, Manner::default()).await.unwrap();
    let (mut send, _recv) = greeted(&connection).await;
    send.write_all(&framed(&hello().to_cbor())).await.unwrap();
    assert_eq!(closed_with(&connection).await, CloseCode::Protocol);
    until(|| a_serves.refusals("PROTOCOL") == 1).await;
}

#[tokio::test]
async fn a_peer_that_says_nothing_loses_its_stream_and_its_connection_in_time() {
    let a_serves = Device::first(1, 100).serve(vec![]);
    let (_mute, mute) = connect(a_serves.address, Manner::default()).await.unwrap();
    let (_endpoint, connection) = connect(a_serves.address, Manner::default()).await.unwrap();
    let _control = greeted(&connection).await;
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    send.write_all(&[0, 0, 1]).await.unwrap();
    let (closed, reset) = tokio::join!(closed_with(&mute), within(recv.received_reset()));
    assert_eq!(closed, CloseCode::Timeout);
    assert_eq!(reset.unwrap().map(VarInt::into_inner), Some(CloseCode::Timeout.number().into()));
    until(|| a_serves.refusals("TIMEOUT") == 2).await;
    assert!(connection.close_reason().is_none(), "who greeted keeps its connection");
}
