//! One change from a peer: taken apart as Automerge's own bytes and no others, or refused, without a panic and in bounds.

use memlet_core::document::{ChangeHead, Parsed};
use sha2::{Digest, Sha256};

/// Begins every chunk of Automerge's binary format.
const MAGIC: [u8; 4] = [0x85, 0x6f, 0x4a, 0x83];
/// Magic and checksum.
const SUMMED_FROM: usize = 8;

pub(super) fn run(data: &[u8]) {
    check(data);
    check(&seal(data));
}

fn check(bytes: &[u8]) {
    let head = ChangeHead::read(bytes);
    if let Ok(change) = Parsed::from_bytes(bytes) {
        assert_eq!(change.bytes(), bytes, "a change has two encodings");
        assert_eq!(head, Ok(change.head()), "the head says otherwise than the change");
    }
}

/// Cuts bytes into what begins with a chunk's magic bytes each; the first piece may not.
pub fn split_changes(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = data;
    std::iter::from_fn(move || {
        let next = rest.get(1..)?.windows(MAGIC.len()).position(|window| window == MAGIC);
        let (piece, behind) = rest.split_at(next.map_or(rest.len(), |at| at + 1));
        rest = behind;
        Some(piece)
    })
}

/// Gives a chunk the length and the checksum of what it holds, as whoever sends it would. Other bytes stay as they are.
pub fn seal(chunk: &[u8]) -> Vec<u8> {
    let Some((&[kind], rest)) = chunk.get(SUMMED_FROM..).and_then(<[u8]>::split_first_chunk) else {
        return chunk.to_vec();
    };
    if !chunk.starts_with(&MAGIC) {
        return chunk.to_vec();
    }
    let length_bytes = rest.iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
    let body = rest.get(length_bytes..).unwrap_or_default();
    let mut summed = vec![kind];
    summed.extend(leb128(body.len() as u64));
    summed.extend_from_slice(body);
    let sum: [u8; 32] = Sha256::digest(&summed).into();
    [&MAGIC, &sum[..4], &summed].concat()
}

/// An unsigned number as LEB128 (DWARF 5, section 7.6).
fn leb128(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(value & 0x7f).expect("seven bits");
        value >>= 7;
        if value == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzzing::history;

    #[test]
    fn a_right_change_is_sealed_already() {
        let changes = history();
        for change in &changes {
            assert_eq!(seal(change), *change);
        }
        assert_eq!(split_changes(&changes.concat()).collect::<Vec<_>>(), changes);
        assert_eq!(split_changes(&[]).count(), 0);
    }

    #[test]
    fn a_changed_change_is_sealed_anew() {
        let mut change = history().remove(0);
        let last = change.len() - 1;
        change[last] ^= 1;
        assert!(ChangeHead::read(&change).is_err());
        assert!(ChangeHead::read(&seal(&change)).is_ok());
        assert!(ChangeHead::read(&seal(&change[..last])).is_ok());
    }
}
