//! Every limit of the lattice in one place, unit last in the name. Relations between them are checked when this compiles.

/// One Automerge change, uncompressed.
pub const CHANGE_BYTES_MAX: usize = 4 << 20;
/// One list item or leaf: UTF-8 bytes of a string, compact JSON bytes of any other value.
pub const VALUE_BYTES_MAX: usize = 1 << 20;
/// Items of one list.
pub const LIST_ITEMS_MAX: usize = 65_536;
/// Bytes of one path segment.
pub const SEGMENT_BYTES_MAX: usize = 128;
/// Segments of one path.
pub const PATH_SEGMENTS_MAX: usize = 16;
/// Nesting of one value.
pub const VALUE_DEPTH_MAX: usize = 128;
/// Replicas one clock may name.
pub const CLOCK_REPLICAS_MAX: usize = 4_096;
/// Runs of dots one generation may name.
pub const DOT_RUNS_MAX: usize = LIST_ITEMS_MAX;
/// Bodies of one insertion run; also where a re-root splits runs.
pub const RUN_BODIES_MAX: usize = LIST_ITEMS_MAX;
/// Operations of one change: every item of the longest list, and room for what goes with them.
pub const CHANGE_OPS_MAX: usize = 2 * LIST_ITEMS_MAX;
/// Earlier operations that those of one change may replace, together.
pub const CHANGE_REPLACED_MAX: usize = CHANGE_OPS_MAX;

const _: () = assert!(VALUE_BYTES_MAX < CHANGE_BYTES_MAX);
const _: () = assert!(LIST_ITEMS_MAX <= CHANGE_OPS_MAX);
