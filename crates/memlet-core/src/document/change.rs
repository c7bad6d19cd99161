//! A change taken apart: from untrusted bytes to the records it writes, before anything looks at what they mean.

use std::panic::{AssertUnwindSafe, catch_unwind};

use automerge::ScalarValue;
use automerge::legacy::{Key, ObjectId, OpType};
use sha2::{Digest, Sha256};

use crate::codec::DecodeError;
use crate::document::format::{Map, Record};
use crate::document::genesis::ROOT_ACTOR;
use crate::id::{Actor, ChangeHash};
use crate::limits::{CHANGE_BYTES_MAX, CHANGE_OPS_MAX};

mod columns;

/// Names one operation of a change: its counter and the actor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct OpId {
    /// Automerge's operation counter.
    pub counter: u64,
    /// The author of the change.
    pub actor: Actor,
}

/// One record put under its key, and the operations it replaces there.
#[derive(Clone, Debug)]
pub(super) struct Write {
    /// The operation.
    pub id: OpId,
    /// What stood there in the writer's view, ascending.
    pub replaces: Vec<OpId>,
    /// What stands there now.
    pub record: Record,
}

/// A well-formed change of format 1. Nothing is known yet of its past, its clock claims or its author's rights.
#[derive(Clone, Debug)]
pub struct Parsed {
    pub(super) change: automerge::Change,
    /// SHA-256 of its contents.
    pub hash: ChangeHash,
    /// Device and replica that wrote it.
    pub actor: Actor,
    /// Its number among the changes of that actor, from 1.
    pub seq: u64,
    /// The changes it builds on.
    pub deps: Vec<ChangeHash>,
    pub(super) start_op: u64,
    pub(super) writes: Vec<Write>,
}

/// Why bytes are not a change of format 1. The sender is to blame; final.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MalformedChange {
    /// More than 4 MiB, or more operations or replaced operations than a change may have.
    #[error(
        "the change is larger than {CHANGE_BYTES_MAX} bytes, or has or replaces more than {CHANGE_OPS_MAX} operations"
    )]
    TooLarge,
    /// Not one uncompressed change chunk with a right checksum and nothing behind it.
    #[error("the bytes are not one uncompressed change")]
    NotOneChange,
    /// The chunk does not decode, or decodes to what would be encoded otherwise.
    #[error("the change is not in Automerge's own form")]
    NotCanonical,
    /// Its author is not a device and a replica.
    #[error("the author of the change is not a device key and a replica id")]
    Actor,
    /// An operation that format 1 does not have.
    #[error("the change does what document format 1 does not allow")]
    Operation,
    /// A key or value that format 1 does not have.
    #[error("the change holds a record that is not of document format 1: {0}")]
    Record(#[from] DecodeError),
}

impl Parsed {
    /// Takes untrusted bytes apart.
    ///
    /// # Errors
    /// Any deviation from one uncompressed change of format 1 in its one encoding. Never panics: Automerge does on some bytes,
    /// and that is caught here.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MalformedChange> {
        Self::check_size(bytes)?;
        let (change, expanded) = catch_unwind(AssertUnwindSafe(|| {
            let change = automerge::Change::from_bytes(bytes.to_vec()).map_err(|_| MalformedChange::NotCanonical)?;
            let expanded = change.decode();
            let again = automerge::Change::from(expanded.clone());
            if again.raw_bytes() != bytes {
                return Err(MalformedChange::NotCanonical);
            }
            Ok((change, expanded))
        }))
        .unwrap_or(Err(MalformedChange::NotCanonical))?;
        Self::read(change, &expanded)
    }

    /// Checks that a change takes memory and time in proportion to its bytes, before any of it is unfolded.
    pub(super) fn check_size(bytes: &[u8]) -> Result<(), MalformedChange> {
        let (_, body) = open_chunk(bytes)?;
        columns::check(body)
    }

    /// Takes a change apart that passed the gate before it was stored; its checksum tells damage at rest.
    pub(super) fn stored(bytes: &[u8]) -> Result<Self, MalformedChange> {
        open_chunk(bytes)?;
        let change = automerge::Change::from_bytes(bytes.to_vec()).map_err(|_| MalformedChange::NotCanonical)?;
        Self::trusted(change)
    }

    /// Takes a change apart that this process made or has checked before.
    pub(super) fn trusted(change: automerge::Change) -> Result<Self, MalformedChange> {
        let expanded = change.decode();
        Self::read(change, &expanded)
    }

    fn read(change: automerge::Change, expanded: &automerge::ExpandedChange) -> Result<Self, MalformedChange> {
        if expanded.time != 0 || expanded.message.is_some() || !expanded.extra_bytes.is_empty() {
            return Err(MalformedChange::Operation);
        }
        let actor = actor(&expanded.actor_id)?;
        let start_op = expanded.start_op.get();
        let mut writes = Vec::with_capacity(expanded.operations.len());
        for (op, counter) in expanded.operations.iter().zip(start_op..) {
            let (OpType::Put(ScalarValue::Bytes(bytes)), Key::Map(key), false) = (&op.action, &op.key, op.insert)
            else {
                return Err(MalformedChange::Operation);
            };
            let record = Record::read(map(&op.obj)?, key, bytes)?;
            let replaces = op
                .pred
                .iter()
                .map(|id| Ok(OpId { counter: id.0, actor: self::actor(&id.1)? }))
                .collect::<Result<Vec<_>, MalformedChange>>()?;
            writes.push(Write { id: OpId { counter, actor }, replaces, record });
        }
        if writes.is_empty() {
            return Err(MalformedChange::Operation);
        }
        Ok(Self {
            hash: ChangeHash(change.hash().0),
            actor,
            seq: change.seq(),
            deps: change.deps().iter().map(|hash| ChangeHash(hash.0)).collect(),
            start_op,
            writes,
            change,
        })
    }

    /// Its hash, actor and number.
    pub fn head(&self) -> ChangeHead {
        ChangeHead { hash: self.hash, actor: self.actor, seq: self.seq }
    }

    /// The change as it is stored and sent: one uncompressed chunk.
    pub fn bytes(&self) -> &[u8] {
        self.change.raw_bytes()
    }

    pub(super) fn max_op(&self) -> u64 {
        self.start_op + self.writes.len() as u64 - 1
    }
}

