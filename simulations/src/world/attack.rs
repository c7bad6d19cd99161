//! Attackers: devices that use their keys and the real protocol as far as it serves them, and then say what they must not.
//!
//! Whatever an attack gets into a replica shows as a change that nobody made, or as a panic; so no attack needs a checker.

use memlet_auth::grant::{Abilities, Cap, Grant, GrantBody, Terms};
use memlet_auth::keys::SigningKey;
use memlet_auth::proof::Exporter;
use memlet_auth::stamp::{Stamp, StampContext};
use memlet_core::codec::Encode as _;
use memlet_core::document::{Author, ChangeHead, Document};
use memlet_core::id::{Actor, GrantId, NamespaceId, PublicKey, ReplicaId};
use memlet_core::path::Path;
use memlet_core::value::Value;
use memlet_node::{Environment as _, NamespaceReplica};
use memlet_sync::clock::{ActorClock, ActorRef, ChangeRef, Tip};
use memlet_sync::code::CloseCode;
use memlet_sync::frame::frames;
use memlet_sync::message::{Ack, ChangeEntry, Changes, Message};
use memlet_sync::replica::{Budget, Replica as _, StampedChange};

use super::observe::LISTS;
use super::{End, Event, World};
use crate::failure::Failure;
use crate::plan::{Attack, Role};
use crate::random::Stream;

/// How long an attacker stays on the line to hear the answer, in milliseconds.
const LINGER_MS: u64 = 5_000;

impl World<'_> {
    /// The attacker's end of a stream may speak. True if it attacked, or waits for the moment to.
    pub(super) fn attack(&mut self, end: End, attack: Attack) -> Result<bool, Failure> {
        let connection = &self.network.connections[&end.connection];
        let (attacker, victim) = (connection.seats[0], connection.seats[1]);
        let state = &connection.streams[end.stream].ends[0];
        let number = connection.streams[end.stream].namespace;
        let is_open = state.session.as_ref().is_some_and(|session| session.peer_clock().is_some());
        if !is_open && !attack.needs_no_open() && state.session.is_some() {
            return Ok(false);
        }
        let stream = &mut Stream::new(self.setup.seed, &format!("attack {}", end.connection));
        let held = self.replica(attacker, number).map(|replica| changes(&replica)).unwrap_or_default();
        let kit = Kit {
            key: self.devices[attacker.device].key.clone(),
            victim: self.replica(victim, number).and_then(|replica| replica.actor().ok()),
            document: Document::load(self.namespaces[number].id, held.iter().map(|change| change.change.as_slice()))
                .ok(),
            grant: self.grant_of(attacker.device, number),
            namespace: self.namespaces[number].id,
            role: self.devices[attacker.device].roles[number],
            now_ms: self.devices[victim.device].environment.now_ms(),
            held,
        };
        let bytes = match attack {
            Attack::Foreign => self.foreign(attacker.device, number).map(framed),
            Attack::StolenOpen => self.stolen_open(attacker.device, number).map(framed),
            Attack::BitFlip => self.flipped(end, stream),
            attack => kit.bytes(attack, stream),
        };
        let connection = self.network.connections.get_mut(&end.connection).expect("it is there");
        connection.streams[end.stream].ends[0].is_over = true;
        self.schedule(LINGER_MS, Event::Timeout(end.connection));
        match bytes {
            Some(bytes) => {
                self.note(format_args!("{end:?} attacks: {attack:?}"));
                self.tally.count(name(attack));
                self.devices[victim.device].was_lied_to |= attack == Attack::LyingAck;
                self.send(end, bytes)?;
            }
            None => self.tally.count("an attack without the means"),
        }
        Ok(true)
    }

    /// The grant that the setup gave a device, if it has any.
    fn grant_of(&self, device: usize, number: usize) -> Option<GrantId> {
        let namespace = self.node(device)?.namespace(self.namespaces[number].id).ok()?;
        let own = namespace.devices().ok()?.into_iter().find(|info| info.here)?;
        Some(own.grant)
    }

    /// A stamped change of another namespace.
    fn foreign(&self, attacker: usize, number: usize) -> Option<Message> {
        let other = (0..self.namespaces.len()).filter(|other| *other != number);
        let replica = other.into_iter().find_map(|other| {
            let namespace = self.node(attacker)?.namespace(self.namespaces[other].id).ok()?;
            Some(namespace.replica())
        })?;
        Some(message(changes(&replica).into_iter().next()?))
    }

    /// What another device said when it opened this namespace on another connection.
    fn stolen_open(&self, attacker: usize, number: usize) -> Option<Message> {
        let others = (0..self.devices.len()).filter(|other| *other != attacker);
        let open = others.into_iter().find_map(|other| {
            let namespace = self.node(other)?.namespace(self.namespaces[number].id).ok()?;
            namespace.replica().open(&Exporter([7; 32])).ok()
        });
        open.map(Message::Open)
    }

    /// What it would have said, with one bit turned.
    fn flipped(&mut self, end: End, stream: &mut Stream) -> Option<Vec<u8>> {
        let connection = self.network.connections.get(&end.connection)?;
        let (seat, number) = (connection.seats[0], connection.streams[end.stream].namespace);
        let mut replica = self.replica(seat, number)?;
        let now_ms = self.devices[seat.device].environment.now_ms();
        let connection = self.network.connections.get_mut(&end.connection)?;
        let session = connection.streams[end.stream].ends[0].session.as_mut()?;
        let mut bytes = framed(session.poll(now_ms, &mut replica).ok().flatten()?);
        let at = stream.index(bytes.len());
        bytes[at] ^= 1 << stream.below(8);
        Some(bytes)
    }
}

