//! Every limit of authority in one place, unit last in the name. Relations between them are checked when this compiles.

/// Capabilities of one grant.
pub const GRANT_CAPS_MAX: usize = 16;
/// The signed body of one grant.
pub const GRANT_BODY_BYTES_MAX: usize = 1_024;
/// Grants of one chain, root and leaf included.
pub const CHAIN_LINKS_MAX: usize = 8;
/// One grant as it travels: body, signature, and what frames them.
pub const GRANT_BYTES_MAX: usize = GRANT_BODY_BYTES_MAX + STATEMENT_FRAME_BYTES_MAX;
/// Changes that one revocation names to keep. It suffices for any history: a change that was made when the kept ones were
/// known has them all in its past, and can be named for all of them.
pub const REVOCATION_KEEP_MAX: usize = 32;
/// Earlier revocations that one revocation upholds. Others can be issued again, by the new issuer.
pub const REVOCATION_UPHELD_MAX: usize = 32;
/// The signed body of one revocation: what is always there, and both lists at their longest.
pub const REVOCATION_BODY_BYTES_MAX: usize = 161 + REVOCATION_KEEP_MAX * 86 + REVOCATION_UPHELD_MAX * 34;
/// One signed statement of either kind as it travels. The longest is a revocation.
pub const STATEMENT_BYTES_MAX: usize = REVOCATION_BODY_BYTES_MAX + STATEMENT_FRAME_BYTES_MAX;
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

/// What frames a statement's body: heads, kind and signature.
const STATEMENT_FRAME_BYTES_MAX: usize = 71;

const _: () = assert!(GRANT_BYTES_MAX <= STATEMENT_BYTES_MAX);
const _: () = assert!(TIME_SECONDS_MAX <= u64::MAX / 1_000, "a grant's seconds fit in u64 milliseconds");
const _: () = assert!(PARKED_PER_PEER_MAX >= CHAIN_LINKS_MAX, "a whole chain may arrive leaf first");
const _: () = assert!(PARKED_PER_PEER_MAX < PARKED_MAX);
