//! The messages of a namespace stream, and their one encoding each.
//!
//! A message is a CBOR array: its number, then its fields. Reading checks every length against [`crate::limits`] before
//! anything is allocated, and refuses a number this build does not know. What a message claims is not verified here.

mod changes;
mod control;

use std::collections::BTreeSet;

use memlet_auth::keys::Signature;
use memlet_auth::limits::{CHAIN_LINKS_MAX, STATEMENT_BYTES_MAX};
use memlet_core::codec::{Decode, DecodeError, Encode, Reader, Writer};
use memlet_core::id::{EpochId, NamespaceId};

pub use changes::{ChangeEntry, Changes};
pub use control::{Control, Hello, Join, Limits};

use crate::clock::{ActorClock, StatementRef, decode_statement_refs, encode_statement_refs};
use crate::code::CloseCode;
use crate::limits::{AUTH_STATEMENTS_MAX, STATE_STATEMENTS_MAX};

/// The version of the protocol this build speaks.
pub const PROTOCOL_VERSION: u64 = 1;

/// The numbers of messages. 0 is a part of a message (see [`crate::frame`]); 5 to 7, 14 and 15 are kept for namespace digests,
/// epochs and changes of earlier epochs.
mod number {
    pub(super) const HELLO: u64 = 1;
    pub(super) const JOIN: u64 = 2;
    pub(super) const WELCOME: u64 = 3;
    pub(super) const REJECT: u64 = 4;
    pub(super) const CLOSE: u64 = 8;
    pub(super) const OPEN: u64 = 9;
    pub(super) const STATE: u64 = 10;
    pub(super) const AUTH: u64 = 11;
    pub(super) const CHANGES: u64 = 12;
    pub(super) const ACK: u64 = 13;
}

/// A message of a namespace stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// Which namespace, and why the sender may sync it. The first message of either side.
    Open(Open),
    /// What the sender holds. The second message of either side.
    State(State),
    /// Signed statements that the receiver lacks, as exact bytes, every parent before its children.
    Auth(Vec<Vec<u8>>),
    /// Changes that the receiver lacks, in causal order.
    Changes(Changes),
    /// What has become durable at the sender.
    Ack(Ack),
    /// The last message: why the stream ends.
    Close(CloseCode),
}

impl Message {
    /// What kind of message it is, for errors and logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open(_) => "Open",
            Self::State(_) => "State",
            Self::Auth(_) => "Auth",
            Self::Changes(_) => "Changes",
            Self::Ack(_) => "Ack",
            Self::Close(_) => "Close",
        }
    }
}

impl Encode for Message {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::Open(open) => {
                head(w, number::OPEN, 4);
                w.uint(open.version);
                open.namespace.encode(w);
                encode_statements(&open.chain, w);
                open.proof.encode(w);
            }
            Self::State(state) => {
                head(w, number::STATE, 4);
                w.uint(state.epoch.number);
                state.epoch.id.encode(w);
                state.clock.encode(w);
                encode_statement_refs(&state.statements, w);
            }
            Self::Auth(statements) => {
                head(w, number::AUTH, 1);
                encode_statements(statements, w);
            }
            Self::Changes(changes) => {
                head(w, number::CHANGES, Changes::FIELDS);
                changes.encode_fields(w);
            }
            Self::Ack(ack) => {
                head(w, number::ACK, 2);
                w.uint(ack.received);
                ack.durable.encode(w);
            }
            Self::Close(code) => {
                head(w, number::CLOSE, 1);
                code.encode(w);
            }
        }
    }
}

impl Decode for Message {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match read_head(r)? {
            (number::OPEN, 4) => Self::Open(Open {
                version: r.uint()?,
                namespace: NamespaceId::decode(r)?,
                chain: decode_statements(r, CHAIN_LINKS_MAX)?,
                proof: Signature::decode(r)?,
            }),
            (number::STATE, 4) => Self::State(State {
                epoch: Epoch { number: r.uint()?, id: EpochId::decode(r)? },
                clock: ActorClock::decode(r)?,
                statements: decode_statement_refs(r, STATE_STATEMENTS_MAX)?,
            }),
            (number::AUTH, 1) => Self::Auth(decode_statements(r, AUTH_STATEMENTS_MAX)?),
            (number::CHANGES, Changes::FIELDS) => Self::Changes(Changes::decode_fields(r)?),
            (number::ACK, 2) => Self::Ack(Ack { received: r.uint()?, durable: ActorClock::decode(r)? }),
            (number::CLOSE, 1) => Self::Close(CloseCode::decode(r)?),
            _ => return Err(UNKNOWN),
        })
    }
}

/// Why the sender may sync a namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Open {
    /// The protocol version of this stream.
    pub version: u64,
    /// The namespace.
    pub namespace: NamespaceId,
    /// The chain of statements that allows the sender's device `sync`, from the namespace key's own down. At most 8.
    pub chain: Vec<Vec<u8>>,
    /// Made by the device key over this connection: see [`memlet_auth::proof::open_proof`].
    pub proof: Signature,
}

/// What one side holds, all of it durable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// Where the namespace stands.
    pub epoch: Epoch,
    /// The changes of that epoch.
    pub clock: ActorClock,
    /// The signed statements: at most 16,384. What is held and not named may come again, which is harmless.
    pub statements: BTreeSet<StatementRef>,
}

/// One epoch of a namespace. The higher (number, id) supersedes the lower.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Epoch {
    /// How many epochs came before on its line.
    pub number: u64,
    /// Which epoch of that number it is.
    pub id: EpochId,
}

/// What has become durable at the sender.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ack {
    /// How many messages `Auth` and `Changes` of this stream have been dealt with.
    pub received: u64,
    /// The entries of the sender's clock that have risen since its `State` or its last `Ack`, without those that its own
    /// `Changes` tell of.
    pub durable: ActorClock,
}

/// What a message of another kind of stream or of a newer version reads as.
const UNKNOWN: DecodeError = DecodeError::Invalid("message: this version has none of that number and arity here");

/// The most fields of any message.
const FIELDS_MAX: usize = 8;

fn head(w: &mut Writer, number: u64, fields: usize) {
    w.array(1 + fields);
    w.uint(number);
}

/// The number of the message and how many fields follow.
fn read_head(r: &mut Reader<'_>) -> Result<(u64, usize), DecodeError> {
    let items = r.array_up_to(1 + FIELDS_MAX, "the number of a message's fields")?;
    Ok((r.uint()?, items.saturating_sub(1)))
}

fn encode_statements(statements: &[Vec<u8>], w: &mut Writer) {
    w.array(statements.len());
    for statement in statements {
        w.bytes(statement);
    }
}

/// Reads at most `max` statements, each within its own limit.
fn decode_statements(r: &mut Reader<'_>, max: usize) -> Result<Vec<Vec<u8>>, DecodeError> {
    let len = r.array_up_to(max, "the number of statements")?;
    (0..len)
        .map(|_| match r.bytes()? {
            statement if statement.len() <= STATEMENT_BYTES_MAX => Ok(statement.to_vec()),
            _ => Err(DecodeError::Limit("a statement")),
        })
        .collect()
}
