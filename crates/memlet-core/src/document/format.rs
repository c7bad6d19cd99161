//! Document format 1: which Automerge maps there are, and what stands under which key.
//!
//! | map | key | value |
//! |---|---|---|
//! | `meta` | `format`, `namespace`; `replica/<id>` | 1, the namespace id; who the replica is ([`Binding`]) |
//! | `sequences` | list path | [`Generation`] |
//! | `bodies` | first dot of a run; `<dot>!` | [`Run`]; one [`Body`] rewritten in place |
//! | `cells` | leaf path | [`Generation`] |
//! | `files` | | reserved for file records |
//!
//! Values are byte strings of deterministic CBOR. The maps are made by the genesis change alone; later changes only put byte
//! strings into them. There are no Automerge lists, texts or counters.

use data_encoding::BASE64URL_NOPAD;

use crate::body::{Body, Run};
use crate::codec::{Decode, DecodeError, Encode, Reader, Writer};
use crate::generation::Generation;
use crate::id::{Dot, GrantId, PublicKey, ReplicaId};
use crate::path::Path;

/// The document format this build reads and writes.
pub const FORMAT: u64 = 1;

/// The maps of a document, in the order in which the genesis change makes them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Map {
    /// What the document says about itself and its replicas.
    Meta,
    /// Generations of lists.
    Sequences,
    /// What was written under each dot.
    Bodies,
    /// Generations of leaves.
    Cells,
    /// File records.
    Files,
}

impl Map {
    /// All maps, in the order of their creation.
    pub(super) const ALL: [Map; 5] = [Map::Meta, Map::Sequences, Map::Bodies, Map::Cells, Map::Files];

    /// The key of this map at the document's root.
    pub(super) fn name(self) -> &'static str {
        match self {
            Map::Meta => "meta",
            Map::Sequences => "sequences",
            Map::Bodies => "bodies",
            Map::Cells => "cells",
            Map::Files => "files",
        }
    }
}

/// Whose a replica id is: bound once, by the first change of that replica.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Binding {
    /// The device of the replica.
    pub device: PublicKey,
    /// The grant of the change that binds it: what bodies without a grant of their own were written under.
    pub grant: GrantId,
}

impl Encode for Binding {
    fn encode(&self, w: &mut Writer) {
        w.array(2);
        self.device.encode(w);
        self.grant.encode(w);
    }
}

impl Decode for Binding {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.array(2)?;
        Ok(Self { device: PublicKey::decode(r)?, grant: GrantId::decode(r)? })
    }
}

/// One entry of a document: a key and the record under it.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Record {
    /// Who a replica is.
    Replica(ReplicaId, Binding),
    /// A list as one writer saw it.
    List(Path, Generation),
    /// A leaf as one writer saw it.
    Cell(Path, Generation),
    /// New bodies, from this dot on.
    Run(Dot, Run),
    /// A body rewritten in place.
    Rewrite(Dot, Body),
}

impl Record {
    /// Where this record stands.
    pub(super) fn place(&self) -> (Map, String) {
        match self {
            Self::Replica(replica, _) => (Map::Meta, format!("replica/{}", BASE64URL_NOPAD.encode(&replica.0))),
            Self::List(path, _) => (Map::Sequences, path.to_string()),
            Self::Cell(path, _) => (Map::Cells, path.to_string()),
            Self::Run(dot, _) => (Map::Bodies, dot_key(dot)),
            Self::Rewrite(dot, _) => (Map::Bodies, dot_key(dot) + "!"),
        }
    }

    /// The record's bytes.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Replica(_, binding) => binding.to_cbor(),
            Self::List(_, generation) | Self::Cell(_, generation) => generation.to_cbor(),
            Self::Run(_, run) => run.to_cbor(),
            Self::Rewrite(_, body) => body.to_cbor(),
        }
    }

    /// Reads the record under `key` of `map`.
    ///
    /// # Errors
    /// A key or value that format 1 does not have, in any but its one form.
    pub(super) fn read(map: Map, key: &str, bytes: &[u8]) -> Result<Self, DecodeError> {
        let record = match map {
            Map::Meta => {
                let id = key.strip_prefix("replica/").ok_or(DecodeError::Invalid("key in meta"))?;
                Self::Replica(replica_id(id)?, Binding::from_cbor(bytes)?)
            }
            Map::Sequences => Self::List(written_path(key)?, Generation::from_cbor(bytes)?),
            Map::Cells => Self::Cell(written_path(key)?, Generation::from_cbor(bytes)?),
            Map::Bodies => match key.strip_suffix('!') {
                Some(key) => Self::Rewrite(read_dot(key)?, Body::from_cbor(bytes)?),
                None => read_run(read_dot(key)?, Run::from_cbor(bytes)?)?,
            },
            Map::Files => return Err(DecodeError::Invalid("record in files")),
        };
        if record.place().1 != key {
            return Err(DecodeError::NotDeterministic);
        }
        Ok(record)
    }
}

/// A run whose dots are numbers all of them, and the one behind them too.
fn read_run(first: Dot, run: Run) -> Result<Record, DecodeError> {
    match first.counter.checked_add(run.0.len() as u64) {
        Some(_) => Ok(Record::Run(first, run)),
        None => Err(DecodeError::Invalid("dot")),
    }
}

/// Base64url of the replica id, then the counter in lower-case hex.
fn dot_key(dot: &Dot) -> String {
    format!("{}{:x}", BASE64URL_NOPAD.encode(&dot.replica.0), dot.counter)
}

fn read_dot(key: &str) -> Result<Dot, DecodeError> {
    const REPLICA_CHARS: usize = 11;
    let (replica, counter) = key.split_at_checked(REPLICA_CHARS).ok_or(DecodeError::Invalid("dot"))?;
    let counter = u64::from_str_radix(counter, 16).map_err(|_| DecodeError::Invalid("dot"))?;
    if counter == 0 {
        return Err(DecodeError::Invalid("dot"));
    }
    Ok(Dot { replica: replica_id(replica)?, counter })
}

fn replica_id(text: &str) -> Result<ReplicaId, DecodeError> {
    BASE64URL_NOPAD
        .decode(text.as_bytes())
        .ok()
        .and_then(|bytes| ReplicaId::from_slice(&bytes))
        .ok_or(DecodeError::Invalid("replica id"))
}

fn written_path(key: &str) -> Result<Path, DecodeError> {
    Path::parse(key).ok().filter(|path| path.segments().len() > 1).ok_or(DecodeError::Invalid("path"))
}
