//! The node through its public API: devices that sync in memory, and everything a peer may try against admission.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "node/admission.rs"]
mod admission;
#[path = "node/errors.rs"]
mod errors;
#[path = "node/revocation.rs"]
mod revocation;
#[path = "node/sharing.rs"]
mod sharing;
#[path = "node/support.rs"]
mod support;
#[path = "node/sync.rs"]
mod sync;
