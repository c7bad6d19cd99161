//! The packet level: two devices with real QUIC between them, and a path that may do anything to a datagram.
//!
//! QUIC is quinn's protocol machine under the production configuration, TLS identity and all; on its streams run the real
//! sessions of real replicas. The simulation owns the clock, the randomness, the path and the disks, so that a seed fixes
//! every byte of every datagram. The world level cuts and delays whole frames; here it is shown that nothing less than a
//! lost connection ever reaches a session.

mod crypto;
mod device;
mod links;
mod path;
mod plan;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use memlet_auth::keys::SigningKey;
use memlet_core::id::NamespaceId;
use memlet_node::{Caller, Role};
use memlet_sync::code::CloseCode;
use serde_json::json;

use crate::environment::TrueTime;
use crate::failure::{Checker, Failure};
use crate::random::Stream;
use crate::tally::Tally;
use crate::trace::Trace;
use crate::world::Run;
use device::Device;
use links::broken;
use path::{Datagram, Path};
use plan::{NAMESPACES, Quality, Step};

/// The device that dials, and the one that answers.
const DIALS: usize = 0;
const ANSWERS: usize = 1;
/// Where they are at the start.
const ADDRESSES: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 4242),
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 4242),
];
/// How often the first device looks whether it has a connection, and dials if not, in milliseconds.
const DIAL_EVERY_MS: u64 = 1_000;
/// How often it is looked whether all is said, in milliseconds.
const LOOK_EVERY_MS: u64 = 250;
/// How long the devices may take to be level once the faults have ended, in milliseconds: a connection may have to be given
/// up first.
const LEVEL_WITHIN_MS: u64 = 60_000;
/// How long nothing may be left of any connection after that, in milliseconds.
const QUIET_WITHIN_MS: u64 = 60_000;

/// Runs a seed. With `readable` the events are kept as text.
pub fn run(seed: u64, readable: bool) -> Run {
    crypto::seed_tls(seed);
    let mut packets = Packets::new(seed, readable);
    let failure = packets.run().err();
    let Journal { time, trace, mut tally, .. } = packets.journal;
    tally.add("simulated ms", time.elapsed_ms());
    let (hash, events) = trace.finish();
    Run { failure, hash, events, tally }
}

/// The state of a run.
struct Packets {
    devices: [Device; 2],
    namespaces: Vec<NamespaceId>,
    path: Path,
    steps: std::vec::IntoIter<(u64, Step)>,
    queue: BTreeMap<(u64, u64), Event>,
    queued: u64,
    texts: Stream,
    /// How every text begins that a device has acknowledged, and where it was written.
    acknowledged: Vec<(NamespaceId, String)>,
    phase: Phase,
    journal: Journal,
}

/// What is due.
enum Event {
    Step(Step),
    Arrive(Datagram),
    /// A timer of a device.
    Ring(usize),
    /// The first device dials if it has no connection.
    Dial,
    /// It is looked how far the devices are.
    Look,
}

/// How far a run is, and since when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Anything happens.
    Faults,
    /// The path is good; the devices come level.
    Healed(u64),
    /// The devices are level; they say goodbye.
    Level(u64),
    /// Nothing is left of any connection.
    Quiet,
}

/// The clock of a run, and what is written down about it.
struct Journal {
    time: TrueTime,
    /// The start as QUIC sees it, which uses only differences to it.
    began: Instant,
    trace: Trace,
    tally: Tally,
}

impl Packets {
    fn new(seed: u64, readable: bool) -> Self {
        let plan = plan::generate(seed);
        let (time, trace) = (TrueTime::default(), Trace::new(readable));
        let journal = Journal { time, began: Instant::now(), trace, tally: Tally::default() };
        let device = |number| Device::new(seed, number, ADDRESSES[number], &journal);
        Self {
            devices: [DIALS, ANSWERS].map(device),
            namespaces: Vec::new(),
            path: Path::new(seed, plan.quality),
            steps: plan.steps.into_iter(),
            queue: BTreeMap::new(),
            queued: 0,
            texts: Stream::new(seed, "packets texts"),
            acknowledged: Vec::new(),
            phase: Phase::Faults,
            journal,
        }
    }

    fn run(&mut self) -> Result<(), Failure> {
        self.found()?;
        self.schedule(0, Event::Dial);
        self.plan_next();
        while self.phase != Phase::Quiet {
            let (at_ms, event) = self.next_event();
            self.journal.time.advance_to(at_ms);
            self.happen(event)?;
        }
        self.check_replicas()
    }

