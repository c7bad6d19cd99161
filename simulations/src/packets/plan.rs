//! What happens in a run, fixed by its seed before it begins.

use crate::random::Stream;

/// Namespaces that both devices hold, each with a stream of its own on every connection.
pub(super) const NAMESPACES: usize = 3;

/// A run to come.
pub(super) struct Plan {
    pub(super) quality: Quality,
    /// Each with how long after the one before, in milliseconds.
    pub(super) steps: Vec<(u64, Step)>,
}

/// How the path treats datagrams.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quality {
    pub(super) delay_ms: u64,
    /// Datagrams of a thousand that are lost.
    pub(super) loss: u64,
    /// Datagrams of a thousand that arrive twice.
    pub(super) duplication: u64,
    /// Datagrams of a thousand that take up to `late_ms_max` longer.
    pub(super) reordering: u64,
    pub(super) late_ms_max: u64,
    /// Datagrams of a thousand in which one bit is flipped.
    pub(super) corruption: u64,
    /// Bytes of the largest datagram that passes.
    pub(super) datagram_bytes_max: usize,
}

/// One thing that happens.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// A device remembers a text.
    Write { device: usize, namespace: usize, bytes: usize },
    /// The device that dials gets another address, and either knows or does not.
    Move { knows: bool },
    /// The path takes datagrams of at most so many bytes from now on.
    Narrow { datagram_bytes_max: usize },
    /// Nothing passes for so long.
    Silence { ms: u64 },
    /// The device that dials closes its connections.
    HangUp,
    /// The device that dials gives one of its streams up, whatever is on it.
    GiveUp { namespace: usize },
    /// The power of a device fails. It starts again at once.
    Restart { device: usize },
}

/// The smallest datagram that QUIC needs to pass (RFC 9000, section 14).
const DATAGRAM_BYTES_MIN: u64 = 1_200;
/// The largest that a path of Ethernet takes.
const DATAGRAM_BYTES_MAX: u64 = 1_472;

impl Quality {
    /// A path without faults, `delay_ms` long.
    pub(super) fn good(delay_ms: u64) -> Self {
        Self {
            delay_ms,
            loss: 0,
            duplication: 0,
            reordering: 0,
            late_ms_max: 0,
            corruption: 0,
            datagram_bytes_max: usize::try_from(DATAGRAM_BYTES_MAX).expect("it is small"),
        }
    }
}

/// The plan of a seed. Each kind of fault is off in half of them.
pub(super) fn generate(seed: u64) -> Plan {
    let stream = &mut Stream::new(seed, "packets plan");
    let rate =
        |stream: &mut Stream, per_mille_max| if stream.chance(500) { stream.magnitude(1, per_mille_max) } else { 0 };
    let quality = Quality {
        loss: rate(stream, 250),
        duplication: rate(stream, 300),
        reordering: rate(stream, 300),
        late_ms_max: stream.magnitude(2, 500),
        corruption: rate(stream, 100),
        datagram_bytes_max: if stream.chance(500) {
            datagram_bytes(stream)
        } else {
            Quality::good(0).datagram_bytes_max
        },
        ..Quality::good(stream.magnitude(1, 300))
    };
    let faults: Vec<u64> = (0..6).filter(|_| stream.chance(500)).collect();
    // in some, texts are so large that two of them are more than a stream may have in flight
    let bytes = if stream.chance(50) { (500_000, 900_000) } else { (1, 20_000) };
    let steps = (0..stream.between(10, 40)).map(|_| {
        let writes = faults.is_empty() || stream.chance(600);
        let step = if writes { write(bytes, stream) } else { fault(*stream.pick(&faults), stream) };
        (stream.magnitude(1, 4_000), step)
    });
    Plan { quality, steps: steps.collect() }
}

fn write((bytes_min, bytes_max): (u64, u64), stream: &mut Stream) -> Step {
    let bytes = usize::try_from(stream.magnitude(bytes_min, bytes_max)).expect("it is small");
    Step::Write { device: stream.index(2), namespace: stream.index(NAMESPACES), bytes }
}

fn fault(kind: u64, stream: &mut Stream) -> Step {
    match kind {
        0 => Step::Move { knows: stream.chance(500) },
        1 => Step::Narrow { datagram_bytes_max: datagram_bytes(stream) },
        2 => Step::Silence { ms: stream.magnitude(100, 40_000) },
        3 => Step::HangUp,
        4 => Step::GiveUp { namespace: stream.index(NAMESPACES) },
        _ => Step::Restart { device: stream.index(2) },
    }
}

fn datagram_bytes(stream: &mut Stream) -> usize {
    usize::try_from(stream.between(DATAGRAM_BYTES_MIN, DATAGRAM_BYTES_MAX)).expect("it is small")
}
