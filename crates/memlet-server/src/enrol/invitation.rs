//! The side that invites.

use std::time::Duration;

use memlet_auth::keys::SigningKey;
use memlet_auth::proof::InviteSecret;
use memlet_core::id::{NamespaceId, PublicKey};
use memlet_node::{Node, NodeError, Role};
use memlet_sync::code::CloseCode;
use memlet_sync::invite::Invite;
use memlet_sync::name::DeviceName;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use zeroize::Zeroizing;

use crate::blocking::{Crashed, blocking};
use crate::door::Door;
use crate::local::addresses;
use crate::quic::{BindError, EndpointOptions, Identity};
use crate::running::{Running, receive};

/// How long an invite can be used.
pub const INVITE_VALID: Duration = Duration::from_secs(600);

/// How long a device that has joined may take to come back for what was written while it synced.
const AFTERTHOUGHT: Duration = Duration::from_secs(5);

/// Into what, and as what, a device is invited.
pub struct InviteOptions {
    /// What this device calls itself.
    pub name: DeviceName,
    /// Where it waits. At least one address.
    pub endpoint: EndpointOptions,
    /// The namespace.
    pub namespace: NamespaceId,
    /// What the other device is let in as.
    pub role: Role,
    /// The namespace's own key, if it is at hand: a grant by it can be passed on further than one by this device.
    pub root: Option<SigningKey>,
}

/// An invite that is open as long as this lives.
pub struct Invitation {
    running: Running,
    door: Door,
    invite: Invite,
    until: Instant,
}

/// A device that has come in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Joined {
    /// Its key.
    pub device: PublicKey,
    /// Whether it and this device were seen to hold the same. If not, it left early, or somebody wrote while it synced.
    pub level: bool,
}

/// Why nobody has come in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InviteFailed {
    /// The device cannot listen.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The node failed, or the namespace is not here.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The node failed badly.
    #[error(transparent)]
    Crashed(#[from] Crashed),
    /// There is no address to put into the invite.
    #[error("this device listens nowhere that another could reach; name an address to listen on")]
    Unreachable,
    /// Nobody came in time.
    #[error("nobody used the invite within {} minutes; make a new one", INVITE_VALID.as_secs() / 60)]
    Expired,
}

impl InviteFailed {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Bind(error) => error.code(),
            Self::Node(error) => error.code(),
            Self::Crashed(error) => error.code(),
            Self::Unreachable => "INVITE_UNREACHABLE",
            Self::Expired => "INVITE_EXPIRED",
        }
    }
}

impl Invitation {
    /// Makes an invite and begins to listen. Must be called inside a tokio runtime. Who comes is answered once
    /// [`Invitation::joined`] is awaited.
    ///
    /// # Errors
    /// The namespace is not here, or the device cannot listen.
    ///
    /// # Panics
    /// If `identity` is not that of the node's device.
    pub async fn open(node: Node, identity: Identity, options: InviteOptions) -> Result<Self, InviteFailed> {
        let InviteOptions { name, endpoint, namespace, role, root } = options;
        let opened = node.clone();
        blocking(move || opened.namespace(namespace).map(drop)).await??;
        let running = Running::start(node.clone(), identity, name, &endpoint)?;
        let addresses = addresses(&running.endpoint.announced());
        if addresses.is_empty() {
            return Err(InviteFailed::Unreachable);
        }
        let mut secret = Zeroizing::new([0; 32]);
        node.environment().fill_random(&mut *secret);
        let invite = Invite {
            namespace,
            inviter: node.device(),
            addresses,
            secret: InviteSecret::from_bytes(*secret),
            expires: node.environment().now_ms() / 1_000 + INVITE_VALID.as_secs(),
        };
        let door = Door::open(invite.clone(), role, root);
        Ok(Self { running, door, invite, until: Instant::now() + INVITE_VALID })
    }

    /// The invite to hand over. It is as good as a key until it is used, so it must reach no one else.
    pub fn uri(&self) -> Zeroizing<String> {
        self.invite.to_uri()
    }

    /// Waits until a device has come in and both hold the same.
    ///
    /// # Errors
    /// Nobody came in time.
    pub async fn joined(mut self) -> Result<Joined, InviteFailed> {
        let mut guests = JoinSet::new();
        let joined = loop {
            tokio::select! {
                Some(connection) = self.running.incoming.next() => {
                    guests.spawn(receive(self.running.local.clone(), connection, Some(self.door.clone())));
                }
                Some(Ok((device, outcomes))) = guests.join_next() => {
                    if self.door.joined() == Some(device)
                        && let Some(Ok(outcome)) = outcomes.get(&self.invite.namespace)
                        && outcome.code == CloseCode::Done
                    {
                        if outcome.level {
                            break Ok(Joined { device, level: true });
                        }
                        // Somebody wrote meanwhile. The other side may come back for that, or not know of it.
                        self.until = self.until.min(Instant::now() + AFTERTHOUGHT);
                    }
                }
                () = sleep_until(self.until) => {
                    let joined = self.door.joined().map(|device| Joined { device, level: false });
                    break joined.ok_or(InviteFailed::Expired);
                }
            }
        };
        self.running.end(guests).await;
        joined
    }
}
