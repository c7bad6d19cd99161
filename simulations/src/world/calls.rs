//! Users at work: what they ask for, in the words of the contract and in those of the model.

use memlet_node::{Caller, Environment as _, InvokeError, Namespace, NodeError};
use memlet_store::StoreError;
use memlet_sync::clock::ActorRef;
use memlet_sync::replica::Replica as _;
use serde_json::{Value as Json, json};

use super::World;
use super::device::{InDoubt, Request};
use super::observe::{LEAVES, LISTS, MAP, items, read, text_of};
use crate::failure::{Checker, Failure};
use crate::model::Intent;
use crate::plan::{Change, Role, Seat, Write};

/// A process that is asked for something in one namespace.
struct Asked {
    seat: Seat,
    number: usize,
    namespace: Namespace,
    /// What it writes as.
    actor: ActorRef,
}

/// A call, ready to be made.
struct Call {
    operation: &'static str,
    input: Json,
    /// The list or map that it changes.
    place: &'static str,
    intent: Intent,
    needs: Needs,
}

/// What a call needs besides `read`.
#[derive(Clone, Copy)]
struct Needs {
    write: bool,
    forget: bool,
}

/// How long a request id is remembered at least, in milliseconds.
const REQUEST_KEPT_MS: u64 = 24 * 60 * 60 * 1_000;

