//! Who may do what in a namespace: keys, grants, stamps, and their verification.
//!
//! Every change is shown only if a chain of signed grants ([`grant`], [`chain`], [`statements`]) allows its author what
//! the change does ([`effects`]), and a [`stamp`] binds the change to that author and that grant. What counts is a pure
//! function of signed statements: a local clock only delays what claims to come from the future. A [`revocation`] is a
//! statement too; [`revoked`] says what all of them amount to.
//!
//! Three outcomes never mix, because they are different types: a **refusal** is an error and final, **parked** waits for a
//! missing grant, **held** waits for the time that a stamp claims. What has not been verified has another type than what
//! has: [`grant::Grant`] and [`chain::VerifiedGrant`], [`revocation::Revocation`] and [`revocation::VerifiedRevocation`],
//! [`stamp::Stamp`] and [`stamp::VerifiedStamp`].
//!
//! The crate is pure: no clock, no randomness, no files, no threads. Time and random bytes are arguments.

pub mod chain;
pub mod did;
pub mod effects;
mod envelope;
pub mod error;
pub mod grant;
mod head;
pub mod keys;
pub mod limits;
pub mod proof;
pub mod revocation;
pub mod revoked;
pub mod stamp;
pub mod statements;
