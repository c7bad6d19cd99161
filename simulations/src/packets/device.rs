//! A device: its replica on a disk, its QUIC endpoint, and the connections of that.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bytes::Bytes;
use memlet_auth::keys::SigningKey;
use memlet_auth::proof::Exporter;
use memlet_core::id::{NamespaceId, PublicKey};
use memlet_node::Node;
use memlet_server::quic::{
    EXPORTER_LABEL, EndpointOptions, Identity, PeerCheck, SERVER_NAME, client_config, peer_of, quic_code, server_config,
};
use memlet_store::MemoryDisk;
use memlet_sync::code::CloseCode;
use quinn_proto::{
    Connection as Quic, ConnectionError, ConnectionHandle, DatagramEvent, Endpoint, Event, Transmit, TransportErrorCode,
};

use super::links::{Links, broken};
use super::path::Datagram;
use super::{Journal, crypto};
use crate::environment::DeviceEnvironment;
use crate::failure::Failure;
use crate::random::Stream;

/// One of the two devices.
pub(super) struct Device {
    pub(super) node: Node,
    pub(super) address: SocketAddr,
    /// When its next timer is due.
    pub(super) timer_ms: Option<u64>,
    key: SigningKey,
    disk: MemoryDisk,
    environment: Arc<DeviceEnvironment>,
    endpoint: Endpoint,
    connections: BTreeMap<ConnectionHandle, Connection>,
    /// What its endpoints draw from.
    random: Stream,
    /// Its sessions may have something to say.
    has_news: Arc<AtomicBool>,
}

struct Connection {
    quic: Quic,
    /// None before the handshake is complete.
    links: Option<Links>,
    /// Where the peer was when it was last looked.
    peer_address: SocketAddr,
}

impl Device {
    pub(super) fn new(seed: u64, number: usize, address: SocketAddr, journal: &Journal) -> Self {
        let stream = |what| Stream::new(seed, &format!("packets device {number} {what}"));
        let key = SigningKey::from_bytes(&stream("key").bytes());
        let disk = MemoryDisk::new();
        let environment = Arc::new(DeviceEnvironment::new(journal.time.clone(), stream("environment")));
        let mut random = stream("endpoint");
        let has_news = Arc::new(AtomicBool::new(false));
        Self {
            node: start_node(&disk, &key, &environment, &has_news),
            endpoint: start_endpoint(&key, &mut random),
            connections: BTreeMap::new(),
            timer_ms: None,
            key,
            disk,
            environment,
            address,
            random,
            has_news,
        }
    }

    /// The power fails, and the device starts again with what its disk kept.
    pub(super) fn restart(&mut self) {
        self.disk.crash(0);
        self.connections.clear();
        self.timer_ms = None;
        self.node = start_node(&self.disk, &self.key, &self.environment, &self.has_news);
        self.endpoint = start_endpoint(&self.key, &mut self.random);
    }

    /// Whether there is a connection that has not ended here.
    pub(super) fn has_connection(&self) -> bool {
        self.connections.values().any(|connection| !connection.quic.is_closed())
    }

    /// Whether nothing is left of any connection.
    pub(super) fn is_quiet(&self) -> bool {
        self.endpoint.open_connections() == 0
    }

