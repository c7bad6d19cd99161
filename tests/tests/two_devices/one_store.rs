//! One store under many writers: what was acknowledged is there once, whoever else wrote or was killed meanwhile.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use memlet_node::Caller;
use memlet_tests::Device;
use serde_json::json;

use super::support::{Numbers, home, texts};

/// Adds an item and gives its text, if that was acknowledged.
fn acknowledged(device: &Device, text: String, killed_after: Option<Duration>) -> Option<String> {
    let mut remember = device.start(["remember", &text]);
    match killed_after {
        Some(moment) => {
            thread::sleep(moment);
            remember.kill();
        }
        None => assert!(remember.wait().success()),
    }
    remember.printed().iter().any(|line| line.starts_with("Remembered")).then_some(text)
}

/// Each text once, and the store sound.
fn found(device: &Device) -> BTreeSet<String> {
    let found = texts(device);
    let different: BTreeSet<String> = found.iter().cloned().collect();
    assert_eq!(different.len(), found.len(), "an item is there twice");
    device.run(["doctor"]).succeeded();
    different
}

#[test]
fn two_writers_lose_nothing() {
    const EACH: usize = 25;
    let device = Device::new();
    let written: BTreeSet<String> = thread::scope(|scope| {
        let device = &device;
        let write = |writer: &'static str| {
            move || (0..EACH).filter_map(move |n| acknowledged(device, format!("{writer} {n}"), None)).collect()
        };
        let writers: Vec<_> = ["one", "other"].map(|name| scope.spawn(write(name))).into();
        writers.into_iter().flat_map(|writer| -> Vec<String> { writer.join().unwrap() }).collect()
    });
    assert_eq!(written.len(), 2 * EACH);
    assert_eq!(found(&device), written);
}

#[test]
fn twenty_threads_on_one_node_lose_nothing() {
    const THREADS: usize = 20;
    const EACH: usize = 10;
    let device = Device::new();
    device.run(["write", "w/made", "true"]).succeeded();
    let opened = home(&device);
    let namespace = opened.namespace().unwrap().unwrap();
    let remember = |text: String| {
        let input = json!({"command": "remember", "text": text});
        let output = namespace.invoke(&Caller::Device, "v/ops/memory", &input).unwrap();
        output["n"].as_u64().unwrap()
    };
    let write = |thread: usize| (0..EACH).map(|n| remember(format!("{thread} {n}"))).collect::<Vec<_>>();
    let numbers: BTreeSet<u64> = thread::scope(|scope| {
        let write = &write;
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || write(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(numbers, (1..=(THREADS * EACH) as u64).collect(), "every call got a place of its own");
    assert_eq!(found(&device).len(), THREADS * EACH);
}

#[test]
fn fifty_kills_at_random_moments_beside_another_writer_lose_nothing() {
    const KILLS: u64 = 50;
    let device = Device::new();
    device.remember("before");
    let done = AtomicBool::new(false);
    let mut moments = Numbers(20);
    let (mut written, killed) = thread::scope(|scope| {
        let beside = scope.spawn(|| {
            let going = (0..).take_while(|_: &u64| !done.load(Ordering::Relaxed));
            going.filter_map(|n| acknowledged(&device, format!("beside {n}"), None)).collect::<BTreeSet<_>>()
        });
        let mut killed = |n| {
            let moment = Duration::from_micros(moments.below(60_000));
            acknowledged(&device, format!("killed {n}"), Some(moment))
        };
        let killed: BTreeSet<String> = (0..KILLS).filter_map(&mut killed).collect();
        done.store(true, Ordering::Relaxed);
        (beside.join().unwrap(), killed)
    });
    // both ways of ending must have happened, or this has shown nothing
    assert!((1..KILLS).contains(&(killed.len() as u64)), "{} acknowledged", killed.len());
    written.extend(killed);
    written.insert("before".into());
    let found = found(&device);
    let lost: Vec<_> = written.difference(&found).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    assert!(found.difference(&written).all(|text| text.starts_with("killed")), "nothing was made up");
}
