//! The attacks on authority that keys, codec, chains and stamps must turn away, numbered as in the list of authority
//! cases; what needs a node or a surface is tested there.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod chain;
mod counting;
mod encoding;
mod fixture;
mod history;
mod paths;
mod properties;
mod revocation;
mod signatures;
mod time;