    /// Whether some connection has a level session for each of `namespaces`.
    pub(super) fn is_level(&self, namespaces: &[NamespaceId]) -> Result<bool, Failure> {
        for connection in self.connections.values().filter(|connection| !connection.quic.is_closed()) {
            if let Some(links) = &connection.links
                && links.are_level(namespaces)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Begins a connection to `device` at `address`.
    pub(super) fn dial(&mut self, now: Instant, address: SocketAddr, device: PublicKey) -> Result<(), Failure> {
        let check = Arc::new(PeerCheck::expecting(Some(device)));
        let mut config = client_config(&identity(&self.key), check, &EndpointOptions::default());
        let first_id = self.random.bytes::<20>();
        config.initial_dst_cid_provider(Arc::new(move || quinn_proto::ConnectionId::new(&first_id)));
        let (handle, quic) = self.endpoint.connect(now, config, address, SERVER_NAME).map_err(broken)?;
        self.connections.insert(handle, Connection { quic, links: None, peer_address: address });
        Ok(())
    }

    /// It has another address from now on, and its connections are told if it knows.
    pub(super) fn move_to(&mut self, address: SocketAddr, knows: bool) {
        self.address = address;
        if knows {
            self.connections.values_mut().for_each(|connection| connection.quic.local_address_changed());
        }
    }

    /// Closes every connection at once.
    pub(super) fn hang_up(&mut self, now: Instant, code: CloseCode) {
        let closed = |connection: &mut Connection| connection.quic.close(now, quic_code(code), Bytes::new());
        self.connections.values_mut().for_each(closed);
    }

    /// Has every session end after its last word.
    pub(super) fn close_sessions(&mut self) {
        self.connections.values_mut().filter_map(|connection| connection.links.as_mut()).for_each(Links::close);
        self.has_news.store(true, Ordering::Relaxed);
    }

    /// Whether every session has ended on both sides, and the peer has all of it.
    pub(super) fn sessions_are_over(&mut self) -> bool {
        let live = self.connections.values_mut().filter(|connection| !connection.quic.is_closed());
        live.fold(true, |so_far, connection| {
            let is_over = connection.links.as_ref().is_some_and(Links::are_over);
            so_far && is_over && connection.quic.streams().send_streams() == 0
        })
    }

    /// Gives up the stream of a namespace, and opens another. Says whether there was one.
    pub(super) fn give_up(&mut self, namespace: NamespaceId) -> Result<bool, Failure> {
        for Connection { quic, links, .. } in self.connections.values_mut().filter(|it| !it.quic.is_closed()) {
            if let Some(links) = links
                && links.give_up(quic, namespace)
            {
                links.open(quic, &self.node, namespace)?;
                self.has_news.store(true, Ordering::Relaxed);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A datagram arrives. What the endpoint itself answers goes to `out`.
    pub(super) fn arrive(&mut self, datagram: &Datagram, out: &mut Vec<Datagram>, journal: &mut Journal) {
        let (now, mut reply) = (journal.now(), Vec::new());
        let answer = match self.endpoint.handle(now, datagram.from, None, None, datagram.bytes[..].into(), &mut reply) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(connection) = self.connections.get_mut(&handle) {
                    connection.quic.handle_event(event);
                }
                None
            }
            Some(DatagramEvent::NewConnection(incoming)) => match self.endpoint.accept(incoming, now, &mut reply, None)
            {
                Ok((handle, quic)) => {
                    self.connections.insert(handle, Connection { quic, links: None, peer_address: datagram.from });
                    None
                }
                Err(error) => error.response,
            },
            Some(DatagramEvent::Response(transmit)) => Some(transmit),
            None => None,
        };
        if let Some(transmit) = answer {
            journal.tally.count("answers of an endpoint without a connection");
            out.push(sent(self.address, &transmit, &reply));
        }
    }

    /// A timer is due.
    pub(super) fn ring(&mut self, now: Instant) {
        self.timer_ms = None;
        self.connections.values_mut().for_each(|connection| connection.quic.handle_timeout(now));
    }

    /// Does all that can be done now, in a fixed order. What is sent goes to `out`.
    ///
    /// # Errors
    /// A session met what it must not.
    pub(super) fn drive(
        &mut self,
        namespaces: &[NamespaceId],
        out: &mut Vec<Datagram>,
        journal: &mut Journal,
    ) -> Result<(), Failure> {
        loop {
            let heard = self.listen(namespaces, journal)?;
            if self.has_news.swap(false, Ordering::Relaxed) || heard {
                self.pump(journal)?;
            } else if !self.transmit(out, journal.now()) {
                break;
            }
        }
        let due = self.connections.values_mut().filter_map(|connection| connection.quic.poll_timeout()).min();
        self.timer_ms = due.map(|at| journal.ms_of(at));
        Ok(())
    }

    /// Takes what QUIC has to tell. Says whether sessions may have something to hear or to say.
    fn listen(&mut self, namespaces: &[NamespaceId], journal: &mut Journal) -> Result<bool, Failure> {
        let mut heard = false;
        for (handle, Connection { quic, links, peer_address }) in &mut self.connections {
            while let Some(event) = quic.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    quic.handle_event(event);
                }
            }
            while let Some(event) = quic.poll() {
                match event {
                    Event::Connected => {
                        heard = true;
                        let links = links.insert(begin(quic)?);
                        if quic.side().is_client() {
                            journal.tally.count("connections");
                            namespaces.iter().try_for_each(|id| links.open(quic, &self.node, *id))?;
                        }
                    }
                    Event::ConnectionLost { reason } => {
                        journal.tally.count(fate(&reason)?);
                        journal.note(format_args!("a connection is lost: {reason}"));
                    }
                    Event::Stream(_) => heard = true,
                    Event::HandshakeDataReady | Event::DatagramReceived | Event::DatagramsUnblocked => {}
                }
            }
            if std::mem::replace(peer_address, quic.remote_address()) != quic.remote_address() {
                journal.tally.count("connections that followed their peer");
            }
        }
        self.connections.retain(|_, connection| !connection.quic.is_drained());
        Ok(heard)
    }

    fn pump(&mut self, journal: &mut Journal) -> Result<(), Failure> {
        for Connection { quic, links, .. } in self.connections.values_mut().filter(|it| !it.quic.is_closed()) {
            if let Some(links) = links {
                links.pump(quic, &self.node, journal)?;
            }
        }
        Ok(())
    }

    /// Sends what QUIC has to send. Says whether that was anything.
    fn transmit(&mut self, out: &mut Vec<Datagram>, now: Instant) -> bool {
        let before = out.len();
        for connection in self.connections.values_mut() {
            let mut bytes = Vec::new();
            while let Some(transmit) = connection.quic.poll_transmit(now, 1, &mut bytes) {
                out.push(sent(self.address, &transmit, &bytes));
                bytes.clear();
            }
        }
        out.len() > before
    }
}

fn start_node(
    disk: &MemoryDisk,
    key: &SigningKey,
    environment: &Arc<DeviceEnvironment>,
    has_news: &Arc<AtomicBool>,
) -> Node {
    let node = Node::open(Arc::new(disk.open()), key.clone(), environment.clone()).expect("the disk has no faults");
    let has_news = has_news.clone();
    node.subscribe(move |_| has_news.store(true, Ordering::Relaxed));
    node
}

/// An endpoint as every start of a process makes it: with secrets of its own.
fn start_endpoint(key: &SigningKey, random: &mut Stream) -> Endpoint {
    let server = server_config(&identity(key), &EndpointOptions::default());
    Endpoint::new(Arc::new(crypto::endpoint_config(random)), Some(Arc::new(server)), true, None)
}

fn identity(key: &SigningKey) -> Identity {
    Identity::with_provider(key.clone(), crypto::provider())
}

/// The sessions of a connection whose handshake has just been completed.
fn begin(quic: &Quic) -> Result<Links, Failure> {
    let tls = quic.crypto_session();
    let peer = peer_of(tls.peer_identity()).ok_or_else(|| broken("a peer without a key"))?;
    let mut exporter = Exporter([0; 32]);
    let exported = tls.export_keying_material(&mut exporter.0, EXPORTER_LABEL, &[]);
    exported.map_err(|_| broken("no keying material"))?;
    Ok(Links::new(peer, exporter))
}

/// What became of a connection. No fault of the path makes a peer break QUIC's rules.
fn fate(reason: &ConnectionError) -> Result<&'static str, Failure> {
    match reason {
        ConnectionError::TimedOut => Ok("connections that died of silence"),
        ConnectionError::ApplicationClosed(_) => Ok("connections that the peer closed"),
        ConnectionError::ConnectionClosed(close) if close.error_code == TransportErrorCode::APPLICATION_ERROR => {
            Ok("connections closed in their handshake")
        }
        ConnectionError::Reset => Ok("connections that the peer forgot"),
        other => Err(broken(other)),
    }
}

fn sent(from: SocketAddr, transmit: &Transmit, bytes: &[u8]) -> Datagram {
    Datagram { from, to: transmit.destination, bytes: bytes[..transmit.size].to_vec() }
}
