//! What the tests share: devices in a chosen order of their keys, and the ways in which they meet.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use memlet_server::home::Home;
use memlet_tests::{Device, PATIENCE, Running};
use serde_json::Value as Json;

/// The loopback interface, on a port that the system chooses.
pub(crate) const LOOPBACK: &str = "127.0.0.1:0";

/// Devices with nothing but a key, by rising key: which of two comes first decides what the document's own conflict rule
/// would do.
pub(crate) fn by_rising_key<const N: usize>() -> [Device; N] {
    let mut devices = [(); N].map(|()| {
        let device = Device::new();
        (home(&device).node().device(), device)
    });
    devices.sort_by_key(|(key, _)| *key);
    devices.map(|(_, device)| device)
}

/// Runs a story of devices that share a memory once with rising and once with falling keys.
pub(crate) fn in_both_orders<const N: usize>(story: impl Fn(&[Device; N])) {
    let rising = by_rising_key();
    let mut falling = by_rising_key();
    falling.reverse();
    for devices in [rising, falling] {
        devices[1..].iter().for_each(|device| join(&devices[0], device));
        story(&devices);
    }
}

/// The data directory of a device, opened by this process beside those of the device.
pub(crate) fn home(device: &Device) -> Home {
    Home::open_or_create(&device.home()).unwrap()
}

/// Brings the memory of `inviter` to `joiner`.
pub(crate) fn join(inviter: &Device, joiner: &Device) {
    let mut invite = inviter.start(["invite", "--addr", LOOPBACK]);
    joiner.run(["join", &invite.line()]).succeeded();
    assert!(invite.wait().success());
}

/// Syncs two devices, of which `there` serves meanwhile, and holds what they show against each other.
pub(crate) fn meet(here: &Device, there: &Device) {
    let serving = Serving::begin(there);
    let synced = here.run(["sync", "--peer", &serving.address.to_string(), "--json"]).json();
    assert_eq!(synced["level"], true, "{synced}");
    serving.end();
    assert_level(here, there);
}

/// Whether two devices show the same, to the byte, by every command that reads.
pub(crate) fn assert_level(one: &Device, other: &Device) {
    let reads = [&["recall"][..], &["list"], &["ls"], &["ls", "w"], &["read", "w"], &["list", "--path", "w/list"]];
    for read in reads {
        let shown = |device: &Device| device.run([read, &["--json"]].concat()).succeeded();
        assert_eq!(shown(one), shown(other), "{read:?}");
    }
}

/// The texts of a device's list, in order.
pub(crate) fn texts(device: &Device) -> Vec<String> {
    let lines = device.recall().into_iter().zip(1..);
    lines.map(|(line, n)| line.strip_prefix(&format!("{n}. ")).unwrap().to_owned()).collect()
}

/// The value at a path; none if there is nothing.
pub(crate) fn value(device: &Device, path: &str) -> Option<Json> {
    let read = device.run(["read", path, "--json"]).json();
    (read["exists"] == true).then(|| read["value"].clone())
}

/// What keeps the items of a list apart, by what they say.
pub(crate) fn ids(device: &Device, path: &str) -> BTreeMap<String, String> {
    let entries = device.run(["list", "--path", path, "--json"]).json();
    let entries = entries.as_array().unwrap().iter();
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    entries.map(|entry| (text(&entry["value"]), text(&entry["id"]))).collect()
}

/// A process that serves.
pub(crate) struct Serving<'a> {
    device: &'a Device,
    pub(crate) process: Running,
    pub(crate) address: SocketAddr,
}

impl<'a> Serving<'a> {
    /// Serves on a port that the system chooses.
    pub(crate) fn begin(device: &'a Device) -> Self {
        Self::at(device, LOOPBACK)
    }

    pub(crate) fn at(device: &'a Device, address: &str) -> Self {
        let mut command = device.command(["serve", "--json", "--quic", address]);
        command.stderr(File::create(said(device)).unwrap());
        let process = Running::of(command);
        let told: Json = serde_json::from_str(&process.line()).unwrap();
        let address = told["addresses"][0].as_str().unwrap().parse().unwrap();
        Self { device, process, address }
    }

    /// Tells it to end, which it must do in order. Gives what it has refused, by code.
    pub(crate) fn end(mut self) -> BTreeMap<String, u64> {
        self.process.signal("TERM");
        let status = self.process.wait();
        assert_eq!(status.code(), Some(0), "{}", fs::read_to_string(said(self.device)).unwrap());
        let printed = self.process.printed();
        let [last] = &printed[..] else { panic!("{printed:?}") };
        let last: Json = serde_json::from_str(last).unwrap();
        serde_json::from_value(last["refused"].clone()).unwrap()
    }
}

fn said(device: &Device) -> std::path::PathBuf {
    device.home().with_extension("stderr")
}

/// Waits until `condition` holds, which something else brings about. Gives how long it took.
///
/// # Panics
/// It does not in time.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "{what}: not in time");
        thread::sleep(Duration::from_millis(2));
    }
    began.elapsed()
}

/// Numbers that look random and are the same in every run (SplitMix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
