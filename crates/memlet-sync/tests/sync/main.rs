//! The protocol as two ends see it: over a pipe of bytes, with a model of a replica.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod fixed;
mod hostile;
mod interleaving;
mod level;
mod model;
mod order;
mod overhead;
mod pipe;
mod vectors;
