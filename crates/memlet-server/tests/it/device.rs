//! Devices with a node each, and a server on loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memlet_core::id::{NamespaceId, PublicKey};
use memlet_node::{Caller, Environment, Node, Role};
use memlet_server::quic::{EndpointOptions, Identity};
use memlet_server::{PeerAddress, PeerSync, ServeOptions, Server, SyncWith, sync_once};
use memlet_store::{Fault, MemoryDisk};
use memlet_sync::name::{Address, DeviceName};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::support::{key, until, within};

/// One device: its key and its disk.
pub(crate) struct Device {
    seed: u8,
    disk: Arc<MemoryDisk>,
    pub(crate) node: Node,
}

impl Device {
    /// A device without a namespace.
    pub(crate) fn new(seed: u8) -> Self {
        Self::on(seed, Arc::new(MemoryDisk::new()))
    }

    /// A device with the namespace of `root`.
    pub(crate) fn first(seed: u8, root: u8) -> Self {
        let device = Self::new(seed);
        device.node.create_namespace(&key(root)).unwrap();
        device
    }

    /// A device that `inviter` has let into its namespace, and that has synced nothing yet.
    pub(crate) fn let_in_by(inviter: &Device, seed: u8) -> Self {
        let device = Self::new(seed);
        let home = inviter.node.namespace(inviter.home()).unwrap();
        let chain = home.grant_device(device.key(), Role::Device, None).unwrap();
        device.node.join_namespace(home.id(), &chain).unwrap();
        device
    }

    /// Another process of this device.
    pub(crate) fn process(&self) -> Self {
        Self::on(self.seed, Arc::clone(&self.disk))
    }

    /// Its disk is full for one commit, after `after` more.
    pub(crate) fn fail_commit(&self, after: u64) {
        self.disk.inject(Fault::Full, after, 1);
    }

    /// Its power fails: what was not made durable is lost.
    pub(crate) fn crash(&self) {
        self.disk.crash(0);
    }

    fn on(seed: u8, disk: Arc<MemoryDisk>) -> Self {
        let node = Node::open(Arc::new(disk.open()), key(seed), Arc::new(World::default())).unwrap();
        Self { seed, disk, node }
    }

    pub(crate) fn key(&self) -> PublicKey {
        self.node.device()
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity::new(key(self.seed))
    }

    pub(crate) fn home(&self) -> NamespaceId {
        self.node.home().unwrap().unwrap()
    }

    pub(crate) fn remember(&self, text: &str) {
        self.remember_in(self.home(), text);
    }

    pub(crate) fn remember_in(&self, id: NamespaceId, text: &str) {
        let namespace = self.node.namespace(id).unwrap();
        namespace.invoke(&Caller::Device, "v/ops/memory", &json!({"command": "remember", "text": text})).unwrap();
    }

    pub(crate) fn write(&self, path: &str, value: &[&str]) {
        let home = self.node.namespace(self.home()).unwrap();
        home.invoke(&Caller::Device, "v/ops/covia/write", &json!({"path": path, "value": value})).unwrap();
    }

    pub(crate) fn recall(&self) -> String {
        self.recall_in(self.home())
    }

    pub(crate) fn recall_in(&self, id: NamespaceId) -> String {
        let namespace = self.node.namespace(id).unwrap();
        let lines = namespace.invoke(&Caller::Device, "v/ops/memory/recall", &json!({})).unwrap();
        lines.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until this device recalls `text`, which another has to bring.
    pub(crate) async fn recalls(&self, text: &str) {
        until(|| self.recall().contains(text)).await;
    }

    /// Serves on a port the system chooses, and stays connected to `peers`.
    pub(crate) fn serve(&self, peers: Vec<PeerAddress>) -> Serving {
        self.serve_on("127.0.0.1:0".parse().unwrap(), peers)
    }

    pub(crate) fn serve_on(&self, address: SocketAddr, peers: Vec<PeerAddress>) -> Serving {
        let endpoint = EndpointOptions { listen: vec![address], ..EndpointOptions::default() };
        let server =
            Server::bind(self.node.clone(), self.identity(), ServeOptions { name: name(), endpoint, peers }).unwrap();
        let address = server.bound()[0];
        let (stop, stopped) = oneshot::channel();
        let run = tokio::spawn(async move {
            server.run(async { stopped.await.unwrap_or_default() }).await.unwrap();
        });
        Serving { node: self.node.clone(), address, stop, run }
    }

    /// One sync with the servers.
    pub(crate) async fn sync(&self, servers: &[&Serving]) -> Vec<PeerSync> {
        let peers = servers.iter().map(|server| server.peer()).collect();
        within(sync_once(self.node.clone(), self.identity(), name(), SyncWith::All(peers))).await.unwrap()
    }
}

/// A server that runs.
pub(crate) struct Serving {
    node: Node,
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    run: JoinHandle<()>,
}

impl Serving {
    /// How others find it.
    pub(crate) fn peer(&self) -> PeerAddress {
        let address = Address::new(&self.address.to_string()).unwrap();
        PeerAddress { device: self.node.device(), addresses: vec![address] }
    }

    /// How often its node refused something under `code`.
    pub(crate) fn refusals(&self, code: &str) -> u64 {
        self.node.refusals().get(code).copied().unwrap_or_default()
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        within(self.run).await.unwrap();
    }
}

pub(crate) fn name() -> DeviceName {
    DeviceName::new("test").unwrap()
}

/// A clock that moves a millisecond whenever it is read, and true randomness.
#[derive(Default)]
struct World {
    reads: AtomicU64,
}

impl Environment for World {
    fn now_ms(&self) -> u64 {
        1_796_000_000_000 + self.reads.fetch_add(1, Ordering::Relaxed)
    }

    fn fill_random(&self, out: &mut [u8]) {
        getrandom::fill(out).unwrap();
    }
}
