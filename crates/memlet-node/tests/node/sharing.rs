//! Several processes and threads on one store.

use crate::support::{Device, first};

#[test]
fn two_processes_never_write_from_an_old_view() {
    let a = first(1, 100);
    let other = a.process();
    for n in 0..100 {
        let writer: &Device = if n % 3 == 0 { &other } else { &a };
        writer.remember(&format!("item {n}"));
    }
    let expected: Vec<String> = (0..100).map(|n| format!("{}. item {n}", n + 1)).collect();
    assert_eq!(a.recall(), expected.join("\n"));
    assert_eq!(other.recall(), a.recall());
    a.home().verify().unwrap();
}

#[test]
fn twenty_threads_lose_nothing() {
    let a = first(1, 100);
    let processes: Vec<Device> = (0..4).map(|_| a.process()).collect();
    std::thread::scope(|scope| {
        for thread in 0..20 {
            let device = &processes[thread % 4];
            scope.spawn(move || {
                for n in 0..10 {
                    device.remember(&format!("{thread}/{n}"));
                }
            });
        }
    });
    assert_eq!(a.recall().lines().count(), 200);
    for thread in 0..20 {
        // Every thread's own appends keep their order.
        let recalled = a.recall();
        let own: Vec<&str> = recalled.lines().filter(|line| line.contains(&format!(" {thread}/"))).collect();
        let expected: Vec<String> = (0..10).map(|n| format!(" {thread}/{n}")).collect();
        assert!(own.iter().zip(&expected).all(|(line, end)| line.ends_with(end.as_str())));
    }
}

#[test]
fn what_was_acknowledged_survives_a_crash() {
    let a = first(1, 100);
    a.remember("kept");
    let after = Device { disk: std::sync::Arc::clone(&a.disk), ..a.process() };
    a.disk.crash(0);
    assert_eq!(after.process().recall(), "1. kept");
}
