//! What a command prints: data on stdout, everything else on stderr.
//!
//! With `--json` a result is one line of JSON and nothing else. Without, it is text: the same in every pipe and locale, and
//! on a terminal without anything that could take hold of the terminal.

use std::io::{self, IsTerminal as _, Write as _};

use memlet_core::path::is_invisible;
use serde_json::Value as Json;

use crate::failure::Failure;

/// Where results go, and in which form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    json: bool,
    terminal: bool,
    color: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        let terminal = io::stdout().is_terminal();
        let unset = |name| std::env::var_os(name).is_none_or(|value| value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        // https://no-color.org
        Self { json, terminal, color: terminal && unset("NO_COLOR") && !dumb }
    }

    /// Whether the result is to be JSON.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Whether a person reads the result as it is printed.
    pub(crate) fn is_terminal(self) -> bool {
        self.terminal
    }

    /// Prints `value` for programs, or what `text` makes of it for people.
    pub(crate) fn result(self, value: &Json, text: impl FnOnce(&Json) -> String) -> Result<(), Failure> {
        self.line(&if self.json { value.to_string() } else { text(value) })
    }

    /// Prints a line, at once. Nothing is printed for an empty one.
    pub(crate) fn line(self, line: &str) -> Result<(), Failure> {
        if line.is_empty() {
            return Ok(());
        }
        self.raw(format!("{line}\n").as_bytes())
    }

    /// Prints bytes, at once.
    pub(crate) fn raw(self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(Failure::Stdout)
    }

    /// Says something that is no result, to a person or a log.
    pub(crate) fn note(self, sentence: &str) {
        // Who cannot hear it has not asked.
        drop(writeln!(io::stderr(), "memlet: {sentence}"));
    }

    /// Says why a command has failed.
    pub(crate) fn report(self, failure: &Failure) {
        drop(writeln!(io::stderr(), "{}", failure.report(self.json)));
    }

    /// `text` in a colour, where there are colours.
    pub(crate) fn paint(self, color: Color, text: &str) -> String {
        if self.color { format!("\x1b[{}m{text}\x1b[0m", color as u8) } else { text.to_owned() }
    }
}

/// The colours and weights in use, by their number in SGR sequences (ECMA-48, section 8.3.117).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Color {
    Bold = 1,
    Dim = 2,
    Red = 31,
    Green = 32,
    Cyan = 36,
}

/// A text on one line: line breaks, other control characters and invisible ones are shown by their escapes.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_invisible(c) {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

/// Rows of cells as aligned columns, two spaces apart.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_is_one_line_and_cannot_steer_a_terminal() {
        assert_eq!(one_line("a\nb\t\u{1b}[2Jc\u{202E}d\u{85}é👍"), "a\\nb\\t\\u{1b}[2Jc\\u{202e}d\\u{85}é👍");
    }

    #[test]
    fn columns_are_aligned_and_have_no_trailing_space() {
        let rows = [["a".to_owned(), "bb".to_owned()], ["ccc".to_owned(), String::new()]];
        assert_eq!(columns(&rows), "a    bb\nccc");
    }
}
