//! A device of the demo: a data directory, and sockets on the loopback interface when it needs them.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use memlet_node::{Namespace, Role};
use memlet_server::home::Home;
use memlet_server::quic::{EndpointOptions, Identity};
use memlet_server::{
    Invitation, InviteOptions, PeerAddress, PeerSync, ServeOptions, Server, SyncWith, join, sync_once,
};
use memlet_sync::invite::Invite;
use memlet_sync::name::{Address, DeviceName};
use serde_json::{Value as Json, json};
use tokio::sync::oneshot;

use crate::commands::invoke;
use crate::failure::Failure;

const OPERATION: &str = "v/ops/memory";

pub(super) struct Device {
    name: &'static str,
    home: Home,
}

impl Device {
    /// A fresh device, which has no memory yet, in a directory of its own below `stage`.
    pub(super) fn new(stage: &Path, name: &'static str) -> Result<Self, Failure> {
        Ok(Self { name, home: Home::open_or_create(&stage.join(name))? })
    }

    pub(super) fn begin(&self) -> Result<(), Failure> {
        Ok(self.home.namespace_or_begin().map(drop)?)
    }

    /// Each edit gives the command that makes it.
    pub(super) fn remember(&self, text: &str) -> Result<String, Failure> {
        self.call(&json!({"command": "remember", "text": text}))?;
        Ok(format!("{self}$ memlet remember {text:?}"))
    }

    pub(super) fn update(&self, n: u64, text: &str) -> Result<String, Failure> {
        self.call(&json!({"command": "update", "n": n, "text": text}))?;
        Ok(format!("{self}$ memlet update {n} {text:?}"))
    }

    pub(super) fn forget(&self, text: &str) -> Result<String, Failure> {
        let recalled = self.recall()?;
        let n = (1..).zip(recalled.lines()).find(|(_, line)| line.ends_with(text)).map(|(n, _)| n);
        let n: u64 = n.ok_or_else(|| Failure::Untrue(format!("{self} recalls {text:?}")))?;
        self.call(&json!({"command": "forget", "n": n, "expect": text}))?;
        Ok(format!("{self}$ memlet forget {n}"))
    }

    pub(super) fn recall(&self) -> Result<String, Failure> {
        Ok(self.call(&json!({"command": "recall"}))?.as_str().unwrap_or_default().to_owned())
    }

    /// All that the document shows, as bytes.
    pub(super) fn state(&self) -> Result<Vec<u8>, Failure> {
        Ok(self.namespace()?.canonical_bytes()?)
    }

    /// Joins by an invite of `inviter`. True if both end level.
    pub(super) async fn join(&self, inviter: &Device) -> Result<bool, Failure> {
        let options = InviteOptions {
            name: inviter.device_name(),
            endpoint: on_loopback(),
            namespace: inviter.namespace()?.id(),
            role: Role::Device,
            root: inviter.home.root_key()?,
        };
        let invitation = Invitation::open(inviter.home.node().clone(), inviter.identity(), options).await?;
        let invite = Invite::parse(&invitation.uri())?;
        // Whichever side fails ends it: an invitation that nobody can use any more would be waited out.
        let inviting = async { invitation.joined().await.map_err(Failure::from) };
        let joining = async {
            let joined = join(self.home.node().clone(), self.identity(), self.device_name(), &invite).await;
            joined.map_err(Failure::from)
        };
        let (invited, joined) = tokio::try_join!(inviting, joining)?;
        Ok(invited.level && joined.sync.is_ok_and(|outcome| outcome.level))
    }

    /// Syncs with `other`, which serves meanwhile. True if both end level.
    pub(super) async fn sync(&self, other: &Device) -> Result<bool, Failure> {
        let options = ServeOptions { name: other.device_name(), endpoint: on_loopback(), peers: Vec::new() };
        let server = Server::bind(other.home.node().clone(), other.identity(), options)?;
        let addresses = server.bound().iter().filter_map(|bound| Address::new(&bound.to_string()).ok()).collect();
        let peer = PeerAddress { device: other.home.node().device(), addresses };
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = server.run(async { drop(stopped.await) });
        let syncing = async {
            let syncs =
                sync_once(self.home.node().clone(), self.identity(), self.device_name(), SyncWith::Only(peer)).await;
            drop(stop);
            syncs
        };
        let (served, syncs) = tokio::join!(serving, syncing);
        served?;
        let [PeerSync { namespaces: Ok(outcomes), .. }] = &syncs?[..] else { return Ok(false) };
        Ok(matches!(&outcomes[..], [Ok(outcome)] if outcome.level))
    }

    fn namespace(&self) -> Result<Namespace, Failure> {
        self.home.namespace()?.ok_or_else(|| Failure::NoMemory(self.home.dir().to_owned()))
    }

    fn call(&self, input: &Json) -> Result<Json, Failure> {
        invoke(&self.namespace()?, OPERATION, input)
    }

    fn identity(&self) -> Identity {
        Identity::new(self.home.device_key().clone())
    }

    fn device_name(&self) -> DeviceName {
        DeviceName::new(self.name).expect("a plain word is a device name")
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

fn on_loopback() -> EndpointOptions {
    EndpointOptions { listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))], ..EndpointOptions::default() }
}
