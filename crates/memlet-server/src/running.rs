//! A node that talks to others: its sockets, what its tasks share, and an end that tells everyone.

use std::time::Duration;

use memlet_core::id::PublicKey;
use memlet_node::Node;
use memlet_sync::code::CloseCode;
use memlet_sync::name::DeviceName;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::door::Door;
use crate::greeting::Side;
use crate::local::{Local, addresses};
use crate::peer::{Outcomes, Peer};
use crate::quic::{BindError, Connection, Endpoint, EndpointOptions, Identity, Incoming};
use crate::wake::look_around;

/// How long the work that is under way may take to end when the node stops.
const DRAIN_WITHIN: Duration = Duration::from_secs(4);

pub(crate) struct Running {
    pub(crate) local: Local,
    pub(crate) endpoint: Endpoint,
    pub(crate) incoming: Incoming,
    /// Runs as long as this lives.
    _background: JoinSet<()>,
}

impl Running {
    /// Binds the sockets and begins to let peers in. Must be called inside a tokio runtime.
    ///
    /// # Panics
    /// If `identity` is not that of the node's device: peers would take it for two.
    pub(crate) fn start(
        node: Node,
        identity: Identity,
        name: DeviceName,
        options: &EndpointOptions,
    ) -> Result<Self, BindError> {
        assert_eq!(identity.device(), node.device(), "a node speaks with the key of its device");
        let counts = node.clone();
        let (endpoint, incoming) = Endpoint::bind(identity, options, move |code| counts.count_refusal(code))?;
        let local = Local::new(node, name, addresses(&endpoint.announced()));
        let mut background = JoinSet::new();
        background.spawn(look_around(local.node.clone(), local.wakes.clone()));
        Ok(Self { local, endpoint, incoming, _background: background })
    }

    /// Takes no more peers in, has all `tasks` end in order, and closes. Takes 5 seconds at most.
    pub(crate) async fn end<T: 'static>(self, mut tasks: JoinSet<T>) {
        self.endpoint.stop();
        self.local.stop();
        let drained = async { while tasks.join_next().await.is_some() {} };
        if timeout(DRAIN_WITHIN, drained).await.is_err() {
            tracing::warn!("some peers did not let go in time; what was acknowledged is kept");
        }
        self.endpoint.close(CloseCode::Shutdown).await;
    }
}

/// Answers a peer that has come, until it leaves or this node stops. Gives who it was and how its namespaces stood.
pub(crate) async fn receive(local: Local, connection: Connection, door: Option<Door>) -> (PublicKey, Outcomes) {
    let device = connection.peer();
    let _guest = local.guests.enter(device);
    let mut stopping = local.stopping();
    let greeted = tokio::select! {
        greeted = Peer::greet(&local, connection.clone(), Side::Acceptor) => greeted,
        // who has not said a word yet has nothing under way
        _ = stopping.wait_for(|stopping| *stopping) => {
            connection.close(CloseCode::Shutdown);
            return (device, Outcomes::new());
        }
    };
    match greeted {
        Ok(peer) => (device, peer.answer(door.as_ref()).await),
        Err(error) => {
            tracing::debug!(%error, "a peer was not greeted");
            (device, Outcomes::new())
        }
    }
}