/// What the head of a change says, read without parsing what follows, so that a signature can be checked before that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChangeHead {
    /// SHA-256 of the change, recomputed.
    pub hash: ChangeHash,
    /// Who claims to have written it.
    pub actor: Actor,
    /// Under which number, from 1.
    pub seq: u64,
}

impl ChangeHead {
    /// Reads the chunk header (magic, checksum, type, length) and the first fields of the change: dependencies, actor, number.
    ///
    /// # Errors
    /// The bytes are not one uncompressed change chunk with a right checksum (the first bytes of the hash), are more than
    /// 4 MiB, or name no device as their author.
    pub fn read(bytes: &[u8]) -> Result<Self, MalformedChange> {
        let (hash, body) = open_chunk(bytes)?;
        let (actor, seq) = read_author(body).ok_or(MalformedChange::NotOneChange)?;
        Ok(Self { hash, actor: Actor::from_slice(actor).ok_or(MalformedChange::Actor)?, seq })
    }
}

/// Skips the dependencies of a change and reads its actor id and number.
fn read_author(body: &[u8]) -> Option<(&[u8], u64)> {
    let take = |body: &'_ [u8]| leb128(body).and_then(|(value, used)| Some((usize::try_from(value).ok()?, used)));
    let (deps, used) = take(body)?;
    let body = body.get(used..)?.get(deps.checked_mul(32)?..)?;
    let (len, used) = take(body)?;
    let (actor, rest) = body.get(used..)?.split_at_checked(len)?;
    Some((actor, leb128(rest)?.0))
}

/// Checks Automerge's chunk header: magic, checksum, type, length in LEB128. Gives the hash and what follows the header.
fn open_chunk(bytes: &[u8]) -> Result<(ChangeHash, &[u8]), MalformedChange> {
    const MAGIC: [u8; 4] = [0x85, 0x6f, 0x4a, 0x83];
    const CHANGE: u8 = 1;
    if bytes.len() > CHANGE_BYTES_MAX {
        return Err(MalformedChange::TooLarge);
    }
    let (head, hashed) = bytes.split_at_checked(8).ok_or(MalformedChange::NotOneChange)?;
    let (kind, rest) = hashed.split_first().ok_or(MalformedChange::NotOneChange)?;
    let (length, header) = leb128(rest).ok_or(MalformedChange::NotOneChange)?;
    let body = &rest[header..];
    if head[..4] != MAGIC || *kind != CHANGE || length != body.len() as u64 {
        return Err(MalformedChange::NotOneChange);
    }
    let hash: [u8; 32] = Sha256::digest(hashed).into();
    if head[4..] != hash[..4] {
        return Err(MalformedChange::NotOneChange);
    }
    Ok((ChangeHash(hash), body))
}

/// An unsigned LEB128 number below 2^63, and how many bytes it took.
fn leb128(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(9).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}

fn actor(id: &automerge::ActorId) -> Result<Actor, MalformedChange> {
    Actor::from_slice(id.to_bytes()).ok_or(MalformedChange::Actor)
}

/// Objects are those of the genesis change, in its order.
fn map(object: &ObjectId) -> Result<Map, MalformedChange> {
    let ObjectId::Id(id) = object else { return Err(MalformedChange::Operation) };
    let index = id.0.checked_sub(1).and_then(|index| usize::try_from(index).ok());
    index
        .and_then(|index| Map::ALL.get(index).copied())
        .filter(|_| id.1.to_bytes() == ROOT_ACTOR)
        .ok_or(MalformedChange::Operation)
}
