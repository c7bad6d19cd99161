//! What cannot be seen by killing a process: that an item is on the disk, and not only with the system, before it is
//! acknowledged. The system calls of the real executable show it.
//!
//! This needs `strace`, and the tests that run by default need Rust alone, so it runs when it is asked for:
//! `cargo test -p memlet-tests --test strace -- --ignored`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::process::Command;

use memlet_tests::{Device, Ran};

/// The system calls that can write or flush, one a line, in order, with the names of the files.
fn traced(device: &Device, words: &[&str]) -> Vec<String> {
    let trace = device.home().with_extension("trace");
    let memlet = device.command(words);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-e", "trace=write,pwrite64,fsync,fdatasync", "-o"]).arg(&trace);
    strace.arg(memlet.get_program()).args(memlet.get_args()).env("MEMLET_HOME", device.home());
    let Ok(output) = strace.output() else {
        panic!("strace is missing: install it, for instance by `apt-get install strace`")
    };
    Ran::from(output).succeeded();
    fs::read_to_string(trace).unwrap().lines().map(str::to_owned).collect()
}

/// Where the last call before `end` is that names all of `parts`.
fn last(calls: &[String], end: usize, parts: &[&str]) -> Option<usize> {
    calls[..end].iter().rposition(|call| parts.iter().all(|part| call.contains(part)))
}

#[test]
#[ignore = "needs strace"]
fn the_log_is_flushed_before_an_item_is_acknowledged() {
    let device = Device::new();
    // at first use, and when all is there already
    for text in ["first", "second"] {
        let calls = traced(&device, &["remember", text]);
        let all = calls.join("\n");
        let reply = last(&calls, calls.len(), &["write(1", "Remembered"]).unwrap_or_else(|| panic!("no reply: {all}"));
        let written = last(&calls, reply, &["pwrite64(", "store.sqlite-wal>"]);
        let written = written.unwrap_or_else(|| panic!("nothing was written into the log before the reply: {all}"));
        let flushed = last(&calls, reply, &["sync(", "store.sqlite-wal>", "= 0"]);
        assert!(flushed > Some(written), "the log was not flushed between its last write and the reply: {all}");
    }
}
