//! Who gets through the handshake, and what both ends know of each other then.

use memlet_core::id::PublicKey;
use memlet_server::quic::DialError;

use crate::hostile::{Manner, connect};
use crate::support::{connected, echo, key, node, until, within};

#[tokio::test]
async fn both_ends_know_each_other_by_key() {
    let (client, mut server) = (node(1), node(2));
    let (dialled, accepted) = connected(&client, &mut server).await;
    assert_eq!(dialled.peer(), key(2).public());
    assert_eq!(accepted.peer(), key(1).public());

    let unpinned = client.endpoint.dial(server.address(), None).await.unwrap();
    assert_eq!(unpinned.peer(), key(2).public());
}

#[tokio::test]
async fn another_device_at_the_address_is_told_apart_and_learns_nothing() {
    let (client, server) = (node(1), node(2));
    let error = client.endpoint.dial(server.address(), Some(key(3).public())).await.unwrap_err();
    assert_eq!(error.code(), "PEER_KEY_MISMATCH");
    match error {
        DialError::WrongPeer { address, expected, found } => {
            assert_eq!((address, expected, found), (server.address(), key(3).public(), key(2).public()));
        }
        other => panic!("{other}"),
    }
    // The client gave up before it showed its own key, so the server never had a connection to hand out.
    until(|| server.refusals.of("HANDSHAKE") == 1).await;
}

#[tokio::test]
async fn the_exporter_is_equal_at_both_ends_and_new_on_every_connection() {
    let (client, mut server) = (node(1), node(2));
    let (first, first_accepted) = connected(&client, &mut server).await;
    let (second, second_accepted) = connected(&client, &mut server).await;
    assert_eq!(first.exporter(), first_accepted.exporter());
    assert_eq!(second.exporter(), second_accepted.exporter());
    assert_ne!(first.exporter(), second.exporter());
}

#[tokio::test]
async fn another_protocol_is_refused() {
    let (address, refusals) = echo(node(2));
    let error = connect(address, Manner { alpn: b"memlet/0", ..Manner::default() }).await.unwrap_err();
    assert!(matches!(error, quinn::ConnectionError::ConnectionClosed(_)), "{error}");
    until(|| refusals.of("HANDSHAKE") == 1).await;
}

#[tokio::test]
async fn a_peer_must_hold_the_usable_key_that_it_shows() {
    let (address, refusals) = echo(node(2));
    let small_order = PublicKey([0; 32]);
    for (count, shown) in [(1, Some(key(1).public())), (2, Some(small_order)), (3, None)] {
        // the client's part of a TLS 1.3 handshake is over before the server has judged it
        if let Ok((_endpoint, connection)) = connect(address, Manner { shown, ..Manner::default() }).await {
            within(connection.closed()).await;
        }
        until(|| refusals.of("HANDSHAKE") == count).await;
    }
    let (_endpoint, connection) = connect(address, Manner::default()).await.unwrap();
    assert!(connection.close_reason().is_none(), "a key that is its own is let in");
}

#[tokio::test]
async fn nobody_at_the_address_is_no_answer() {
    let client = node(1);
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let error = client.endpoint.dial(silent.local_addr().unwrap(), None).await.unwrap_err();
    assert!(matches!(error, DialError::NoAnswer(_)), "{error}");
}
