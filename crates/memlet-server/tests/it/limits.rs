//! How much one peer, or one source of peers, gets of a node.

use std::future::ready;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use memlet_server::quic::{ConnectionLimits, DialError, Ended, Endpoint, EndpointOptions, Identity};
use memlet_sync::code::CloseCode;

use crate::hostile::{Manner, connect};
use crate::support::{connected, echo, hello, key, node, node_with, until, within};

#[tokio::test]
async fn the_65th_stream_waits_for_others_to_end() {
    let (client, server) = (node(1), echo(node(2)));
    let connection = client.endpoint.dial(server.0, None).await.unwrap();
    let mut streams = Vec::new();
    for _ in 0..64 {
        let mut stream = within(connection.open()).await.unwrap();
        stream.outgoing.put(&hello());
        stream.outgoing.flush().await.unwrap();
        streams.push(stream);
    }
    let mut last = Box::pin(connection.open());
    tokio::select! {
        biased;
        stream = &mut last => panic!("a 65th stream is open beside 64 others: {stream:?}"),
        () = ready(()) => {}
    }
    // QUIC tells of freed streams once they are more than an eighth of all
    for stream in streams.drain(..9) {
        stream.abort(CloseCode::Done);
    }
    within(last).await.unwrap();
}

#[tokio::test]
async fn a_flood_from_one_source_is_capped_and_its_places_come_back() {
    let limits = ConnectionLimits { per_source_max: 3, ..ConnectionLimits::default() };
    let (client, (address, refusals)) = (node(1), echo(node_with(2, limits)));
    let mut connections = Vec::new();
    for _ in 0..3 {
        connections.push(client.endpoint.dial(address, None).await.unwrap());
    }
    for refused in 1..=20 {
        let error = client.endpoint.dial(address, None).await.unwrap_err();
        assert!(matches!(error, DialError::Busy(_)), "{error}");
        assert_eq!(refusals.of("CONNECTIONS_PER_SOURCE"), refused);
    }
    assert_eq!(within(connections[0].open()).await.map(drop), Ok(()), "who was in before is still served");

    connections.pop().unwrap().close(CloseCode::Done);
    within(async { while client.endpoint.dial(address, None).await.is_err() {} }).await;
}

#[tokio::test]
async fn a_crowded_node_has_addresses_proven_and_lets_honest_peers_in() {
    let limits = ConnectionLimits { unproven_max: 0, ..ConnectionLimits::default() };
    let (client, mut server) = (node(1), node_with(2, limits));
    let (dialled, accepted) = connected(&client, &mut server).await;
    assert_eq!(dialled.exporter(), accepted.exporter());
}

#[tokio::test]
async fn a_stopped_node_refuses_new_peers_and_keeps_those_it_has() {
    let (client, mut server) = (node(1), node(2));
    let (dialled, accepted) = connected(&client, &mut server).await;
    server.endpoint.stop();
    let error = client.endpoint.dial(server.address(), None).await.unwrap_err();
    assert!(matches!(error, DialError::Busy(_)), "{error}");
    until(|| server.refusals.of("STOPPING") == 1).await;

    let mut stream = dialled.open().await.unwrap();
    stream.outgoing.put(&hello());
    stream.outgoing.flush().await.unwrap();
    within(accepted.accept()).await.unwrap();

    server.endpoint.close(CloseCode::Shutdown).await;
    assert_eq!(within(dialled.closed()).await, Ended::Peer(CloseCode::Shutdown));
    assert!(within(server.incoming.next()).await.is_none());
}

#[tokio::test]
async fn nothing_but_64_bidirectional_streams_is_offered() {
    let (address, _) = echo(node(2));
    let (_endpoint, connection) = connect(address, Manner::default()).await.unwrap();
    assert_eq!(connection.max_datagram_size(), None);
    tokio::select! {
        biased;
        stream = connection.open_uni() => panic!("a unidirectional stream is open: {stream:?}"),
        () = ready(()) => {}
    }
}

#[tokio::test]
async fn a_node_that_takes_no_one_in_any_more_hangs_up_and_frees_its_address() {
    let (client, mut server) = (node(1), node(2));
    let (dialled, accepted) = connected(&client, &mut server).await;
    let address = server.address();
    drop(server.incoming);
    assert_eq!(within(dialled.closed()).await, Ended::Peer(CloseCode::Shutdown));
    drop((server.endpoint, accepted));
    until(|| std::net::UdpSocket::bind(address).is_ok()).await;
}

#[tokio::test]
async fn both_address_families_can_be_served_on_one_port() {
    if std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        return; // a machine without IPv6 has but one family
    }
    let port = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap().local_addr().unwrap().port();
    let listen = vec![(Ipv4Addr::UNSPECIFIED, port).into(), (Ipv6Addr::UNSPECIFIED, port).into()];
    let options = EndpointOptions { listen, ..EndpointOptions::default() };
    let (endpoint, _incoming) = Endpoint::bind(Identity::new(key(2)), &options, |_| {}).unwrap();
    let client = node(3);
    for address in [(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()] {
        assert_eq!(client.endpoint.dial(address, None).await.unwrap().peer(), key(2).public());
    }
    let announced = endpoint.announced();
    assert!(announced.iter().any(SocketAddr::is_ipv4) && announced.iter().any(SocketAddr::is_ipv6), "{announced:?}");
}
