//! The simulator: real replicas in a world whose time, networks, disks and clocks are made up.
//!
//! A seed makes a [`plan::Plan`], a plan makes a run ([`world::run`]), and the run ends with a [`failure::Failure`] or with
//! every promise of memlet held against what all replicas show. The nodes, sessions and documents are the production code;
//! what they run on is not. [`model`] is what they are held against. `docs/simulation.md` tells how to use it.

pub mod campaign;
pub mod environment;
pub mod failure;
pub mod model;
pub mod packets;
pub mod panics;
pub mod plan;
pub mod random;
pub mod shrink;
pub mod tally;
pub mod trace;
pub mod world;
