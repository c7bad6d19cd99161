//! A device: a disk that survives, a clock, and up to two processes that do not.

use std::sync::Arc;

use memlet_auth::keys::SigningKey;
use memlet_core::id::PublicKey;
use memlet_node::{Environment as _, Node, NodeError};
use memlet_store::{MemoryDisk, MemoryStore, Store as _};
use memlet_sync::clock::ActorRef;

use crate::environment::{DeviceEnvironment, TrueTime};
use crate::model::Holding;
use crate::plan::Role;
use crate::random::Stream;

/// Processes of one device.
pub(super) const PROCESSES: usize = 2;

/// One machine.
pub(super) struct Device {
    pub(super) key: SigningKey,
    /// What its key may do, by namespace.
    pub(super) roles: Vec<Option<Role>>,
    /// What its store writes as, as far as that is known.
    pub(super) actor: Option<ActorRef>,
    /// Whether a peer has claimed to hold what it never wrote.
    pub(super) was_lied_to: bool,
    pub(super) disk: MemoryDisk,
    pub(super) environment: Arc<DeviceEnvironment>,
    pub(super) processes: [Option<Process>; PROCESSES],
    /// By namespace: what its disk holds, as far as it was looked at.
    pub(super) holdings: Vec<Holding>,
    /// The write whose sync failed last: a crash may bring it up.
    pub(super) in_doubt: Option<InDoubt>,
    /// The last call with a request id.
    pub(super) request: Option<Request>,
    /// The power fails after so many more messages.
    pub(super) crash: Option<Crash>,
    /// Whether any fault was put on its disk that may still strike.
    pub(super) disk_is_faulty: bool,
    /// Until when the power is off, in true time.
    pub(super) off_until_ms: u64,
    /// A copy of its disk, and what that holds.
    pub(super) backup: Option<(MemoryDisk, Vec<Holding>)>,
}

/// A running process.
pub(super) struct Process {
    pub(super) store: MemoryStore,
    pub(super) node: Node,
    /// It does nothing before, in true time.
    pub(super) paused_until_ms: u64,
}

/// A call that can be repeated.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) namespace: usize,
    pub(super) place: &'static str,
    pub(super) operation: &'static str,
    pub(super) input: serde_json::Value,
    /// What it was, if it may have happened.
    pub(super) id: Option<usize>,
    /// What it answered, if it did.
    pub(super) output: Option<serde_json::Value>,
    /// When it was made, by the clock of the device.
    pub(super) at_ms: u64,
}

/// A write of which nobody knows whether it happened.
pub(super) struct InDoubt {
    pub(super) namespace: usize,
    pub(super) operation: usize,
    pub(super) seq: u64,
}

/// A power failure to come.
#[derive(Clone, Copy)]
pub(super) struct Crash {
    pub(super) after_messages: u64,
    pub(super) keep: usize,
    pub(super) down_ms: u64,
}

impl Device {
    pub(super) fn new(seed: u64, number: usize, roles: Vec<Option<Role>>, time: TrueTime) -> Self {
        let secret = Stream::new(seed, &format!("device {number} key")).bytes();
        let random = Stream::new(seed, &format!("device {number} random"));
        let namespaces = roles.len();
        Self {
            key: SigningKey::from_bytes(&secret),
            roles,
            actor: None,
            was_lied_to: false,
            disk: MemoryDisk::new(),
            environment: Arc::new(DeviceEnvironment::new(time, random)),
            processes: [const { None }; PROCESSES],
            holdings: vec![Holding::default(); namespaces],
            in_doubt: None,
            request: None,
            crash: None,
            disk_is_faulty: false,
            off_until_ms: 0,
            backup: None,
        }
    }

    pub(super) fn public(&self) -> PublicKey {
        self.key.public()
    }

    /// Starts a process in an empty seat.
    pub(super) fn start(&mut self, process: usize) -> Result<(), NodeError> {
        let store = self.disk.open();
        let node = Node::open(Arc::new(store.clone()), self.key.clone(), self.environment.clone())?;
        self.processes[process] = Some(Process { store, node, paused_until_ms: 0 });
        Ok(())
    }

    /// What its key may do in a namespace by its own clock.
    pub(super) fn role(&self, namespace: usize) -> Option<Role> {
        let now_ms = self.environment.now_ms();
        self.roles[namespace].filter(|role| role.holds_at(now_ms))
    }

    /// A process that runs.
    pub(super) fn running(&self) -> Option<&Process> {
        self.processes.iter().flatten().next()
    }
}

impl Process {
    /// Whether its store refuses everything, so that it can only end.
    pub(super) fn is_poisoned(&self) -> bool {
        self.store.read().is_err()
    }
}
