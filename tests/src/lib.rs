//! Driving the real executable: devices with a data directory each, commands run on them to their end, and commands that stay.
//!
//! The tests themselves are in `tests/`. Whatever a device or a command has started is gone when it is dropped.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tempfile::TempDir;

mod executable;
pub mod fuzzing;

pub use executable::executable;

/// How long anything may take before a test gives up on it. Far more than it takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A device: a place for a data directory, at first without one.
pub struct Device {
    base: TempDir,
}

impl Device {
    /// A device that memlet has never run on.
    pub fn new() -> Self {
        Self { base: tempfile::tempdir().expect("a temporary directory can be made") }
    }

    /// Where its data directory is, or will be.
    pub fn home(&self) -> PathBuf {
        self.base.path().join("home")
    }

    /// A file of its data directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.home().join(name)
    }

    /// A memlet command on this device, free of what the test's own environment says.
    pub fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(executable());
        command.args(words).env("MEMLET_HOME", self.home()).stdin(Stdio::null());
        for variable in ["MEMLET_LOG", "NO_COLOR", "RUST_BACKTRACE"] {
            command.env_remove(variable);
        }
        command
    }

    /// Runs a command to its end.
    pub fn run<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(self.command(words))
    }

    /// Runs a command to its end, with `input` on its stdin.
    pub fn run_with_input<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>, input: &[u8]) -> Ran {
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("memlet starts");
        let mut stdin = child.stdin.take().expect("stdin is a pipe");
        thread::scope(|scope| {
            // A command may end before it has read everything.
            scope.spawn(move || drop(stdin.write_all(input)));
            Ran::from(child.wait_with_output().expect("memlet ends"))
        })
    }

    /// Starts a command that stays.
    pub fn start<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Running {
        Running::of(self.command(words))
    }

    /// Adds an item, which must succeed.
    pub fn remember(&self, text: &str) {
        self.run(["remember", text]).succeeded();
    }

    /// What it recalls, line by line.
    pub fn recall(&self) -> Vec<String> {
        let recalled = self.run(["recall", "--json"]).json();
        recalled.as_str().into_iter().flat_map(str::lines).map(str::to_owned).collect()
    }
}

impl Default for Device {
    fn default() -> Self {
        Self::new()
    }
}

/// A command that has ended.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it said besides.
    pub stderr: String,
}

impl Ran {
    /// Runs `command` to its end.
    pub fn of(mut command: Command) -> Self {
        command.output().expect("memlet starts").into()
    }

    /// What it printed, if it succeeded.
    ///
    /// # Panics
    /// It failed.
    pub fn succeeded(self) -> String {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.stdout
    }

    /// The JSON it printed, if it succeeded and printed exactly one line of it.
    ///
    /// # Panics
    /// It failed, or printed something else.
    pub fn json(self) -> Json {
        let stdout = self.succeeded();
        let line = stdout.strip_suffix('\n').filter(|line| !line.contains('\n'));
        let line = line.unwrap_or_else(|| panic!("not one line: {stdout:?}"));
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// The code in the JSON error of a command that was run with `--json` and failed with `exit_code`.
    ///
    /// # Panics
    /// It ended otherwise, or said something else.
    pub fn failed_with_code(self, exit_code: i32) -> String {
        assert_eq!(self.code, Some(exit_code), "{self:#?}");
        let error: Json = serde_json::from_str(&self.stderr).unwrap_or_else(|error| panic!("{error}: {self:#?}"));
        let message = error["error"]["message"].as_str().unwrap_or_else(|| panic!("no message: {error}"));
        assert!(!message.is_empty());
        error["error"]["code"].as_str().unwrap_or_else(|| panic!("no code: {error}")).to_owned()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("memlet prints UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// A command that stays until it is told to stop, or until this is dropped.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    /// Starts `command`.
    pub fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("memlet starts");
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            lines.map_while(|line| sender.send(line).ok()).for_each(drop);
        });
        Self { child, lines }
    }

    /// The next line it prints.
    ///
    /// # Panics
    /// It prints none in time.
    pub fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("memlet prints a line")
    }

    /// Waits until it ends of itself.
    ///
    /// # Panics
    /// It does not in time.
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return status;
            }
            assert!(Instant::now() < deadline, "memlet does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it without warning, if it has not ended yet.
    pub fn kill(&mut self) {
        // Only a process that has ended cannot be killed.
        drop(self.child.kill());
        self.wait();
    }

    /// What it has printed and nobody has read yet, after its end.
    pub fn printed(&self) -> Vec<String> {
        self.lines.iter().collect()
    }

    /// Sends it a signal by name, as `kill` knows it: `TERM`, `INT`, `KILL`.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(status.expect("kill starts").success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The names in a directory, ordered.
pub fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("the directory can be read");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry can be read").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