/// What an attacker has at hand.
struct Kit {
    key: SigningKey,
    victim: Option<ActorRef>,
    held: Vec<StampedChange>,
    document: Option<Document>,
    grant: Option<GrantId>,
    namespace: NamespaceId,
    role: Option<Role>,
    now_ms: u64,
}

impl Kit {
    /// The bytes of an attack; none if it needs what is not at hand.
    fn bytes(&self, attack: Attack, stream: &mut Stream) -> Option<Vec<u8>> {
        Some(match attack {
            Attack::Garbage => {
                let mut bytes = vec![0; stream.index(2_000) + 1];
                stream.fill(&mut bytes);
                bytes
            }
            Attack::HugeLength => [[0xff; 4], stream.bytes()].concat(),
            Attack::EmptyFrame => vec![0; 4],
            Attack::Truncated => vec![0, 0, 1, 0, 0x84],
            Attack::TooEarly => framed(Message::Ack(Ack { received: 0, durable: ActorClock::default() })),
            Attack::Replay => framed(message(self.any(stream)?)),
            Attack::Tampered => {
                let mut change = self.any(stream)?;
                let at = stream.index(change.change.len());
                change.change[at] ^= 1 << stream.below(8);
                framed(message(change))
            }
            Attack::Restamped => {
                let change = self.any(stream)?.change;
                // stamping its own change anew is its right
                let of_another = ChangeHead::read(&change).ok()?.actor.device != self.key.public();
                framed(message(self.stamped(of_another.then_some(change)?, self.grant?)))
            }
            Attack::Forged if self.role.is_some_and(Role::forgets) => return None,
            Attack::Forged => framed(message(self.stamped(self.forgetting(self.own_actor(stream))?, self.grant?))),
            Attack::Widened if self.role.is_some_and(Role::forgets) => return None,
            Attack::Widened => {
                let statement = self.widened()?;
                let change = self.stamped(self.forgetting(self.own_actor(stream))?, statement.id());
                [framed(Message::Auth(vec![statement.to_bytes()])), framed(message(change))].concat()
            }
            Attack::ForgedActor => {
                let victim = self.victim.filter(|_| self.document.is_some())?;
                let actor =
                    self.document.as_ref()?.tips().keys().copied().find(|actor| ActorRef::of(actor) == victim)?;
                framed(message(self.stamped(self.written(actor)?, self.grant?)))
            }
            Attack::StolenGrant => {
                let other =
                    self.held.iter().find(|change| Some(change.grant) != self.grant.map(|grant| grant.short()))?;
                let mut change = self.stamped(self.written(self.own_actor(stream))?, self.grant?);
                change.grant = other.grant;
                framed(message(change))
            }
            Attack::UnknownGrant => {
                let grant = GrantId(stream.bytes());
                let change = self.written(self.own_actor(stream))?;
                framed(message(self.stamped(change, grant)))
            }
            Attack::LyingAck => {
                let actor = self.victim?;
                let tip = Tip { seq: stream.magnitude(1, 1 << 40), change: ChangeRef(stream.bytes()) };
                let durable = [(actor, tip)].into_iter().collect();
                framed(Message::Ack(Ack { received: stream.below(3), durable }))
            }
            Attack::BadStatements => {
                let mut garbage = vec![0; stream.index(300) + 1];
                stream.fill(&mut garbage);
                framed(Message::Auth(vec![garbage, self.selfmade_grant()]))
            }
            Attack::UnknownClose => framed(Message::Close(CloseCode::Other(stream.bytes::<1>()[0].into()))),
            Attack::BitFlip | Attack::Foreign | Attack::StolenOpen => unreachable!("made elsewhere"),
        })
    }

    /// One of the changes it holds.
    fn any(&self, stream: &mut Stream) -> Option<StampedChange> {
        (!self.held.is_empty()).then(|| stream.pick(&self.held).clone())
    }

    /// The actor of another store of the attacker's, so that nothing stands under it yet.
    fn own_actor(&self, stream: &mut Stream) -> Actor {
        Actor { device: self.key.public(), replica: ReplicaId(stream.bytes()) }
    }

