//! What holds for any bytes whatever, target by target: functions of the bytes that panic where it does not hold.
//!
//! Two uses share them: the libFuzzer targets of `tests/fuzz`, which search for long, and the test `fuzz_replay`, which runs the
//! corpus and its mutations on every change. An input is hostile only as far as its real source is: a peer's changes get a right
//! checksum, since any peer can compute one; what a store holds does not, since it was checked before it was stored.

#![expect(clippy::unwrap_used, reason = "what cannot fail here has found something when it does")]

use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

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
    check: fn(&[u8]),
}

impl Target {
    /// Checks the bytes. What a panic says comes back if [`remember_panics`] has been called.
    ///
    /// # Errors
    /// What broke, and where.
    pub fn run(&self, data: &[u8]) -> Result<(), String> {
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| (self.check)(data)));
        outcome.map_err(|_| LAST_PANIC.lock().unwrap().clone())
    }
}

/// What the last panic said, and where; also one that the code under test caught.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// Remembers panics and says nothing. The code under test may catch its own; libFuzzer's hook would end the process at the first,
/// caught or not.
pub fn remember_panics() {
    panic::set_hook(Box::new(|info| *LAST_PANIC.lock().unwrap() = info.to_string()));
}

/// Every target, by name.
pub const TARGETS: &[Target] = &[
    Target { name: "change", check: change::run },
    Target { name: "document", check: document::run },
    Target { name: "frames", check: wire::frames },
    Target { name: "grants", check: authority::grants },
    Target { name: "log", check: document::log },
    Target { name: "message", check: wire::message },
    Target { name: "operations", check: operations::run },
    Target { name: "records", check: records::run },
    Target { name: "session", check: session::run },
    Target { name: "stamp", check: authority::stamp },
    Target { name: "store", check: store::run },
    Target { name: "text", check: text::run },
];

/// Checks the bytes for libFuzzer, which wants a panic, and says why on stderr.
///
/// # Panics
/// The bytes break what must hold of them for the target of that name.
#[expect(clippy::print_stderr, reason = "the hook is silent, and libFuzzer says only that there was a panic")]
pub fn fuzz(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of that name");
    if let Err(fault) = target.run(data) {
        eprintln!("{fault}");
        panic!("{fault}");
    }
}
