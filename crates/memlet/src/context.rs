//! What every command needs: the data directory, and the memory in it.
//!
//! Commands that add something begin a memory where there is none. All others leave a directory as they find it: a memory
//! that was never begun reads as an empty one, so that a fresh device can look around and still join another.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use memlet_auth::keys::SigningKey;
use memlet_core::id::PublicKey;
use memlet_node::{Environment as _, Namespace, Node};
use memlet_server::home::{Home, SystemEnvironment};
use memlet_store::MemoryStore;

use crate::failure::Failure;
use crate::network::device_name;
use crate::output::Output;

/// The data directory and the output of one command.
#[derive(Debug)]
pub(crate) struct Context {
    chosen: Option<PathBuf>,
    pub(crate) output: Output,
}

/// A memory on this device.
pub(crate) struct Memory {
    pub(crate) home: Home,
    pub(crate) namespace: Namespace,
}

impl Context {
    /// `chosen` is the directory given on the command line. It goes before `MEMLET_HOME`.
    pub(crate) fn new(chosen: Option<PathBuf>, output: Output) -> Self {
        let variable = || std::env::var_os("MEMLET_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
        Self { chosen: chosen.or_else(variable), output }
    }

    /// Where the data directory is or would be.
    pub(crate) fn dir(&self) -> Result<PathBuf, Failure> {
        Ok(Home::locate(self.chosen.clone())?)
    }

    /// The memory, begun now if there is none.
    pub(crate) fn begin(&self) -> Result<Memory, Failure> {
        let dir = self.dir()?;
        let home = Home::open_or_create(&dir)?;
        let (namespace, begun) = home.namespace_or_begin()?;
        if begun {
            self.output.note(&format!("began a new memory in {}; its keys are there too", dir.display()));
        }
        Ok(Memory { home, namespace })
    }

    /// The memory, if there is one.
    pub(crate) fn find(&self) -> Result<Option<Memory>, Failure> {
        let Some(home) = Home::open(&self.dir()?)? else { return Ok(None) };
        Ok(home.namespace()?.map(|namespace| Memory { home, namespace }))
    }

    /// The memory, which must be there.
    pub(crate) fn existing(&self) -> Result<Memory, Failure> {
        self.find()?.ok_or(Failure::NoMemory(self.dir()?))
    }

    /// The memory, or an empty one that vanishes with the command.
    pub(crate) fn existing_or_empty(&self) -> Result<Namespace, Failure> {
        match self.find()? {
            Some(memory) => Ok(memory.namespace),
            None => {
                let node = Node::open(Arc::new(MemoryStore::new()), fresh_key(), Arc::new(SystemEnvironment))?;
                Ok(node.create_namespace(&fresh_key())?)
            }
        }
    }
}

impl Memory {
    /// What the devices call themselves, as far as this one has met them, and this one.
    pub(crate) fn device_names(&self) -> Result<BTreeMap<PublicKey, String>, Failure> {
        let node = self.home.node();
        let mut names: BTreeMap<_, _> = node.peers()?.into_iter().map(|peer| (peer.device, peer.name)).collect();
        names.insert(node.device(), device_name().to_string());
        Ok(names)
    }
}

fn fresh_key() -> SigningKey {
    let mut secret = [0; 32];
    SystemEnvironment.fill_random(&mut secret);
    SigningKey::from_bytes(&secret)
}
