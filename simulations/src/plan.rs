//! The plan: everything that is going to happen, decided before anything does.
//!
//! A seed makes a [`Plan`]; a plan and its seed make a run, always the same one. So a failing run can be cut down by leaving
//! steps out, and kept as a file. A plan file has one JSON value a line: the setup, then every step.

mod generate;

use serde::{Deserialize, Serialize};

pub use generate::{Profile, generate};

use crate::environment::START_MS;

/// A world and what happens in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What the world starts from.
    pub setup: Setup,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// What a world starts from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The root of every stream of randomness.
    pub seed: u64,
    /// The devices; the first owner of a namespace makes it.
    pub devices: Vec<DeviceSetup>,
    /// How many namespaces there are.
    pub namespaces: usize,
    /// The largest frame, in bytes of payload.
    pub frame_bytes: usize,
    /// The largest batch of changes, in bytes.
    pub batch_bytes: usize,
}

/// A device and what it may do in each namespace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceSetup {
    /// By namespace; none for no grant.
    pub roles: Vec<Option<Role>>,
    /// Whether it is let in only when the plan says so.
    pub late: bool,
}

/// What a device may do in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Role {
    /// It holds the root key.
    Owner,
    /// One of the owner's other devices: it may do everything.
    Device,
    /// It holds and relays, and may do nothing else.
    Venue,
    /// It may read everything and add and edit below `w`, but forget nothing, and all that only until so many seconds after
    /// the start, the last one included.
    Guest {
        /// How many.
        until_s: u64,
    },
}

impl Role {
    /// Whether its grant holds at a time, in Unix milliseconds.
    pub fn holds_at(self, now_ms: u64) -> bool {
        match self {
            Self::Guest { until_s } => now_ms <= START_MS + 1_000 * until_s,
            Self::Owner | Self::Device | Self::Venue => true,
        }
    }

    /// Whether its grant allows reading.
    pub fn reads(self) -> bool {
        self != Self::Venue
    }

    /// Whether its grant allows adding and editing at a place.
    pub fn writes(self, place: &str) -> bool {
        match self {
            Self::Guest { .. } => place.starts_with("w/"),
            Self::Owner | Self::Device => true,
            Self::Venue => false,
        }
    }

    /// Whether its grant allows removing anything, and giving grants to others.
    pub fn forgets(self) -> bool {
        matches!(self, Self::Owner | Self::Device)
    }
}

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// How long after the step before, in milliseconds of true time.
    pub after_ms: u64,
    /// What.
    pub action: Action,
}

/// A process of a device: each device has two seats, and the second is mostly empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Seat {
    /// The device.
    pub device: usize,
    /// 0 or 1.
    pub process: usize,
}

/// What may happen. Epoch changes, files and revocations will join here with the code that does them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Action {
    /// Somebody writes.
    Write(Write),
    /// Everything a process shows is held against the model.
    Look(Seat),
    /// A device that was to come late is let in, by another.
    Join {
        /// The device.
        device: usize,
        /// Who grants.
        by: usize,
    },
    /// A connection is made.
    Connect {
        /// Who dials.
        from: Seat,
        /// Who answers.
        to: Seat,
    },
    /// All connections of two devices are cut once so many more bytes have gone over them.
    Cut {
        /// The devices.
        between: [usize; 2],
        /// How many bytes still pass: 0 cuts at once, other numbers mostly inside a frame.
        after_bytes: u64,
    },
    /// Nothing gets from one device to the other any more.
    Block {
        /// Whose bytes are lost.
        from: usize,
        /// Who does not get them.
        to: usize,
    },
    /// Bytes pass again, both ways.
    Unblock {
        /// The devices.
        between: [usize; 2],
    },
    /// What a link is like from now on.
    Quality {
        /// The devices.
        between: [usize; 2],
        /// The shortest delay, in milliseconds.
        delay_ms_min: u64,
        /// The longest delay, in milliseconds.
        delay_ms_max: u64,
        /// Bytes a second.
        bytes_per_second: u64,
    },
    /// The reader of one direction takes nothing for a while.
    Stall {
        /// Who sends.
        from: usize,
        /// Who does not read.
        to: usize,
        /// For how long, in milliseconds.
        ms: u64,
    },
    /// The power fails.
    Crash {
        /// Where.
        device: usize,
        /// After how many more messages sent by it: 0 is at once.
        after_messages: u64,
        /// How many writes that were not synced survive.
        keep: usize,
        /// How long it stays off, in milliseconds.
        down_ms: u64,
    },
    /// A process starts, if its seat is empty.
    Start(Seat),
    /// A process ends, as it should.
    End(Seat),
    /// A process does nothing for a while.
    Pause {
        /// Which.
        seat: Seat,
        /// For how long, in milliseconds.
        ms: u64,
    },
    /// A disk will misbehave.
    Disk {
        /// Whose.
        device: usize,
        /// How.
        fault: DiskFault,
        /// After how many more commits.
        after: u64,
        /// How many times; 0 for ever.
        times: u64,
    },
    /// A disk is well again: there is space, or it was replaced by one with the same content.
    Repair(usize),
    /// A copy of a disk is put away.
    Backup(usize),
    /// The power fails, and the disk is replaced by what was put away.
    Restore {
        /// Whose.
        device: usize,
        /// How long it stays off, in milliseconds.
        down_ms: u64,
    },
    /// A second machine starts from a copy of the disk and keeps running beside the first.
    Clone {
        /// Of which device.
        device: usize,
    },
    /// The clock of a device goes wrong, or right again.
    Skew {
        /// Whose.
        device: usize,
        /// How.
        skew: Skew,
    },
    /// A device says what no honest one would, over a connection of its own.
    Attack {
        /// The attacker.
        from: Seat,
        /// The victim.
        to: Seat,
        /// What it says.
        attack: Attack,
    },
}

