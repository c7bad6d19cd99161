//! The node's shell over real sockets on loopback, against itself and against peers that keep to no rule.

#![expect(clippy::unwrap_used, reason = "a failed check is a panic")]

mod device;
mod enrol;
mod handshake;
mod hostile;
mod limits;
mod misconduct;
mod serve;
mod streams;
mod support;
