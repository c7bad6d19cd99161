//! One sync with every device that can be found, and an end.

use memlet_core::id::PublicKey;
use memlet_node::{Node, NodeError};
use memlet_sync::name::{Address, DeviceName};
use tokio::task::JoinSet;

use crate::blocking::{Crashed, blocking};
use crate::link::{Goal, SyncError, SyncOutcome};
use crate::local::Local;
use crate::peer::Opening;
use crate::quic::{BindError, Endpoint, EndpointOptions, Identity};
use crate::running::Running;
use crate::target::{ReachError, SyncWith, Target, reach};

/// How one device fared.
#[derive(Debug)]
pub struct PeerSync {
    /// The device.
    pub device: PublicKey,
    /// Every namespace that both hold, or why the device was not reached.
    pub namespaces: Result<Vec<Result<SyncOutcome, SyncError>>, ReachError>,
}

/// Why no sync was tried.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyncOnceError {
    /// No socket could be had.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The node failed.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The node failed badly.
    #[error(transparent)]
    Crashed(#[from] Crashed),
}

impl SyncOnceError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Bind(error) => error.code(),
            Self::Node(error) => error.code(),
            Self::Crashed(error) => error.code(),
        }
    }
}

/// Syncs every namespace once with each device of `with`, with all at the same time, and returns when each has settled or
/// failed. Must be called inside a tokio runtime.
///
/// # Errors
/// Nothing could be tried. What fails with one device is told in its [`PeerSync`].
///
/// # Panics
/// If `identity` is not that of the node's device.
pub async fn sync_once(
    node: Node,
    identity: Identity,
    name: DeviceName,
    with: SyncWith,
) -> Result<Vec<PeerSync>, SyncOnceError> {
    sync_once_over(node, identity, name, with, &EndpointOptions::default()).await
}

/// As [`sync_once`], over the sockets and within the limits of `options`.
///
/// # Errors
/// As [`sync_once`].
///
/// # Panics
/// As [`sync_once`].
pub async fn sync_once_over(
    node: Node,
    identity: Identity,
    name: DeviceName,
    with: SyncWith,
    options: &EndpointOptions,
) -> Result<Vec<PeerSync>, SyncOnceError> {
    let running = Running::start(node.clone(), identity, name, options)?;
    let targets = blocking(move || {
        let targets = match with {
            SyncWith::All(named) => Target::all(&node, named)?,
            SyncWith::Only(peer) => vec![Target::named(peer)],
        };
        targets.into_iter().map(|target| Ok((target.places(&node)?, target))).collect::<Result<Vec<_>, NodeError>>()
    });
    let targets = targets.await??;

    let mut syncs = JoinSet::new();
    for (places, target) in targets {
        let (local, endpoint) = (running.local.clone(), running.endpoint.clone());
        syncs.spawn(async move {
            PeerSync { device: target.device, namespaces: sync_with(&local, &endpoint, &target, &places).await }
        });
    }
    let mut done = Vec::new();
    while let Some(sync) = syncs.join_next().await {
        done.push(sync.map_err(|_| Crashed)?);
    }
    running.end(syncs).await;
    done.sort_by_key(|sync| sync.device);
    Ok(done)
}

async fn sync_with(
    local: &Local,
    endpoint: &Endpoint,
    target: &Target,
    places: &[Address],
) -> Result<Vec<Result<SyncOutcome, SyncError>>, ReachError> {
    let peer = reach(local, endpoint, target.device, places).await?;
    let outcomes = peer.open(Opening { goal: Goal::Settle, named: target.named, only: None }).await;
    Ok(outcomes.into_values().collect())
}
