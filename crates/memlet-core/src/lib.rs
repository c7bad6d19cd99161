//! The lattice of memlet: how one namespace is stored, merged and forgotten.
//!
//! A namespace is one Automerge document ([`document::Document`]) whose values are small deterministic CBOR records
//! ([`codec`]). Everything written is named by a dot ([`id::Dot`]), everything a writer had seen is a [`clock::Clock`], and
//! concurrent versions of a list or a value are merged by one join over [`generation`]s ([`sequence`]), never by a race.
//!
//! The crate is pure: no clock, no randomness, no files, no threads. Time and random bytes are arguments.

pub mod body;
pub mod clock;
pub mod codec;
pub mod document;
pub mod dots;
pub mod generation;
pub mod hlc;
pub mod id;
pub mod limits;
pub mod path;
pub mod sequence;
pub mod value;