    /// A well-formed change of `actor`.
    fn written(&self, actor: Actor) -> Option<Vec<u8>> {
        let mut document = self.document.clone()?;
        let author = Author { actor, grant: self.grant.unwrap_or(GrantId([1; 32])) };
        let mut draft = document.draft(author, self.now_ms);
        draft.append(&Path::parse(LISTS[0]).expect("the lists of users are paths"), Value::Text("forged".into()));
        let written = draft.commit().ok().flatten()?;
        Some(written.change.bytes().to_vec())
    }

    /// A well-formed change of `actor` that removes what a list holds, and adds something if it holds nothing.
    fn forgetting(&self, actor: Actor) -> Option<Vec<u8>> {
        let mut document = self.document.clone()?;
        let list = Path::parse(LISTS[0]).expect("the lists of users are paths");
        if document.list(&list).is_none_or(<[_]>::is_empty) {
            return None;
        }
        let author = Author { actor, grant: self.grant.unwrap_or(GrantId([1; 32])) };
        let mut draft = document.draft(author, self.now_ms);
        draft.delete_list(&list);
        Some(draft.commit().ok().flatten()?.change.bytes().to_vec())
    }

    /// A grant of everything that it gives itself under the one it has.
    fn widened(&self) -> Option<Grant> {
        let caps = vec![Cap { abilities: Abilities::ALL, path: Path::ROOT }];
        let audience = self.key.public();
        let terms = Terms { audience, caps, not_before: 0, expires: None, depth: 0, nonce: [1; 16] };
        let body = GrantBody { namespace: self.namespace, issuer: audience, parent: Some(self.grant?), terms };
        Grant::issue(&self.key, &body).ok()
    }

    /// A change under the attacker's own stamp.
    fn stamped(&self, change: Vec<u8>, grant: GrantId) -> StampedChange {
        let head = memlet_core::document::ChangeHead::read(&change);
        let epoch = Document::new(self.namespace).epoch().1;
        let context = StampContext { namespace: self.namespace, epoch };
        let hash = head.expect("the change is well-formed").hash;
        let stamp = Stamp::sign(context, grant, hash, self.now_ms, &self.key, &self.key).compact();
        StampedChange { grant: grant.short(), time_ms: stamp.time_ms, signatures: stamp.signatures, change }
    }

    /// A grant of everything that the attacker gives itself, as if its key were the namespace's.
    fn selfmade_grant(&self) -> Vec<u8> {
        let caps = vec![Cap { abilities: Abilities::ALL, path: Path::ROOT }];
        let audience: PublicKey = self.key.public();
        let terms = Terms { audience, caps, not_before: 0, expires: None, depth: 7, nonce: [0; 16] };
        Grant::root(&self.key, terms).expect("the terms are within all limits").to_bytes()
    }
}

/// All changes of a replica, as it would send them.
pub(super) fn changes(replica: &NamespaceReplica) -> Vec<StampedChange> {
    let budget = Budget { changes: usize::MAX, bytes: usize::MAX };
    let batch = replica.changes_beyond(&ActorClock::default(), budget).unwrap_or_default();
    batch.changes.into_iter().map(|(_, _, change)| change).collect()
}

/// A message with one change.
fn message(change: StampedChange) -> Message {
    let StampedChange { grant, time_ms, signatures, change } = change;
    let entry = |index| ChangeEntry { grant: index, time_ms, signatures, change: change.clone() };
    // announced and named by the index that it has if the attacker has sent nothing before
    Message::Changes(Changes { grants: vec![grant], entries: vec![entry(0)], more: false })
}

fn framed(message: Message) -> Vec<u8> {
    frames(&message.to_cbor(), memlet_sync::limits::FRAME_BYTES_MAX).flatten().collect()
}

impl Attack {
    /// Whether it can be made before the victim has opened the namespace to the attacker.
    fn needs_no_open(self) -> bool {
        matches!(
            self,
            Self::Garbage | Self::HugeLength | Self::EmptyFrame | Self::Truncated | Self::TooEarly | Self::StolenOpen
        )
    }
}

/// A kind of attack, as it is counted.
fn name(attack: Attack) -> &'static str {
    match attack {
        Attack::Garbage => "attack: garbage",
        Attack::HugeLength => "attack: a huge length",
        Attack::EmptyFrame => "attack: an empty frame",
        Attack::Truncated => "attack: a truncated frame",
        Attack::BitFlip => "attack: a bit turned",
        Attack::TooEarly => "attack: a message too early",
        Attack::UnknownClose => "attack: a code that nobody knows",
        Attack::Widened => "attack: a grant of everything to itself",
        Attack::Replay => "attack: changes replayed",
        Attack::Tampered => "attack: a change tampered with",
        Attack::Restamped => "attack: the change of another restamped",
        Attack::Forged => "attack: a change beyond its grant",
        Attack::ForgedActor => "attack: a forged actor",
        Attack::StolenGrant => "attack: the grant of another",
        Attack::Foreign => "attack: a change of another namespace",
        Attack::UnknownGrant => "attack: a grant that nobody knows",
        Attack::LyingAck => "attack: more acknowledged than there is",
        Attack::BadStatements => "attack: statements that are none",
        Attack::StolenOpen => "attack: the opening of another connection",
    }
}
