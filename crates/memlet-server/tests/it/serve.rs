//! Nodes that serve: what one remembers the others recall, whoever wrote it and whatever broke in between.

use std::time::Duration;

use memlet_node::Role;
use memlet_server::SyncWith;
use memlet_sync::code::CloseCode;
use tokio::time::Instant;

use crate::device::Device;
use crate::support::{until, within};

#[tokio::test]
async fn what_one_remembers_the_other_recalls_in_both_directions() {
    let a = Device::first(1, 100);
    let b = Device::let_in_by(&a, 2);
    a.remember("before they met");
    let a_serves = a.serve(vec![]);
    let b_serves = b.serve(vec![a_serves.peer()]);
    b.recalls("before they met").await;
    a.remember("from a, live");
    b.recalls("from a, live").await;
    b.remember("from b, live");
    a.recalls("from b, live").await;
    assert_eq!(a.recall(), b.recall());
    b_serves.stop().await;
    a_serves.stop().await;
}

#[tokio::test]
async fn commits_of_other_processes_of_a_store_are_carried_too() {
    let a = Device::first(1, 100);
    let b = Device::let_in_by(&a, 2);
    let a_serves = a.serve(vec![]);
    let _b_serves = b.serve(vec![a_serves.peer()]);
    a.process().remember("by another process");
    b.recalls("by another process").await;
    b.process().remember("and back");
    a.recalls("and back").await;
}

#[tokio::test]
async fn a_change_passes_through_a_node_in_the_middle() {
    let a = Device::first(1, 100);
    let (b, c) = (Device::let_in_by(&a, 2), Device::let_in_by(&a, 3));
    let a_serves = a.serve(vec![]);
    let _b_serves = b.serve(vec![a_serves.peer()]);
    let _c_serves = c.serve(vec![a_serves.peer()]);
    b.remember("from b by way of a");
    c.recalls("from b by way of a").await;
}

#[tokio::test]
async fn a_peer_that_comes_back_is_found_again() {
    let a = Device::first(1, 100);
    let b = Device::let_in_by(&a, 2);
    let a_serves = a.serve(vec![]);
    let (address, peer) = (a_serves.address, a_serves.peer());
    let _b_serves = b.serve(vec![peer]);
    a.remember("first");
    b.recalls("first").await;
    a_serves.stop().await;
    a.remember("while apart");
    b.remember("meanwhile");
    until(|| std::net::UdpSocket::bind(address).is_ok()).await;
    let _again = a.serve_on(address, vec![]);
    b.recalls("while apart").await;
    a.recalls("meanwhile").await;
}

#[tokio::test]
async fn a_namespace_that_comes_later_is_opened_on_the_standing_connection() {
    let (a, other) = (Device::first(1, 100), Device::first(9, 101));
    let b = Device::let_in_by(&a, 2);
    let a_serves = a.serve(vec![]);
    let _b_serves = b.serve(vec![a_serves.peer()]);
    a.remember("connected");
    b.recalls("connected").await;

    let second = other.node.namespace(other.home()).unwrap();
    for device in [&a, &b] {
        let chain = second.grant_device(device.key(), Role::Device, None).unwrap();
        device.node.join_namespace(second.id(), &chain).unwrap();
    }
    a.remember_in(second.id(), "in the second");
    until(|| b.recall_in(second.id()).contains("in the second")).await;
}

#[tokio::test]
async fn a_sync_brings_both_sides_level_and_ends() {
    let a = Device::first(1, 100);
    let b = Device::let_in_by(&a, 2);
    (0..50).for_each(|n| a.remember(&format!("a {n}")));
    (0..50).for_each(|n| b.remember(&format!("b {n}")));
    let a_serves = a.serve(vec![]);
    for (attempt, applied) in [(1, 50), (2, 0)] {
        let syncs = b.sync(&[&a_serves]).await;
        let [sync] = &syncs[..] else { panic!("{syncs:?}") };
        assert_eq!(sync.device, a.key());
        let [Ok(outcome)] = &sync.namespaces.as_ref().unwrap()[..] else { panic!("{sync:?}") };
        assert!(outcome.level, "{outcome:?}");
        assert_eq!((outcome.code, outcome.namespace), (CloseCode::Done, a.home()));
        assert_eq!((outcome.stats.applied, outcome.stats.sent.changes), (applied, applied), "sync {attempt}");
    }
    assert_eq!(a.recall().lines().count(), 100);
    assert_eq!(a.recall(), b.recall());
    assert_eq!(a.node.refusals(), [].into());
}

