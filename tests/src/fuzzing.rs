//! What holds for any bytes whatever, target by target: functions of the bytes that panic where it does not hold.
//!
//! Two uses share them: the libFuzzer targets of `tests/fuzz`, which search for long, and the test `fuzz_replay`, which runs the
//! corpus and its mutations on every change. An input is hostile only as far as its real source is: a peer's changes get a right
//! checksum, since any peer can compute one; what a store holds does not, since it was checked before it was stored.

#![expect(clippy::unwrap_used, reason = "what cannot fail here has found something when it does")]

mod authority;
mod change;
mod device;
mod document;
mod operations;
mod records;
mod session;
mod store;
mod text;
mod wire;

pub use change::{seal, split_changes};
pub use device::{Device, EXPORTER, NOW_MS, key};
pub use document::{GRANT, NAMESPACE, author, history, item};
pub use store::Entry;

/// Bytes and what must hold of them.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the target's file and of the folder of its corpus.
    pub name: &'static str,
    /// Panics if the bytes break what must hold.
    pub run: fn(&[u8]),
}

/// Every target, by name.
pub const TARGETS: &[Target] = &[
    Target { name: "change", run: change::run },
    Target { name: "document", run: document::run },
    Target { name: "frames", run: wire::frames },
    Target { name: "grants", run: authority::grants },
    Target { name: "log", run: document::log },
    Target { name: "message", run: wire::message },
    Target { name: "operations", run: operations::run },
    Target { name: "records", run: records::run },
    Target { name: "session", run: session::run },
    Target { name: "stamp", run: authority::stamp },
    Target { name: "store", run: store::run },
    Target { name: "text", run: text::run },
];

/// Runs the target of that name.
///
/// # Panics
/// There is none, or the bytes break what must hold.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of that name");
    (target.run)(data);
}

/// Lets code under test catch its own panics: libFuzzer's hook would end the process at the first, caught or not. A panic that
/// is not caught still ends the input.
pub fn allow_caught_panics() {
    std::panic::set_hook(Box::new(|_| {}));
}
