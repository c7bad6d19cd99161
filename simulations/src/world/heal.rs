//! The end of all faults, the way to rest, and what must be true there.

use std::collections::{BTreeMap, BTreeSet};

use memlet_auth::grant::Grant;
use memlet_core::document::{AdmitError, Document, Parsed, Refusal};
use memlet_core::hlc::Hlc;
use memlet_core::id::{GrantId, GrantRef};
use memlet_node::Namespace;
use memlet_sync::replica::Replica as _;

use super::attack::changes;
use super::{Healed, World};
use crate::environment::START_MS;
use crate::failure::{Checker, Failure};
use crate::model::Operations;
use crate::plan::{Seat, Skew};
use crate::random::Stream;

/// How long the world may take to come to rest, in milliseconds.
const REST_MS_MAX: u64 = 10 * 60 * 1_000;

impl World<'_> {
    /// All faults end: links are up, disks work, clocks are right, everybody runs and knows somebody.
    pub(super) fn heal(&mut self) -> Result<(), Failure> {
        self.wait_for_stamps();
        self.note("all faults end");
        for id in self.network.connections.keys().copied().collect::<Vec<_>>() {
            self.drop_connection(id, "the faults end");
        }
        self.network.repair();
        for number in 0..self.devices.len() {
            let now_ms = self.now();
            let device = &mut self.devices[number];
            device.disk.heal();
            device.environment.set_skew(Skew::None);
            device.crash = None;
            device.off_until_ms = now_ms;
            device.processes.iter_mut().flatten().for_each(|process| process.paused_until_ms = now_ms);
            self.retire_poisoned(number);
            self.devices[number].disk_is_faulty = false;
            self.start(Seat { device: number, process: 0 })?;
        }
        self.queue.clear();
        for device in 0..self.devices.len() {
            self.join(device, 0)?;
        }
        let held = (0..self.namespaces.len()).map(|number| self.held_together(number)).collect();
        self.healed = Some(Healed { at_ms: self.now(), messages: self.network.messages, held });
        self.connect_all()
    }

    /// True time goes on until every change is from the past, unless that is the end of all time.
    fn wait_for_stamps(&mut self) {
        let latest_ms = self.models.iter().map(|model| model.stamped_ms_before(Hlc::END_MS - 1)).max().unwrap_or(0);
        let needed_ms = latest_ms.saturating_sub(START_MS);
        if needed_ms > self.now() {
            self.tally.count("a wait for stamps from the future");
            self.time.advance_to(needed_ms);
        }
    }

    /// Those who hold a namespace come to know each other, each of them at least one that was there before it.
    fn connect_all(&mut self) -> Result<(), Failure> {
        let stream = &mut Stream::new(self.setup.seed, "heal");
        for number in 0..self.namespaces.len() {
            let holders = self.holders(number);
            for at in 1..holders.len() {
                let [a, b] = [holders[at], holders[stream.index(at)]];
                let (from, to) = if stream.chance(500) { (a, b) } else { (b, a) };
                self.connect(from, to, None)?;
            }
        }
        Ok(())
    }

    /// One process of every device whose grant holds in a namespace until all is at rest.
    fn holders(&self, number: usize) -> Vec<Seat> {
        let began_ms = self.healed.as_ref().map_or(self.now(), |healed| healed.at_ms);
        let until_ms = START_MS + began_ms + REST_MS_MAX;
        let seats = (0..self.devices.len()).map(|device| Seat { device, process: 0 });
        seats
            .filter(|seat| self.devices[seat.device].roles[number].is_some_and(|role| role.holds_at(until_ms)))
            .collect()
    }

    /// What those who will talk to each other hold together. What only others hold is lost with their disks and grants.
    fn held_together(&self, number: usize) -> Operations {
        let mut together = Operations::default();
        for seat in self.holders(number) {
            together.join(&self.devices[seat.device].holdings[number].operations);
        }
        together
    }

    /// After the faults the world must come to rest, soon and with few messages.
    pub(super) fn check_liveness(&mut self) -> Result<(), Failure> {
        let Some(Healed { at_ms, messages, .. }) = self.healed else { return Ok(()) };
        let changes: usize = self.models.iter().map(|model| model.len()).sum();
        let budget = self.network.connections.len().max(1) * (100 + 8 * changes);
        let sent = self.network.messages - messages;
        if sent > budget as u64 {
            return Err(Failure::new(Checker::Liveness, format!("{sent} messages after the faults, and no rest")));
        }
        if self.now() > at_ms + REST_MS_MAX {
            return Err(Failure::new(Checker::Liveness, "no rest in time after the faults".to_owned()));
        }
        Ok(())
    }

    /// Everything that must be true of a world at rest.
    pub(super) fn check_everything(&mut self) -> Result<(), Failure> {
        for device in 0..self.devices.len() {
            for process in 0..self.devices[device].processes.len() {
                self.look(Seat { device, process })?;
            }
        }
        let latest_ms = START_MS + self.now();
        for number in 0..self.namespaces.len() {
            let late = self.models[number].late(latest_ms);
            let healed = self.healed.as_ref().expect("every world is healed before it is at rest");
            let required = healed.held[number].without(&late);
            for seat in self.holders(number) {
                let held = &self.devices[seat.device].holdings[number].operations;
                if let Some(missing) = required.missing_in(held).next() {
                    let detail = format!("device {} lacks operation {missing} of namespace {number}", seat.device);
                    return Err(Failure::new(Checker::Liveness, detail));
                }
            }
            self.check_convergence(number)?;
        }
        Ok(())
    }

    /// Who holds the same shows the same, and so does whoever takes in the same changes in another order.
    fn check_convergence(&mut self, number: usize) -> Result<(), Failure> {
        let mut states: BTreeMap<Vec<usize>, (usize, Vec<u8>)> = BTreeMap::new();
        for seat in self.holders(number) {
            let Some(namespace) = self.namespace_at(seat, number) else { continue };
            let shown =
                namespace.canonical_bytes().map_err(|error| Failure::new(Checker::Answers, error.to_string()))?;
            let held = &self.devices[seat.device].holdings[number].operations;
            let held: Vec<usize> = held.missing_in(&Operations::default()).collect();
            match states.get(&held) {
                None => {
                    let reordered = self.reordered(&namespace)?;
                    if reordered != shown {
                        let detail =
                            format!("device {}: the same changes in another order show another state", seat.device);
                        return Err(Failure::new(Checker::OrderFree, detail));
                    }
                    states.insert(held, (seat.device, shown));
                }
                Some((_, first)) if *first == shown => {}
                Some((other, _)) => {
                    let detail = format!("devices {other} and {} hold the same and show another state", seat.device);
                    return Err(Failure::new(Checker::Convergence, detail));
                }
            }
        }
        Ok(())
    }

    /// The state that the same changes give in another order, each of them offered twice.
    fn reordered(&self, namespace: &Namespace) -> Result<Vec<u8>, Failure> {
        let fail = |what: String| Failure::new(Checker::OrderFree, what);
        let stream = &mut Stream::new(self.setup.seed, "another order");
        let statements = namespace.replica().statements_beyond(&BTreeSet::new(), usize::MAX);
        let statements = statements.map_err(|error| fail(error.to_string()))?;
        let grants = statements.iter().filter_map(|(_, statement)| Grant::parse(statement).ok());
        let grants: BTreeMap<GrantRef, GrantId> = grants.map(|grant| (grant.id().short(), grant.id())).collect();
        let mut left = Vec::new();
        for stamped in changes(&namespace.replica()) {
            let change = Parsed::from_bytes(&stamped.change).map_err(|error| fail(error.to_string()))?;
            let grant =
                grants.get(&stamped.grant).ok_or_else(|| fail("a change under a grant that is not here".into()))?;
            left.push((change, *grant));
        }
        let mut document = Document::new(namespace.id());
        let mut idle = 0;
        while !left.is_empty() {
            let at = stream.index(left.len());
            let (change, grant) = &left[at];
            match document.admit::<Refusal>(change, grant, |_| Ok(())) {
                Ok(()) => {
                    let again = document.admit::<Refusal>(change, grant, |_| Ok(()));
                    if !matches!(again, Err(AdmitError::Refused(Refusal::Sequence { .. }))) {
                        return Err(fail("a change was taken in twice".into()));
                    }
                    left.swap_remove(at);
                    idle = 0;
                }
                Err(AdmitError::Refused(Refusal::MissingDependency)) if idle < 64 * left.len() => idle += 1,
                Err(error) => return Err(fail(format!("a change that others took in was refused: {error}"))),
            }
        }
        document.seal().map_err(|error| fail(error.to_string()))?;
        document.verify().map_err(|error| fail(error.to_string()))?;
        Ok(document.canonical_bytes())
    }
}
