//! The running node: a thin shell of tokio and QUIC around [`memlet_node`] that decides nothing.
//!
//! What is said to a peer, `memlet-sync` decides; what is true, `memlet-node` does. This crate owns the sockets, the tasks
//! and the clock, bounds what peers can make it hold, and counts what it refuses.
//!
//! A [`Server`] serves until it is told to stop, [`sync_once`] syncs and ends, and an [`Invitation`] and [`join()`] bring a
//! device into a namespace.

mod backoff;
mod blocking;
mod door;
mod enrol;
mod greeting;
pub mod home;
mod link;
mod local;
mod peer;
pub mod quic;
mod running;
mod serve;
mod sync;
mod target;
mod usual_port;
mod wake;

pub use blocking::Crashed;
pub use enrol::{INVITE_VALID, Invitation, InviteFailed, InviteOptions, JoinFailed, Joined, Joining, join};
pub use greeting::GreetError;
pub use link::{SyncError, SyncOutcome};
pub use serve::{ServeError, ServeOptions, Server};
pub use sync::{PeerSync, SyncOnceError, sync_once, sync_once_over};
pub use target::{PeerAddress, ReachError, SyncWith};
pub use usual_port::usual_port;
