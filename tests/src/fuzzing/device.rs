//! The device that bytes reach in these tests, and those that may send them: keys, grants and clocks as in `proto/vectors`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use memlet_auth::grant::{Abilities, Cap, Grant, Terms};
use memlet_auth::keys::SigningKey;
use memlet_auth::proof::{Exporter, InviteSecret};
use memlet_core::id::NamespaceId;
use memlet_core::path::Path;
use memlet_node::{Caller, Environment, Namespace, Node, NodeError, Role};
use memlet_store::{MemoryDisk, Store};
use memlet_sync::invite::Invite;
use memlet_sync::name::Address;
use memlet_sync::replica::Replica as _;
use serde_json::json;

/// What both ends of every connection export from it.
pub const EXPORTER: Exporter = Exporter([0xe0; 32]);
/// What every clock shows, in Unix milliseconds.
pub const NOW_MS: u64 = 1_700_000_000_000;

/// The key of the `index`-th device.
pub fn key(index: u8) -> SigningKey {
    SigningKey::from_bytes(&[0x10 + index; 32])
}

fn root() -> SigningKey {
    SigningKey::from_bytes(&[1; 32])
}

/// The namespace of the devices.
pub(super) fn namespace() -> NamespaceId {
    NamespaceId(root().public().0)
}

/// The first device's grant: everything, from the namespace key itself.
pub(super) fn root_grant() -> Grant {
    let caps = vec![Cap { abilities: Abilities::ALL, path: Path::ROOT }];
    let audience = key(0).public();
    let terms = Terms { audience, caps, not_before: 1_600_000_000, expires: None, depth: 2, nonce: [2; 16] };
    Grant::root(&root(), terms).unwrap()
}

/// An invite of the first device.
pub(super) fn invite() -> Invite {
    Invite {
        namespace: namespace(),
        inviter: key(0).public(),
        addresses: vec![Address::new("192.0.2.7:4460").unwrap()],
        secret: InviteSecret::from_bytes([0x5e; 32]),
        expires: NOW_MS / 1_000 + 600,
    }
}

/// A clock that stands still, and numbers in place of chance.
struct Still {
    seed: u8,
    drawn: AtomicU64,
}

impl Environment for Still {
    fn now_ms(&self) -> u64 {
        NOW_MS
    }

    fn fill_random(&self, out: &mut [u8]) {
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        out.iter_mut()
            .zip(drawn.into_iter().chain(std::iter::repeat(self.seed)))
            .for_each(|(byte, drawn)| *byte = drawn);
    }
}

/// A node on a disk in memory.
pub struct Device {
    /// What survives it.
    pub disk: MemoryDisk,
    /// The node.
    pub node: Node,
}

impl Device {
    /// The first device as it stands, a copy at each call: it remembers two items and a leaf, and has let in the second device.
    pub fn host() -> Self {
        static DISK: LazyLock<MemoryDisk> = LazyLock::new(|| {
            let host = Device::new(MemoryDisk::new(), 0, 1);
            let home = host.node.join_namespace(namespace(), &[root_grant().to_bytes()]).unwrap();
            let calls = [
                ("v/ops/memory", json!({"command": "remember", "text": "Prefers metric units"})),
                ("v/ops/memory", json!({"command": "remember", "text": "Lives in Lisbon"})),
                ("v/ops/covia/write", json!({"path": "w/settings/units", "value": "SI"})),
            ];
            for (operation, input) in calls {
                home.invoke(&Caller::Device, operation, &input).unwrap();
            }
            home.grant_device(key(1).public(), Role::Device, None).unwrap();
            host.disk
        });
        Self::new(DISK.copy(), 0, 2)
    }

    /// The second device, which has been let in and has nothing of it yet.
    pub fn guest() -> Self {
        let statements = Self::host().home().replica().statements_beyond(&BTreeSet::new(), usize::MAX).unwrap();
        let statements: Vec<Vec<u8>> = statements.into_iter().map(|(_, statement)| statement).collect();
        let guest = Self::new(MemoryDisk::new(), 1, 3);
        guest.node.join_namespace(namespace(), &statements).unwrap();
        guest
    }

    fn new(disk: MemoryDisk, index: u8, seed: u8) -> Self {
        let node = Self::process(&disk, index, seed).unwrap();
        Self { disk, node }
    }

    /// A process of the `index`-th device on a disk. `seed` stands for chance.
    pub(super) fn process(disk: &MemoryDisk, index: u8, seed: u8) -> Result<Node, NodeError> {
        let store: Arc<dyn Store> = Arc::new(disk.open());
        Node::open(store, key(index), Arc::new(Still { seed, drawn: AtomicU64::new(0) }))
    }

    /// The namespace, on this device.
    pub fn home(&self) -> Namespace {
        self.node.namespace(namespace()).unwrap()
    }

    /// What is shown and stored holds together, and another process of this device shows the same.
    pub(super) fn assert_sound(&self) {
        let home = self.home();
        home.verify().unwrap();
        let other = Self::process(&self.disk, 0, 4).unwrap().namespace(namespace()).unwrap();
        assert_eq!(
            other.canonical_bytes().unwrap(),
            home.canonical_bytes().unwrap(),
            "what is shown is not what is stored"
        );
    }
}
