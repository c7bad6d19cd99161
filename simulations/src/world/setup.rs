//! How a world begins: namespaces, and who is let into them.

use memlet_auth::grant::{Abilities, Ability, Cap, Grant, Terms};
use memlet_auth::keys::SigningKey;
use memlet_core::id::{NamespaceId, PublicKey};
use memlet_core::path::Path;
use memlet_node::{Node, NodeError, Role as NodeRole};

use super::World;
use crate::environment::START_MS;
use crate::failure::{Checker, Failure};
use crate::plan::{Role, Setup};
use crate::random::Stream;

/// A namespace of the world.
pub(super) struct NamespaceSetup {
    pub(super) root: SigningKey,
    pub(super) id: NamespaceId,
    /// Begins every text written there and nothing else.
    pub(super) canary: String,
    owner: usize,
}

impl NamespaceSetup {
    pub(super) fn new(setup: &Setup, number: usize) -> Self {
        let stream = &mut Stream::new(setup.seed, &format!("namespace {number}"));
        let root = SigningKey::from_bytes(&stream.bytes());
        let id = NamespaceId(root.public().0);
        let canary = format!("canary{:016x}", stream.number());
        let owns = |device: &crate::plan::DeviceSetup| device.roles[number] == Some(Role::Owner);
        let owner = setup.devices.iter().position(owns).expect("every namespace has an owner");
        Self { root, id, canary, owner }
    }
}

/// The grant of a guest, signed by the root key itself.
fn guest_grant(root: &SigningKey, audience: PublicKey, until_s: u64) -> Vec<u8> {
    let cap = |abilities: &[Ability], path: &str| {
        let path = Path::parse(path).expect("the paths of guests are paths");
        Cap { abilities: Abilities::of(abilities), path }
    };
    let caps = vec![cap(&[Ability::Read, Ability::Sync], ""), cap(&[Ability::Write], "w")];
    let expires = Some(START_MS / 1_000 + until_s);
    let terms = Terms { audience, caps, not_before: 0, expires, depth: 0, nonce: [0; 16] };
    Grant::root(root, terms).expect("the terms are within all limits").to_bytes()
}

impl World<'_> {
    /// Starts all devices, makes the namespaces and lets in those who are not late.
    pub(super) fn found(&mut self) -> Result<(), Failure> {
        let failed = |error: memlet_node::NodeError| Failure::new(Checker::Answers, format!("at the start: {error}"));
        for device in &mut self.devices {
            device.start(0).map_err(failed)?;
        }
        for namespace in &self.namespaces {
            let node = self.devices[namespace.owner].running().map(|process| process.node.clone());
            let node = node.expect("every device was just started");
            node.create_namespace(&namespace.root).map_err(failed)?;
        }
        for device in 0..self.devices.len() {
            if !self.setup.devices[device].late {
                self.join(device, 0)?;
            }
        }
        Ok(())
    }

    /// Lets a device into every namespace that it has a role in: by `by`, or by the owner where `by` cannot.
    pub(super) fn join(&mut self, device: usize, by: usize) -> Result<(), Failure> {
        for number in 0..self.namespaces.len() {
            let Some(role) = self.devices[device].roles[number].filter(|role| *role != Role::Owner) else { continue };
            let owner = self.namespaces[number].owner;
            let by = if self.is_inviter(by, number) { by } else { owner };
            let (Some(joiner), Some(inviter)) = (self.node(device), self.node(by)) else {
                self.tally.count("invite without a running node");
                continue;
            };
            let namespace = &self.namespaces[number];
            if joiner.namespace(namespace.id).is_ok() {
                continue;
            }
            let root = (by == owner).then_some(&namespace.root);
            let invite = |role| inviter.namespace(namespace.id)?.grant_device(joiner.device(), role, root);
            let chain = match role {
                Role::Venue => invite(NodeRole::Venue),
                Role::Guest { until_s } => Ok(vec![guest_grant(&namespace.root, joiner.device(), until_s)]),
                Role::Owner | Role::Device => invite(NodeRole::Device),
            };
            match chain.and_then(|chain| joiner.join_namespace(namespace.id, &chain)) {
                Err(NodeError::NoGrant) if !role.holds_at(joiner.environment().now_ms()) => {
                    self.tally.count("a guest came too late");
                }
                Ok(_) => self.tally.count(if by == owner { "let in by the owner" } else { "let in by another device" }),
                Err(error) if self.devices[device].disk_is_faulty || self.devices[by].disk_is_faulty => {
                    self.tally.count("invite failed on a faulty disk");
                    self.note(format_args!("device {device} could not be let in: {error}"));
                }
                Err(error) => {
                    let detail = format!("device {device} could not be let in by {by}: {error}");
                    return Err(Failure::new(Checker::Answers, detail));
                }
            }
            self.retire_poisoned(device);
            self.retire_poisoned(by);
        }
        Ok(())
    }

    fn is_inviter(&self, device: usize, namespace: usize) -> bool {
        let role = self.devices[device].role(namespace);
        let holds = |node: Node| node.namespace(self.namespaces[namespace].id).is_ok();
        role.is_some_and(Role::forgets) && self.node(device).is_some_and(holds)
    }

    /// The node of a process that runs on a device.
    pub(super) fn node(&self, device: usize) -> Option<Node> {
        self.devices[device].running().map(|process| process.node.clone())
    }
}
