//! Links and what is on them: delays, rates, cuts, and directions in which nothing passes.

use std::collections::BTreeMap;

use memlet_auth::proof::Exporter;
use memlet_sync::frame::FrameReader;
use memlet_sync::session::Session;

use crate::plan::{Attack, Seat};
use crate::random::Stream;

/// All links and connections.
pub(super) struct Network {
    links: BTreeMap<[usize; 2], Link>,
    pub(super) connections: BTreeMap<u64, Connection>,
    next_connection: u64,
    stream: Stream,
    /// Messages sent so far.
    pub(super) messages: u64,
}

/// What lies between two devices.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) delay_ms_min: u64,
    pub(super) delay_ms_max: u64,
    pub(super) bytes_per_second: u64,
    /// By direction, from the lower device first: nothing passes.
    pub(super) blocked: [bool; 2],
    /// By direction: its reader takes nothing before this time.
    pub(super) stalled_until_ms: [u64; 2],
    /// All connections are cut after so many more bytes.
    pub(super) cut_after_bytes: Option<u64>,
}

/// A connection: streams of several namespaces between two processes.
pub(super) struct Connection {
    pub(super) seats: [Seat; 2],
    pub(super) exporter: Exporter,
    pub(super) streams: Vec<NamespaceStream>,
    /// What its first side will say that it must not.
    pub(super) attack: Option<Attack>,
    /// By side: its process is gone, without having said so.
    pub(super) dead: [bool; 2],
    /// By sender: something of it was lost, so nothing more of it can be understood.
    pub(super) broken: [bool; 2],
}

/// One namespace on a connection.
pub(super) struct NamespaceStream {
    pub(super) namespace: usize,
    pub(super) ends: [StreamEnd; 2],
}

/// One end of a stream.
#[derive(Default)]
pub(super) struct StreamEnd {
    /// None where the namespace is not.
    pub(super) session: Option<Session>,
    pub(super) reader: FrameReader,
    /// Arrived while the process did nothing.
    pub(super) inbox: Vec<u8>,
    /// Sent from here and not yet arrived.
    pub(super) in_flight_bytes: usize,
    /// When the last of it arrives.
    pub(super) last_arrival_ms: u64,
    pub(super) poll_is_due: bool,
    /// When it last had nothing to say, both sides held the same.
    pub(super) is_level: bool,
    /// It neither says nor takes anything any more.
    pub(super) is_over: bool,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            delay_ms_min: 1,
            delay_ms_max: 80,
            bytes_per_second: 1 << 20,
            blocked: [false; 2],
            stalled_until_ms: [0; 2],
            cut_after_bytes: None,
        }
    }
}

impl Network {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            links: BTreeMap::new(),
            connections: BTreeMap::new(),
            next_connection: 0,
            stream: Stream::new(seed, "network"),
            messages: 0,
        }
    }

    pub(super) fn link(&mut self, a: usize, b: usize) -> &mut Link {
        self.links.entry([a.min(b), a.max(b)]).or_default()
    }

    pub(super) fn is_blocked(&mut self, from: usize, to: usize) -> bool {
        self.link(from, to).blocked[usize::from(from > to)]
    }

    /// All links are as at the start.
    pub(super) fn repair(&mut self) {
        self.links.clear();
    }

    /// Adds a connection under a new number.
    pub(super) fn add(&mut self, seats: [Seat; 2], attack: Option<Attack>) -> u64 {
        self.next_connection += 1;
        let exporter = Exporter(self.stream.bytes());
        let connection =
            Connection { seats, exporter, streams: Vec::new(), attack, dead: [false; 2], broken: [false; 2] };
        self.connections.insert(self.next_connection, connection);
        self.next_connection
    }

    /// The connections between two devices.
    pub(super) fn between(&self, a: usize, b: usize) -> Vec<u64> {
        let devices = |connection: &Connection| connection.seats.map(|seat| seat.device);
        let found = self.connections.iter().filter(|(_, connection)| [[a, b], [b, a]].contains(&devices(connection)));
        found.map(|(id, _)| *id).collect()
    }

    /// The connections of one process, or of a whole device.
    pub(super) fn at(&self, device: usize, process: Option<usize>) -> Vec<(u64, usize)> {
        let is_there = |seat: &Seat| seat.device == device && process.is_none_or(|process| seat.process == process);
        let sides = self.connections.iter().flat_map(|(id, connection)| {
            (0..2).filter(|side| is_there(&connection.seats[*side]) && !connection.dead[*side]).map(|side| (*id, side))
        });
        sides.collect()
    }

    /// When bytes sent now arrive at the other end, in order. Some messages come in two pieces: gives where to cut, too.
    pub(super) fn arrival(
        &mut self,
        from: usize,
        to: usize,
        now_ms: u64,
        last_ms: u64,
        bytes: usize,
    ) -> (u64, Option<usize>) {
        let link = self.link(from, to).clone();
        let delay_ms = self.stream.between(link.delay_ms_min, link.delay_ms_max.max(link.delay_ms_min));
        let takes_ms = bytes as u64 * 1_000 / link.bytes_per_second.max(1);
        let stalled_ms = link.stalled_until_ms[usize::from(from > to)];
        let at_ms = (now_ms + delay_ms).max(last_ms).max(stalled_ms) + takes_ms;
        let cut = self.stream.chance(250).then(|| self.stream.index(bytes));
        (at_ms, cut.filter(|at| *at > 0))
    }

    /// Bytes are about to arrive: gives how many still do before a cut that is due.
    pub(super) fn pass(&mut self, from: usize, to: usize, bytes: usize) -> Result<(), usize> {
        let Some(left) = &mut self.link(from, to).cut_after_bytes else { return Ok(()) };
        match left.checked_sub(bytes as u64) {
            Some(rest) => {
                *left = rest;
                Ok(())
            }
            None => Err(usize::try_from(*left).unwrap_or(0)),
        }
    }
}

impl Connection {
    /// Whether every stream has ended on both sides.
    pub(super) fn is_over(&self) -> bool {
        self.streams.iter().all(|stream| stream.ends.iter().all(|end| end.is_over))
    }
}
