//! What the tests share: endpoints on loopback, and waiting with a deadline.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use memlet_auth::keys::SigningKey;
use memlet_server::quic::{Connection, ConnectionLimits, Endpoint, EndpointOptions, Identity, Incoming};
use memlet_sync::code::CloseCode;
use memlet_sync::message::{Control, Hello, Limits};
use memlet_sync::name::DeviceName;

/// Far more than anything here takes, so that only what never happens runs into it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// What an endpoint refused, by code.
#[derive(Clone, Default)]
pub(crate) struct Refusals(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Refusals {
    pub(crate) fn count(&self, code: &'static str) {
        *self.0.lock().unwrap().entry(code).or_default() += 1;
    }

    pub(crate) fn of(&self, code: &str) -> u64 {
        self.0.lock().unwrap().get(code).copied().unwrap_or_default()
    }
}

pub(crate) fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

/// One node's sockets on loopback.
pub(crate) struct Node {
    pub(crate) endpoint: Endpoint,
    pub(crate) incoming: Incoming,
    pub(crate) refusals: Refusals,
}

impl Node {
    pub(crate) fn address(&self) -> SocketAddr {
        self.endpoint.bound()[0]
    }
}

pub(crate) fn node(seed: u8) -> Node {
    node_with(seed, ConnectionLimits::default())
}

pub(crate) fn node_with(seed: u8, connections: ConnectionLimits) -> Node {
    let options =
        EndpointOptions { listen: vec!["127.0.0.1:0".parse().unwrap()], connections, ..EndpointOptions::default() };
    let refusals = Refusals::default();
    let counts = refusals.clone();
    let on_refusal = move |code| counts.count(code);
    let (endpoint, incoming) = Endpoint::bind(Identity::new(key(seed)), &options, on_refusal).unwrap();
    Node { endpoint, incoming, refusals }
}

/// A connection from `client` to `server`, as each of them has it.
pub(crate) async fn connected(client: &Node, server: &mut Node) -> (Connection, Connection) {
    let dialled = client.endpoint.dial(server.address(), Some(server.endpoint.device())).await.unwrap();
    (dialled, within(server.incoming.next()).await.unwrap())
}

/// Sends every message back to where it came from.
pub(crate) fn echo(node: Node) -> (SocketAddr, Refusals) {
    let (address, refusals) = (node.address(), node.refusals.clone());
    tokio::spawn(async move {
        let mut node = node;
        while let Some(connection) = node.incoming.next().await {
            let refusals = node.refusals.clone();
            tokio::spawn(async move {
                while let Ok(mut stream) = connection.accept().await {
                    let refusals = refusals.clone();
                    tokio::spawn(async move {
                        loop {
                            match stream.incoming.next::<Control>().await {
                                Ok(Some(message)) => {
                                    stream.outgoing.put(&message);
                                    stream.outgoing.flush().await.unwrap();
                                }
                                Ok(None) => return drop(stream.finish().await),
                                Err(error) => {
                                    refusals.count(error.code());
                                    return stream.abort(error.close_code().unwrap_or(CloseCode::Done));
                                }
                            }
                        }
                    });
                }
            });
        }
    });
    (address, refusals)
}

/// Some message.
pub(crate) fn hello() -> Control {
    Control::Hello(Hello::new(Limits::default(), Vec::new(), DeviceName::new("test").unwrap()))
}

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.expect("it happens before the deadline")
}

/// Waits until `condition` holds, which something else brings about.
pub(crate) async fn until(mut condition: impl FnMut() -> bool) {
    within(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}
