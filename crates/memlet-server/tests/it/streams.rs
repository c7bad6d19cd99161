//! What a stream makes of the bytes on it, and how both ends learn of its end.

use memlet_core::codec::Encode as _;
use memlet_server::quic::StreamError;
use memlet_sync::code::CloseCode;
use memlet_sync::frame::frames;
use memlet_sync::limits::FRAME_BYTES_MAX;
use memlet_sync::message::Control;

use crate::hostile::{Manner, connect};
use crate::support::{connected, echo, hello, node, until, within};

#[tokio::test]
async fn messages_pass_in_both_directions_and_the_end_is_explicit() {
    let (client, mut server) = (node(1), node(2));
    let (dialled, accepted) = connected(&client, &mut server).await;
    let mut ours = dialled.open().await.unwrap();
    ours.outgoing.put(&hello());
    ours.outgoing.flush().await.unwrap();
    let mut theirs = within(accepted.accept()).await.unwrap();
    let received: Control = within(theirs.incoming.next()).await.unwrap().unwrap();
    assert_eq!(received.to_cbor(), hello().to_cbor());

    let answer = async {
        assert!(theirs.incoming.next::<Control>().await.unwrap().is_none());
        theirs.finish().await
    };
    let (ours, theirs) = tokio::join!(within(ours.finish()), within(answer));
    assert_eq!((ours, theirs), (Ok(()), Ok(())));
}

#[tokio::test]
async fn a_message_of_many_frames_passes_through_small_windows() {
    let statements: Vec<Vec<u8>> = (0..200).map(|_| vec![7; 1_000]).collect();
    let message = Control::Welcome(statements);
    let (client, mut server) = (node(1), node(2));
    let (dialled, accepted) = connected(&client, &mut server).await;
    let mut ours = dialled.open().await.unwrap();
    ours.outgoing.limit_frames(1 << 10);
    ours.outgoing.put(&message);
    assert!(ours.outgoing.bytes() > message.to_cbor().len() as u64 + 190 * 4, "cut into frames of 1 KiB");
    let receive = async {
        let mut theirs = accepted.accept().await.unwrap();
        theirs.incoming.next::<Control>().await.unwrap().unwrap().to_cbor()
    };
    let (flushed, received) = tokio::join!(within(ours.outgoing.flush()), within(receive));
    flushed.unwrap();
    assert_eq!(received, message.to_cbor());
}

#[tokio::test]
async fn a_dropped_stream_is_not_taken_for_a_finished_one() {
    let (client, mut server) = (node(1), node(2));
    let (dialled, accepted) = connected(&client, &mut server).await;
    let mut ours = dialled.open().await.unwrap();
    ours.outgoing.put(&hello());
    ours.outgoing.flush().await.unwrap();
    let mut theirs = within(accepted.accept()).await.unwrap();
    within(theirs.incoming.next::<Control>()).await.unwrap();
    drop(ours);
    let end = within(theirs.incoming.next::<Control>()).await;
    assert_eq!(end.unwrap_err(), StreamError::Aborted(CloseCode::Shutdown));
}

/// Bytes that are no messages, whether the stream is finished after them, and the code that answers them.
fn bad_streams() -> Vec<(&'static str, Vec<u8>, bool, CloseCode)> {
    let whole: Vec<u8> = frames(&hello().to_cbor(), FRAME_BYTES_MAX).flatten().collect();
    let no_message: Vec<u8> = frames(b"\x9fgarbage", FRAME_BYTES_MAX).flatten().collect();
    vec![
        ("truncated length", whole[..3].to_vec(), true, CloseCode::Malformed),
        ("truncated payload", whole[..whole.len() - 1].to_vec(), true, CloseCode::Malformed),
        ("oversized", vec![0xff; 4], false, CloseCode::TooLarge),
        ("empty frame", vec![0; 4], false, CloseCode::Malformed),
        ("garbage", no_message, false, CloseCode::Malformed),
    ]
}

#[tokio::test]
async fn bad_bytes_close_their_stream_with_a_code_and_harm_no_other() {
    let (address, refusals) = echo(node(2));
    let (_endpoint, connection) = connect(address, Manner::default()).await.unwrap();
    let (mut good_send, mut good_recv) = connection.open_bi().await.unwrap();
    let whole: Vec<u8> = frames(&hello().to_cbor(), FRAME_BYTES_MAX).flatten().collect();

    for (what, bytes, finished, code) in bad_streams() {
        let before = refusals.of(code.code());
        let (mut send, mut recv) = connection.open_bi().await.unwrap();
        send.write_all(&bytes).await.unwrap();
        if finished {
            send.finish().unwrap();
        }
        let reset = within(recv.received_reset()).await.unwrap();
        assert_eq!(reset.map(quinn::VarInt::into_inner), Some(code.number().into()), "{what}");
        until(|| refusals.of(code.code()) == before + 1).await;

        good_send.write_all(&whole).await.unwrap();
        let mut answer = vec![0; whole.len()];
        within(good_recv.read_exact(&mut answer)).await.unwrap();
        assert_eq!(answer, whole, "the neighbour of the stream that was {what} is served");
    }
    assert!(connection.close_reason().is_none(), "the connection stands");
}
