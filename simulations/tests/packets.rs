//! Fixed seeds of the packet level.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use memlet_sim::packets::run;
use memlet_sim::tally::Tally;

/// Seeds that every change must pass.
const SEEDS: u64 = 60;

/// What must have happened to some seed, or the seeds show less than they are there for.
const REACHED: [&str; 22] = [
    "answers of an endpoint without a connection",
    "changes of the path's width",
    "connections closed in their handshake",
    "connections that died of silence",
    "connections that followed their peer",
    "connections that the peer closed",
    "connections that the peer forgot",
    "datagrams into silence",
    "datagrams lost",
    "datagrams that arrive twice",
    "datagrams that others overtake",
    "datagrams to an address that was left",
    "datagrams too large for the path",
    "datagrams with a flipped bit",
    "hang-ups",
    "moves",
    "moves unawares",
    "restarts",
    "silences",
    "streams given up",
    "streams that the peer gave up",
    "writes that had to wait for room",
];

#[test]
fn whatever_happens_to_datagrams_both_devices_come_level() {
    let (next, total) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    let work = || {
        while let seed = next.fetch_add(1, Ordering::Relaxed)
            && seed < SEEDS
        {
            let ran = run(seed, false);
            if let Some(failure) = ran.failure {
                panic!("seed {seed}: {failure}\n{}", run(seed, true).events.concat());
            }
            total.lock().unwrap().join(&ran.tally);
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    let total = total.into_inner().unwrap();
    let missed: Vec<_> = REACHED.iter().filter(|what| total.get(what) == 0).collect();
    assert!(missed.is_empty(), "no seed had {missed:?}: {total:#?}");
}

#[test]
fn a_seed_fixes_every_byte_of_every_datagram() {
    let hashes = [0, 1, 2, 3].map(|seed| run(seed, false).hash);
    assert_eq!(hashes, [0, 1, 2, 3].map(|seed| run(seed, false).hash));
    assert!(hashes.windows(2).all(|pair| pair[0] != pair[1]));
}
