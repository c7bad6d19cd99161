//! The devices of a namespace: who may hold it, and letting in another.

use memlet_auth::chain::VerifiedGrant;
use memlet_auth::grant::{Abilities, Ability, Cap, Grant, Terms};
use memlet_auth::keys::SigningKey;
use memlet_core::id::{GrantId, NamespaceId, PublicKey};
use memlet_core::path::Path;

use super::{Namespace, Outcome};
use crate::environment::random;
use crate::error::NodeError;
use crate::node::DEVICE_DEPTH;

/// What a device is let in as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// One of the owner's own: it may do everything.
    Device,
    /// A node that holds and relays the namespace, and can do nothing else.
    Venue,
}

impl Role {
    fn abilities(self) -> Abilities {
        match self {
            Self::Device => Abilities::ALL,
            Self::Venue => Abilities::of(&[Ability::Sync]),
        }
    }
}

/// A device that may hold the namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its key.
    pub device: PublicKey,
    /// The grant that lets it.
    pub grant: GrantId,
    /// What it may do at the root.
    pub abilities: Abilities,
    /// Until when, in Unix milliseconds; none for no end.
    pub expires_ms: Option<u64>,
    /// Whether it is this one.
    pub here: bool,
}

impl Namespace {
    /// Lets in a device: signs a grant with `root` if that key is at hand, else passes on this device's own. Gives the whole
    /// chain, root first, as the new device must have it.
    ///
    /// # Errors
    /// This device may not grant, or the store fails.
    pub fn grant_device(
        &self,
        device: PublicKey,
        role: Role,
        root: Option<&SigningKey>,
    ) -> Result<Vec<Vec<u8>>, NodeError> {
        let nonce = random(&*self.shared.environment);
        self.transact(|open, write| {
            let own = open.grant_of(&self.shared.device.public(), self.shared.now_ms()).ok_or(NodeError::NoGrant)?;
            let mut terms = Terms {
                audience: device,
                caps: vec![Cap { abilities: role.abilities(), path: Path::ROOT }],
                not_before: 0,
                expires: None,
                depth: DEVICE_DEPTH,
                nonce,
            };
            let grant = match root {
                Some(root) if NamespaceId(root.public().0) == self.id => Grant::root(root, terms)?,
                _ => {
                    let held = &own.grant().body().terms;
                    (terms.not_before, terms.expires) = (held.not_before, held.expires);
                    terms.depth = held.depth.saturating_sub(1);
                    own.delegate(&self.shared.device, terms)?
                }
            };
            open.add_statement(write, &grant.to_bytes(), self.shared.device.public()).map(drop)?;
            let chain = open.statements.get(&grant.id()).ok_or(NodeError::NoGrant)?;
            Ok(Outcome::Commit(chain_bytes(chain)))
        })
    }

    /// The devices that may hold this namespace now, by rising key.
    pub fn devices(&self) -> Result<Vec<DeviceInfo>, NodeError> {
        self.with_current(|open| {
            let now_ms = self.shared.now_ms();
            let keys: std::collections::BTreeSet<PublicKey> =
                open.statements.iter().map(|grant| grant.audience()).collect();
            let devices = keys.iter().filter_map(|key| open.grant_of(key, now_ms)).map(|grant| DeviceInfo {
                device: grant.audience(),
                grant: grant.id(),
                abilities: grant.abilities_at(&Path::ROOT),
                expires_ms: Some(grant.window().last_ms()).filter(|last_ms| *last_ms != u64::MAX),
                here: grant.audience() == self.shared.device.public(),
            });
            Ok(devices.collect())
        })
    }

    /// Takes in the grants that a new namespace comes with.
    pub(crate) fn adopt(&self, statements: &[Vec<u8>]) -> Result<(), NodeError> {
        self.transact(|open, write| {
            for statement in statements {
                open.add_statement(write, statement, self.shared.device.public()).map(drop)?;
            }
            open.grant_of(&self.shared.device.public(), self.shared.now_ms()).ok_or(NodeError::NoGrant)?;
            Ok(Outcome::Commit(()))
        })
    }
}

/// The statements of a chain, root first.
pub(super) fn chain_bytes(grant: &VerifiedGrant) -> Vec<Vec<u8>> {
    let mut chain: Vec<Vec<u8>> = grant.chain().map(|link| link.grant().to_bytes()).collect();
    chain.reverse();
    chain
}
