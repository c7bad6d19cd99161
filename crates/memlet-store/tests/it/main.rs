//! The stores against their contract, their faults and each other.

#![expect(clippy::unwrap_used, reason = "a failed check is a panic")]

mod conformance;
mod creation;
mod damage;
mod memory_faults;
mod processes;
mod refusal;
mod residue;
mod support;
