//! Letting a device in: by the right secret, once, in time; and what becomes of it when either side is stopped in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use memlet_auth::proof::InviteSecret;
use memlet_node::{Environment, Node, Role};
use memlet_server::home::SystemEnvironment;
use memlet_server::quic::{EndpointOptions, Identity};
use memlet_server::{INVITE_VALID, Invitation, InviteOptions};
use memlet_store::MemoryStore;
use memlet_sync::enrol;
use memlet_sync::invite::Invite;
use memlet_sync::message::Control;
use memlet_tests::{Device, Running};
use serde_json::Value as Json;

use super::attacker::{Attacker, fresh_key, name, within};
use super::support::{LOOPBACK, Numbers, Serving, assert_level, by_rising_key, join, texts};

/// An inviter that waits, and what it printed.
fn invite(device: &Device) -> (Running, String) {
    let invite = device.start(["invite", "--addr", LOOPBACK]);
    let uri = invite.line();
    (invite, uri)
}

#[test]
fn an_invite_on_loopback_alone_brings_a_device_in_and_says_so_on_both_sides() {
    let [inviter, joiner] = by_rising_key();
    inviter.remember("before");
    let mut invite = inviter.start(["invite", "--addr", LOOPBACK, "--json"]);
    let told: Json = serde_json::from_str(&invite.line()).unwrap();
    let uri = told["uri"].as_str().unwrap();
    let addresses = Invite::parse(uri).unwrap().addresses;
    assert!(!addresses.is_empty() && addresses.iter().all(|address| address.as_str().starts_with("127.0.0.1:")));

    let joined = joiner.run(["join", uri, "--json"]).json();
    let who = inviter.run(["id", "--json"]).json();
    assert_eq!(joined["level"], true);
    assert_eq!((&joined["namespace"], &joined["inviter"]), (&who["namespace"], &who["device"]));
    assert!(invite.wait().success());
    let told: Json = serde_json::from_str(&invite.line()).unwrap();
    assert_eq!((&told["device"], &told["level"]), (&joiner.run(["id", "--json"]).json()["device"], &true.into()));
    assert_eq!(texts(&joiner), ["before"]);
    assert_level(&inviter, &joiner);
}

#[test]
fn an_invite_where_it_listens_everywhere_can_be_used_over_loopback() {
    let [inviter, joiner] = by_rising_key();
    inviter.remember("before");
    let mut invite = inviter.start(["invite"]);
    let mut read = Invite::parse(&invite.line()).unwrap();
    let (_, port) = read.addresses[0].as_str().rsplit_once(':').unwrap();
    read.addresses = vec![memlet_sync::name::Address::new(&format!("127.0.0.1:{port}")).unwrap()];
    joiner.run(["join", &read.to_uri()]).succeeded();
    assert!(invite.wait().success());
    assert_level(&inviter, &joiner);
}