impl World<'_> {
    /// A user writes.
    pub(super) fn call(&mut self, write: Write) -> Result<(), Failure> {
        let Some(asked) = self.ready(write.seat, write.namespace) else { return Ok(()) };
        let write = Write { seat: asked.seat, ..write };
        self.observe(write.seat, write.namespace)?;
        if write.change == Change::Repeat {
            return self.repeat(&asked);
        }
        let Some(mut call) = self.compose(write, &asked.namespace) else { return Ok(()) };
        let is_repeatable = write.request && matches!(write.change, Change::Remember | Change::Append);
        if is_repeatable {
            self.texts += 1;
            call.input["request_id"] = Json::from(format!("request {}", self.texts));
        }
        let place = call.place;
        self.tally.count(name(write.change));
        let request = is_repeatable.then(|| (call.operation, call.input.clone(), call.place));
        let outcome = self.make(&asked, call)?;
        if let Some((operation, input, place)) = request {
            let device = &mut self.devices[write.seat.device];
            let at_ms = device.environment.now_ms();
            let (id, output) = outcome;
            device.request = Some(Request { namespace: write.namespace, place, operation, input, id, output, at_ms });
        }
        self.check_place(write.seat, write.namespace, place)
    }

    /// A namespace of a process that can be asked now: in that seat, or else in the first.
    fn ready(&mut self, seat: Seat, number: usize) -> Option<Asked> {
        let now_ms = self.now();
        let processes = &self.devices[seat.device].processes;
        let seat = Seat { process: if processes[seat.process].is_some() { seat.process } else { 0 }, ..seat };
        if processes[seat.process].as_ref().is_none_or(|process| process.paused_until_ms > now_ms) {
            self.tally.count("a call that met no process");
            return None;
        }
        let namespace = self.namespace_at(seat, number)?;
        let actor = namespace.replica().actor().ok()?;
        Some(Asked { seat, number, namespace, actor })
    }

    /// The list or map that a write is about.
    fn place(&self, write: Write) -> &'static str {
        match write.change {
            Change::Set | Change::Unset | Change::SetAll | Change::UnsetAll => MAP,
            _ => LISTS[write.pick as usize % LISTS.len()],
        }
    }

    /// Makes the call of a write; none if there is nothing that it could change.
    fn compose(&mut self, write: Write, namespace: &Namespace) -> Option<Call> {
        let place = self.place(write);
        let shown = read(namespace, place).ok().flatten().unwrap_or_default();
        let model = &self.models[write.namespace];
        let held = &self.devices[write.seat.device].holdings[write.namespace].operations;
        let list = items(&shown);
        let pick = write.pick as usize / LISTS.len();
        let chosen = (!list.is_empty()).then(|| pick % list.len());
        let (texts, canary) = (&mut self.texts, &self.namespaces[write.namespace].canary);
        // a text that nobody has written before
        let mut text = |padding: usize| {
            *texts += 1;
            format!("{canary} {texts} by {}{}", write.seat.device, " and on".repeat(padding / 7))
        };
        let item_at = |at: usize| model.item(&text_of(&list[at]));
        let mut intent = Intent::default();
        let (operation, input) = match write.change {
            Change::Remember | Change::RememberLong => {
                let padding = if write.change == Change::RememberLong { 1_000 + pick % 9_000 } else { 0 };
                let text = text(padding);
                intent.adds.push((place.to_owned(), text.clone(), true));
                ("v/ops/memory", json!({"command": "remember", "path": place, "text": text}))
            }
            Change::Append => {
                let text = text(0);
                intent.adds.push((place.to_owned(), text.clone(), true));
                ("v/ops/covia/append", json!({"path": place, "value": text}))
            }
            Change::Update => {
                let at = chosen?;
                let (item, expect) = (item_at(at)?, text_of(&list[at]));
                let text = text(0);
                intent.edits.push((item, text.clone()));
                let input = json!({"command": "update", "path": place, "n": at + 1, "text": text, "expect": expect});
                ("v/ops/memory", input)
            }
            Change::Forget => {
                let at = chosen?;
                intent.removes.push(item_at(at)?);
                ("v/ops/memory", json!({"command": "forget", "path": place, "n": at + 1}))
            }
            Change::Clear => {
                intent.removes = model.survivors(place, held);
                ("v/ops/covia/write", json!({"path": place, "value": []}))
            }
            Change::Delete => {
                intent.removes = model.survivors(place, held);
                ("v/ops/covia/delete", json!({"path": place}))
            }
            Change::Rewrite => {
                let keeps = |at: &usize| pick >> (at % 29) & 3 != 3;
                let kept: Vec<usize> = (0..list.len()).filter(keeps).collect();
                let kept_items: Vec<_> = kept.iter().filter_map(|at| item_at(*at)).collect();
                intent.removes = model.survivors(place, held);
                intent.removes.retain(|item| !kept_items.contains(item));
                let mut value: Vec<Json> = kept.iter().map(|at| list[*at].clone()).collect();
                for _ in 0..1 + pick % 3 {
                    let text = text(0);
                    intent.adds.push((place.to_owned(), text.clone(), false));
                    value.insert(pick % (value.len() + 1), Json::from(text));
                }
                ("v/ops/covia/write", json!({"path": place, "value": value}))
            }
            Change::Set => {
                let leaf = LEAVES[pick % LEAVES.len()];
                intent.removes = model.survivors(leaf, held);
                let text = text(0);
                intent.adds.push((leaf.to_owned(), text.clone(), false));
                ("v/ops/covia/write", json!({"path": leaf, "value": text}))
            }
            Change::Unset => {
                let leaf = LEAVES[pick % LEAVES.len()];
                intent.removes = model.survivors(leaf, held);
                ("v/ops/covia/delete", json!({"path": leaf}))
            }
            Change::SetAll => {
                intent.removes = LEAVES.iter().flat_map(|leaf| model.survivors(leaf, held)).collect();
                let mut value = json!({});
                for leaf in
                    LEAVES.iter().filter(|leaf| pick >> (leaf.len() + usize::from(leaf.ends_with(['a', 'b']))) & 1 == 1)
                {
                    let text = text(0);
                    intent.adds.push(((*leaf).to_owned(), text.clone(), false));
                    value[&leaf[MAP.len() + 1..]] = Json::from(text);
                }
                if intent.adds.is_empty() {
                    return None;
                }
                ("v/ops/covia/write", json!({"path": MAP, "value": value}))
            }
            Change::UnsetAll => {
                intent.removes = LEAVES.iter().flat_map(|leaf| model.survivors(leaf, held)).collect();
                ("v/ops/covia/delete", json!({"path": MAP}))
            }
            Change::Repeat => unreachable!("a repeated call is not composed anew"),
        };
        let needs = match write.change {
            Change::Forget | Change::Delete | Change::Unset | Change::UnsetAll => Needs { write: false, forget: true },
            Change::Clear | Change::Rewrite => Needs { write: true, forget: !intent.removes.is_empty() },
            Change::SetAll => {
                let stays = |leaf: &&&str| intent.adds.iter().any(|(place, ..)| place == **leaf);
                let gone =
                    LEAVES.iter().filter(|leaf| !stays(leaf)).any(|leaf| !model.survivors(leaf, held).is_empty());
                Needs { write: true, forget: gone }
            }
            _ => Needs { write: true, forget: false },
        };
        Some(Call { operation, input, place, intent, needs })
    }

    /// Makes a call and takes in what became of it: the operation it was, if it may have happened, and its answer.
    fn make(&mut self, asked: &Asked, call: Call) -> Result<(Option<usize>, Option<Json>), Failure> {
        let Call { operation, input, intent, place, needs } = call;
        let Asked { seat, number, .. } = *asked;
        let is_allowed = self.may(seat, number, place, needs);
        let changes_nothing = intent.adds.is_empty() && intent.edits.is_empty() && intent.removes.is_empty();
        let answer = asked.namespace.invoke(&Caller::Device, operation, &input);
        let attempt = self.attempt(asked, &answer, is_allowed)?;
        let id = match attempt {
            Attempt::Refused => None,
            Attempt::Done(None) if changes_nothing => None,
            Attempt::Done(None) => {
                let detail = format!("device {} acknowledged {operation} {input} and wrote nothing", seat.device);
                return Err(Failure::new(Checker::NoLoss, detail));
            }
            Attempt::Done(Some(seq)) | Attempt::Doubtful(seq) => {
                if !is_allowed {
                    let detail = format!("device {} has no grant for {operation} {input}", seat.device);
                    return Err(Failure::new(Checker::Authority, detail));
                }
                let id = self.intend(asked, intent);
                self.settle(asked, id, seq, matches!(attempt, Attempt::Done(_)))?;
                Some(id)
            }
        };
        self.after_commit(seat, number)?;
        Ok((id, answer.ok()))
    }

    /// Whether the grant of a device allows a call now.
    fn may(&self, seat: Seat, number: usize, place: &str, needs: Needs) -> bool {
        let allows =
            |role: Role| role.reads() && (role.writes(place) || !needs.write) && (role.forgets() || !needs.forget);
        self.devices[seat.device].role(number).is_some_and(allows)
    }

    fn intend(&mut self, asked: &Asked, intent: Intent) -> usize {
        let device = &self.devices[asked.seat.device];
        let model = &mut self.models[asked.number];
        let stamped_ms = device.environment.now_ms().max(model.stamped_ms(&asked.actor));
        model.intend(intent, asked.actor, device.holdings[asked.number].operations.clone(), stamped_ms)
    }

    /// An operation was done, or may have been.
    fn settle(&mut self, asked: &Asked, id: usize, seq: u64, is_done: bool) -> Result<(), Failure> {
        if is_done {
            let change = asked.namespace.replica().change_at(&asked.actor, seq).ok().flatten();
            let Some(change) = change else { return Ok(()) };
            self.tally.count("mutations");
            self.models[asked.number].happened(id, seq, change)
        } else {
            let doubt = InDoubt { namespace: asked.number, operation: id, seq };
            self.devices[asked.seat.device].in_doubt = Some(doubt);
            Ok(())
        }
    }

    /// What an answer says about whether something was written, and under which number.
    fn attempt(
        &mut self,
        asked: &Asked,
        answer: &Result<Json, InvokeError>,
        is_allowed: bool,
    ) -> Result<Attempt, Failure> {
        let Asked { seat, number, .. } = *asked;
        let before = self.devices[seat.device].holdings[number].tips.get(&asked.actor).map_or(0, |tip| tip.seq);
        match answer {
            Ok(_) => {
                let Ok(clock) = asked.namespace.replica().clock() else { return Ok(Attempt::Done(None)) };
                match clock.seq(&asked.actor).checked_sub(before) {
                    Some(0) => Ok(Attempt::Done(None)),
                    Some(1) => Ok(Attempt::Done(Some(before + 1))),
                    _ => {
                        let detail = format!("device {} wrote other than one change for one call", seat.device);
                        Err(Failure::new(Checker::Answers, detail))
                    }
                }
            }
            Err(InvokeError::Node(NodeError::Store(StoreError::Io { what, .. }))) if what.contains("sync") => {
                self.tally.count("a write left in doubt");
                Ok(Attempt::Doubtful(before + 1))
            }
            Err(error) => {
                if !is_allowed && error.code() == "PERMISSION_DENIED" {
                    self.tally.count("a write without a grant");
                } else if self.is_excused(seat.device, error.code()) {
                    self.tally.count("a write refused by the disk");
                } else {
                    let detail = format!("device {} answered {}: {error}", seat.device, error.code());
                    return Err(Failure::new(Checker::Answers, detail));
                }
                Ok(Attempt::Refused)
            }
        }
    }

    /// Makes the last call with a request id once more: it must have its first effect and answer, or its only one.
    fn repeat(&mut self, asked: &Asked) -> Result<(), Failure> {
        let Asked { seat, number, .. } = *asked;
        let device = &self.devices[seat.device];
        let Some(request) = device.request.clone().filter(|request| request.namespace == number) else { return Ok(()) };
        if device.environment.now_ms().abs_diff(request.at_ms) >= REQUEST_KEPT_MS {
            return Ok(());
        }
        let held = &device.holdings[number].operations;
        let was_done = request.id.is_some_and(|id| held.contains(id));
        let is_allowed = self.may(seat, number, request.place, Needs { write: true, forget: false });
        let answer = asked.namespace.invoke(&Caller::Device, request.operation, &request.input);
        let attempt = self.attempt(asked, &answer, is_allowed)?;
        let fail = |what: &str| {
            let detail = format!("device {} {what}: {}", seat.device, request.input);
            Err(Failure::new(Checker::Repetition, detail))
        };
        let mut id = request.id;
        match attempt {
            Attempt::Done(Some(_)) if was_done => return fail("did a repeated call twice"),
            Attempt::Done(None) if !was_done => return fail("did not do a call that had failed before"),
            Attempt::Refused | Attempt::Done(None) => {}
            Attempt::Done(Some(seq)) | Attempt::Doubtful(seq) => {
                let is_done = matches!(attempt, Attempt::Done(_));
                let retried = match request.id {
                    Some(id) => {
                        let past = self.devices[seat.device].holdings[number].operations.clone();
                        self.models[number].retry(id, past);
                        id
                    }
                    None => {
                        let text = request.input["text"].as_str().or(request.input["value"].as_str());
                        let text = text.expect("only calls with one text are repeated").to_owned();
                        let adds = vec![(request.place.to_owned(), text, true)];
                        self.intend(asked, Intent { adds, ..Intent::default() })
                    }
                };
                self.settle(asked, retried, seq, is_done)?;
                id = Some(retried);
                self.tally.count("a failed call repeated with effect");
            }
        }
        if was_done && let (Ok(again), Some(first)) = (&answer, &request.output) {
            self.tally.count("a call repeated without effect");
            if again != first {
                return fail("answered a repeated call otherwise than the first");
            }
        }
        let output = answer.ok().or(request.output.clone());
        self.devices[seat.device].request = Some(Request { id, output, ..request });
        self.after_commit(seat, number)?;
        self.check_place(seat, number, request.place)
    }

    /// A process may have committed: its store is looked at again, and whoever can be told is.
    pub(super) fn after_commit(&mut self, seat: Seat, number: usize) -> Result<(), Failure> {
        if self.observe(seat, number)? {
            self.tell(seat);
        }
        self.retire_poisoned(seat.device);
        Ok(())
    }
}

/// What became of a call.
#[derive(Clone, Copy)]
enum Attempt {
    /// Nothing was written.
    Refused,
    /// It was done, under this number if it wrote anything.
    Done(Option<u64>),
    /// Nobody knows. If it was done, then under this number.
    Doubtful(u64),
}

/// A kind of write, as it is counted.
fn name(change: Change) -> &'static str {
    match change {
        Change::Remember => "remember",
        Change::RememberLong => "remember something long",
        Change::Append => "append",
        Change::Update => "update",
        Change::Forget => "forget",
        Change::Clear => "clear a list",
        Change::Delete => "delete a list",
        Change::Rewrite => "rewrite a list",
        Change::Set => "set a leaf",
        Change::Unset => "delete a leaf",
        Change::SetAll => "write a map",
        Change::UnsetAll => "delete a map",
        Change::Repeat => "repeat",
    }
}
