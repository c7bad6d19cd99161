//! The attacks on authority that keys, codec, chains and stamps must turn away, numbered as in the list of authority
//! cases; what needs a node or a surface is tested there.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod chain;
mod encoding;
mod fixture;
mod paths;
mod properties;
mod signatures;
mod time;
