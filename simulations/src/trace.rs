//! What happened, as one hash: two runs of a plan are the same run if their hashes are equal.

use std::fmt;

/// A hash over every event and every byte sent, and the events as text if they are to be read.
#[derive(Debug)]
pub struct Trace {
    hasher: blake3::Hasher,
    lines: Option<Vec<String>>,
}

impl Trace {
    /// Nothing has happened. With `readable` the events are also kept as text.
    pub fn new(readable: bool) -> Self {
        Self { hasher: blake3::Hasher::new(), lines: readable.then(Vec::new) }
    }

    /// Something happened, so many milliseconds after the start.
    pub fn event(&mut self, at_ms: u64, event: impl fmt::Display) {
        let line = format!("{at_ms:>10} {event}\n");
        self.hasher.update(line.as_bytes());
        if let Some(lines) = &mut self.lines {
            lines.push(line);
        }
    }

    /// Bytes went over a wire.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    /// The hash, and the events if they were kept.
    pub fn finish(self) -> (blake3::Hash, Vec<String>) {
        (self.hasher.finalize(), self.lines.unwrap_or_default())
    }
}
