//! The sockets of a node: where it listens, how it dials, and whom it lets in.
//!
//! Whatever QUIC leaves open is bounded: memory by its [`config`](super::config), peers by [`admission`](super::admission),
//! silence by timeouts. A handshake runs in its own task, so a slow or hostile one delays nobody.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use memlet_core::id::PublicKey;
use memlet_sync::code::CloseCode;
use quinn::{ConnectionError, EndpointConfig, ServerConfig, TokioRuntime, TransportErrorCode};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::quic::address::announced;
use crate::quic::admission::{Admission, ConnectionLimits, Place, Verdict};
use crate::quic::config::{SERVER_NAME, client_config, server_config};
use crate::quic::connection::Connection;
use crate::quic::error::{BindError, DialError, Ended, quic_code};
use crate::quic::identity::{Identity, PeerCheck};
use crate::quic::sockets::{Sockets, SystemSockets};

/// How an endpoint behaves.
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// Where to listen. Port 0 lets the system choose.
    pub listen: Vec<SocketAddr>,
    /// How long a connection stays up in silence. The dialling side breaks the silence three times as often.
    pub idle: Duration,
    /// How long a handshake may take.
    pub handshake: Duration,
    /// How many peers are let in.
    pub connections: ConnectionLimits,
    /// Where the sockets come from.
    pub sockets: Arc<dyn Sockets>,
}

impl Default for EndpointOptions {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            idle: Duration::from_secs(15),
            handshake: Duration::from_secs(5),
            connections: ConnectionLimits::default(),
            sockets: Arc::new(SystemSockets),
        }
    }
}

/// All sockets of one node. Cloning gives another handle to the same sockets.
///
/// Call [`Endpoint::bind`] inside a tokio runtime, take what comes in from its [`Incoming`], [`Endpoint::dial`] whom you
/// like, then [`Endpoint::stop`] and [`Endpoint::close`].
#[derive(Clone)]
pub struct Endpoint(Arc<Inner>);

