//! The path between the devices, and what it does to datagrams.

use std::net::SocketAddr;

use super::plan::Quality;
use crate::random::Stream;
use crate::tally::Tally;

/// One datagram.
#[derive(Debug, Clone)]
pub(super) struct Datagram {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) bytes: Vec<u8>,
}

/// The path, the same in both directions.
pub(super) struct Path {
    pub(super) quality: Quality,
    /// Nothing passes before this time.
    pub(super) silent_until_ms: u64,
    stream: Stream,
}

impl Path {
    pub(super) fn new(seed: u64, quality: Quality) -> Self {
        Self { quality, silent_until_ms: 0, stream: Stream::new(seed, "packets path") }
    }

    /// What arrives of a datagram that is sent now, each with after how many milliseconds.
    pub(super) fn carry(&mut self, now_ms: u64, datagram: &Datagram, tally: &mut Tally) -> Vec<(u64, Datagram)> {
        tally.count("datagrams");
        let Self { quality, silent_until_ms, stream } = self;
        let lost = if now_ms < *silent_until_ms {
            Some("datagrams into silence")
        } else if datagram.bytes.len() > quality.datagram_bytes_max {
            Some("datagrams too large for the path")
        } else {
            stream.chance(quality.loss).then_some("datagrams lost")
        };
        if let Some(fate) = lost {
            tally.count(fate);
            return Vec::new();
        }
        let copies = if stream.chance(quality.duplication) { 2 } else { 1 };
        tally.add("datagrams that arrive twice", copies - 1);
        let carried = (0..copies).map(|_| {
            let mut datagram = datagram.clone();
            let mut after_ms = quality.delay_ms;
            if stream.chance(quality.reordering) {
                tally.count("datagrams that others overtake");
                after_ms += stream.between(1, quality.late_ms_max);
            }
            if stream.chance(quality.corruption) {
                tally.count("datagrams with a flipped bit");
                let at = stream.index(datagram.bytes.len());
                datagram.bytes[at] ^= 1 << stream.below(8);
            }
            (after_ms, datagram)
        });
        carried.collect()
    }
}
