//! What a process that serves refuses. Each attack leaves no trace but a count, and everyone else is served as before.

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use memlet_auth::grant::{Abilities, Cap, Grant, Terms};
use memlet_auth::keys::SigningKey;
use memlet_core::codec::Writer;
use memlet_core::id::{NamespaceId, PublicKey};
use memlet_core::path::Path;
use memlet_node::{Caller, Node, Role};
use memlet_server::home::SystemEnvironment;
use memlet_server::quic::FrameStream;
use memlet_store::MemoryStore;
use memlet_sync::clock::ActorClock;
use memlet_sync::code::CloseCode;
use memlet_sync::message::{Ack, ChangeEntry, Changes, Message, State};
use memlet_sync::replica::{Budget, Replica as _, StampedChange};
use memlet_tests::Device;
use serde_json::json;

use super::attacker::{Attacker, Forged, ended, fresh_key, within};
use super::support::{Serving, assert_level, by_rising_key, home, join, texts};

/// A memory on two devices, one of which serves while it is attacked.
struct Siege {
    served: Device,
    honest: Device,
    namespace: NamespaceId,
    root: SigningKey,
}

impl Siege {
    fn new() -> Self {
        let [served, honest] = by_rising_key();
        served.remember("dear");
        join(&served, &honest);
        let opened = home(&served);
        let (namespace, root) = (opened.namespace().unwrap().unwrap().id(), opened.root_key().unwrap().unwrap());
        Self { served, honest, namespace, root }
    }

    /// A grant of everything to `device`, by the namespace's own key.
    fn grant(&self, device: PublicKey, expires: Option<u64>) -> Grant {
        everything(&self.root, device, expires)
    }

    /// The key of a device that has been let in, and its grant.
    fn let_in(&self) -> (SigningKey, Grant) {
        let key = fresh_key();
        let here = home(&self.served).namespace().unwrap().unwrap();
        let chain = here.grant_device(key.public(), Role::Device, Some(&self.root)).unwrap();
        (key, Grant::parse(&chain[0]).unwrap())
    }

    /// Serves while `attack` lasts. After it all is as it was, honest devices are served, and what was refused is `counted`.
    async fn withstands(self, attack: impl AsyncFnOnce(&Self, SocketAddr), counted: &[(&str, u64)]) {
        let state = || {
            let devices = self.served.run(["devices", "--json"]).json();
            let devices: Vec<_> = devices.as_array().unwrap().iter().map(|row| row["device"].clone()).collect();
            (["recall", "list", "ls"].map(|read| self.served.run([read, "--json"]).succeeded()), devices)
        };
        let before = state();
        let serving = Serving::begin(&self.served);
        attack(&self, serving.address).await;
        assert_eq!(state(), before);
        self.honest.remember("all the same");
        self.honest.run(["sync", "--peer", &serving.address.to_string()]).succeeded();
        let refused = serving.end();
        assert_level(&self.served, &self.honest);
        assert_eq!(texts(&self.served), ["dear", "all the same"]);
        let counted = counted.iter().map(|(code, times)| ((*code).to_owned(), *times));
        assert_eq!(refused, counted.collect());
        self.served.run(["doctor"]).succeeded();
    }
}

