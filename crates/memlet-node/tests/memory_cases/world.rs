//! The devices of a case: real nodes over SQLite, with a clock of their own and a network that only `sync` uses.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path as FsPath, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use memlet_auth::did::to_did;
use memlet_auth::grant::{Abilities, Ability, Cap, Grant, Terms};
use memlet_auth::keys::SigningKey;
use memlet_core::id::NamespaceId;
use memlet_core::path::Path;
use memlet_node::{Agent, Caller, Environment, InvokeError, Namespace, Node, Role};
use memlet_store::SqliteStore;
use memlet_sync::replica::{Budget, Replica as _};
use serde_json::Value as Json;
use tempfile::TempDir;

/// Where every case begins: 2026-01-01 in milliseconds.
const START_MS: u64 = 1_767_225_600_000;

const BUDGET: Budget = Budget { changes: 64, bytes: 8 << 20 };

/// All that a case acts on.
pub(crate) struct World {
    directory: TempDir,
    time: Arc<Time>,
    devices: BTreeMap<String, Device>,
    directories_made: u32,
}

/// One device with its data directory.
struct Device {
    key: SigningKey,
    data: PathBuf,
    clock: Arc<Clock>,
    node: Node,
}

/// Time that all devices share. It moves on by a millisecond whenever somebody looks, unless it is frozen.
#[derive(Default)]
struct Time {
    passed_ms: AtomicU64,
    frozen: AtomicBool,
}

/// The clock of one device, and its source of bytes that differ.
struct Clock {
    time: Arc<Time>,
    offset_ms: AtomicI64,
    device: String,
    drawn: AtomicU64,
}

impl Environment for Clock {
    fn now_ms(&self) -> u64 {
        let step = u64::from(!self.time.frozen.load(Ordering::Relaxed));
        let now_ms = START_MS + self.time.passed_ms.fetch_add(step, Ordering::Relaxed);
        now_ms.saturating_add_signed(self.offset_ms.load(Ordering::Relaxed))
    }

    fn fill_random(&self, out: &mut [u8]) {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.device.as_bytes()).update(&self.drawn.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        hasher.finalize_xof().fill(out);
    }
}

