//! What two replicas say to each other, as a state machine without sockets, clocks, tasks or randomness.
//!
//! Bytes of a stream become messages in [`frame`] and [`message`]. One stream per namespace is driven by a
//! [`session::Session`], which takes messages and gives messages and asks everything else of a [`replica::Replica`]. The
//! control stream of a connection greets ([`message::Hello`]) and lets new devices in ([`enrol`], [`invite`]).
//!
//! Any two replicas of an epoch become level in one round trip, because their clocks say exactly what either lacks
//! ([`clock`]). Sync needs no state of its own on disk. Every length a peer can choose is bounded in [`limits`].

pub mod clock;
pub mod code;
pub mod enrol;
pub mod frame;
pub mod invite;
pub mod limits;
pub mod message;
pub mod name;
pub mod replica;
pub mod session;
