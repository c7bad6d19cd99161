//! The device that bytes reach in these tests, and those that may send them: keys, grants and clocks as in `proto/vectors`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use memlet_auth::grant::{Abilities, Cap, Grant, Terms};
use memlet_auth::keys::SigningKey;
use memlet_auth::proof::{Exporter, InviteSecret};
use memlet_core::id::NamespaceId;
use memlet_core::path::Path;
use memlet_node::{Caller, Environment, Namespace, Node, Role};
use memlet_store::{MemoryDisk, Store};
use memlet_sync::invite::Invite;
use memlet_sync::name::Address;
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
        out.iter_mut().zip(drawn.into_iter().chain(std::iter::repeat(self.seed))).for_each(|(byte, drawn)| *byte = drawn);
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
    /// The first device, as it stands: it remembers two items and a leaf, and has let in the second device. Each is a copy of its
    /// own.
    pub fn host() -> Self {
        static DISK: LazyLock<MemoryDisk> = LazyLock::new(|| {
            let host = Device::open(&MemoryDisk::new(), 0, 1);
            let home = host.node.adopt_first(&root_grant());
            for text in ["Prefers metric units", "Lives in Lisbon"] {
                let input = json!({"command": "remember", "text": text});
                home.invoke(&Caller::Device, "v/ops/memory", &input).unwrap();
            }
            let input = json!({"path": "w/settings/units", "value": "SI"});
            home.invoke(&Caller::Device, "v/ops/covia/write", &input).unwrap();
            home.grant_device(key(1).public(), Role::Device, None).unwrap();
            host.disk
        });
        Self::open(&DISK.copy(), 0, 2)
    }

    /// The second device, which has been let in and knows nothing yet.
    pub fn guest() -> Self {
        let grants = Self::host().home().replica().statements();
        let guest = Self::open(&MemoryDisk::new(), 1, 3);
        guest.node.join_namespace(namespace(), &grants).unwrap();
        guest
    }

    /// A further process of this device.
    pub fn process(&self) -> Self {
        Self::open(&self.disk, 0, 4)
    }

    fn open(disk: &MemoryDisk, index: u8, seed: u8) -> Self {
        Self::try_open(disk, index, seed).unwrap()
    }

    /// Its namespace.
    pub fn home(&self) -> Namespace {
        self.node.namespace(namespace()).unwrap()
    }
}
