//! The side that joins.

use std::time::Duration;

use memlet_core::id::{NamespaceId, PublicKey};
use memlet_node::{Node, NodeError};
use memlet_sync::code::CloseCode;
use memlet_sync::enrol::{self, JoinError};
use memlet_sync::invite::Invite;
use memlet_sync::name::DeviceName;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::blocking::{Crashed, blocking};
use crate::link::{Goal, SyncError, SyncOutcome};
use crate::peer::{Opening, Peer};
use crate::quic::{BindError, EndpointOptions, Identity, StreamError};
use crate::running::Running;
use crate::target::{ReachError, reach};

/// How long the inviter may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// A namespace that this device has joined.
#[derive(Debug)]
pub struct Joining {
    /// The namespace.
    pub namespace: NamespaceId,
    /// The device that let this one in.
    pub inviter: PublicKey,
    /// How the first sync went. If it failed, the namespace is here all the same and a later sync fills it.
    pub sync: Result<SyncOutcome, SyncError>,
}

/// Why this device has not joined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinFailed {
    /// No socket could be had.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The inviter was not reached.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// The inviter was lost before it answered.
    #[error(transparent)]
    Lost(#[from] StreamError),
    /// The inviter did not let this device in.
    #[error(transparent)]
    Refused(#[from] JoinError),
    /// The node failed, has the namespace already, or cannot use what the inviter gave.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The node failed badly.
    #[error(transparent)]
    Crashed(#[from] Crashed),
}

impl JoinFailed {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Bind(error) => error.code(),
            Self::Reach(error) => error.code(),
            Self::Lost(error) => error.code(),
            Self::Refused(error) => error.code(),
            Self::Node(error) => error.code(),
            Self::Crashed(error) => error.code(),
        }
    }
}

/// Joins the namespace of `invite` as a device called `name`, and syncs it until both sides have settled. Must be called
/// inside a tokio runtime.
///
/// # Errors
/// The inviter is not reached or does not let this device in, or the namespace is here already.
///
/// # Panics
/// If `identity` is not that of the node's device.
pub async fn join(node: Node, identity: Identity, name: DeviceName, invite: &Invite) -> Result<Joining, JoinFailed> {
    let (here, namespace) = (node.clone(), invite.namespace);
    // without a home, a namespace that is here was left by a join that was cut short, and this one completes it
    let known = move || Ok::<_, NodeError>(here.home()?.is_some() && here.namespaces()?.contains(&namespace));
    if blocking(known).await?? {
        return Err(NodeError::NamespaceExists(namespace).into());
    }
    let running = Running::start(node, identity, name.clone(), &EndpointOptions::default())?;
    let joined = join_over(&running, name, invite).await;
    running.end(JoinSet::<()>::new()).await;
    joined
}

async fn join_over(running: &Running, name: DeviceName, invite: &Invite) -> Result<Joining, JoinFailed> {
    let Running { local, endpoint, .. } = running;
    let (inviter, namespace) = (invite.inviter, invite.namespace);
    let mut peer = reach(local, endpoint, inviter, &invite.addresses).await?;
    let statements = ask(&mut peer, name, invite, local.node.device()).await?;

    let node = local.node.clone();
    blocking(move || node.join_namespace(namespace, &statements).map(drop)).await??;
    peer.remember().await;
    let opening = Opening { goal: Goal::Settle, named: true, only: Some(namespace) };
    let outcome = peer.open(opening).await.remove(&namespace);
    Ok(Joining { namespace, inviter, sync: outcome.unwrap_or(Err(SyncError::Unfinished)) })
}

/// Proves the secret of `invite` and gets the statements that let this device in.
async fn ask(
    peer: &mut Peer,
    name: DeviceName,
    invite: &Invite,
    device: PublicKey,
) -> Result<Vec<Vec<u8>>, JoinFailed> {
    let (inviter, exporter) = (peer.connection().peer(), peer.connection().exporter());
    let request = enrol::request(invite, &inviter, &device, &exporter, name)?;
    peer.control.outgoing.put(&request);
    peer.control.outgoing.flush().await?;
    let answer = timeout(ANSWER_WITHIN, peer.control.incoming.next()).await.map_err(|_| StreamError::Stalled)??;
    let answer = answer.ok_or(JoinError::Closed(CloseCode::Done))?;
    Ok(enrol::answer(answer)?)
}