#[test]
fn who_does_not_know_the_secret_stays_out_and_the_invite_stays_open() {
    let [inviter, stranger, joiner] = by_rising_key();
    inviter.remember("dear");
    let (mut invite, uri) = invite(&inviter);
    let guessed = Invite { secret: InviteSecret::from_bytes([0; 32]), ..Invite::parse(&uri).unwrap() }.to_uri();
    assert_eq!(stranger.run(["join", &guessed, "--json"]).failed_with_code(4), "INVITE_WRONG_SECRET");
    assert_eq!(texts(&stranger), [""; 0]);
    assert_eq!(inviter.run(["devices", "--json"]).json().as_array().unwrap().len(), 1);
    joiner.run(["join", &uri]).succeeded();
    assert!(invite.wait().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invite_lets_in_one_device_which_may_ask_again() {
    let [inviter, second] = by_rising_key();
    inviter.remember("dear");
    let (mut invite, uri) = invite(&inviter);
    let read = Invite::parse(&uri).unwrap();
    let address = read.addresses[0].as_str().parse().unwrap();
    // the first device is let in and gone before it has anything
    let key = fresh_key();
    let welcome = async || {
        let mut first = Attacker::greet(key.clone(), address).await;
        let (peer, exporter) = (first.connection.peer(), first.connection.exporter());
        let request = enrol::request(&read, &peer, &key.public(), &exporter, name()).unwrap();
        first.control.outgoing.put(&request);
        first.control.outgoing.flush().await.unwrap();
        match within(first.control.incoming.next()).await.unwrap() {
            Some(Control::Welcome(statements)) => (first, statements),
            other => panic!("{other:?}"),
        }
    };
    let (_, statements) = welcome().await;
    assert_eq!(second.run(["join", &uri, "--json"]).failed_with_code(4), "INVITE_USED");
    let (first, again) = welcome().await;
    assert_eq!(again, statements, "it is let in once");
    assert_eq!(inviter.run(["devices", "--json"]).json().as_array().unwrap().len(), 2);
    assert_eq!(texts(&second), [""; 0]);
    drop(first);
    invite.signal("INT");
    assert!(!invite.wait().success(), "nobody has what it was invited to");
}

#[test]
fn an_invite_that_was_used_is_over() {
    let [inviter, joiner, late] = by_rising_key();
    let (mut invite, uri) = invite(&inviter);
    joiner.run(["join", &uri]).succeeded();
    assert!(invite.wait().success());
    assert_eq!(late.run(["join", &uri, "--json"]).failed_with_code(1), "PEER_NO_ANSWER");
    // also where the same device serves on at the same address
    let serving = Serving::at(&inviter, Invite::parse(&uri).unwrap().addresses[0].as_str());
    assert_eq!(late.run(["join", &uri, "--json"]).failed_with_code(4), "INVITE_WRONG_SECRET");
    assert_eq!(serving.end(), [("INVITE_WRONG_SECRET".to_owned(), 1)].into());
}

/// The inviter is a node in this process, because only its clock can be set.
#[tokio::test(flavor = "multi_thread")]
async fn an_invite_that_has_expired_lets_no_one_in() {
    struct Ahead(AtomicU64);
    impl Environment for Ahead {
        fn now_ms(&self) -> u64 {
            SystemEnvironment.now_ms() + self.0.load(Ordering::Relaxed)
        }
        fn fill_random(&self, out: &mut [u8]) {
            SystemEnvironment.fill_random(out);
        }
    }
    let key = fresh_key();
    let clock = Arc::new(Ahead(AtomicU64::new(0)));
    let node = Node::open(Arc::new(MemoryStore::new()), key.clone(), clock.clone()).unwrap();
    let namespace = node.create_namespace(&fresh_key()).unwrap();
    let options = InviteOptions {
        name: name(),
        endpoint: EndpointOptions { listen: vec![LOOPBACK.parse().unwrap()], ..EndpointOptions::default() },
        namespace: namespace.id(),
        role: Role::Device,
        root: None,
    };
    let invitation = Invitation::open(node.clone(), Identity::new(key), options).await.unwrap();
    let uri = invitation.uri().to_string();
    let waiting = tokio::spawn(invitation.joined());
    clock.0.store(u64::try_from(INVITE_VALID.as_millis()).unwrap() + 1_000, Ordering::Relaxed);

    let join = tokio::task::spawn_blocking(move || {
        let joiner = Device::new();
        (joiner.run(["join", &uri, "--json"]).failed_with_code(4), texts(&joiner))
    });
    assert_eq!(within(join).await.unwrap(), ("INVITE_EXPIRED".to_owned(), Vec::new()));
    assert_eq!(namespace.devices().unwrap().len(), 1);
    assert_eq!(node.refusals(), [("INVITE_EXPIRED", 1)].into());
    waiting.abort();
}

#[test]
fn joining_again_syncs_and_joining_another_memory_is_refused() {
    let [inviter, joiner] = by_rising_key();
    inviter.remember("first");
    let (mut used, uri) = invite(&inviter);
    joiner.run(["join", &uri]).succeeded();
    assert!(used.wait().success());

    inviter.remember("second");
    let serving = Serving::at(&inviter, Invite::parse(&uri).unwrap().addresses[0].as_str());
    joiner.run(["join", &uri]).succeeded();
    assert!(serving.end().is_empty());
    assert_level(&inviter, &joiner);

    let other = Device::new();
    other.remember("of another memory");
    let (mut open, uri) = invite(&other);
    assert_eq!(joiner.run(["join", &uri, "--json"]).failed_with_code(5), "OTHER_MEMORY");
    assert_eq!(texts(&joiner), ["first", "second"]);
    open.signal("INT");
    open.wait();
}

#[test]
fn an_invite_that_is_interrupted_leaves_nothing_behind() {
    let [inviter, joiner] = by_rising_key();
    inviter.remember("dear");
    let (mut interrupted, uri) = invite(&inviter);
    interrupted.signal("INT");
    assert!(!interrupted.wait().success(), "nobody has joined");
    inviter.run(["doctor"]).succeeded();
    assert_eq!(joiner.run(["join", &uri, "--json"]).failed_with_code(1), "PEER_NO_ANSWER");
    join(&inviter, &joiner);
    assert_level(&inviter, &joiner);
}

#[test]
fn a_joiner_that_is_killed_at_any_moment_joins_by_the_same_invite() {
    let mut moments = Numbers(76);
    let mut repeated = 0;
    for round in 0..12 {
        let [inviter, joiner] = by_rising_key();
        inviter.remember("dear");
        let (mut invite, uri) = invite(&inviter);
        let mut killed = joiner.start(["join", &uri]);
        thread::sleep(Duration::from_millis(round * 10 + moments.below(10)));
        killed.kill();
        if !killed.printed().iter().any(|line| line.starts_with("Joined")) {
            // this fails only if the invite has ended, content, before the joiner could say so
            repeated += u64::from(joiner.run(["join", &uri]).code == Some(0));
        }
        assert!(invite.wait().success());
        assert_level(&inviter, &joiner);
        joiner.run(["doctor"]).succeeded();
        assert_eq!(inviter.run(["devices", "--json"]).json().as_array().unwrap().len(), 2);
    }
    assert!(repeated > 0, "no round has shown anything");
}
