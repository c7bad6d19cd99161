//! One replica: a store, the key of the device it is on, and the namespaces in it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use memlet_auth::grant::{Abilities, Cap, Grant, Terms};
use memlet_auth::keys::SigningKey;
use memlet_core::id::{Actor, NamespaceId, PublicKey};
use memlet_core::path::Path;
use memlet_store::{Read, Scope, Store, Table};

use crate::environment::{Environment, random};
use crate::error::NodeError;
use crate::namespace::{Loaded, Namespace};
use crate::replica;

/// A replica of any number of namespaces. Cheap to clone; safe to use from many threads, and beside other processes that have
/// opened the same store.
///
/// [`Node::create_namespace`] or [`Node::join_namespace`] bring a namespace here, [`Node::namespace`] opens it.
/// [`Node::subscribe`] tells of every change that this process has made durable.
#[derive(Clone)]
pub struct Node {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) device: SigningKey,
    pub(crate) environment: Arc<dyn Environment>,
    /// What is loaded, without the way back here that a [`Namespace`] has: the store is closed with the last handle.
    open: Mutex<BTreeMap<NamespaceId, Loaded>>,
    subscribers: RwLock<Vec<Subscriber>>,
    refusals: Mutex<BTreeMap<&'static str, u64>>,
}

type Subscriber = Box<dyn Fn(NamespaceId) + Send + Sync>;

/// The record of [`Table::Node`] that names the home namespace.
const HOME_KEY: &[u8] = b"home";

impl Node {
    /// Opens the replica that `store` holds, or makes it one of `device`.
    ///
    /// # Errors
    /// The store fails, or was made by another device.
    pub fn open(
        store: Arc<dyn Store>,
        device: SigningKey,
        environment: Arc<dyn Environment>,
    ) -> Result<Self, NodeError> {
        replica::claim(&*store, &device.public(), &*environment)?;
        let shared = Shared {
            store,
            device,
            environment,
            open: Mutex::default(),
            subscribers: RwLock::default(),
            refusals: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The device this node runs on.
    pub fn device(&self) -> PublicKey {
        self.shared.device.public()
    }

    /// What this node writes as now. A store that turns out to be a copy gets another replica id.
    pub fn actor(&self) -> Result<Actor, NodeError> {
        self.shared.actor(&*self.shared.store.read()?)
    }

    /// Time and randomness, as this node sees them.
    pub fn environment(&self) -> &dyn Environment {
        &*self.shared.environment
    }

    /// Makes the namespace of `root`, which grants this device everything, and the home of this node if it has none.
    ///
    /// # Errors
    /// The store fails, or the namespace is here already.
    pub fn create_namespace(&self, root: &SigningKey) -> Result<Namespace, NodeError> {
        let terms = Terms {
            audience: self.device(),
            caps: vec![Cap { abilities: Abilities::ALL, path: Path::ROOT }],
            not_before: 0,
            expires: None,
            depth: DEVICE_DEPTH,
            nonce: random(self.environment()),
        };
        let grant = Grant::root(root, terms)?;
        self.adopt(NamespaceId(root.public().0), &[grant.to_bytes()])
    }

    /// Takes in a namespace that another device invited this one to, by the grants it was given.
    ///
    /// # Errors
    /// The grants do not verify or do not let this device sync; the store fails; the namespace is here already.
    pub fn join_namespace(&self, id: NamespaceId, statements: &[Vec<u8>]) -> Result<Namespace, NodeError> {
        self.adopt(id, statements)
    }

    fn adopt(&self, id: NamespaceId, statements: &[Vec<u8>]) -> Result<Namespace, NodeError> {
        if !self.namespaces()?.contains(&id) {
            self.handle(id, Loaded::default()).adopt(statements)?;
        } else if self.home()?.is_some() {
            return Err(NodeError::NamespaceExists(id));
        }
        // Without a home, a namespace that is here already was left by a crash at this point.
        let mut write = self.shared.store.write(Scope::Store)?;
        if write.get(Scope::Store, Table::Node, HOME_KEY)?.is_none() {
            write.put(Table::Node, HOME_KEY, &id.0)?;
            write.commit()?;
        }
        self.namespace(id)
    }

    /// The namespace that commands mean when they name none.
    pub fn home(&self) -> Result<Option<NamespaceId>, NodeError> {
        let home = self.shared.store.read()?.get(Scope::Store, Table::Node, HOME_KEY)?;
        home.map(|bytes| {
            NamespaceId::from_slice(&bytes).ok_or_else(|| NodeError::Damaged("the home namespace is no key".into()))
        })
        .transpose()
    }

    /// The namespaces here, by rising id.
    pub fn namespaces(&self) -> Result<Vec<NamespaceId>, NodeError> {
        Ok(self.shared.store.read()?.namespaces()?)
    }

    /// Opens a namespace. Its document is loaded when it is first used.
    ///
    /// # Errors
    /// The store fails, or [`NodeError::UnknownNamespace`].
    pub fn namespace(&self, id: NamespaceId) -> Result<Namespace, NodeError> {
        let known = self.shared.open.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        if let Some(loaded) = known {
            return Ok(self.handle(id, loaded));
        }
        if !self.namespaces()?.contains(&id) {
            return Err(NodeError::UnknownNamespace(id));
        }
        let mut open = self.shared.open.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.handle(id, open.entry(id).or_default().clone()))
    }

    fn handle(&self, id: NamespaceId, loaded: Loaded) -> Namespace {
        Namespace::new(Arc::clone(&self.shared), id, loaded)
    }

    /// Calls `on_change` after every commit of this process, from the thread that made it. It must not block.
    ///
    /// Commits of other processes show when a namespace is next used, or at [`Namespace::refresh`].
    pub fn subscribe(&self, on_change: impl Fn(NamespaceId) + Send + Sync + 'static) {
        let mut subscribers = self.shared.subscribers.write().unwrap_or_else(PoisonError::into_inner);
        subscribers.push(Box::new(on_change));
    }

    /// How often something was refused since this node was opened, by error code.
    pub fn refusals(&self) -> BTreeMap<&'static str, u64> {
        self.shared.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts a refusal, whoever made it.
    pub fn count_refusal(&self, code: &'static str) {
        self.shared.count_refusal(code);
    }
}

/// How often a device's grant may be passed on: a chain has at most eight links.
pub(crate) const DEVICE_DEPTH: u8 = 7;

impl Shared {
    pub(crate) fn count_refusal(&self, code: &'static str) {
        tracing::debug!(code, "refused");
        *self.refusals.lock().unwrap_or_else(PoisonError::into_inner).entry(code).or_default() += 1;
    }

    pub(crate) fn notify(&self, id: NamespaceId) {
        let subscribers = self.subscribers.read().unwrap_or_else(PoisonError::into_inner);
        subscribers.iter().for_each(|on_change| on_change(id));
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.environment.now_ms()
    }

    /// What this node writes as, by the store's own word: another process may have renewed it.
    pub(crate) fn actor(&self, read: &dyn Read) -> Result<Actor, NodeError> {
        Ok(Actor { device: self.device.public(), replica: replica::current(read)? })
    }
}
