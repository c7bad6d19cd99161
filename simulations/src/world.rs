//! The world: one thread, one queue of events, and the clock jumps from one to the next.
//!
//! Everything that matters runs in production code: nodes over simulated disks, sessions over simulated links. The world
//! decides when they run, what reaches them and what their clocks show, and holds all they show against the model.

mod attack;
mod calls;
mod device;
mod faults;
mod heal;
mod network;
mod observe;
mod sessions;
mod setup;

use std::collections::BTreeMap;

use crate::environment::TrueTime;
use crate::failure::{Checker, Failure};
use crate::model::{Model, Operations};
use crate::plan::{Action, DeviceSetup, Plan, Seat, Setup, Step};
use crate::random::Stream;
use crate::tally::Tally;
use crate::trace::Trace;
use device::Device;
use network::Network;
use setup::NamespaceSetup;

/// What came of a run.
#[derive(Debug)]
pub struct Run {
    /// What went wrong first, if anything did.
    pub failure: Option<Failure>,
    /// Equal for equal runs.
    pub hash: blake3::Hash,
    /// Every event, if they were asked for.
    pub events: Vec<String>,
    /// How often what happened.
    pub tally: Tally,
}

/// Runs a plan. With `readable` the events are kept as text.
pub fn run(plan: &Plan, readable: bool) -> Run {
    let mut world = World::new(plan, readable);
    let outcome = crate::panics::catch(|| world.run());
    let failure = match outcome {
        Ok(Ok(())) => None,
        Ok(Err(failure)) => Some(failure),
        Err(panic) => Some(Failure::new(Checker::NoPanic, panic)),
    };
    if let Some(failure) = &failure {
        world.note(format_args!("FAILED {failure}"));
    }
    world.tally.add("simulated ms", world.time.elapsed_ms());
    let (hash, events) = world.trace.finish();
    Run { failure, hash, events, tally: world.tally }
}

/// The state of a run.
struct World<'p> {
    setup: &'p Setup,
    steps: &'p [Step],
    time: TrueTime,
    queue: BTreeMap<(u64, u64), Event>,
    queued: u64,
    devices: Vec<Device>,
    namespaces: Vec<NamespaceSetup>,
    models: Vec<Model>,
    network: Network,
    trace: Trace,
    tally: Tally,
    /// Chooses delays of everything that the network does not delay.
    delays: Stream,
    /// Numbers every text and request.
    texts: u64,
    /// Once the faults have ended.
    healed: Option<Healed>,
}

/// How things stood when the faults ended.
struct Healed {
    at_ms: u64,
    /// Messages sent until then.
    messages: u64,
    /// By namespace: what those who may sync held together.
    held: Vec<Operations>,
}

/// What is due.
enum Event {
    /// The next step of the plan.
    Step(usize),
    /// Bytes arrive at one end of a stream.
    Deliver { at: End, bytes: Vec<u8> },
    /// One end of a stream may have something to say.
    Poll(End),
    /// A process starts again.
    Start(Seat),
    /// A process goes on after a pause.
    Wake(Seat),
    /// A connection has been silent for too long.
    Timeout(u64),
    /// The faults end.
    Heal,
}

/// One end of a stream: its connection, its place in that, and the side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct End {
    connection: u64,
    stream: usize,
    side: usize,
}

impl<'p> World<'p> {
    fn new(plan: &'p Plan, readable: bool) -> Self {
        let setup = &plan.setup;
        let time = TrueTime::default();
        let device = |(number, device): (usize, &DeviceSetup)| {
            Device::new(setup.seed, number, device.roles.clone(), time.clone())
        };
        Self {
            setup,
            steps: &plan.steps,
            queue: BTreeMap::new(),
            queued: 0,
            devices: setup.devices.iter().enumerate().map(device).collect(),
            namespaces: (0..setup.namespaces).map(|number| NamespaceSetup::new(setup, number)).collect(),
            models: (0..setup.namespaces).map(|_| Model::default()).collect(),
            network: Network::new(setup.seed),
            trace: Trace::new(readable),
            tally: Tally::default(),
            delays: Stream::new(setup.seed, "delays"),
            texts: 0,
            healed: None,
            time,
        }
    }

    fn run(&mut self) -> Result<(), Failure> {
        self.found()?;
        self.schedule(0, Event::Step(0));
        while let Some(((at_ms, _), event)) = self.queue.pop_first() {
            self.time.advance_to(at_ms.max(self.now()));
            self.happen(event)?;
            self.check_liveness()?;
        }
        self.check_everything()
    }

    fn happen(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Step(number) => match self.steps.get(number) {
                Some(step) => {
                    self.note(format_args!("step {number}: {:?}", step.action));
                    self.act(&step.action)?;
                    let after_ms = self.steps.get(number + 1).map_or(1, |next| next.after_ms);
                    self.schedule(after_ms, Event::Step(number + 1));
                    Ok(())
                }
                None => {
                    self.schedule(0, Event::Heal);
                    Ok(())
                }
            },
            Event::Deliver { at, bytes } => self.deliver(at, bytes),
            Event::Poll(end) => self.poll(end),
            Event::Start(seat) => self.start(seat),
            Event::Wake(seat) => self.wake(seat),
            Event::Timeout(connection) => {
                self.drop_connection(connection, "silent for too long");
                Ok(())
            }
            Event::Heal => self.heal(),
        }
    }

    fn act(&mut self, action: &Action) -> Result<(), Failure> {
        match action {
            Action::Write(write) => self.call(*write),
            Action::Look(seat) => self.look(*seat),
            Action::Join { device, by } => self.join(*device, *by),
            Action::Connect { from, to } => self.connect(*from, *to, None),
            Action::Attack { from, to, attack } => self.connect(*from, *to, Some(*attack)),
            fault => self.strike(fault),
        }
    }

    /// Milliseconds of true time since the start.
    fn now(&self) -> u64 {
        self.time.elapsed_ms()
    }

    fn schedule(&mut self, after_ms: u64, event: Event) {
        let at_ms = self.now().saturating_add(after_ms);
        self.queued += 1;
        self.queue.insert((at_ms, self.queued), event);
    }

    fn note(&mut self, event: impl std::fmt::Display) {
        self.trace.event(self.time.elapsed_ms(), event);
    }
}
