//! The devices that this node seeks: those its owner names, and those it has met.

use std::collections::BTreeMap;

use memlet_core::id::PublicKey;
use memlet_node::{Node, NodeError};
use memlet_sync::name::Address;

use crate::greeting::{GreetError, Side};
use crate::local::Local;
use crate::peer::Peer;
use crate::quic::{DialError, Endpoint};
use crate::usual_port::usual_port;

/// A device that the owner names, and where it may be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerAddress {
    /// Its key.
    pub device: PublicKey,
    /// Where it listens, best first. Addresses that are remembered of it are tried after these.
    pub addresses: Vec<Address>,
}

/// Why a peer was not reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReachError {
    /// No connection came about.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The two did not come to talk.
    #[error(transparent)]
    Greet(#[from] GreetError),
}

impl ReachError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Dial(error) => error.code(),
            Self::Greet(error) => error.code(),
        }
    }
}

/// With whom to sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncWith {
    /// These devices, and those that were met before.
    All(Vec<PeerAddress>),
    /// This device.
    Only(PeerAddress),
}

/// A device to seek.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) device: PublicKey,
    /// The addresses that the owner named.
    pub(crate) addresses: Vec<Address>,
    /// Whether the owner named the device at all.
    pub(crate) named: bool,
}

impl Target {
    /// Every device to seek, once. Blocks on the store.
    pub(crate) fn all(node: &Node, named: Vec<PeerAddress>) -> Result<Vec<Self>, NodeError> {
        let met =
            node.peers()?.into_iter().map(|peer| Self { device: peer.device, addresses: Vec::new(), named: false });
        let mut targets: BTreeMap<_, _> = met.map(|target| (target.device, target)).collect();
        targets.extend(named.into_iter().map(|peer| (peer.device, Self::named(peer))));
        targets.remove(&node.device());
        Ok(targets.into_values().collect())
    }

    /// A device that the owner names.
    pub(crate) fn named(PeerAddress { device, addresses }: PeerAddress) -> Self {
        Self { device, addresses, named: true }
    }

    /// Where to look for it now: what the owner named, then what it said last, then its usual port on the same machines, for
    /// what it said last may have been the port of an invite that has ended. Blocks on the store.
    pub(crate) fn places(&self, node: &Node) -> Result<Vec<Address>, NodeError> {
        let met = node.peers()?.into_iter().find(|peer| peer.device == self.device);
        let remembered = met.map(|peer| peer.addresses).unwrap_or_default();
        let port = usual_port(&self.device);
        let moved = remembered.iter().filter_map(|address| Some(format!("{}:{port}", address.rsplit_once(':')?.0)));
        let mut places = self.addresses.clone();
        for place in remembered.iter().cloned().chain(moved).filter_map(|text| Address::new(&text).ok()) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        Ok(places)
    }
}

/// Connects to a device and greets it.
pub(crate) async fn reach(
    local: &Local,
    endpoint: &Endpoint,
    device: PublicKey,
    places: &[Address],
) -> Result<Peer, ReachError> {
    let connection = endpoint.dial_any(device, places).await?;
    Ok(Peer::greet(local, connection, Side::Dialler).await?)
}