#[tokio::test]
async fn two_devices_that_a_third_let_in_sync_without_it() {
    let a = Device::first(1, 100);
    let b = Device::let_in_by(&a, 2);
    let c = Device::let_in_by(&a, 3);
    b.remember("b's");
    c.remember("c's");
    let b_serves = b.serve(vec![]);
    let syncs = c.sync(&[&b_serves]).await;
    let [Ok(outcome)] = &syncs[0].namespaces.as_ref().unwrap()[..] else { panic!("{syncs:?}") };
    assert!(outcome.level, "{outcome:?}");
    assert_eq!(b.recall(), c.recall());
    assert_eq!(b.recall().lines().count(), 2);
}

#[tokio::test]
async fn a_device_without_a_right_is_told_nothing() {
    let (a, stranger) = (Device::first(1, 100), Device::first(7, 107));
    a.remember("private");
    let a_serves = a.serve(vec![]);
    let syncs = stranger.sync(&[&a_serves]).await;
    let [Ok(outcome)] = &syncs[0].namespaces.as_ref().unwrap()[..] else { panic!("{syncs:?}") };
    assert_eq!((outcome.code, outcome.level), (CloseCode::Denied, false));
    assert_eq!(outcome.stats.received.batches, 0);
    assert_eq!(a_serves.refusals("NAMESPACE_UNKNOWN"), 1);
    assert_eq!(a.node.peers().unwrap(), [], "a stranger leaves no trace");
}

#[tokio::test]
async fn a_node_that_is_not_there_is_told_apart_from_one_that_refuses() {
    let a = Device::first(1, 100);
    let b = Device::let_in_by(&a, 2);
    let a_serves = a.serve(vec![]);
    let mut impostor = a_serves.peer();
    impostor.device = Device::new(5).key();
    let sync = memlet_server::sync_once(b.node.clone(), b.identity(), crate::device::name(), SyncWith::Only(impostor));
    let syncs = within(sync).await.unwrap();
    assert_eq!(syncs[0].namespaces.as_ref().unwrap_err().code(), "PEER_KEY_MISMATCH");
}

#[tokio::test]
async fn a_server_that_stops_lets_go_of_its_peers_in_time_and_keeps_what_it_acknowledged() {
    let a = Device::first(1, 100);
    let b = Device::let_in_by(&a, 2);
    let a_serves = a.serve(vec![]);
    let b_serves = b.serve(vec![a_serves.peer()]);
    (0..200).for_each(|n| b.remember(&format!("item {n}")));
    a.recalls("item 0").await;
    let began = Instant::now();
    a_serves.stop().await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    // the disk of a device whose power fails loses what was not synced, and nothing of what was taken in
    let taken = a.recall();
    a.crash();
    assert_eq!(a.process().recall(), taken);
    b_serves.stop().await;
}

#[tokio::test]
async fn two_servers_that_name_each_other_agree() {
    let a = Device::first(1, 100);
    let b = Device::let_in_by(&a, 2);
    let a_serves = a.serve(vec![]);
    let b_serves = b.serve(vec![a_serves.peer()]);
    let (a_address, b_peer) = (a_serves.address, b_serves.peer());
    a_serves.stop().await;
    until(|| std::net::UdpSocket::bind(a_address).is_ok()).await;
    let a_serves = a.serve_on(a_address, vec![b_peer]);
    for n in 0..20 {
        a.remember(&format!("a {n}."));
        b.remember(&format!("b {n}."));
    }
    a.recalls("b 19.").await;
    b.recalls("a 19.").await;
    until(|| a.recall() == b.recall()).await;
    assert_eq!(a.recall().lines().count(), 40);
    a_serves.stop().await;
    b_serves.stop().await;
}

#[tokio::test]
async fn both_sides_may_have_more_to_say_than_any_window_and_any_frame_holds() {
    let a = Device::first(1, 100);
    let b = Device::let_in_by(&a, 2);
    let text = "x".repeat(900_000);
    for n in 0..3 {
        a.write(&format!("w/a{n}"), &[&text, &text, &text]);
        b.write(&format!("w/b{n}"), &[&text, &text, &text]);
    }
    let a_serves = a.serve(vec![]);
    let syncs = b.sync(&[&a_serves]).await;
    let [Ok(outcome)] = &syncs[0].namespaces.as_ref().unwrap()[..] else { panic!("{syncs:?}") };
    assert!(outcome.level, "{outcome:?}");
    assert!(outcome.sent_bytes > 8_000_000 && outcome.received_bytes > 8_000_000, "{outcome:?}");
}