impl World {
    /// A fresh device A with two fresh users.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut world = Self { directory, time: Arc::default(), devices: BTreeMap::new(), directories_made: 0 };
        world.add_device("A");
        for user in ["u1", "u2"] {
            world.devices["A"].node.create_namespace(&key(user)).unwrap();
        }
        world
    }

    /// The rendered identity of a user's namespace.
    pub(crate) fn did(&self, user: &str) -> String {
        to_did(&key(user).public())
    }

    /// Makes a call or takes a harness action.
    pub(crate) fn act(&mut self, call: &Json) -> Result<Json, InvokeError> {
        let text = |name: &str| call.get(name).and_then(Json::as_str);
        let on = text("on").unwrap_or("A");
        match text("do") {
            None => return self.invoke(call, on),
            Some("device") => self.join(text("add").unwrap()),
            Some("sync") => self.sync(call.get("pairs")),
            Some("restart") => self.reopen(),
            Some("crash") => self.crash(),
            Some("backup") => copy(&self.devices["A"].data, &self.backup(text("as").unwrap())),
            Some("restore") => {
                let data = self.new_directory();
                copy(&self.backup(text("from").unwrap()), &data);
                self.move_to(data);
            }
            Some("clock") if call.get("freeze").is_some() => self.time.frozen.store(true, Ordering::Relaxed),
            Some("clock") => {
                let offset_ms = call["offset_ms"].as_i64().unwrap();
                self.devices[on].clock.offset_ms.store(offset_ms, Ordering::Relaxed);
            }
            Some(action) => panic!("there is no harness action {action:?}"),
        }
        Ok(Json::Null)
    }

    fn invoke(&self, call: &Json, on: &str) -> Result<Json, InvokeError> {
        let (user, caller) = self.caller(call.get("caller"), on);
        self.namespace(on, &user).invoke(&caller, call["operation"].as_str().unwrap(), &call["input"])
    }

    /// Absent is u1 itself, `u2` that user itself, `u1:a` an agent of u1, a map a token with exactly its grants.
    fn caller(&self, caller: Option<&Json>, on: &str) -> (String, Caller) {
        let all = Abilities::of(&[Ability::Read, Ability::Write, Ability::Forget]);
        match caller {
            None => ("u1".to_owned(), Caller::Device),
            Some(Json::String(name)) => match name.split_once(':') {
                None => (name.clone(), Caller::Device),
                Some((user, agent)) => {
                    let own = format!("n/{}", to_did(&key(agent).public()));
                    let caps = ["w", "o", &own].map(|path| Cap { abilities: all, path: Path::parse(path).unwrap() });
                    (user.to_owned(), self.agent(on, user, agent, caps.to_vec()))
                }
            },
            Some(token) => {
                let cap = |cap: &Json| {
                    let names = cap["can"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                    let abilities: Vec<Ability> = names.map(|name| Ability::from_name(name).unwrap()).collect();
                    let path = Path::parse(cap["path"].as_str().unwrap()).unwrap();
                    Cap { abilities: Abilities::of(&abilities), path }
                };
                let caps = token["caps"].as_array().unwrap().iter().map(cap).collect();
                let user = token["user"].as_str().unwrap();
                (user.to_owned(), self.agent(on, user, &token.to_string(), caps))
            }
        }
    }

    /// An agent with a grant of the user's root key, which is made known to the device.
    fn agent(&self, on: &str, user: &str, name: &str, caps: Vec<Cap>) -> Caller {
        let agent = key(name);
        let terms = Terms { audience: agent.public(), caps, not_before: 0, expires: None, depth: 0, nonce: [0; 16] };
        let grant = Grant::root(&key(user), terms).unwrap();
        let device = &self.devices[on];
        let admitted = self.namespace(on, user).admit_statements(&[grant.to_bytes()], device.node.device()).unwrap();
        assert!(admitted.refused.is_empty() && admitted.parked == 0, "{admitted:?}");
        Caller::Agent(Agent { key: Arc::new(agent), grant: grant.id() })
    }

    fn namespace(&self, on: &str, user: &str) -> Namespace {
        self.devices[on].node.namespace(NamespaceId(key(user).public().0)).unwrap()
    }

    fn new_directory(&mut self) -> PathBuf {
        self.directories_made += 1;
        let path = self.directory.path().join(format!("data-{}", self.directories_made));
        fs::create_dir(&path).unwrap();
        path
    }

    fn backup(&self, name: &str) -> PathBuf {
        self.directory.path().join(format!("backup-{name}"))
    }

    fn add_device(&mut self, name: &str) {
        let data = self.new_directory();
        let (time, device) = (Arc::clone(&self.time), name.to_owned());
        let clock = Arc::new(Clock { time, offset_ms: AtomicI64::new(0), device, drawn: AtomicU64::new(0) });
        let key = key(name);
        let node = open(&data, &key, &clock);
        self.devices.insert(name.to_owned(), Device { key, data, clock, node });
    }

    /// Adds a device of u1 and brings it level with A.
    fn join(&mut self, name: &str) {
        self.add_device(name);
        let root = key("u1");
        let device = self.devices[name].node.device();
        let chain = self.namespace("A", "u1").grant_device(device, Role::Device, Some(&root)).unwrap();
        self.devices[name].node.join_namespace(NamespaceId(root.public().0), &chain).unwrap();
        self.exchange("A", name);
    }

    fn sync(&self, pairs: Option<&Json>) {
        if let Some(pairs) = pairs {
            for pair in pairs.as_array().unwrap() {
                self.exchange(pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
            }
            return;
        }
        let names: Vec<&String> = self.devices.keys().collect();
        loop {
            let pairs = names.iter().flat_map(|a| names.iter().map(move |b| (a, b))).filter(|(a, b)| a != b);
            if pairs.map(|(from, to)| self.carry(from, to)).sum::<u64>() == 0 {
                return;
            }
        }
    }

    fn exchange(&self, a: &str, b: &str) {
        while self.carry(a, b) + self.carry(b, a) > 0 {}
    }

    /// Carries what is news at `to` of u1's namespace; gives how many changes were.
    fn carry(&self, from: &str, to: &str) -> u64 {
        let (source, mut target) = (self.namespace(from, "u1").replica(), self.namespace(to, "u1").replica());
        let peer = self.devices[from].node.device();
        let now_ms = self.devices[to].clock.now_ms();
        let known = target.state().unwrap().statements;
        let statements = source.statements_beyond(&known.into_iter().collect(), usize::MAX).unwrap();
        let statements = statements.into_iter().map(|(_, bytes)| bytes).collect();
        assert!(target.admit_statements(statements, &peer, now_ms).unwrap().refused.is_empty());
        let batch = source.changes_beyond(&target.clock().unwrap(), BUDGET).unwrap();
        let changes = batch.changes.into_iter().map(|(_, _, change)| change).collect();
        let admission = target.admit(changes, &peer, now_ms).unwrap();
        assert!(admission.refused.is_empty() && admission.parked + admission.held == 0, "{admission:?}");
        admission.applied
    }

    /// Stops A and starts it again.
    fn reopen(&mut self) {
        let data = self.devices["A"].data.clone();
        self.move_to(data);
    }

    /// What is on disk while A runs is all that the next A gets; nothing of the old one is closed before.
    fn crash(&mut self) {
        let data = self.new_directory();
        copy(&self.devices["A"].data, &data);
        self.move_to(data);
    }

    /// Ends A and starts it on a data directory.
    fn move_to(&mut self, data: PathBuf) {
        let Device { key, clock, node, .. } = self.devices.remove("A").unwrap();
        drop(node);
        let node = open(&data, &key, &clock);
        self.devices.insert("A".to_owned(), Device { key, data, clock, node });
    }
}

fn open(data: &FsPath, key: &SigningKey, clock: &Arc<Clock>) -> Node {
    let store = SqliteStore::open(data.join("store.db")).unwrap();
    Node::open(Arc::new(store), key.clone(), Arc::<Clock>::clone(clock)).unwrap()
}

/// The key of a user, device or agent: one for each name.
fn key(name: &str) -> SigningKey {
    SigningKey::from_bytes(blake3::hash(name.as_bytes()).as_bytes())
}

fn copy(from: &FsPath, to: &FsPath) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
