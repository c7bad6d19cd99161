//! From a seed to a plan: which faults there are in this world, how often, and what its users do meanwhile.
//!
//! Every kind of fault is off in half of all worlds and else strikes at a rate of any order of magnitude, so that some worlds
//! have one fault all the time and others many kinds now and then (Groce et al., "Swarm Testing", 2012).

use memlet_core::hlc::Hlc;
use memlet_sync::limits::{BATCH_BYTES_MIN, FRAME_BYTES_MIN};

use super::{Action, Attack, Change, DeviceSetup, DiskFault, Plan, Role, Seat, Setup, Skew, Step, Write};
use crate::environment::START_MS;
use crate::random::Stream;

/// How large worlds are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// 2 to 7 devices.
    Standard,
    /// 200 devices.
    Wide,
}

/// Makes the plan of a seed.
pub fn generate(seed: u64, profile: Profile) -> Plan {
    let setup = setup(seed, profile);
    let steps = Generator::new(&setup).steps(profile);
    Plan { setup, steps }
}

fn setup(seed: u64, profile: Profile) -> Setup {
    let stream = &mut Stream::new(seed, "setup");
    let namespaces = 2;
    let count = match profile {
        Profile::Standard => usize::try_from(stream.between(2, 7)).expect("a handful"),
        Profile::Wide => 200,
    };
    let devices = (0..count).map(|device| device_setup(device, stream)).collect();
    let frame_bytes = FRAME_BYTES_MIN << stream.below(3);
    let batch_bytes = BATCH_BYTES_MIN << stream.below(4);
    Setup { seed, devices, namespaces, frame_bytes, batch_bytes }
}

/// The first device owns the first namespace, the second one the second; others are let in by chance.
fn device_setup(device: usize, stream: &mut Stream) -> DeviceSetup {
    let first = match device {
        0 => Some(Role::Owner),
        1 => Some(Role::Device),
        _ => match stream.below(10) {
            0 => None,
            1 | 2 => Some(Role::Venue),
            3 => Some(Role::Guest { until_s: stream.magnitude(1, 3_600) }),
            _ => Some(Role::Device),
        },
    };
    let second = match device {
        0 => None,
        1 => Some(Role::Owner),
        _ => stream.chance(400).then_some(if stream.chance(200) { Role::Venue } else { Role::Device }),
    };
    DeviceSetup { roles: vec![first, second], late: device > 1 && stream.chance(250) }
}

/// The kinds of fault, each with its own rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Cut,
    Block,
    Quality,
    Stall,
    Crash,
    Second,
    Pause,
    Write,
    Sync,
    Full,
    ReadOnly,
    Skew,
    Attack,
    Restore,
    Clone,
}

impl Fault {
    const ALL: [Self; 15] = [
        Self::Cut,
        Self::Block,
        Self::Quality,
        Self::Stall,
        Self::Crash,
        Self::Second,
        Self::Pause,
        Self::Write,
        Self::Sync,
        Self::Full,
        Self::ReadOnly,
        Self::Skew,
        Self::Attack,
        Self::Restore,
        Self::Clone,
    ];
}

struct Generator<'a> {
    setup: &'a Setup,
    seed: u64,
    /// The faults of this world, each with how many times of a thousand steps it strikes.
    rates: Vec<(Fault, u64)>,
    /// The longest usual pause between two steps, in milliseconds.
    pace_ms: u64,
    /// How often two devices connect, of a thousand steps.
    connects: u64,
    stream: Stream,
}

impl<'a> Generator<'a> {
    fn new(setup: &'a Setup) -> Self {
        let swarm = &mut Stream::new(setup.seed, "swarm");
        let rates = Fault::ALL.into_iter().filter_map(|fault| {
            let rate = swarm.magnitude(1, 63);
            swarm.chance(500).then_some((fault, rate))
        });
        let rates = rates.collect();
        let pace_ms = swarm.magnitude(10, 20_000);
        let connects = swarm.magnitude(30, 250);
        Self { setup, seed: setup.seed, rates, pace_ms, connects, stream: Stream::new(setup.seed, "steps") }
    }

