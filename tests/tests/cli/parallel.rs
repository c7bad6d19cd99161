//! Many processes on one data directory, and processes that are killed: what was acknowledged is there, once.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use memlet_tests::{Device, names};

/// The texts of what is recalled.
fn recalled(device: &Device) -> Vec<String> {
    device.recall().iter().map(|line| line.split_once(". ").expect("a line has a number").1.to_owned()).collect()
}

#[test]
fn twenty_processes_at_once_lose_nothing() {
    let device = Device::new();
    let texts: Vec<String> = (0..20).map(|n| format!("item {n}")).collect();
    // Also the first use is at once.
    let children: Vec<_> = texts.iter().map(|text| device.start(["remember", text, "--json"])).collect();
    let mut numbers: Vec<u64> = children
        .into_iter()
        .map(|mut child| {
            assert!(child.wait().success());
            serde_json::from_str::<serde_json::Value>(&child.line()).unwrap()["n"].as_u64().unwrap()
        })
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=20).collect::<Vec<u64>>(), "two items got one number");
    let mut found = recalled(&device);
    assert_eq!(found.len(), texts.len());
    found.sort();
    assert_eq!(found.iter().collect::<BTreeSet<_>>(), texts.iter().collect::<BTreeSet<_>>());
    assert_eq!(names(&device.home()), ["device.key", "root.key", "store.sqlite"]);
    device.run(["doctor"]).succeeded();
}

#[test]
fn two_first_uses_at_once_end_with_one_device_and_one_memory() {
    for _ in 0..5 {
        let device = Device::new();
        let mut children = ["a", "b"].map(|text| device.start(["remember", text]));
        assert!(children.iter_mut().all(|child| child.wait().success()));
        assert_eq!(recalled(&device).len(), 2);
        assert_eq!(device.run(["devices", "--json"]).json().as_array().unwrap().len(), 1);
    }
}

/// A reply is a promise, also if the process dies right after it, and one that dies before it has promised nothing.
#[test]
fn processes_killed_at_any_moment_lose_nothing_that_they_acknowledged() {
    const ROUNDS: u32 = 50;
    let device = Device::new();
    let mut acknowledged = Vec::new();
    // How long one takes that is let be, as measured last.
    let mut whole = Duration::ZERO;
    for round in 0..ROUNDS {
        let text = format!("item {round}");
        let began = Instant::now();
        let mut child = device.start(["remember", &text]);
        // At once in the first round, and so before anything is made. Then everywhere up to the reply, and right after it.
        match round % 5 {
            4 => {
                assert!(child.line().starts_with("Remembered"));
                whole = began.elapsed();
                acknowledged.push(text.clone());
            }
            part => thread::sleep(whole * (part * ROUNDS + round) / (4 * ROUNDS)),
        }
        child.kill();
        if child.printed().iter().any(|line| line.starts_with("Remembered")) {
            acknowledged.push(text);
        }
    }
    let found = recalled(&device);
    assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len(), "an item is there twice");
    let lost: Vec<_> = acknowledged.iter().filter(|text| !found.contains(text)).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    assert!(acknowledged.len() < ROUNDS as usize, "no process died before its reply, so nothing is shown");
    device.run(["doctor"]).succeeded();
}
