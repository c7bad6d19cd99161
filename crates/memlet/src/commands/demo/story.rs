//! Telling what happens, and nothing that is not true.

use std::time::Instant;

use super::device::Device;
use crate::failure::Failure;
use crate::output::{Color, Output};

/// Prints scene by scene, for people; for programs it only keeps what was stated.
pub(super) struct Story {
    output: Output,
    began: Instant,
    stated: Vec<String>,
}

impl Story {
    pub(super) fn begin(output: Output) -> Self {
        Self { output, began: Instant::now(), stated: Vec::new() }
    }

    pub(super) fn scene(&self, title: &str) -> Result<(), Failure> {
        self.print(&format!("\n{}", self.output.paint(Color::Bold, title)))
    }

    /// A command that was done.
    pub(super) fn shows(&self, command: String) -> Result<(), Failure> {
        self.print(&format!("  {}", self.output.paint(Color::Cyan, &command)))
    }

    /// What a device recalls.
    pub(super) fn recalls(&self, device: &Device) -> Result<(), Failure> {
        self.shows(format!("{device}$ memlet recall"))?;
        device.recall()?.lines().try_for_each(|line| self.print(&format!("    {line}")))
    }

    /// Says `statement`, which must be true.
    pub(super) fn states(&mut self, statement: &str, is_true: bool) -> Result<(), Failure> {
        if !is_true {
            return Err(Failure::Untrue(statement.to_owned()));
        }
        self.stated.push(statement.to_owned());
        self.print(&format!("  {} {statement}", self.output.paint(Color::Green, "ok")))
    }

    /// All that was stated.
    pub(super) fn end(self) -> Result<Vec<String>, Failure> {
        let (count, seconds) = (self.stated.len(), self.began.elapsed().as_secs_f32());
        self.print(&format!("\n{count} statements checked, all true, in {seconds:.1} s."))?;
        Ok(self.stated)
    }

    fn print(&self, line: &str) -> Result<(), Failure> {
        if self.output.is_json() { Ok(()) } else { self.output.line(line) }
    }
}
