//! Every input of the fuzzing corpus, and thousands of mutations of each, against what must hold: on stable, on every change.
//!
//! The corpus is `tests/fuzz/corpus`. Most of it is made here ([`seeds`]); calls, and what a long search finds, are committed
//! beside that. `UPDATE_CORPUS=1 cargo test -p memlet-tests --test fuzz_replay` makes it anew after a change of a format.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod mutation;
mod seeds;
mod watch;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use memlet_tests::fuzzing::{TARGETS, Target};
use peak_alloc::PeakAlloc;

use mutation::Mutator;
use watch::Watch;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The inputs of a target, by name of their file.
fn corpus(target: &Target) -> BTreeMap<String, Vec<u8>> {
    let folder = folder(target.name);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let read = |file: fs::DirEntry| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap());
    files.map(|file| read(file.unwrap())).collect()
}

fn folder(target: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "fuzz", "corpus", target].iter().collect()
}

/// How many mutations of each input a target gets: as many as its cost allows within the seconds this test may take.
fn mutations(target: &Target) -> usize {
    match target.name {
        "records" | "message" | "text" | "stamp" => 1_000,
        "change" | "frames" | "grants" | "log" => 200,
        _ => 60,
    }
}

/// One test for all, since memory is measured: nothing else may run meanwhile.
#[test]
fn the_corpus_and_its_mutations_break_nothing() {
    seeds::assert_fates();
    let seeds = seeds::all();
    if std::env::var_os("UPDATE_CORPUS").is_some() {
        seeds.iter().for_each(seeds::Seed::write);
    }
    for seed in seeds {
        let kept = corpus(&seed.target).remove(&seed.name);
        assert!(kept == Some(seed.bytes), "{}/{} is not what this build makes", seed.target.name, seed.name);
    }
    for target in TARGETS {
        let corpus = corpus(target);
        assert!(corpus.len() > 5, "the corpus of {} is missing", target.name);
        let others: Vec<&[u8]> = corpus.values().map(Vec::as_slice).collect();
        let mut watch = Watch::over(*target);
        for (name, input) in &corpus {
            watch.run(name, input);
            let mut mutator = Mutator::new(name);
            for _ in 0..mutations(target) {
                watch.run(name, &mutator.mutate(input, &others));
            }
        }
        watch.report();
    }
}
