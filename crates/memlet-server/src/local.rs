//! What all tasks of one running node share.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memlet_core::id::PublicKey;
use memlet_node::Node;
use memlet_sync::limits::ADDRESSES_MAX;
use memlet_sync::message::{Hello, Limits};
use memlet_sync::name::{Address, DeviceName};
use tokio::sync::watch;

use crate::wake::Wakes;

/// One running node. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Local {
    pub(crate) node: Node,
    pub(crate) wakes: Arc<Wakes>,
    /// What this node says of itself.
    pub(crate) hello: Arc<Hello>,
    /// Who has come to this node.
    pub(crate) guests: Guests,
    stop: watch::Sender<bool>,
}

impl Local {
    /// A node that calls itself `name` and can be found at `addresses`.
    pub(crate) fn new(node: Node, name: DeviceName, addresses: Vec<Address>) -> Self {
        Self {
            wakes: Wakes::of(&node),
            node,
            hello: Arc::new(Hello::new(Limits::default(), addresses, name)),
            guests: Guests::default(),
            stop: watch::Sender::new(false),
        }
    }

    /// Has every task end in an orderly way.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// True once this node is stopping.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }
}

/// The addresses to tell peers, as many as may be told. One that means nothing elsewhere is left out.
pub(crate) fn addresses(sockets: &[SocketAddr]) -> Vec<Address> {
    sockets.iter().filter_map(|socket| Address::new(&socket.to_string()).ok()).take(ADDRESSES_MAX).collect()
}

/// The devices whose connections to this node are up, so that it does not dial them in turn.
#[derive(Clone, Default)]
pub(crate) struct Guests(Arc<Mutex<BTreeMap<PublicKey, usize>>>);

impl Guests {
    /// Notes a connection of `device`, for as long as the result lives.
    pub(crate) fn enter(&self, device: PublicKey) -> Guest {
        *self.lock().entry(device).or_default() += 1;
        Guest { device, guests: self.clone() }
    }

    /// Whether `device` is connected to this node.
    pub(crate) fn hold(&self, device: &PublicKey) -> bool {
        self.lock().contains_key(device)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PublicKey, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection of a device to this node.
pub(crate) struct Guest {
    device: PublicKey,
    guests: Guests,
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut guests = self.guests.lock();
        if let Some(connections) = guests.get_mut(&self.device) {
            *connections -= 1;
            if *connections == 0 {
                guests.remove(&self.device);
            }
        }
    }
}