struct Inner {
    identity: Identity,
    options: EndpointOptions,
    listeners: Vec<quinn::Endpoint>,
    // Bound to no interface, because a socket that listens on one cannot reach the others.
    dialer_v4: Option<quinn::Endpoint>,
    dialer_v6: Option<quinn::Endpoint>,
    admission: Admission,
    on_refusal: Box<dyn Fn(&'static str) + Send + Sync>,
}

impl Endpoint {
    /// Binds the sockets and begins to let peers in. `on_refusal` is told the code of every refusal; it must not block. Must
    /// be called inside a tokio runtime.
    ///
    /// # Errors
    /// An address cannot be bound: it is in use, reserved, or not of this machine.
    ///
    /// # Panics
    /// If the idle timeout has more than 2^62 milliseconds.
    pub fn bind(
        identity: Identity,
        options: &EndpointOptions,
        on_refusal: impl Fn(&'static str) + Send + Sync + 'static,
    ) -> Result<(Self, Incoming), BindError> {
        let server = server_config(&identity, options);
        let socket = |address, server| socket(&*options.sockets, address, server);
        let bind = |address| socket(address, Some(server.clone())).map_err(|source| BindError { address, source });
        let listeners = options.listen.iter().map(|address| bind(*address)).collect::<Result<Vec<_>, _>>()?;

        let (sender, established) = mpsc::channel(INCOMING_MAX);
        let endpoint = Self(Arc::new(Inner {
            identity,
            options: options.clone(),
            listeners,
            dialer_v4: socket((Ipv4Addr::UNSPECIFIED, 0).into(), None).ok(),
            dialer_v6: socket((Ipv6Addr::UNSPECIFIED, 0).into(), None).ok(),
            admission: Admission::new(options.connections),
            on_refusal: Box::new(on_refusal),
        }));
        for listener in &endpoint.0.listeners {
            tokio::spawn(endpoint.clone().let_in(listener.clone(), sender.clone()));
        }
        let incoming = Incoming { established, endpoint: endpoint.clone() };
        Ok((endpoint, incoming))
    }

    /// The public key of this device.
    pub fn device(&self) -> PublicKey {
        self.0.identity.device()
    }

    /// The addresses that the listening sockets are bound to, with the ports the system chose.
    pub fn bound(&self) -> Vec<SocketAddr> {
        self.0.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// The addresses to tell peers: as [`Endpoint::bound`], with those of interfaces in place of "all interfaces".
    pub fn announced(&self) -> Vec<SocketAddr> {
        announced(self.bound())
    }

    /// Connects to the node at `address`, which must be `expected` if that is known.
    ///
    /// # Errors
    /// Another device answers, nobody does in time, or the peer declines; see [`DialError`].
    pub async fn dial(&self, address: SocketAddr, expected: Option<PublicKey>) -> Result<Connection, DialError> {
        let Inner { identity, options, .. } = &*self.0;
        let socket = if address.is_ipv4() { &self.0.dialer_v4 } else { &self.0.dialer_v6 };
        let no_route = |reason: String| DialError::Route { address, reason };
        let socket = socket.as_ref().ok_or_else(|| no_route("no socket of this address family".into()))?;
        let check = Arc::new(PeerCheck::expecting(expected));
        let config = client_config(identity, check.clone(), options);

        let connecting =
            socket.connect_with(config, address, SERVER_NAME).map_err(|error| no_route(error.to_string()))?;
        match timeout(options.handshake, connecting).await {
            Err(_) => Err(DialError::NoAnswer(address)),
            Ok(Ok(connection)) => Connection::new(connection, None)
                .ok_or_else(|| DialError::Handshake { address, reason: "the peer showed no key".into() }),
            Ok(Err(error)) => Err(match (expected, check.stranger()) {
                (Some(expected), Some(found)) => DialError::WrongPeer { address, expected, found },
                _ => dial_error(address, error),
            }),
        }
    }

    /// Refuses every new peer from now on. Connections that are up stay up.
    pub fn stop(&self) {
        self.0.admission.stop();
    }

    /// Closes all connections with `code`. What their streams still had to say is lost. Waits, at most a second, until no peer
    /// is left on the listening sockets, whose addresses are free once all handles are dropped.
    pub async fn close(&self, code: CloseCode) {
        self.hang_up(code);
        let idle = async {
            for listener in &self.0.listeners {
                listener.wait_idle().await;
            }
        };
        // a peer that has not heard finds out by the silence
        drop(timeout(HANG_UP_WITHIN, idle).await);
    }

    fn hang_up(&self, code: CloseCode) {
        self.stop();
        let sockets = self.0.listeners.iter().chain(&self.0.dialer_v4).chain(&self.0.dialer_v6);
        sockets.for_each(|socket| socket.close(quic_code(code), &[]));
    }

    /// Lets in who comes to `listener`, until it is closed.
    async fn let_in(self, listener: quinn::Endpoint, established: mpsc::Sender<Connection>) {
        let mut handshakes = JoinSet::new();
        while let Some(incoming) = listener.accept().await {
            while handshakes.try_join_next().is_some() {}
            match self.0.admission.judge(incoming.remote_address().ip(), incoming.remote_address_validated()) {
                Verdict::Accept(place) => {
                    handshakes.spawn(self.clone().shake_hands(incoming, place, established.clone()));
                }
                Verdict::ProveAddress => {
                    if incoming.retry().is_err() {
                        (self.0.on_refusal)("ADDRESS_UNPROVEN");
                    }
                }
                Verdict::Refuse(refusal) => {
                    (self.0.on_refusal)(refusal.code());
                    incoming.refuse();
                }
            }
        }
    }

    async fn shake_hands(self, incoming: quinn::Incoming, place: Place, established: mpsc::Sender<Connection>) {
        let on_refusal = &self.0.on_refusal;
        match timeout(self.0.options.handshake, incoming.into_future()).await {
            Ok(Ok(connection)) => match Connection::new(connection, Some(place)) {
                // nobody waits for peers any more once the node stops
                Some(connection) => drop(established.send(connection).await),
                None => on_refusal("HANDSHAKE"),
            },
            Ok(Err(_)) => on_refusal("HANDSHAKE"),
            Err(_) => on_refusal("HANDSHAKE_TIMEOUT"),
        }
    }
}

/// The peers that were let in, each authenticated by its key. Dropping it closes the endpoint.
pub struct Incoming {
    established: mpsc::Receiver<Connection>,
    endpoint: Endpoint,
}

impl Incoming {
    /// The next peer; none once the endpoint is closed.
    pub async fn next(&mut self) -> Option<Connection> {
        self.established.recv().await
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        self.endpoint.hang_up(CloseCode::Shutdown);
    }
}

fn socket(sockets: &dyn Sockets, address: SocketAddr, server: Option<ServerConfig>) -> io::Result<quinn::Endpoint> {
    let (config, runtime) = (EndpointConfig::default(), Arc::new(TokioRuntime));
    quinn::Endpoint::new_with_abstract_socket(config, server, sockets.bind(address)?, runtime)
}

fn dial_error(address: SocketAddr, error: ConnectionError) -> DialError {
    match error {
        ConnectionError::TimedOut | ConnectionError::Reset => DialError::NoAnswer(address),
        ConnectionError::VersionMismatch => DialError::Protocol(address),
        ConnectionError::ConnectionClosed(close) if close.error_code == TransportErrorCode::CONNECTION_REFUSED => {
            DialError::Busy(address)
        }
        ConnectionError::ConnectionClosed(close)
            if close.error_code == TransportErrorCode::crypto(NO_PROTOCOL_ALERT) =>
        {
            DialError::Protocol(address)
        }
        ConnectionError::ApplicationClosed(_) => DialError::Ended { address, ended: Ended::from(error) },
        other => DialError::Handshake { address, reason: other.to_string() },
    }
}

/// TLS alert `no_application_protocol` (RFC 7301, section 3.2).
const NO_PROTOCOL_ALERT: u8 = 120;
/// How long peers may take to hear that a node has hung up.
const HANG_UP_WITHIN: Duration = Duration::from_secs(1);
/// Established peers that wait to be taken from [`Incoming`].
const INCOMING_MAX: usize = 64;