    fn steps(mut self, profile: Profile) -> Vec<Step> {
        let count = match profile {
            Profile::Standard => self.stream.magnitude(100, 1_600),
            Profile::Wide => 1_500,
        };
        let late: Vec<usize> = (0..self.setup.devices.len()).filter(|at| self.setup.devices[*at].late).collect();
        let mut joins: Vec<(u64, usize)> = late.into_iter().map(|at| (self.stream.below(count), at)).collect();
        joins.sort_unstable_by(|a, b| b.cmp(a));
        let mut faults: Vec<Stream> =
            self.rates.iter().map(|(fault, _)| Stream::new(self.seed, &format!("fault {fault:?}"))).collect();
        let mut steps = Vec::new();
        for number in 0..count {
            while let Some((_, device)) = joins.pop_if(|(at, _)| *at <= number) {
                let by = self.stream.index(self.setup.devices.len());
                steps.push(Step { after_ms: 0, action: Action::Join { device, by } });
            }
            for (at, stream) in faults.iter_mut().enumerate() {
                let (fault, rate) = self.rates[at];
                if stream.chance(rate) {
                    let after_ms = stream.magnitude(1, self.pace_ms);
                    let actions = fault_actions(fault, self.setup, self.pace_ms, stream);
                    steps.extend(actions.into_iter().map(|action| Step { after_ms, action }));
                }
            }
            let after_ms = self.stream.magnitude(1, self.pace_ms) - 1;
            let action = self.honest_action();
            steps.push(Step { after_ms, action });
        }
        steps
    }

    fn honest_action(&mut self) -> Action {
        let seat = self.seat();
        if self.stream.chance(self.connects) {
            return Action::Connect { from: seat, to: self.seat() };
        }
        if self.stream.chance(20) {
            return Action::Look(seat);
        }
        Action::Write(self.write(seat))
    }

    fn write(&mut self, seat: Seat) -> Write {
        const CHANGES: [(u64, Change); 13] = [
            (300, Change::Remember),
            (20, Change::RememberLong),
            (100, Change::Append),
            (120, Change::Update),
            (150, Change::Forget),
            (12, Change::Clear),
            (8, Change::Delete),
            (60, Change::Rewrite),
            (110, Change::Set),
            (50, Change::Unset),
            (20, Change::SetAll),
            (10, Change::UnsetAll),
            (40, Change::Repeat),
        ];
        let mut left = self.stream.below(CHANGES.iter().map(|(weight, _)| weight).sum());
        let chosen = CHANGES.iter().find(|(weight, _)| left.checked_sub(*weight).map(|rest| left = rest).is_none());
        let (_, change) = *chosen.expect("a number below the sum of all weights falls on one");
        let namespace = if self.stream.chance(800) { 0 } else { 1 };
        let pick = u32::try_from(self.stream.below(1 << 32)).expect("it is below 2^32");
        Write { seat, namespace, change, pick, request: self.stream.chance(200) }
    }

    fn seat(&mut self) -> Seat {
        seat(self.setup, &mut self.stream)
    }
}

fn seat(setup: &Setup, stream: &mut Stream) -> Seat {
    Seat { device: stream.index(setup.devices.len()), process: usize::from(stream.chance(250)) }
}

/// Two devices.
fn pair(setup: &Setup, stream: &mut Stream) -> [usize; 2] {
    let first = stream.index(setup.devices.len());
    let second = stream.index(setup.devices.len() - 1);
    [first, if second < first { second } else { second + 1 }]
}

