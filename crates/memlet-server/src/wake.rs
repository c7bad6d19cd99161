//! Tells tasks that a namespace has changed, whoever changed it.
//!
//! A commit of this process wakes at once, by the node's own notice. Commits of other processes on the same store leave no
//! notice, so the store is looked at every [`LOOK_EVERY`], once per namespace however many peers it is synced with.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use memlet_core::id::NamespaceId;
use memlet_node::Node;
use memlet_sync::message::State;
use memlet_sync::replica::{Fault, Replica as _};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::blocking::blocking;

/// How often the store is looked at for commits of other processes.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Who waits for which namespace.
#[derive(Debug)]
pub(crate) struct Wakes {
    namespaces: Mutex<BTreeMap<NamespaceId, watch::Sender<()>>>,
    any: watch::Sender<()>,
}

impl Wakes {
    /// Wakes from the commits of `node`, for as long as the result lives.
    pub(crate) fn of(node: &Node) -> Arc<Self> {
        let wakes = Arc::new(Self { namespaces: Mutex::default(), any: watch::Sender::new(()) });
        let notified = Arc::downgrade(&wakes);
        node.subscribe(move |namespace| {
            if let Some(wakes) = Weak::upgrade(&notified) {
                wakes.wake(namespace);
            }
        });
        wakes
    }

    /// Wakes when `namespace` has changed. A change between two waits is not missed.
    pub(crate) fn watch(&self, namespace: NamespaceId) -> watch::Receiver<()> {
        self.lock().entry(namespace).or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    /// Wakes when any namespace has changed, or one is new.
    pub(crate) fn watch_any(&self) -> watch::Receiver<()> {
        self.any.subscribe()
    }

    fn wake(&self, namespace: NamespaceId) {
        if let Some(waiting) = self.lock().get(&namespace) {
            waiting.send_replace(());
        }
        self.any.send_replace(());
    }

    /// The namespaces that someone waits for. The rest is forgotten.
    fn watched(&self) -> Vec<NamespaceId> {
        let mut namespaces = self.lock();
        namespaces.retain(|_, waiting| waiting.receiver_count() > 0);
        namespaces.keys().copied().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<NamespaceId, watch::Sender<()>>> {
        self.namespaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at the store again and again and wakes for what other processes did. Never returns.
pub(crate) async fn look_around(node: Node, wakes: Arc<Wakes>) {
    let mut seen = Seen::default();
    let mut tick = interval(LOOK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let (node, watched, before) = (node.clone(), wakes.watched(), seen.clone());
        match blocking(move || Seen::look(&node, &watched)).await {
            Ok(Ok(now)) => {
                now.changed_since(&before).for_each(|namespace| wakes.wake(namespace));
                if now.namespaces != before.namespaces {
                    wakes.any.send_replace(());
                }
                seen = now;
            }
            // whoever needs the store meets the same failure and says so
            Ok(Err(fault)) => tracing::debug!(%fault, "the store could not be looked at"),
            Err(_) => {}
        }
    }
}

/// What the store held when it was looked at.
#[derive(Clone, Default)]
struct Seen {
    namespaces: Vec<NamespaceId>,
    states: BTreeMap<NamespaceId, State>,
}

impl Seen {
    fn look(node: &Node, watched: &[NamespaceId]) -> Result<Self, Fault> {
        let namespaces = node.namespaces().map_err(Fault::new)?;
        let here = watched.iter().filter(|id| namespaces.contains(id));
        let states = here.map(|id| Ok((*id, node.namespace(*id).map_err(Fault::new)?.replica().state()?)));
        Ok(Self { states: states.collect::<Result<_, Fault>>()?, namespaces })
    }

    fn changed_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = NamespaceId> + 'a {
        self.states.iter().filter(|(id, state)| before.states.get(id) != Some(state)).map(|(id, _)| *id)
    }
}