fn everything(root: &SigningKey, audience: PublicKey, expires: Option<u64>) -> Grant {
    let caps = vec![Cap { abilities: Abilities::ALL, path: Path::ROOT }];
    Grant::root(root, Terms { audience, caps, not_before: 0, expires, depth: 0, nonce: [7; 16] }).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_nobody_has_let_in() {
    let attack = async |siege: &Siege, address| {
        let attacker = Attacker::greet(fresh_key(), address).await;
        let mut stream = attacker.open(siege.namespace, Vec::new()).await;
        assert_eq!(ended(&mut stream).await, CloseCode::Denied);
        // that another was let in helps no one
        let of_another = siege.grant(home(&siege.honest).node().device(), None).to_bytes();
        let mut stream = attacker.open(siege.namespace, vec![of_another]).await;
        assert_eq!(ended(&mut stream).await, CloseCode::Denied);
    };
    Siege::new().withstands(attack, &[("OPEN_NO_GRANT", 2)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_with_the_grant_of_another_namespace() {
    let attack = async |siege: &Siege, address| {
        let attacker = Attacker::greet(fresh_key(), address).await;
        let elsewhere = everything(&fresh_key(), attacker.device(), None).to_bytes();
        let mut stream = attacker.open(siege.namespace, vec![elsewhere]).await;
        assert_eq!(ended(&mut stream).await, CloseCode::Denied);
    };
    // once for the grant, once for who showed it
    Siege::new().withstands(attack, &[("GRANT_NAMESPACE", 2)]).await;
}

/// An honest device that has a memory of its own is told no more than a stranger, and its owner learns why.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_with_another_memory() {
    let attack = async |_: &Siege, address: SocketAddr| {
        let stranger = Device::new();
        stranger.remember("of my own");
        let sync = ["sync", "--peer", &address.to_string(), "--json"];
        let synced = stranger.run(sync);
        let devices: serde_json::Value = serde_json::from_str(&synced.stdout).unwrap();
        assert_eq!(devices["devices"][0]["error"]["code"], "DENIED");
        assert_eq!(synced.code, Some(1));
        assert_eq!(stranger.run(sync).failed_with_code(1), "NOT_LEVEL");
        assert_eq!(texts(&stranger), ["of my own"]);
    };
    Siege::new().withstands(attack, &[("NAMESPACE_UNKNOWN", 2)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_whose_grant_has_expired() {
    let attack = async |siege: &Siege, address| {
        let attacker = Attacker::greet(fresh_key(), address).await;
        let expired = siege.grant(attacker.device(), Some(1_000_000_000)).to_bytes();
        let mut stream = attacker.open(siege.namespace, vec![expired]).await;
        assert_eq!(ended(&mut stream).await, CloseCode::Denied);
    };
    Siege::new().withstands(attack, &[("OPEN_NO_GRANT", 1)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_were_tampered_with() {
    let siege = Siege::new();
    let (key, grant) = siege.let_in();
    let attack = async |siege: &Siege, address| {
        let good = change_by(&key, siege.namespace, &grant);
        let mut other_bytes = good.clone();
        *other_bytes.change.last_mut().unwrap() ^= 1;
        let mut other_signature = good.clone();
        other_signature.signatures.author.0[0] ^= 1;
        let other_time = StampedChange { time_ms: good.time_ms + 1, ..good };
        for tampered in [other_bytes, other_signature, other_time] {
            let attacker = Attacker::greet(key.clone(), address).await;
            let mut stream = begin_exchange(&attacker, siege.namespace, &grant).await;
            stream.outgoing.put(&changes(&grant, tampered));
            stream.outgoing.flush().await.unwrap();
            let acknowledged = acknowledgement(&mut stream).await;
            assert!(acknowledged.durable.is_empty(), "it is said to be held: {acknowledged:?}");
        }
    };
    siege.withstands(attack, &[("CHANGE_MALFORMED", 1), ("STAMP_AUTHOR_SIGNATURE", 2)]).await;
}

/// That the attack above fails for no other reason than that it is one.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_change_as_it_was_signed_is_taken_in() {
    let siege = Siege::new();
    let (key, grant) = siege.let_in();
    let serving = Serving::begin(&siege.served);
    let attacker = Attacker::greet(key.clone(), serving.address).await;
    let mut stream = begin_exchange(&attacker, siege.namespace, &grant).await;
    stream.outgoing.put(&changes(&grant, change_by(&key, siege.namespace, &grant)));
    stream.outgoing.flush().await.unwrap();
    acknowledgement(&mut stream).await;
    assert!(serving.end().is_empty());
    assert!(texts(&siege.served).contains(&"forged".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_message_and_frames_that_end_too_early() {
    let siege = Siege::new();
    let (key, grant) = siege.let_in();
    let attack = async |siege: &Siege, address| {
        let attacker = Attacker::greet(fresh_key(), address).await;
        type Write = fn(&mut Writer);
        let garbage: [(Write, CloseCode); 4] = [
            (|w| w.text("garbage"), CloseCode::Malformed),
            (|w| w.array(5), CloseCode::Malformed),
            (|w| (0..100_000).for_each(|_| w.array(1)), CloseCode::Malformed),
            (|w| begin_part(w, 1 << 40), CloseCode::TooLarge),
        ];
        for (garbage, code) in garbage {
            let mut stream = attacker.say(&Forged(garbage)).await;
            assert_eq!(ended(&mut stream).await, code);
        }
        // the stream ends where the rest of the message should come: before it was let in, and after
        let truncated = Forged(|w| begin_part(w, 100));
        let stream = attacker.say(&truncated).await;
        // which end is noticed first is chance
        drop(within(stream.finish()).await);
        let attacker = Attacker::greet(key, address).await;
        let mut stream = begin_exchange(&attacker, siege.namespace, &grant).await;
        stream.outgoing.put(&truncated);
        drop(within(stream.finish()).await);
        // and what is not even QUIC
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for len in [0, 1, 20, 1_200, 60_000] {
            socket.send_to(&vec![0xc3; len], address).unwrap();
        }
    };
    siege.withstands(attack, &[("MALFORMED", 5), ("TOO_LARGE", 1)]).await;
}

/// The first ten bytes of a message of `total`.
fn begin_part(w: &mut Writer, total: u64) {
    w.array(4);
    w.uint(0);
    w.uint(0);
    w.uint(total);
    w.bytes(&[9; 10]);
}

/// What a device with this grant writes without having seen anything of others.
fn change_by(key: &SigningKey, namespace: NamespaceId, grant: &Grant) -> StampedChange {
    const EVERYTHING: Budget = Budget { changes: 10, bytes: 1 << 20 };
    let node = Node::open(Arc::new(MemoryStore::new()), key.clone(), Arc::new(SystemEnvironment)).unwrap();
    let here = node.join_namespace(namespace, &[grant.to_bytes()]).unwrap();
    here.invoke(&Caller::Device, "v/ops/memory", &json!({"command": "remember", "text": "forged"})).unwrap();
    let mut batch = here.replica().changes_beyond(&ActorClock::default(), EVERYTHING).unwrap();
    assert_eq!(batch.changes.len(), 1);
    batch.changes.remove(0).2
}

fn changes(grant: &Grant, change: StampedChange) -> Message {
    let StampedChange { time_ms, signatures, change, .. } = change;
    let entries = vec![ChangeEntry { grant: 0, time_ms, signatures, change }];
    Message::Changes(Changes { grants: vec![grant.id().short()], entries, more: false })
}

/// Is let in, and shows itself empty.
async fn begin_exchange(attacker: &Attacker, namespace: NamespaceId, grant: &Grant) -> FrameStream {
    let mut stream = attacker.open(namespace, vec![grant.to_bytes()]).await;
    let epoch = loop {
        match within(stream.incoming.next()).await.unwrap() {
            Some(Message::State(state)) => break state.epoch,
            Some(Message::Open(_)) => {}
            other => panic!("{other:?}"),
        }
    };
    let state = State { epoch, clock: ActorClock::default(), statements: BTreeSet::default() };
    stream.outgoing.put(&Message::State(state));
    stream.outgoing.flush().await.unwrap();
    stream
}

async fn acknowledgement(stream: &mut FrameStream) -> Ack {
    loop {
        match within(stream.incoming.next()).await.unwrap() {
            Some(Message::Ack(ack)) => return ack,
            Some(_) => {}
            None => panic!("the server ended the stream"),
        }
    }
}
