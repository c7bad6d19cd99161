//! Running inputs in a thread of their own, under a bound of memory and time for each.

use std::panic;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use memlet_tests::fuzzing::{self, Target};

use crate::MEMORY;

/// What one input may allocate at once. Inputs have 64 KiB at most; a right change takes about 25 times its bytes.
const MEMORY_BYTES_MAX: usize = 64 << 20;
/// Where an input is given up before it takes the machine's memory.
const RUNAWAY_BYTES: usize = 1 << 30;
/// How long one input may take: a hundred times what the slowest takes on an idle machine.
const TIME_MAX: Duration = Duration::from_secs(20);
/// How often an input that is not done is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// A thread that runs the inputs of one target, and what they have taken at most.
pub(crate) struct Watch {
    target: Target,
    inputs: Sender<Vec<u8>>,
    outcomes: Receiver<Result<(), String>>,
    count: u64,
    started: Instant,
    memory_bytes: (usize, String),
    time: (Duration, String),
}

impl Watch {
    /// Starts the thread.
    pub(crate) fn over(target: Target) -> Self {
        fuzzing::remember_panics();
        let (inputs, received) = mpsc::channel::<Vec<u8>>();
        let (answers, outcomes) = mpsc::channel();
        thread::spawn(move || {
            for input in received {
                if answers.send(target.run(&input)).is_err() {
                    break;
                }
            }
        });
        let none = String::new;
        Self {
            target,
            inputs,
            outcomes,
            count: 0,
            started: Instant::now(),
            memory_bytes: (0, none()),
            time: (Duration::ZERO, none()),
        }
    }

    /// Runs one input, which is `name` or a mutation of it.
    ///
    /// # Panics
    /// It panics, or takes too much memory or time. It is kept in a file that the message names.
    pub(crate) fn run(&mut self, name: &str, input: &[u8]) {
        MEMORY.reset_peak_usage();
        let (before, started) = (MEMORY.current_usage(), Instant::now());
        let taken = |bytes: usize| bytes.saturating_sub(before);
        self.inputs.send(input.to_vec()).unwrap();
        let fault = loop {
            match self.outcomes.recv_timeout(LOOK) {
                Ok(outcome) => break outcome.err(),
                Err(RecvTimeoutError::Disconnected) => break Some("the thread has ended".into()),
                Err(RecvTimeoutError::Timeout) if started.elapsed() > TIME_MAX => break Some("it does not end".into()),
                Err(RecvTimeoutError::Timeout) if taken(MEMORY.current_usage()) > RUNAWAY_BYTES => {
                    break Some("it takes all memory".into());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        let (memory_bytes, time) = (taken(MEMORY.peak_usage()), started.elapsed());
        let fault =
            fault.or_else(|| (memory_bytes > MEMORY_BYTES_MAX).then(|| format!("it takes {memory_bytes} bytes")));
        if let Some(fault) = fault {
            // Without this the hook would swallow what is said next.
            drop(panic::take_hook());
            panic!("{}, of {name}: {fault}\nkept as {}", self.target.name, self.keep(input).display());
        }
        self.count += 1;
        if memory_bytes > self.memory_bytes.0 {
            self.memory_bytes = (memory_bytes, name.to_owned());
        }
        if time > self.time.0 {
            self.time = (time, name.to_owned());
        }
    }

    fn keep(&self, input: &[u8]) -> PathBuf {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("found-{}", self.target.name));
        std::fs::write(&path, input).unwrap();
        path
    }

    /// Says what all inputs took.
    #[expect(clippy::print_stdout, reason = "for whoever runs the test with --nocapture")]
    pub(crate) fn report(self) {
        let Self { target, count, started, memory_bytes, time, .. } = self;
        println!(
            "{:10} {count:7} inputs in {:5.1} s; most {:6.2} MiB ({}), longest {:5.0} ms ({})",
            target.name,
            started.elapsed().as_secs_f64(),
            memory_bytes.0 as f64 / f64::from(1 << 20),
            memory_bytes.1,
            time.0.as_secs_f64() * 1_000.0,
            time.1,
        );
    }
}
