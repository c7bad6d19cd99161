//! Devices with a clock the test sets, and a wire between two of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memlet_auth::keys::SigningKey;
use memlet_auth::proof::Exporter;
use memlet_core::id::NamespaceId;
use memlet_node::{Caller, Environment, InvokeError, Namespace, Node, Role};
use memlet_store::{MemoryDisk, Store};
use memlet_sync::message::Limits;
use memlet_sync::session::Session;
use serde_json::{Value as Json, json};

/// A wall clock that stands still until it is set, and numbers in place of chance.
pub(crate) struct Clock {
    pub(crate) now_ms: AtomicU64,
    drawn: AtomicU64,
    seed: u64,
}

impl Environment for Clock {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn fill_random(&self, out: &mut [u8]) {
        let mut source = blake3::Hasher::new();
        source.update(&self.seed.to_be_bytes()).update(&self.drawn.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        source.finalize_xof().fill(out);
    }
}

pub(crate) const NOW_MS: u64 = 1_796_000_000_000;

/// One device: its key, its disk and its clock.
pub(crate) struct Device {
    pub(crate) seed: u8,
    pub(crate) disk: Arc<MemoryDisk>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) node: Node,
}

pub(crate) fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

impl Device {
    pub(crate) fn new(seed: u8) -> Self {
        let clock = Clock { now_ms: NOW_MS.into(), drawn: 0.into(), seed: seed.into() };
        Self::on(seed, Arc::new(MemoryDisk::new()), Arc::new(clock))
    }

    /// Another process of this device.
    pub(crate) fn process(&self) -> Self {
        Self::on(self.seed, Arc::clone(&self.disk), Arc::clone(&self.clock))
    }

    /// This device's key on that disk.
    pub(crate) fn on(seed: u8, disk: Arc<MemoryDisk>, clock: Arc<Clock>) -> Self {
        let store: Arc<dyn Store> = Arc::new(disk.open());
        let node = Node::open(store, key(seed), Arc::clone(&clock) as Arc<dyn Environment>).unwrap();
        Self { seed, disk, clock, node }
    }

    pub(crate) fn home(&self) -> Namespace {
        self.node.namespace(self.node.home().unwrap().unwrap()).unwrap()
    }

    pub(crate) fn call(&self, operation: &str, input: Json) -> Result<Json, InvokeError> {
        self.home().invoke(&Caller::Device, operation, &input)
    }

    pub(crate) fn remember(&self, text: &str) {
        self.call("v/ops/memory", json!({"command": "remember", "text": text})).unwrap();
    }

    pub(crate) fn forget(&self, n: u64) {
        self.call("v/ops/memory", json!({"command": "forget", "n": n})).unwrap();
    }

    pub(crate) fn recall(&self) -> String {
        let lines = self.call("v/ops/memory/recall", json!({})).unwrap();
        lines.as_str().unwrap_or_default().to_owned()
    }
}

/// A device with a namespace of its own, whose root key is `root`.
pub(crate) fn first(seed: u8, root: u8) -> Device {
    let device = Device::new(seed);
    device.node.create_namespace(&key(root)).unwrap();
    device
}

/// Another device, let in by `inviter`.
pub(crate) fn join(inviter: &Device, seed: u8) -> Device {
    let device = Device::new(seed);
    let chain = inviter.home().grant_device(device.node.device(), Role::Device, None).unwrap();
    let id: NamespaceId = inviter.home().id();
    device.node.join_namespace(id, &chain).unwrap();
    sync(inviter, &device);
    device
}

/// What one meeting took.
pub(crate) struct Meeting {
    /// How often a side that had said all it could then heard something new from the other.
    pub(crate) flights: u64,
    /// Whether both ended level.
    pub(crate) level: bool,
}

/// Lets two devices talk until neither has anything to say.
pub(crate) fn sync(a: &Device, b: &Device) -> Meeting {
    let exporter = Exporter([9; 32]);
    let (mut a_replica, mut b_replica) = (a.home().replica(), b.home().replica());
    let now = |device: &Device| device.clock.now_ms();
    let mut a_side = Session::initiate(&a_replica, b.node.device(), exporter, Limits::default(), now(a)).unwrap();
    let mut b_side = Session::accept(a.node.device(), exporter, Limits::default());
    let mut flights = 0;
    loop {
        let mut said = false;
        while let Some(message) = a_side.poll(now(a), &mut a_replica).unwrap() {
            said = true;
            b_side.receive(message, now(b), &mut b_replica).unwrap();
        }
        while let Some(message) = b_side.poll(now(b), &mut b_replica).unwrap() {
            said = true;
            a_side.receive(message, now(a), &mut a_replica).unwrap();
        }
        if !said {
            let level = a_side.is_level(&a_replica).unwrap() && b_side.is_level(&b_replica).unwrap();
            return Meeting { flights, level };
        }
        flights += 1;
    }
}
