//! What goes wrong: power, processes, disks, clocks and links.

use memlet_store::Fault;

use super::device::{Crash, Device, Process};
use super::{Event, World};
use crate::failure::{Checker, Failure};
use crate::plan::{Action, DiskFault, Seat, Skew};

impl World<'_> {
    /// Does what a fault of the plan says.
    pub(super) fn strike(&mut self, fault: &Action) -> Result<(), Failure> {
        match *fault {
            Action::Cut { between: [a, b], after_bytes: 0 } => self.cut(a, b),
            Action::Cut { between: [a, b], after_bytes } => {
                self.network.link(a, b).cut_after_bytes = Some(after_bytes);
            }
            Action::Block { from, to } => {
                self.network.link(from, to).blocked[usize::from(from > to)] = true;
                let is_one_way = !self.network.is_blocked(to, from);
                self.tally.count(if is_one_way { "a direction blocked" } else { "a link blocked both ways" });
            }
            Action::Unblock { between: [a, b] } => self.network.link(a, b).blocked = [false; 2],
            Action::Quality { between: [a, b], delay_ms_min, delay_ms_max, bytes_per_second } => {
                let link = self.network.link(a, b);
                (link.delay_ms_min, link.delay_ms_max) = (delay_ms_min, delay_ms_max);
                link.bytes_per_second = bytes_per_second;
                self.tally.count("a link of another quality");
            }
            Action::Stall { from, to, ms } => {
                let until_ms = self.now() + ms;
                self.network.link(from, to).stalled_until_ms[usize::from(from > to)] = until_ms;
                self.tally.count("a reader stalled");
            }
            Action::Crash { device, after_messages: 0, keep, down_ms } => self.crash(device, keep, down_ms),
            Action::Crash { device, after_messages, keep, down_ms } => {
                self.devices[device].crash = Some(Crash { after_messages, keep, down_ms });
            }
            Action::Start(seat) => {
                self.tally.add("a second process", u64::from(seat.process == 1));
                return self.start(seat);
            }
            Action::End(seat) => self.end(seat),
            Action::Pause { seat, ms } => {
                let until_ms = self.now() + ms;
                if let Some(process) = &mut self.devices[seat.device].processes[seat.process] {
                    process.paused_until_ms = until_ms;
                    self.schedule(ms, Event::Wake(seat));
                    self.tally.count("a process paused");
                }
            }
            Action::Disk { device, fault, after, times } => self.spoil(device, fault, after, times),
            Action::Repair(device) => self.repair(device),
            Action::Skew { device, skew } => {
                self.devices[device].environment.set_skew(skew);
                self.tally.count(match skew {
                    Skew::None => "a clock put right",
                    Skew::Offset(ms) if ms < 0 => "a clock put back",
                    Skew::Offset(_) => "a clock put ahead",
                    Skew::Drift(_) => "a clock that drifts",
                    Skew::Stuck(0) => "a clock before 1970",
                    Skew::Stuck(_) => "a clock at its end",
                });
            }
            Action::Backup(number) => {
                let device = &mut self.devices[number];
                if device.in_doubt.is_some() {
                    return Ok(());
                }
                device.backup = Some((device.disk.copy(), device.holdings.clone()));
            }
            Action::Restore { device, down_ms } => self.restore(device, down_ms),
            Action::Clone { device } => return self.clone_device(device),
            Action::Write(_)
            | Action::Look(_)
            | Action::Join { .. }
            | Action::Connect { .. }
            | Action::Attack { .. } => unreachable!("no fault"),
        }
        Ok(())
    }

    /// The power of a device fails.
    pub(super) fn crash(&mut self, number: usize, keep: usize, down_ms: u64) {
        self.note(format_args!("device {number} loses power"));
        let device = &mut self.devices[number];
        device.crash = None;
        self.tally.count("crashes");
        self.tally.add("a crash with writes that were not synced", u64::from(device.disk.unsynced() > 0));
        device.disk.crash(keep);
        device.off_until_ms = self.time.elapsed_ms() + down_ms;
        let was_running: Vec<usize> =
            (0..device.processes.len()).filter(|at| device.processes[*at].take().is_some()).collect();
        for (connection, side) in self.network.at(number, None) {
            self.abandon(connection, side);
        }
        for process in was_running {
            self.schedule(down_ms, Event::Start(Seat { device: number, process }));
        }
    }

    /// The power of a device fails, and it comes back with an older disk.
    fn restore(&mut self, number: usize, down_ms: u64) {
        let Some((disk, holdings)) = &self.devices[number].backup else { return };
        let (disk, holdings) = (disk.copy(), holdings.clone());
        self.crash(number, 0, down_ms);
        let device = &mut self.devices[number];
        self.tally.count("a disk replaced by an older copy");
        (device.disk, device.holdings) = (disk, holdings);
        (device.actor, device.in_doubt, device.request) = (None, None, None);
    }

    /// A second machine starts with the key and a copy of the disk of a first.
    fn clone_device(&mut self, number: usize) -> Result<(), Failure> {
        // what a copy holds must be known: no write in doubt
        if self.devices.len() > self.setup.devices.len() || self.devices[number].in_doubt.is_some() {
            return Ok(());
        }
        let original = &self.devices[number];
        let mut clone = Device::new(self.setup.seed, self.devices.len(), original.roles.clone(), self.time.clone());
        clone.key = original.key.clone();
        (clone.disk, clone.holdings) = (original.disk.copy(), original.holdings.clone());
        self.devices.push(clone);
        self.tally.count("a machine cloned");
        self.start(Seat { device: self.devices.len() - 1, process: 0 })
    }

    /// A process starts, if its seat is empty and the power is on.
    pub(super) fn start(&mut self, seat: Seat) -> Result<(), Failure> {
        let now_ms = self.now();
        let device = &mut self.devices[seat.device];
        if device.processes[seat.process].is_some() {
            return Ok(());
        }
        if device.off_until_ms > now_ms {
            let ms = device.off_until_ms - now_ms;
            self.schedule(ms, Event::Start(seat));
            return Ok(());
        }
        if let Err(error) = device.start(seat.process) {
            if device.disk_is_faulty {
                self.tally.count("a process that could not start");
                let ms = self.delays.magnitude(1, 3_000);
                self.schedule(ms, Event::Start(seat));
                return Ok(());
            }
            let detail = format!("device {} does not start: {error}", seat.device);
            return Err(Failure::new(Checker::Answers, detail));
        }
        self.note(format_args!("{seat:?} starts"));
        self.look(seat)
    }

    /// A process ends as it should: its peers are told.
    pub(super) fn end(&mut self, seat: Seat) {
        if self.devices[seat.device].processes[seat.process].take().is_none() {
            return;
        }
        self.tally.count("a process ended");
        for (connection, _) in self.network.at(seat.device, Some(seat.process)) {
            self.drop_connection(connection, "the process ended");
        }
        if seat.process == 0 {
            let ms = self.delays.magnitude(1, 3_000);
            self.schedule(ms, Event::Start(seat));
        }
    }

    /// Ends the processes of a device whose stores refuse everything, as the server does; they are started again later.
    pub(super) fn retire_poisoned(&mut self, number: usize) {
        for process in 0..self.devices[number].processes.len() {
            let is_poisoned = self.devices[number].processes[process].as_ref().is_some_and(Process::is_poisoned);
            if !is_poisoned {
                continue;
            }
            let seat = Seat { device: number, process };
            self.note(format_args!("{seat:?} gives up on its store"));
            self.tally.count("a process that gave up on its store");
            self.devices[number].processes[process] = None;
            for (connection, side) in self.network.at(number, Some(process)) {
                self.abandon(connection, side);
            }
            let ms = self.delays.magnitude(1, 3_000);
            self.schedule(ms, Event::Start(seat));
        }
    }

    fn spoil(&mut self, number: usize, fault: DiskFault, after: u64, times: u64) {
        let device = &mut self.devices[number];
        device.disk_is_faulty = true;
        let times = if times == 0 { u64::MAX } else { times };
        let (fault, name) = match fault {
            DiskFault::Write => (Fault::WriteError, "a disk that fails to write"),
            DiskFault::Sync => (Fault::SyncError, "a disk that fails to sync"),
            DiskFault::Full => (Fault::Full, "a full disk"),
            DiskFault::ReadOnly => (Fault::ReadOnly, "a disk that is read-only"),
        };
        self.tally.count(name);
        device.disk.inject(fault, after, times);
    }

    fn repair(&mut self, number: usize) {
        self.devices[number].disk.heal();
        self.tally.add("a disk repaired", u64::from(self.devices[number].disk_is_faulty));
    }

    /// Cuts all connections between two devices.
    pub(super) fn cut(&mut self, a: usize, b: usize) {
        self.network.link(a, b).cut_after_bytes = None;
        for connection in self.network.between(a, b) {
            self.drop_connection(connection, "cut");
        }
    }
}
