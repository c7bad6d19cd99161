//! Every limit of authority in one place, unit last in the name. Relations between them are checked when this compiles.

/// Capabilities of one grant.
pub const GRANT_CAPS_MAX: usize = 16;
/// The signed body of one grant.
pub const GRANT_BODY_BYTES_MAX: usize = 1_024;
/// Grants of one chain, root and leaf included.
pub const CHAIN_LINKS_MAX: usize = 8;
/// One signed statement as it travels: body, signature, and what frames them.
pub const STATEMENT_BYTES_MAX: usize = GRANT_BODY_BYTES_MAX + 71;
/// One stamp as it travels in full: body, two signatures, and what frames them.
pub const STAMP_BYTES_MAX: usize = 350;
/// The latest second that a grant may name, 2^53: every JSON reader keeps it exact.
pub const TIME_SECONDS_MAX: u64 = 1 << 53;
/// How far a stamp's time may lie ahead of the receiver's clock before its change is held.
pub const STAMP_AHEAD_MS_MAX: u64 = 10 * 60 * 1_000;
/// Statements without a known parent that one peer may leave with a namespace.
pub const PARKED_PER_PEER_MAX: usize = 64;
/// Statements without a known parent of all peers of a namespace together.
pub const PARKED_MAX: usize = 1_024;

const _: () = assert!(TIME_SECONDS_MAX <= u64::MAX / 1_000, "a grant's seconds fit in u64 milliseconds");
const _: () = assert!(PARKED_PER_PEER_MAX >= CHAIN_LINKS_MAX, "a whole chain may arrive leaf first");
const _: () = assert!(PARKED_PER_PEER_MAX < PARKED_MAX);
