//! `Changes`: a bounded batch of stamped changes, each as small as its stream allows.
//!
//! A stamp's namespace and epoch are the stream's, its device and hash the change's, its author the grant's audience. So only
//! grant, time and signatures travel, and the grant as an index into a table that the batches of one direction build up.

use memlet_auth::keys::Signature;
use memlet_auth::stamp::Signatures;
use memlet_core::codec::{DecodeError, Reader, Writer};
use memlet_core::id::GrantRef;
use memlet_core::limits::CHANGE_BYTES_MAX;

use crate::limits::{BATCH_BYTES_MAX, BATCH_CHANGES_MAX, GRANT_TABLE_ENTRIES_MAX};

/// A batch of changes in causal order. The first of either side answers the other's `State` and may be empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changes {
    /// Grants to put at the end of the stream's table before the entries are read, at most one for each entry.
    pub grants: Vec<GrantRef>,
    /// At most 1,024 changes of 256 KiB together, or a single change of up to 4 MiB.
    pub entries: Vec<ChangeEntry>,
    /// Whether the sender has more that the receiver lacks. Only a batch with entries may say so.
    pub more: bool,
}

/// One change and what its stamp needs to be rebuilt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeEntry {
    /// The place of the stamp's grant in the stream's table.
    pub grant: u64,
    /// The stamp's time in Unix milliseconds.
    pub time_ms: u64,
    /// The stamp's signatures.
    pub signatures: Signatures,
    /// One uncompressed Automerge change.
    pub change: Vec<u8>,
}

impl Changes {
    pub(super) const FIELDS: usize = 3;

    pub(super) fn encode_fields(&self, w: &mut Writer) {
        w.list(self.grants.iter());
        w.array(self.entries.len());
        for entry in &self.entries {
            w.array(4);
            w.uint(entry.grant);
            w.uint(entry.time_ms);
            encode_signatures(&entry.signatures, w);
            w.bytes(&entry.change);
        }
        w.bool(self.more);
    }

    pub(super) fn decode_fields(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let grants: Vec<GrantRef> = r.list(BATCH_CHANGES_MAX, "the number of grants in a batch")?;
        let len = r.array_up_to(BATCH_CHANGES_MAX, "the number of changes in a batch")?;
        if grants.len() > len {
            return Err(DecodeError::Invalid("batch: it has more grants than changes"));
        }
        let mut room = if len == 1 { CHANGE_BYTES_MAX } else { BATCH_BYTES_MAX };
        let mut entries = Vec::new();
        for _ in 0..len {
            let entry = decode_entry(r)?;
            room = room.checked_sub(entry.change.len()).ok_or(DecodeError::Limit("the changes of a batch"))?;
            entries.push(entry);
        }
        let more = r.bool()?;
        if more && entries.is_empty() {
            return Err(DecodeError::Invalid("batch: an empty one cannot announce more"));
        }
        Ok(Self { grants, entries, more })
    }
}

fn decode_entry(r: &mut Reader<'_>) -> Result<ChangeEntry, DecodeError> {
    r.array(4)?;
    let grant = r.uint()?;
    if grant >= GRANT_TABLE_ENTRIES_MAX as u64 {
        return Err(DecodeError::Limit("the index of a grant"));
    }
    Ok(ChangeEntry { grant, time_ms: r.uint()?, signatures: decode_signatures(r)?, change: r.bytes()?.to_vec() })
}

/// One byte string: the author's signature, and behind it the device's if there is one.
fn encode_signatures(signatures: &Signatures, w: &mut Writer) {
    let Signatures { author, device } = signatures;
    match device {
        Some(device) => w.bytes(&[author.0, device.0].concat()),
        None => w.bytes(&author.0),
    }
}

fn decode_signatures(r: &mut Reader<'_>) -> Result<Signatures, DecodeError> {
    let (signatures, rest) = r.bytes()?.as_chunks::<64>();
    match (signatures, rest) {
        ([author], []) => Ok(Signatures { author: Signature(*author), device: None }),
        ([author, device], []) => Ok(Signatures { author: Signature(*author), device: Some(Signature(*device)) }),
        _ => Err(DecodeError::Invalid("list of signatures")),
    }
}
