//! Fixed keys, grants and messages, the same in every run: for sizes and test vectors.

use memlet_auth::grant::{Abilities, Cap, Grant, GrantBody, Terms};
use memlet_auth::keys::{Signature, SigningKey};
use memlet_auth::proof::{Exporter, InviteSecret, open_proof};
use memlet_auth::stamp::{Stamp, StampContext};
use memlet_core::id::{Actor, ChangeHash, EpochId, GrantRef, NamespaceId, ReplicaId};
use memlet_core::path::Path;
use memlet_sync::clock::{ActorClock, ActorRef, ChangeRef, StatementRef, Tip};
use memlet_sync::invite::Invite;
use memlet_sync::message::{Ack, ChangeEntry, Changes, Epoch, Open, PROTOCOL_VERSION, State};
use memlet_sync::name::Address;

pub(crate) const EXPORTER: Exporter = Exporter([0xe0; 32]);
pub(crate) const TIME_MS: u64 = 1_700_000_000_000;
pub(crate) const EPOCH: Epoch = Epoch { number: 0, id: EpochId([0xee; 32]) };
pub(crate) const CHANGE_HASH: ChangeHash = ChangeHash([0xcc; 32]);

/// The key of the namespace.
pub(crate) fn root() -> SigningKey {
    SigningKey::from_bytes(&[1; 32])
}

/// The key of the `index`-th device or agent.
pub(crate) fn key(index: u8) -> SigningKey {
    SigningKey::from_bytes(&[0x10 + index; 32])
}

pub(crate) fn namespace() -> NamespaceId {
    NamespaceId(root().public().0)
}

fn terms(audience: &SigningKey, abilities: Abilities, path: &str, depth: u8) -> Terms {
    let caps = vec![Cap { abilities, path: Path::parse(path).unwrap() }];
    Terms { audience: audience.public(), caps, not_before: 1_600_000_000, expires: None, depth, nonce: [depth; 16] }
}

/// The grant of the `index`-th device: everything, from the namespace key itself.
pub(crate) fn device_grant(index: u8) -> Grant {
    Grant::root(&root(), terms(&key(index), Abilities::ALL, "", 2)).unwrap()
}

/// The grant of an agent, from device 0: to read and write the memory list.
pub(crate) fn agent_grant(agent: &SigningKey) -> Grant {
    use memlet_auth::grant::Ability::{Read, Write};
    let terms = Terms { expires: Some(1_900_000_000), ..terms(agent, Abilities::of(&[Read, Write]), "w/memory", 0) };
    let parent = Some(device_grant(0).id());
    Grant::issue(&key(0), &GrantBody { namespace: namespace(), issuer: key(0).public(), parent, terms }).unwrap()
}

/// The actor of the `index`-th device.
pub(crate) fn actor(index: u8) -> Actor {
    Actor { device: key(index).public(), replica: ReplicaId([0x20 + index; 8]) }
}

/// The first message of the `index`-th device.
pub(crate) fn open(index: u8) -> Open {
    Open {
        version: PROTOCOL_VERSION,
        namespace: namespace(),
        chain: vec![device_grant(index).to_bytes()],
        proof: open_proof(&key(index), &namespace(), &EXPORTER),
    }
}

/// A clock of `actors` actors that have each made `seq` changes.
pub(crate) fn clock(actors: u8, seq: u64) -> ActorClock {
    let tip = Tip { seq, change: ChangeRef::of(&CHANGE_HASH) };
    (0..actors).map(|index| (ActorRef::of(&actor(index)), tip)).collect()
}

/// The state of a namespace of so many devices.
pub(crate) fn state(devices: u8) -> State {
    let statements = (0..devices).map(|index| StatementRef::of_grant(&device_grant(index).id())).collect();
    State { epoch: EPOCH, clock: clock(devices, 1_000), statements }
}

/// A stamp under `grant` for a change that `author` made through device 0.
pub(crate) fn stamp(author: &SigningKey, grant: &Grant) -> Stamp {
    let context = StampContext { namespace: namespace(), epoch: EPOCH.id };
    Stamp::sign(context, grant.id(), CHANGE_HASH, TIME_MS, author, &key(0))
}

/// A batch of one change under a grant that is new to the stream.
pub(crate) fn changes(author: &SigningKey, grant: &Grant, change: Vec<u8>) -> Changes {
    let compact = stamp(author, grant).compact();
    let entry = ChangeEntry { grant: 0, time_ms: compact.time_ms, signatures: compact.signatures, change };
    Changes { grants: vec![grant.id().short()], entries: vec![entry], more: false }
}

/// A batch of two changes under grants of an earlier batch, with more to come.
pub(crate) fn later_changes() -> Changes {
    let entry = |grant, byte| {
        let [first, second] = [0xa0, 0xb0].map(|half: u8| Signature([half + byte; 64]));
        let signatures = memlet_auth::stamp::Signatures { author: first, device: (grant == 1).then_some(second) };
        ChangeEntry { grant, time_ms: TIME_MS + u64::from(byte), signatures, change: vec![byte; 3] }
    };
    Changes { grants: vec![GrantRef([0x99; 8])], entries: vec![entry(0, 1), entry(1, 2)], more: true }
}

/// An acknowledgement of one change.
pub(crate) fn ack() -> Ack {
    Ack { received: 3, durable: clock(1, 1_001) }
}

pub(crate) fn invite() -> Invite {
    let addresses = ["192.0.2.7:4460", "[2001:db8::7]:4460", "venue.example:443"];
    Invite {
        namespace: namespace(),
        inviter: key(0).public(),
        addresses: addresses.map(|text| Address::new(text).unwrap()).to_vec(),
        secret: InviteSecret::from_bytes([0x5e; 32]),
        expires: 1_700_000_600,
    }
}