/// A write of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// The process that is asked.
    pub seat: Seat,
    /// The namespace.
    pub namespace: usize,
    /// What is asked.
    pub change: Change,
    /// Chooses the list or leaf, and the items in it.
    pub pick: u32,
    /// Whether the call has a request id.
    pub request: bool,
}

/// What a user may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Change {
    /// An item at the end of a list.
    Remember,
    /// An item so long that its change spans frames.
    RememberLong,
    /// An item that is a bare string, at the end of a list.
    Append,
    /// An item is edited in place.
    Update,
    /// An item is removed.
    Forget,
    /// A list is made empty.
    Clear,
    /// A list is deleted.
    Delete,
    /// A list is written as a whole, by somebody who dropped some of its items and put others between them.
    Rewrite,
    /// A leaf is written.
    Set,
    /// A leaf is deleted.
    Unset,
    /// A map is written over all leaves below it.
    SetAll,
    /// A map is deleted with all leaves below it.
    UnsetAll,
    /// The last call that had a request id is repeated.
    Repeat,
}

/// What a disk does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DiskFault {
    /// A write fails.
    Write,
    /// A sync fails: nobody knows what is on the disk.
    Sync,
    /// There is no space.
    Full,
    /// It has become read-only.
    ReadOnly,
}

/// What a clock shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Skew {
    /// The true time.
    None,
    /// The true time and so many milliseconds.
    Offset(i64),
    /// So many milliseconds more for every thousand that pass.
    Drift(i64),
    /// Always the same: before 1970, just before the end of all timestamps, or the largest number.
    Stuck(u64),
}

/// What an attacker says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Attack {
    /// Random bytes.
    Garbage,
    /// The length of a frame beyond all limits.
    HugeLength,
    /// The length 0.
    EmptyFrame,
    /// A frame that never ends.
    Truncated,
    /// What it would have said, with one bit turned.
    BitFlip,
    /// A grant of everything that it gives itself under its own, and a change under that.
    Widened,
    /// Changes before anything else was said.
    TooEarly,
    /// A reason to close that no version knows.
    UnknownClose,
    /// Changes that are there already.
    Replay,
    /// A change of another with one byte changed.
    Tampered,
    /// A change of another, stamped by the attacker under its own grant.
    Restamped,
    /// A change of its own, which its grant does not allow.
    Forged,
    /// A change under the victim's name, next in its numbers.
    ForgedActor,
    /// A change of its own, stamped under the grant of another.
    StolenGrant,
    /// A stamped change of another namespace.
    Foreign,
    /// Changes under a grant that nobody has heard of.
    UnknownGrant,
    /// An acknowledgement of more than can be.
    LyingAck,
    /// Statements that are none.
    BadStatements,
    /// The `Open` of another connection.
    StolenOpen,
}

impl Plan {
    /// The plan as a file.
    pub fn to_text(&self) -> String {
        let setup = serde_json::to_string(&self.setup).expect("a setup has only string keys");
        let steps = self.steps.iter().map(|step| serde_json::to_string(step).expect("a step has only string keys"));
        [setup].into_iter().chain(steps).map(|line| line + "\n").collect()
    }

    /// Reads the file.
    ///
    /// # Errors
    /// The first line that is none.
    pub fn from_text(text: &str) -> Result<Self, serde_json::Error> {
        let mut lines = text.lines().filter(|line| !line.is_empty());
        let setup = serde_json::from_str(lines.next().unwrap_or_default())?;
        Ok(Self { setup, steps: lines.map(serde_json::from_str).collect::<Result<_, _>>()? })
    }
}
