//! The demo, which checks every statement it makes.

use std::time::{Duration, Instant};

use memlet_tests::{Device, executable};

#[test]
fn the_demo_tells_only_what_is_true_and_uses_no_home() {
    let device = Device::new();
    executable();
    let began = Instant::now();
    let told = device.run(["demo"]).succeeded();
    assert!(began.elapsed() < Duration::from_secs(10), "took {:?}", began.elapsed());
    let stated = told.lines().filter(|line| line.starts_with("  ok ")).count();
    assert!(stated >= 15, "{told}");

    let output = device.run(["demo", "--json"]).json();
    assert_eq!(output["ok"], serde_json::json!(true));
    assert_eq!(output["statements"].as_array().unwrap().len(), stated);
    assert!(!device.home().exists());
}
