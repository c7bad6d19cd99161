//! Two and three devices, each with its own process, over QUIC on the loopback interface.
//!
//! All runs through the real executable. Only what no honest device does is said by the library, to a real process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod two_devices {
    mod attacker;
    mod enrolment;
    mod interruption;
    mod leaves;
    mod lists;
    mod live;
    mod one_store;
    mod refusals;
    mod revoking;
    mod support;
}