    /// Makes the namespaces, which both devices hold.
    fn found(&mut self) -> Result<(), Failure> {
        let [joiner, owner] = [DIALS, ANSWERS].map(|number| self.devices[number].node.clone());
        for _ in 0..NAMESPACES {
            let root = SigningKey::from_bytes(&self.texts.bytes());
            let namespace = owner.create_namespace(&root).map_err(broken)?;
            let chain = namespace.grant_device(joiner.device(), Role::Device, None).map_err(broken)?;
            joiner.join_namespace(namespace.id(), &chain).map_err(broken)?;
            self.namespaces.push(namespace.id());
        }
        Ok(())
    }

    /// What is due next. Something always is: the first device dials for ever.
    fn next_event(&mut self) -> (u64, Event) {
        let timers = [DIALS, ANSWERS].into_iter().filter_map(|number| Some((self.devices[number].timer_ms?, number)));
        let entry = self.queue.first_entry().expect("dialling is always due");
        match timers.min() {
            Some((at_ms, number)) if at_ms <= entry.key().0 => {
                (at_ms.max(self.journal.time.elapsed_ms()), Event::Ring(number))
            }
            _ => (entry.key().0, entry.remove()),
        }
    }

    fn happen(&mut self, event: Event) -> Result<(), Failure> {
        let mut out = Vec::new();
        match event {
            Event::Step(step) => {
                self.journal.note(format_args!("{step:?}"));
                self.act(step)?;
                self.plan_next();
            }
            Event::Arrive(datagram) => match self.devices.iter_mut().find(|device| device.address == datagram.to) {
                Some(device) => device.arrive(&datagram, &mut out, &mut self.journal),
                None => self.journal.tally.count("datagrams to an address that was left"),
            },
            Event::Ring(number) => self.devices[number].ring(self.journal.now()),
            Event::Dial => self.dial()?,
            Event::Look => self.look()?,
        }
        for device in &mut self.devices {
            device.drive(&self.namespaces, &mut out, &mut self.journal)?;
        }
        for datagram in out {
            self.journal.note(format_args!("{} bytes from {} to {}", datagram.bytes.len(), datagram.from, datagram.to));
            self.journal.trace.bytes(&datagram.bytes);
            let now_ms = self.journal.time.elapsed_ms();
            for (after_ms, datagram) in self.path.carry(now_ms, &datagram, &mut self.journal.tally) {
                self.schedule(after_ms, Event::Arrive(datagram));
            }
        }
        Ok(())
    }

    /// The next step of the plan comes up, or the faults end.
    fn plan_next(&mut self) {
        if let Some((after_ms, step)) = self.steps.next() {
            self.schedule(after_ms, Event::Step(step));
            return;
        }
        self.journal.note("the faults end");
        self.path.quality = Quality::good(self.path.quality.delay_ms);
        self.path.silent_until_ms = 0;
        self.phase = Phase::Healed(self.journal.time.elapsed_ms());
        self.schedule(0, Event::Look);
    }

    fn act(&mut self, step: Step) -> Result<(), Failure> {
        let now = self.journal.now();
        let [dials, _] = &mut self.devices;
        match step {
            Step::Write { device, namespace, bytes } => return self.write(device, self.namespaces[namespace], bytes),
            Step::Move { knows } => {
                let address = SocketAddr::new(dials.address.ip(), dials.address.port() + 1);
                dials.move_to(address, knows);
                self.journal.tally.count(if knows { "moves" } else { "moves unawares" });
            }
            Step::Narrow { datagram_bytes_max } => {
                self.path.quality.datagram_bytes_max = datagram_bytes_max;
                self.journal.tally.count("changes of the path's width");
            }
            Step::Silence { ms } => {
                self.path.silent_until_ms = self.journal.time.elapsed_ms() + ms;
                self.journal.tally.count("silences");
            }
            Step::HangUp => {
                dials.hang_up(now, CloseCode::Shutdown);
                self.journal.tally.count("hang-ups");
            }
            Step::GiveUp { namespace } => {
                let gave_up = dials.give_up(self.namespaces[namespace])?;
                self.journal.tally.add("streams given up", u64::from(gave_up));
            }
            Step::Restart { device } => {
                self.devices[device].restart();
                self.journal.tally.count("restarts");
            }
        }
        Ok(())
    }

