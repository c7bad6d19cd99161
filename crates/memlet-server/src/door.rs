//! The open invite of a node: who knows its secret is let in, once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memlet_auth::keys::SigningKey;
use memlet_core::id::PublicKey;
use memlet_node::{Node, Role};
use memlet_sync::enrol::Inviter;
use memlet_sync::invite::Invite;
use memlet_sync::message::{Control, Join};
use memlet_sync::replica::Fault;

use crate::blocking::blocking;
use crate::quic::Connection;

/// One invite and what it lets a device in as.
#[derive(Clone)]
pub(crate) struct Door(Arc<Inner>);

struct Inner {
    inviter: Mutex<Inviter>,
    invite: Invite,
    role: Role,
    root: Option<SigningKey>,
}

impl Door {
    /// Opens for `invite`. What comes in is granted `role`, by the namespace's own key if `root` is it, else by the device's.
    pub(crate) fn open(invite: Invite, role: Role, root: Option<SigningKey>) -> Self {
        Self(Arc::new(Inner { inviter: Mutex::new(Inviter::new(invite.clone())), invite, role, root }))
    }

    /// The device that has come in.
    pub(crate) fn joined(&self) -> Option<PublicKey> {
        self.lock().joined()
    }

    /// Answers a request to join that came on `connection`.
    ///
    /// # Errors
    /// No grant could be given.
    pub(crate) async fn knock(&self, node: &Node, connection: &Connection, join: Join) -> Result<Control, Fault> {
        let (door, node, joiner, exporter) = (self.clone(), node.clone(), connection.peer(), connection.exporter());
        let decision = blocking(move || {
            let Inner { invite, role, root, .. } = &*door.0;
            let grant = |device, _: &_| {
                let namespace = node.namespace(invite.namespace).map_err(Fault::new)?;
                namespace.grant_device(device, *role, root.as_ref()).map_err(Fault::new)
            };
            door.lock().decide(&join, joiner, &exporter, node.environment().now_ms(), grant)
        });
        Ok(decision.await.map_err(Fault::new)??.into_message())
    }

    /// The inviter changes in one step, so it is whole even if a thread died while it held the lock.
    fn lock(&self) -> MutexGuard<'_, Inviter> {
        self.0.inviter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
