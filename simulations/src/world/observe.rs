//! Looking at what a process shows, and holding it against the model.

use std::collections::BTreeMap;

use memlet_node::{Caller, InvokeError, Namespace};
use memlet_sync::clock::{ActorRef, Tip};
use memlet_sync::replica::Replica as _;
use serde_json::{Value as Json, json};

use super::World;
use crate::failure::{Checker, Failure};
use crate::plan::{Role, Seat};

/// The lists that users write.
pub(super) const LISTS: [&str; 3] = ["w/memory", "w/log", "o/pins"];
/// The map whose leaves users write.
pub(super) const MAP: &str = "w/cells";
/// Those leaves.
pub(super) const LEAVES: [&str; 4] = ["w/cells/a", "w/cells/b", "w/cells/c", "w/cells/d"];

impl World<'_> {
    /// A namespace as a process has it; none if the process does not run or has no such namespace.
    pub(super) fn namespace_at(&self, seat: Seat, number: usize) -> Option<Namespace> {
        let process = self.devices[seat.device].processes[seat.process].as_ref()?;
        process.node.namespace(self.namespaces[number].id).ok()
    }

    /// Takes in which changes a store holds, as one of its processes sees it. True if there are more than before.
    pub(super) fn observe(&mut self, seat: Seat, number: usize) -> Result<bool, Failure> {
        let Some(namespace) = self.namespace_at(seat, number) else { return Ok(false) };
        let replica = namespace.replica();
        // A store that fails shows nothing; the call that met the failure has dealt with it.
        let (Ok(clock), Ok(own)) = (replica.clock(), replica.actor()) else { return Ok(false) };
        self.check_identity(seat.device, own)?;
        let device = &mut self.devices[seat.device];
        let holding = &mut device.holdings[number];
        let lost = |actor: &ActorRef, seq: u64| {
            let detail = format!("device {} no longer holds change {seq} of {actor}", seat.device);
            Err(Failure::new(Checker::Durability, detail))
        };
        if let Some((actor, tip)) = holding.tips.iter().find(|(actor, tip)| clock.seq(actor) < tip.seq) {
            return lost(actor, tip.seq);
        }
        let mut is_news = false;
        for (actor, tip) in clock.iter() {
            let known = holding.tips.get(actor).copied();
            let known_seq = known.map_or(0, |known| known.seq);
            if known.is_some_and(|known| known.seq == tip.seq && known.change != tip.change) {
                let detail = format!("device {} holds another change {} of {actor} than before", seat.device, tip.seq);
                return Err(Failure::new(Checker::OneHash, detail));
            }
            for seq in known_seq + 1..=tip.seq {
                let Ok(Some(change)) = replica.change_at(actor, seq) else { return lost(actor, seq) };
                let doubtful = device.in_doubt.take_if(|doubt| {
                    let is_own = *actor == own && doubt.namespace == number && doubt.seq == seq;
                    is_own && self.models[number].operation(actor, seq, change).is_none()
                });
                if let Some(doubtful) = doubtful {
                    self.tally.count("a doubtful write came up after a crash");
                    self.models[number].happened(doubtful.operation, seq, change)?;
                }
                let Some(operation) = self.models[number].operation(actor, seq, change) else {
                    let detail = format!("device {} took in change {seq} of {actor}, which nobody made", seat.device);
                    return Err(Failure::new(Checker::Authority, detail));
                };
                holding.operations.insert(operation);
                holding.tips.insert(*actor, Tip { seq, change });
                is_news = true;
            }
        }
        Ok(is_news)
    }

    /// A store writes under one name for as long as it is the same store, and no other store has that name.
    fn check_identity(&mut self, number: usize, own: ActorRef) -> Result<(), Failure> {
        let fail = |what: String| Err(Failure::new(Checker::Identity, what));
        match self.devices[number].actor.replace(own) {
            Some(before) if before == own => Ok(()),
            // It cannot prove that it was not set back, and a name costs little.
            Some(_) if self.devices[number].was_lied_to => {
                self.tally.count("a name given up for a lie");
                Ok(())
            }
            Some(before) => fail(format!("device {number} was {before} and became {own}, though its disk is the same")),
            None => match (0..self.devices.len())
                .find(|other| *other != number && self.devices[*other].actor == Some(own))
            {
                Some(other) => fail(format!("devices {other} and {number} both write as {own}")),
                None => Ok(()),
            },
        }
    }

    /// Holds everything that a process shows against the model.
    pub(super) fn look(&mut self, seat: Seat) -> Result<(), Failure> {
        for number in 0..self.namespaces.len() {
            let Some(namespace) = self.namespace_at(seat, number) else { continue };
            self.observe(seat, number)?;
            for list in LISTS {
                self.check_place(seat, number, list)?;
            }
            self.check_place(seat, number, MAP)?;
            self.tally.count("looks");
            match namespace.verify() {
                Err(error) if !self.is_excused(seat.device, error.code()) => {
                    return Err(Failure::new(Checker::Stored, format!("device {}: {error}", seat.device)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Holds what a process shows at a list or at the map of leaves against the model.
    pub(super) fn check_place(&mut self, seat: Seat, number: usize, place: &'static str) -> Result<(), Failure> {
        let Some(namespace) = self.namespace_at(seat, number) else { return Ok(()) };
        let may_read = self.devices[seat.device].role(number).is_some_and(Role::reads);
        let shown = match read(&namespace, place) {
            Ok(shown) => shown,
            Err(error) if !may_read && error.code() == "PERMISSION_DENIED" => {
                self.tally.count("a read without a grant");
                return Ok(());
            }
            Err(error) if self.is_excused(seat.device, error.code()) => return Ok(()),
            Err(error) => {
                let detail = format!("device {} cannot read {place}: {error}", seat.device);
                return Err(Failure::new(Checker::Answers, detail));
            }
        };
        if !may_read {
            let detail = format!("device {} has no grant to read and read {place}", seat.device);
            return Err(Failure::new(Checker::Authority, detail));
        }
        let held = &self.devices[seat.device].holdings[number].operations;
        let model = &self.models[number];
        let checked = if place == MAP {
            let shown = shown.map(leaves).unwrap_or_default();
            let known =
                LEAVES.iter().try_for_each(|leaf| model.check_leaf(leaf, held, shown.get(*leaf).map(String::as_str)));
            let stray = shown.keys().find(|leaf| !LEAVES.contains(&leaf.as_str()));
            let stray =
                stray.map(|leaf| Failure::new(Checker::OnlyWhatWasWritten, format!("{leaf} was never written")));
            known.and(stray.map_or(Ok(()), Err))
        } else {
            let texts: Vec<String> = shown.iter().flat_map(items).map(text_of).collect();
            model.check_list(place, held, &texts)
        };
        checked.map_err(|failure| Failure { detail: format!("device {}: {}", seat.device, failure.detail), ..failure })
    }

    /// Whether a device may answer with this error because its disk was made to fail.
    pub(super) fn is_excused(&self, device: usize, code: &str) -> bool {
        self.devices[device].disk_is_faulty && code.starts_with("STORE_")
    }
}

/// What is at a path; none if nothing is.
pub(super) fn read(namespace: &Namespace, path: &str) -> Result<Option<Json>, InvokeError> {
    let input = json!({"path": path, "maxSize": 1_u64 << 40});
    let mut output = namespace.invoke(&Caller::Device, "v/ops/covia/read", &input)?;
    Ok((output["exists"] == true).then(|| output["value"].take()))
}

/// The items of a list.
pub(super) fn items(list: &Json) -> &[Json] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What an item says.
pub(super) fn text_of(item: &Json) -> String {
    let text = item.as_str().or_else(|| item["text"].as_str());
    text.map_or_else(|| item.to_string(), str::to_owned)
}

fn leaves(map: Json) -> BTreeMap<String, String> {
    let leaf = |(key, value): (String, Json)| (format!("{MAP}/{key}"), text_of(&value));
    map.as_object().cloned().unwrap_or_default().into_iter().map(leaf).collect()
}