    /// A device takes in a text that begins with a mark of its own.
    fn write(&mut self, device: usize, id: NamespaceId, bytes: usize) -> Result<(), Failure> {
        let mark = format!("text {:016x}", u64::from_le_bytes(self.texts.bytes()));
        let mut noise = vec![0; bytes];
        self.texts.fill(&mut noise);
        let text: String = noise.into_iter().map(|byte| char::from(b'a' + byte % 26)).collect();
        let path = format!("w/{}", self.acknowledged.len());
        let input = json!({"path": path, "value": format!("{mark} {text}")});
        let namespace = self.devices[device].node.namespace(id).map_err(broken)?;
        namespace.invoke(&Caller::Device, "v/ops/covia/write", &input).map_err(broken)?;
        self.journal.tally.count("texts");
        self.acknowledged.push((id, mark));
        Ok(())
    }

    fn dial(&mut self) -> Result<(), Failure> {
        let now = self.journal.now();
        let [dials, answers] = &mut self.devices;
        if matches!(self.phase, Phase::Faults | Phase::Healed(_)) && !dials.has_connection() {
            dials.dial(now, answers.address, answers.node.device())?;
        }
        self.schedule(DIAL_EVERY_MS, Event::Dial);
        Ok(())
    }

    fn look(&mut self) -> Result<(), Failure> {
        let now_ms = self.journal.time.elapsed_ms();
        let [dials, answers] = &mut self.devices;
        let (done, since_ms, within_ms) = match self.phase {
            Phase::Faults | Phase::Quiet => unreachable!("it is looked only after the faults and before the end"),
            Phase::Healed(since_ms) => {
                let is_level = dials.is_level(&self.namespaces)? && answers.is_level(&self.namespaces)?;
                (is_level, since_ms, LEVEL_WITHIN_MS)
            }
            Phase::Level(since_ms) => {
                if dials.has_connection() && dials.sessions_are_over() {
                    dials.hang_up(self.journal.now(), CloseCode::Done);
                }
                (dials.is_quiet() && answers.is_quiet(), since_ms, QUIET_WITHIN_MS)
            }
        };
        if !done && now_ms > since_ms + within_ms {
            return Err(Failure::new(Checker::Liveness, format!("no end in time: {:?} ", self.phase)));
        }
        if done {
            self.phase = match self.phase {
                Phase::Healed(_) => {
                    dials.close_sessions();
                    self.check_replicas()?;
                    Phase::Level(now_ms)
                }
                _ => Phase::Quiet,
            };
            self.journal.note(format_args!("{:?}", self.phase));
        }
        self.schedule(LOOK_EVERY_MS, Event::Look);
        Ok(())
    }

    /// Both replicas show the same, byte for byte, and all that was acknowledged; and neither has refused anything.
    fn check_replicas(&self) -> Result<(), Failure> {
        for id in &self.namespaces {
            let mut shown = Vec::new();
            for device in &self.devices {
                let namespace = device.node.namespace(*id).map_err(broken)?;
                namespace.verify().map_err(|error| Failure::new(Checker::Stored, error.to_string()))?;
                shown.push(namespace.canonical_bytes().map_err(broken)?);
            }
            if shown[DIALS] != shown[ANSWERS] {
                return Err(Failure::new(Checker::Convergence, format!("the devices are level and differ in {id}")));
            }
            for (_, mark) in self.acknowledged.iter().filter(|(at, _)| at == id) {
                if !shown[DIALS].windows(mark.len()).any(|window| window == mark.as_bytes()) {
                    return Err(Failure::new(Checker::NoLoss, format!("{mark:?} is gone")));
                }
            }
        }
        match self.devices.iter().find(|device| !device.node.refusals().is_empty()) {
            Some(device) => Err(broken(format_args!("something was refused: {:?}", device.node.refusals()))),
            None => Ok(()),
        }
    }

    fn schedule(&mut self, after_ms: u64, event: Event) {
        self.queued += 1;
        self.queue.insert((self.journal.time.elapsed_ms() + after_ms, self.queued), event);
    }
}

impl Journal {
    fn note(&mut self, event: impl std::fmt::Display) {
        self.trace.event(self.time.elapsed_ms(), event);
    }

    /// The time as QUIC sees it.
    fn now(&self) -> Instant {
        self.began + Duration::from_millis(self.time.elapsed_ms())
    }

    /// The first millisecond that is not before `at`.
    fn ms_of(&self, at: Instant) -> u64 {
        let after = at.saturating_duration_since(self.began);
        u64::try_from(after.as_nanos().div_ceil(1_000_000)).expect("a run is shorter than the age of the universe")
    }
}
