//! Serving: letting peers in and staying connected to those that are known, until told to stop.

use std::net::SocketAddr;
use std::time::Duration;

use memlet_node::{Node, NodeError};
use memlet_sync::code::CloseCode;
use memlet_sync::name::DeviceName;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::backoff::Backoff;
use crate::blocking::{Crashed, blocking};
use crate::link::Goal;
use crate::local::Local;
use crate::peer::{Opening, Peer};
use crate::quic::{BindError, Endpoint, EndpointOptions, Identity};
use crate::running::{Running, receive};
use crate::target::{PeerAddress, Target, reach};

/// A connection that stood longer shows that the peer is there to stay.
const LASTING: Duration = Duration::from_secs(2);

/// How a node serves.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// What it calls itself.
    pub name: DeviceName,
    /// Where it listens, and within which limits.
    pub endpoint: EndpointOptions,
    /// The devices to stay connected to, besides those that were met before.
    pub peers: Vec<PeerAddress>,
}

/// A node that listens and is yet to run.
pub struct Server {
    running: Running,
    peers: Vec<PeerAddress>,
}

impl Server {
    /// Binds the sockets. Must be called inside a tokio runtime. Peers are answered once [`Server::run`] is.
    ///
    /// # Errors
    /// An address cannot be bound.
    ///
    /// # Panics
    /// If `identity` is not that of the node's device.
    pub fn bind(node: Node, identity: Identity, options: ServeOptions) -> Result<Self, BindError> {
        let running = Running::start(node, identity, options.name, &options.endpoint)?;
        Ok(Self { running, peers: options.peers })
    }

    /// The addresses it listens on, with the ports that the system chose.
    pub fn bound(&self) -> Vec<SocketAddr> {
        self.running.endpoint.bound()
    }

    /// The addresses that it tells its peers.
    pub fn announced(&self) -> Vec<SocketAddr> {
        self.running.endpoint.announced()
    }

    /// Serves until `shutdown` resolves. Then it takes no more peers in, lets what is under way end, tells its peers, and
    /// returns, all within 5 seconds.
    ///
    /// # Errors
    /// The store fails before serving begins. Later failures end what they concern and are logged.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) -> Result<(), ServeError> {
        let Running { local, endpoint, incoming, .. } = &mut self.running;
        let (node, named) = (local.node.clone(), self.peers);
        let targets = blocking(move || Target::all(&node, named)).await??;
        let mut tasks = JoinSet::new();
        for target in targets {
            tasks.spawn(stay_connected(local.clone(), endpoint.clone(), target));
        }
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                connection = incoming.next() => match connection {
                    Some(connection) => {
                        let guest = receive(local.clone(), connection, None);
                        tasks.spawn(async move { drop(guest.await) });
                    }
                    None => break,
                },
                Some(_) = tasks.join_next() => {}
            }
        }
        self.running.end(tasks).await;
        Ok(())
    }
}

/// Why a node cannot begin to serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The node failed.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The node failed badly.
    #[error(transparent)]
    Crashed(#[from] Crashed),
}

impl ServeError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Node(error) => error.code(),
            Self::Crashed(error) => error.code(),
        }
    }
}

/// Connects to `target` whenever it is not connected, and keeps its namespaces level, until the node stops.
async fn stay_connected(local: Local, endpoint: Endpoint, target: Target) {
    let mut stopping = local.stopping();
    let mut backoff = Backoff::default();
    loop {
        let reached = tokio::select! {
            reached = seek(&local, &endpoint, &target) => reached,
            _ = stopping.wait_for(|stopping| *stopping) => return,
        };
        if let Some(peer) = reached {
            let began = Instant::now();
            peer.open(Opening { goal: Goal::Live, named: target.named, only: None }).await;
            // a peer that hangs up at once is no better than one that is not there
            if began.elapsed() > LASTING {
                backoff.reset();
            }
        }
        let wait = backoff.next(chance(&local));
        tokio::select! {
            () = sleep(wait) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
    }
}

/// Connects to `target`; none if it cannot be reached, or is connected already.
async fn seek(local: &Local, endpoint: &Endpoint, target: &Target) -> Option<Peer> {
    let device = target.device;
    if local.guests.hold(&device) {
        return None;
    }
    let (node, looked_for) = (local.node.clone(), target.clone());
    let places = match blocking(move || looked_for.places(&node)).await {
        Ok(Ok(places)) => places,
        Ok(Err(error)) => {
            tracing::warn!(%error, "the addresses of a peer cannot be read");
            return None;
        }
        Err(Crashed) => return None,
    };
    match reach(local, endpoint, device, &places).await {
        // if both have dialled at once, the connection of the lower key stands
        Ok(peer) if local.guests.hold(&device) && local.node.device() > device => {
            peer.connection().close(CloseCode::Done);
            None
        }
        Ok(peer) => Some(peer),
        Err(error) => {
            tracing::debug!(code = error.code(), "a peer was not reached");
            None
        }
    }
}

/// A random byte.
fn chance(local: &Local) -> u8 {
    let mut byte = [0];
    local.node.environment().fill_random(&mut byte);
    byte[0]
}
