//! memlet as it is embedded: nodes over a store, and the two ends of a namespace stream between them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memlet_auth::keys::SigningKey;
use memlet_auth::proof::Exporter;
use memlet_core::codec::{Decode as _, Encode as _};
use memlet_core::id::PublicKey;
use memlet_node::{Caller, Environment, Namespace, NamespaceReplica, Node, Role};
use memlet_store::{MemoryDisk, MemoryStore, Scope, Store, Table};
use memlet_sync::clock::ActorClock;
use memlet_sync::frame::{FrameReader, frames};
use memlet_sync::message::{Limits, Message};
use memlet_sync::replica::Replica as _;
use memlet_sync::session::Session;
use serde_json::json;

use crate::exchange::{Side, exchange};
use crate::{NOW_MS, text};

/// The keys and bytes that a device of a benchmark has instead of random ones. Its clock moves on by one with every look.
struct Fixed {
    device: u8,
    looks: AtomicU64,
}

impl Environment for Fixed {
    fn now_ms(&self) -> u64 {
        NOW_MS + self.looks.fetch_add(1, Ordering::Relaxed)
    }

    fn fill_random(&self, out: &mut [u8]) {
        out.fill(self.device);
    }
}

/// Opens device `device` over a store.
pub fn open(device: u8, store: Arc<dyn Store>) -> Node {
    let environment = Arc::new(Fixed { device, looks: AtomicU64::new(0) });
    Node::open(store, SigningKey::from_bytes(&[device; 32]), environment).expect("the store opens for its device")
}

/// Opens device `device` over a store and makes a namespace in it.
pub fn create(device: u8, store: Arc<dyn Store>) -> Namespace {
    open(device, store).create_namespace(&SigningKey::from_bytes(&[200; 32])).expect("the store has no namespace yet")
}

/// Remembers item `n`.
pub fn remember(namespace: &Namespace, n: u64) {
    let input = json!({"command": "remember", "text": text(n)});
    namespace.invoke(&Caller::Device, "v/ops/memory", &input).expect("the owner's device may write");
}

/// The numbered list, as an agent reads it.
pub fn recall(namespace: &Namespace) -> String {
    let list =
        namespace.invoke(&Caller::Device, "v/ops/memory/recall", &json!({})).expect("the owner's device may read");
    list.as_str().unwrap_or_default().to_owned()
}

/// Two devices in memory that once were level: every [`Pair::devices`] gives them anew, as they were then.
pub struct Pair([MemoryDisk; 2]);

impl Pair {
    /// The first device remembered `items` items; the second has been let in, and is level if `level`.
    pub fn new(items: u64, level: bool) -> Self {
        let disks = [MemoryDisk::new(), MemoryDisk::new()];
        let first = create(1, Arc::new(disks[0].open()));
        (0..items).for_each(|n| remember(&first, n));
        let second = open(2, Arc::new(disks[1].open()));
        let chain = first.grant_device(second.device(), Role::Device, None).expect("the owner's device may grant");
        let second = second.join_namespace(first.id(), &chain).expect("the grant lets it sync");
        if level {
            exchange(&mut sides(&[first, second]));
        }
        Self(disks)
    }

    /// Both devices, loaded.
    pub fn devices(&self) -> [Namespace; 2] {
        [1, 2].map(|device| {
            let store = self.0[usize::from(device) - 1].copy().open();
            part(&store);
            let node = open(device, Arc::new(store));
            let id = node.home().expect("the store can be read").expect("it has a namespace");
            let namespace = node.namespace(id).expect("its home is there");
            recall(&namespace);
            namespace
        })
    }
}

/// Makes the copy of a disk that is due at its first commit, so that it is no part of what is measured.
fn part(store: &MemoryStore) {
    let mut write = store.write(Scope::Store).expect("nobody else writes");
    write.put(Table::Counters, b"parted", &[]).expect("the record is small");
    write.commit().expect("the disk has no faults");
}

/// One end of a namespace stream.
pub struct End {
    session: Session,
    replica: NamespaceReplica,
    reader: FrameReader,
}

/// The two ends of a namespace stream between two devices, the first the initiator.
pub fn sides([first, second]: &[Namespace; 2]) -> [End; 2] {
    let exporter = Exporter([7; 32]);
    let [initiator, acceptor] = [first, second].map(key);
    let initiate = Session::initiate(&first.replica(), acceptor, exporter, Limits::default(), NOW_MS);
    let initiate = initiate.expect("the store can be read");
    let accept = Session::accept(initiator, exporter, Limits::default());
    [(initiate, first), (accept, second)].map(|(session, namespace)| End {
        session,
        replica: namespace.replica(),
        reader: FrameReader::default(),
    })
}

/// The key of the device that `namespace` is on.
fn key(namespace: &Namespace) -> PublicKey {
    let devices = namespace.devices().expect("the store can be read");
    devices.iter().find(|device| device.here).expect("this device holds the namespace").device
}

impl End {
    /// Bytes of the changes that this end has sent, without what went with them.
    pub fn change_bytes_sent(&self) -> u64 {
        self.session.stats().sent.change_bytes
    }

    /// How many changes this end has sent.
    pub fn changes_sent(&self) -> u64 {
        self.session.stats().sent.changes
    }

    /// How many changes this end has taken in.
    pub fn changes_applied(&self) -> u64 {
        self.session.stats().applied
    }
}

impl Side for End {
    type Held = ActorClock;

    fn say(&mut self) -> Vec<Vec<u8>> {
        let mut said = Vec::new();
        while let Some(message) = self.session.poll(NOW_MS, &mut self.replica).expect("the session goes on") {
            said.push(frames(&message.to_cbor(), Limits::default().frame_bytes).flatten().collect());
        }
        said
    }

    fn hear(&mut self, mut message: &[u8]) {
        while let Some(encoded) = self.reader.read(&mut message).expect("the peer sends frames") {
            let message = Message::from_cbor(&encoded).expect("a frame holds a message");
            self.session.receive(message, NOW_MS, &mut self.replica).expect("the peer keeps to the protocol");
        }
    }

    fn held(&self) -> ActorClock {
        self.replica.clock().expect("the store can be read")
    }
}
