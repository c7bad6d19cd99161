//! Sessions over simulated connections: bytes of one end become bytes in flight, and those become messages of the other.

use memlet_core::codec::{Decode as _, Encode as _};
use memlet_node::{Environment as _, NamespaceReplica};
use memlet_sync::code::CloseCode;
use memlet_sync::frame::frames;
use memlet_sync::message::{Limits, Message};
use memlet_sync::session::{Session, SessionError, Stats};

use super::network::{NamespaceStream, StreamEnd};
use super::{End, Event, World};
use crate::failure::{Checker, Failure};
use crate::plan::{Attack, Seat};

/// A sender says nothing more while so many bytes of it are on their way.
const IN_FLIGHT_BYTES_MAX: usize = 16 << 10;
/// Connections between two devices at the same time.
const CONNECTIONS_MAX: usize = 2;
/// After how long a connection that lost something is given up, in milliseconds.
const SILENCE_MS: u64 = 30_000;

impl World<'_> {
    /// One process dials another.
    pub(super) fn connect(&mut self, from: Seat, to: Seat, attack: Option<Attack>) -> Result<(), Failure> {
        let runs = |seat: Seat| self.devices[seat.device].processes[seat.process].is_some();
        if from.device == to.device || !runs(from) || !runs(to) {
            return Ok(());
        }
        if self.network.is_blocked(from.device, to.device) || self.network.is_blocked(to.device, from.device) {
            self.tally.count("a peer out of reach");
            return Ok(());
        }
        if self.network.between(from.device, to.device).len() >= CONNECTIONS_MAX {
            return Ok(());
        }
        let id = self.network.add([from, to], attack);
        let exporter = self.network.connections[&id].exporter;
        let limits = self.limits();
        let [dialling, answering] = [from, to].map(|seat| self.devices[seat.device].public());
        for number in 0..self.namespaces.len() {
            let now_ms = self.devices[from.device].environment.now_ms();
            let session = match self.replica(from, number) {
                Some(replica) => Session::initiate(&replica, answering, exporter, limits, now_ms).ok(),
                None => None,
            };
            // who has no grant can still send what it wants
            if session.is_none() && attack.is_none() {
                continue;
            }
            let accepts = self.replica(to, number).is_some();
            let accepting = accepts.then(|| Session::accept(dialling, exporter, limits));
            let ends = [session, accepting].map(|session| StreamEnd { session, ..StreamEnd::default() });
            let streams = &mut self.network.connections.get_mut(&id).expect("it was just added").streams;
            streams.push(NamespaceStream { namespace: number, ends });
            let stream = streams.len() - 1;
            self.schedule_poll(End { connection: id, stream, side: 0 }, 0);
        }
        if self.network.connections[&id].streams.is_empty() {
            self.network.connections.remove(&id);
            return Ok(());
        }
        self.note(format_args!("connection {id}: {from:?} to {to:?}"));
        self.tally.count(if attack.is_some() { "attacks begun" } else { "connections" });
        self.tally
            .add("two connections of one pair", u64::from(self.network.between(from.device, to.device).len() > 1));
        Ok(())
    }

    fn limits(&self) -> Limits {
        Limits { frame_bytes: self.setup.frame_bytes, batch_bytes: self.setup.batch_bytes }
    }

    pub(super) fn replica(&self, seat: Seat, number: usize) -> Option<NamespaceReplica> {
        self.namespace_at(seat, number).map(|namespace| namespace.replica())
    }

    pub(super) fn schedule_poll(&mut self, end: End, after_ms: u64) {
        let Some(connection) = self.network.connections.get_mut(&end.connection) else { return };
        let is_due = &mut connection.streams[end.stream].ends[end.side].poll_is_due;
        if !std::mem::replace(is_due, true) {
            self.schedule(after_ms, Event::Poll(end));
        }
    }

    /// A process has committed something: its own sessions may have news at once, those of other processes of the store when
    /// they next look.
    pub(super) fn tell(&mut self, seat: Seat) {
        for (connection, side) in self.network.at(seat.device, None) {
            let is_own = self.network.connections[&connection].seats[side] == seat;
            for stream in 0..self.network.connections[&connection].streams.len() {
                let after_ms = if is_own { 0 } else { self.delays.below(2_000) };
                self.schedule_poll(End { connection, stream, side }, after_ms);
            }
        }
    }

    /// One end may say one message. The next one is another event, so that anything can happen between two.
    pub(super) fn poll(&mut self, end: End) -> Result<(), Failure> {
        let Some(connection) = self.network.connections.get_mut(&end.connection) else { return Ok(()) };
        let seat = connection.seats[end.side];
        let is_dead = connection.dead[end.side];
        let attack = connection.attack.filter(|_| end.side == 0);
        let stream = &mut connection.streams[end.stream];
        let number = stream.namespace;
        let state = &mut stream.ends[end.side];
        state.poll_is_due = false;
        if is_dead || state.is_over || state.in_flight_bytes >= IN_FLIGHT_BYTES_MAX {
            return Ok(());
        }
        let process = self.devices[seat.device].processes[seat.process].as_ref();
        if process.is_none_or(|process| process.paused_until_ms > self.time.elapsed_ms()) {
            return Ok(());
        }
        if let Some(attack) = attack
            && self.attack(end, attack)?
        {
            return Ok(());
        }
        let Some(mut replica) = self.replica(seat, number) else { return Ok(()) };
        let now_ms = self.devices[seat.device].environment.now_ms();
        let Some(session) = self.session(end) else { return Ok(()) };
        match session.poll(now_ms, &mut replica) {
            Ok(Some(message)) => {
                let is_over = session.ended().is_some();
                self.say(end, &message)?;
                if is_over {
                    self.finish(end);
                }
                self.schedule_poll(end, 0);
                self.count_down(seat.device);
                Ok(())
            }
            Ok(None) => self.check_level(end, number, &replica),
            Err(error) => {
                self.tally.count(match error {
                    SessionError::Denied(_) => "a grant that ended during a session",
                    _ => "a session that its own side failed",
                });
                self.note(format_args!("{end:?} fails: {error}"));
                self.schedule_poll(end, 0);
                self.retire_poisoned(seat.device);
                Ok(())
            }
        }
    }

    fn session(&mut self, end: End) -> Option<&mut Session> {
        let connection = self.network.connections.get_mut(&end.connection)?;
        connection.streams[end.stream].ends[end.side].session.as_mut()
    }

    /// A session that says it is level must be: the other side holds all that this one does.
    fn check_level(&mut self, end: End, number: usize, replica: &NamespaceReplica) -> Result<(), Failure> {
        let Some(session) = self.session(end) else { return Ok(()) };
        let is_level = session.is_level(replica).unwrap_or(false);
        let connection = self.network.connections.get_mut(&end.connection).expect("it has a session");
        let was_level = std::mem::replace(&mut connection.streams[end.stream].ends[end.side].is_level, is_level);
        let [here, there] = [connection.seats[end.side], connection.seats[1 - end.side]];
        // of a peer that lies, or that may have been set back since, nothing can be said
        if !is_level || connection.attack.is_some() || connection.dead[1 - end.side] {
            return Ok(());
        }
        self.tally.add("syncs", u64::from(!was_level && end.side == 0));
        let held = |seat: Seat| &self.devices[seat.device].holdings[number].operations;
        if let Some(missing) = held(here).missing_in(held(there)).next() {
            let detail = format!("{here:?} says it is level with {there:?}, which lacks operation {missing}");
            return Err(Failure::new(Checker::Level, detail));
        }
        Ok(())
    }

    /// A message goes out as frames.
    fn say(&mut self, end: End, message: &Message) -> Result<(), Failure> {
        self.network.messages += 1;
        self.tally.count("messages");
        self.note(format_args!("{end:?} says {}", message.name()));
        let encoded = message.to_cbor();
        self.tally.add("messages that span frames", u64::from(encoded.len() > self.setup.frame_bytes));
        for frame in frames(&encoded, self.setup.frame_bytes) {
            self.send(end, frame)?;
        }
        Ok(())
    }

    /// Bytes go out, and arrive later if nothing prevents it.
    pub(super) fn send(&mut self, end: End, bytes: Vec<u8>) -> Result<(), Failure> {
        self.trace.bytes(&bytes);
        self.tally.add("bytes sent", bytes.len() as u64);
        let now_ms = self.now();
        let connection = self.network.connections.get_mut(&end.connection).expect("only live connections send");
        let [from, to] = [connection.seats[end.side].device, connection.seats[1 - end.side].device];
        let last_ms = connection.streams[end.stream].ends[end.side].last_arrival_ms;
        let attacks = connection.attack.is_some() || connection.dead[end.side];
        if !attacks {
            self.check_isolation(to, &bytes)?;
        }
        if self.network.is_blocked(from, to) {
            self.lose(end);
            return Ok(());
        }
        let (at_ms, cut) = self.network.arrival(from, to, now_ms, last_ms, bytes.len());
        let state = &mut self.network.connections.get_mut(&end.connection).expect("it is there").streams[end.stream];
        state.ends[end.side].last_arrival_ms = at_ms;
        state.ends[end.side].in_flight_bytes += bytes.len();
        let at = End { side: 1 - end.side, ..end };
        let pieces = match cut {
            Some(cut) => vec![bytes[..cut].to_vec(), bytes[cut..].to_vec()],
            None => vec![bytes],
        };
        for bytes in pieces {
            self.schedule(at_ms - now_ms, Event::Deliver { at, bytes });
        }
        Ok(())
    }

    /// Nothing of a namespace may go to a device without a grant in it.
    fn check_isolation(&self, to: usize, bytes: &[u8]) -> Result<(), Failure> {
        for (number, namespace) in self.namespaces.iter().enumerate() {
            let canary = namespace.canary.as_bytes();
            let leaks =
                self.devices[to].roles[number].is_none() && bytes.windows(canary.len()).any(|window| window == canary);
            if leaks {
                let detail = format!("device {to} was sent bytes of namespace {number}, in which it has no grant");
                return Err(Failure::new(Checker::Isolation, detail));
            }
        }
        Ok(())
    }

    /// Bytes of one end were lost on a connection that hides losses: nothing more of it can be understood.
    fn lose(&mut self, end: End) {
        let Some(connection) = self.network.connections.get_mut(&end.connection) else { return };
        if !std::mem::replace(&mut connection.broken[end.side], true) {
            self.tally.count("bytes lost on a blocked link");
            self.schedule(SILENCE_MS, Event::Timeout(end.connection));
        }
    }

    /// Bytes arrive.
    pub(super) fn deliver(&mut self, at: End, mut bytes: Vec<u8>) -> Result<(), Failure> {
        let sender = End { side: 1 - at.side, ..at };
        let Some(connection) = self.network.connections.get_mut(&at.connection) else { return Ok(()) };
        let [from, to] = [connection.seats[sender.side].device, connection.seats[at.side].device];
        let (is_broken, is_dead) = (connection.broken[sender.side], connection.dead[at.side]);
        let stream = &mut connection.streams[at.stream];
        stream.ends[sender.side].in_flight_bytes -= bytes.len();
        if is_dead || is_broken {
            return Ok(());
        }
        if self.network.is_blocked(from, to) {
            self.lose(sender);
            return Ok(());
        }
        let cut = self.network.pass(from, to, bytes.len()).err();
        if let Some(passed) = cut {
            bytes.truncate(passed);
        }
        self.end_state(at).inbox.extend(bytes);
        self.take_in(at)?;
        if cut.is_some() {
            self.tally.count("a cut inside a message");
            self.cut(from, to);
        }
        self.schedule_poll(sender, 0);
        Ok(())
    }

    fn end_state(&mut self, end: End) -> &mut StreamEnd {
        let connection = self.network.connections.get_mut(&end.connection).expect("only live connections are asked");
        &mut connection.streams[end.stream].ends[end.side]
    }

    /// A process goes on: it reads what has come meanwhile.
    pub(super) fn wake(&mut self, seat: Seat) -> Result<(), Failure> {
        for (connection, side) in self.network.at(seat.device, Some(seat.process)) {
            let streams = self.network.connections.get(&connection).map_or(0, |connection| connection.streams.len());
            for stream in 0..streams {
                let end = End { connection, stream, side };
                self.take_in(end)?;
                self.schedule_poll(end, 0);
            }
        }
        Ok(())
    }

    /// Reads the messages that have come, and gives them to the session.
    fn take_in(&mut self, at: End) -> Result<(), Failure> {
        let Some(connection) = self.network.connections.get(&at.connection) else { return Ok(()) };
        let seat = connection.seats[at.side];
        let number = connection.streams[at.stream].namespace;
        let now_ms = self.now();
        let process = self.devices[seat.device].processes[seat.process].as_ref();
        if process.is_none_or(|process| process.paused_until_ms > now_ms) {
            return Ok(());
        }
        let inbox = std::mem::take(&mut self.end_state(at).inbox);
        let mut input = inbox.as_slice();
        loop {
            let state = self.end_state(at);
            if state.is_over {
                return Ok(());
            }
            match state.reader.read(&mut input) {
                Ok(None) => break,
                Ok(Some(encoded)) => match Message::from_cbor(&encoded) {
                    Ok(message) => self.receive(at, seat, number, message)?,
                    Err(error) => {
                        self.note(format_args!("{at:?} cannot read a message: {error}"));
                        self.close(at, CloseCode::Malformed)?;
                    }
                },
                Err(error) => {
                    self.note(format_args!("{at:?} cannot read a frame: {error}"));
                    self.close(at, error.close_code())?;
                    break;
                }
            }
            if !self.network.connections.contains_key(&at.connection) {
                return Ok(());
            }
        }
        self.schedule_poll(at, 0);
        Ok(())
    }

    fn receive(&mut self, at: End, seat: Seat, number: usize, message: Message) -> Result<(), Failure> {
        let Some(mut replica) = self.replica(seat, number) else { return self.close(at, CloseCode::Denied) };
        let now_ms = self.devices[seat.device].environment.now_ms();
        let name = message.name();
        let Some(session) = self.session(at) else { return self.close(at, CloseCode::Denied) };
        let before = session.stats().clone();
        let outcome = session.receive(message, now_ms, &mut replica);
        let (is_over, after) = (session.ended().is_some(), session.stats().clone());
        if let Err(error) = outcome {
            self.tally.count("a session that refused its peer");
            self.note(format_args!("{at:?} refuses {name}: {error}"));
        }
        let refused = |stats: &Stats| stats.refused.values().sum::<u64>();
        let fates = [
            ("applied changes", after.applied - before.applied),
            ("changes that were known", after.known - before.known),
            ("parked changes", after.parked - before.parked),
            ("held changes", after.held - before.held),
            ("refused changes and statements", refused(&after) - refused(&before)),
            ("diverged histories", after.divergences - before.divergences),
        ];
        for (fate, times) in fates.into_iter().filter(|(_, times)| *times > 0) {
            self.tally.add(fate, times);
            self.note(format_args!("{at:?} takes {name}: {times} {fate}"));
        }
        if is_over {
            self.finish(at);
        }
        self.after_commit(seat, number)
    }

    /// Ends a session from this side. Where the namespace is not, there is none, and the answer is that of no grant.
    fn close(&mut self, at: End, code: CloseCode) -> Result<(), Failure> {
        self.tally.count("a stream closed on its peer");
        match self.session(at) {
            Some(session) => session.close(code),
            None => {
                self.say(at, &Message::Close(code))?;
                self.finish(at);
            }
        }
        Ok(())
    }

    /// One end has nothing more to say or to hear.
    fn finish(&mut self, at: End) {
        self.end_state(at).is_over = true;
        if self.network.connections[&at.connection].is_over() {
            self.drop_connection(at.connection, "all said");
        }
    }

    /// A connection is gone, with all that was on its way.
    pub(super) fn drop_connection(&mut self, id: u64, why: &str) {
        let Some(connection) = self.network.connections.remove(&id) else { return };
        self.note(format_args!("connection {id} is gone: {why}"));
        let ends = || connection.streams.iter().flat_map(|stream| &stream.ends);
        self.tally.add("cuts with bytes in flight", u64::from(ends().any(|end| end.in_flight_bytes > 0)));
    }

    /// One side of a connection is gone without a word. The other finds out when it has been silent for too long.
    pub(super) fn abandon(&mut self, id: u64, side: usize) {
        let Some(connection) = self.network.connections.get_mut(&id) else { return };
        connection.dead[side] = true;
        let ms = self.delays.between(1, SILENCE_MS);
        self.schedule(ms, Event::Timeout(id));
    }

    /// A device has sent a message: the power may fail now.
    fn count_down(&mut self, number: usize) {
        let device = &mut self.devices[number];
        let Some(crash) = &mut device.crash else { return };
        match crash.after_messages.checked_sub(1) {
            Some(left) if left > 0 => crash.after_messages = left,
            _ => {
                let super::device::Crash { keep, down_ms, .. } = *crash;
                self.tally.count("a crash between two messages");
                self.crash(number, keep, down_ms);
            }
        }
    }
}