/// What a fault does in a world of such a pace.
fn fault_actions(fault: Fault, setup: &Setup, pace_ms: u64, stream: &mut Stream) -> Vec<Action> {
    let seat = seat(setup, stream);
    let device = seat.device;
    let between = pair(setup, stream);
    let [from, to] = between;
    let disk = |fault, stream: &mut Stream| {
        let times = if stream.chance(200) { 0 } else { stream.magnitude(1, 8) };
        Action::Disk { device, fault, after: stream.magnitude(1, 16) - 1, times }
    };
    match fault {
        Fault::Cut => vec![Action::Cut { between, after_bytes: stream.magnitude(1, 4_000) - 1 }],
        Fault::Block if stream.chance(400) => vec![Action::Unblock { between }],
        Fault::Block if stream.chance(500) => vec![Action::Block { from, to }],
        Fault::Block => vec![Action::Block { from, to }, Action::Block { from: to, to: from }],
        Fault::Quality => {
            let delay_ms_min = stream.magnitude(1, 2_000);
            let delay_ms_max = stream.magnitude(delay_ms_min, 60_000);
            vec![Action::Quality {
                between,
                delay_ms_min,
                delay_ms_max,
                bytes_per_second: stream.magnitude(1_000, 1 << 20),
            }]
        }
        Fault::Stall => vec![Action::Stall { from, to, ms: stream.magnitude(1, 64 * pace_ms) }],
        Fault::Crash => vec![Action::Crash {
            device,
            after_messages: stream.magnitude(1, 24) - 1,
            keep: stream.index(3),
            down_ms: stream.magnitude(1, 32 * pace_ms),
        }],
        Fault::Second if stream.chance(300) => vec![Action::End(seat)],
        Fault::Second => vec![Action::Start(Seat { device, process: 1 })],
        Fault::Pause => vec![Action::Pause { seat, ms: stream.magnitude(1, 256 * pace_ms) }],
        Fault::Write | Fault::Sync | Fault::Full | Fault::ReadOnly if stream.chance(250) => {
            vec![Action::Repair(device)]
        }
        Fault::Write => vec![disk(DiskFault::Write, stream)],
        Fault::Sync if stream.chance(500) => doubtful_crash(seat, pace_ms, stream),
        Fault::Sync => vec![disk(DiskFault::Sync, stream)],
        Fault::Full => vec![disk(DiskFault::Full, stream)],
        Fault::ReadOnly => vec![disk(DiskFault::ReadOnly, stream)],
        Fault::Skew => vec![Action::Skew { device, skew: skew(setup.devices[device].roles[0], stream) }],
        Fault::Restore if stream.chance(500) => vec![Action::Backup(device)],
        Fault::Restore => vec![Action::Restore { device, down_ms: stream.magnitude(1, 32 * pace_ms) }],
        Fault::Clone => vec![Action::Clone { device }],
        Fault::Attack => {
            let to = Seat { device: to, process: seat.process };
            vec![Action::Attack { from: Seat { device: from, process: 0 }, to, attack: *stream.pick(&ATTACKS) }]
        }
    }
}

/// A write whose sync fails, and then the power: the write may come up again.
fn doubtful_crash(seat: Seat, pace_ms: u64, stream: &mut Stream) -> Vec<Action> {
    let device = seat.device;
    let pick = u32::try_from(stream.below(1 << 32)).expect("it is below 2^32");
    let change = *stream.pick(&[Change::Remember, Change::Update, Change::Forget, Change::Set]);
    let write = Write { seat, namespace: 0, change, pick, request: stream.chance(500) };
    vec![
        Action::Disk { device, fault: DiskFault::Sync, after: 0, times: 1 },
        Action::Write(write),
        Action::Crash { device, after_messages: 0, keep: stream.index(3), down_ms: stream.magnitude(1, 4 * pace_ms) },
        Action::Write(Write { change: Change::Repeat, ..write }),
    ]
}

/// A year, in milliseconds.
const YEAR_MS: i64 = 365 * 24 * 60 * 60 * 1_000;

fn skew(role: Option<Role>, stream: &mut Stream) -> Skew {
    if let Some(Role::Guest { until_s }) = role
        && stream.chance(500)
    {
        // the last moment of its grant, or the first after it
        return Skew::Stuck(START_MS + 1_000 * until_s + stream.below(2));
    }
    let seconds = i64::try_from(stream.magnitude(1, 3_600)).expect("an hour is a small number");
    *stream.pick(&[
        Skew::None,
        Skew::Offset(1_000 * seconds),
        Skew::Offset(-1_000 * seconds),
        Skew::Offset(-YEAR_MS),
        Skew::Offset(10 * YEAR_MS),
        Skew::Drift(seconds / 4),
        Skew::Drift(-seconds / 4),
        Skew::Stuck(0),
        Skew::Stuck(Hlc::END_MS - 1),
        Skew::Stuck(u64::MAX),
    ])
}

const ATTACKS: [Attack; 19] = [
    Attack::Garbage,
    Attack::HugeLength,
    Attack::EmptyFrame,
    Attack::Truncated,
    Attack::BitFlip,
    Attack::TooEarly,
    Attack::UnknownClose,
    Attack::Widened,
    Attack::Replay,
    Attack::Tampered,
    Attack::Restamped,
    Attack::Forged,
    Attack::ForgedActor,
    Attack::StolenGrant,
    Attack::Foreign,
    Attack::UnknownGrant,
    Attack::LyingAck,
    Attack::BadStatements,
    Attack::StolenOpen,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_fixed_by_its_seed_and_survives_as_text() {
        for seed in 0..50 {
            let plan = generate(seed, Profile::Standard);
            assert_eq!(plan, generate(seed, Profile::Standard));
            assert_eq!(plan, Plan::from_text(&plan.to_text()).unwrap());
        }
        assert_ne!(generate(1, Profile::Standard), generate(2, Profile::Standard));
    }
}
