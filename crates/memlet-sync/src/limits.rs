//! Every limit of the protocol in one place, unit last in the name. Relations between them are checked when this compiles.

use memlet_auth::limits::{CHAIN_LINKS_MAX, STATEMENT_BYTES_MAX};
use memlet_core::limits::{CHANGE_BYTES_MAX, CLOCK_REPLICAS_MAX};

/// The payload of one frame, without its 4 bytes of length.
pub const FRAME_BYTES_MAX: usize = 1 << 20;
/// The smallest frame limit a peer may ask for.
pub const FRAME_BYTES_MIN: usize = 1 << 10;
/// One encoded message, put together from its frames: one change of the largest size and what goes with it.
pub const MESSAGE_BYTES_MAX: usize = CHANGE_BYTES_MAX + (64 << 10);
/// The changes of one `Changes`, together. A single change may be larger and then travels alone.
pub const BATCH_BYTES_MAX: usize = 256 << 10;
/// The smallest batch limit a peer may ask for.
pub const BATCH_BYTES_MIN: usize = 1 << 10;
/// Changes in one `Changes`.
pub const BATCH_CHANGES_MAX: usize = 1_024;
/// Grants that the table of one direction of a stream can hold before it starts anew.
pub const GRANT_TABLE_ENTRIES_MAX: usize = 4_096;
/// Statements in one `Auth` or `Welcome`.
pub const AUTH_STATEMENTS_MAX: usize = 256;
/// Actors that one clock may name, and that a peer may name over the life of a stream.
pub const CLOCK_ACTORS_MAX: usize = 4_096;
/// Statement references in one `State`.
pub const STATE_STATEMENTS_MAX: usize = 16_384;
/// Protocol versions in one `Hello`.
pub const HELLO_VERSIONS_MAX: usize = 16;
/// Addresses in one `Hello` or one invite.
pub const ADDRESSES_MAX: usize = 8;
/// One address as text.
pub const ADDRESS_BYTES_MAX: usize = 261;
/// One invite as text.
pub const INVITE_URI_BYTES_MAX: usize = 4 << 10;

/// What goes with one change in a `Changes` at most: grant index, time, two signatures, heads, and its share of new grants.
const STAMP_SHARE_BYTES_MAX: usize = 192;
/// One entry of an encoded clock at most.
const CLOCK_ENTRY_BYTES_MAX: usize = 17 + 9 + 9;
/// Heads, names, keys and numbers of any message, and every byte of a message that no list above accounts for.
const FIXED_BYTES_MAX: usize = 1 << 10;

const _: () = assert!(FRAME_BYTES_MIN < FRAME_BYTES_MAX && FRAME_BYTES_MAX < MESSAGE_BYTES_MAX);
const _: () = assert!(BATCH_BYTES_MIN < BATCH_BYTES_MAX && BATCH_BYTES_MAX < CHANGE_BYTES_MAX);
const _: () = assert!(BATCH_CHANGES_MAX <= GRANT_TABLE_ENTRIES_MAX, "the grants of one batch fit into an empty table");
const _: () = assert!(
    BATCH_BYTES_MAX + BATCH_CHANGES_MAX * STAMP_SHARE_BYTES_MAX + FIXED_BYTES_MAX <= FRAME_BYTES_MAX,
    "only a change beyond the batch limit makes a message that spans frames"
);
const _: () = assert!(CHANGE_BYTES_MAX + STAMP_SHARE_BYTES_MAX + FIXED_BYTES_MAX <= MESSAGE_BYTES_MAX);
const _: () = assert!(AUTH_STATEMENTS_MAX * (STATEMENT_BYTES_MAX + 3) + FIXED_BYTES_MAX <= FRAME_BYTES_MAX);
const _: () = assert!(CLOCK_REPLICAS_MAX <= CLOCK_ACTORS_MAX, "whatever a namespace may hold can be told");
const _: () = assert!(CHAIN_LINKS_MAX <= AUTH_STATEMENTS_MAX);
const _: () = assert!(
    CLOCK_ACTORS_MAX * CLOCK_ENTRY_BYTES_MAX + STATE_STATEMENTS_MAX * 8 + FIXED_BYTES_MAX <= FRAME_BYTES_MAX,
    "a state fits into one frame"
);
const _: () = assert!(ADDRESSES_MAX * (ADDRESS_BYTES_MAX + 3) * 4 / 3 + FIXED_BYTES_MAX <= INVITE_URI_BYTES_MAX);
