//! Records of deterministic CBOR: what is read is written again as exactly the bytes it was read from.

use std::fmt::Debug;

use memlet_auth::stamp::{CompactStamp, Signatures};
use memlet_core::body::{Body, Run};
use memlet_core::clock::Clock;
use memlet_core::codec::{Decode, Encode, Reader};
use memlet_core::document::Binding;
use memlet_core::generation::Generation;
use memlet_core::id::Actor;
use memlet_core::path::Path;
use memlet_core::value::Value;

pub(super) fn run(data: &[u8]) {
    heads(data);
    strict::<Value>(data);
    strict::<Clock>(data);
    strict::<Body>(data);
    strict::<Run>(data);
    strict::<Binding>(data);
    strict::<Actor>(data);
    strict::<Path>(data);
    strict::<Signatures>(data);
    strict::<CompactStamp>(data);
    if let Some(generation) = strict::<Generation>(data) {
        assert!(generation.len() >= generation.members.len() as u64);
        let members = generation.member_set();
        for run in &generation.members {
            assert!(run.dots().next().is_some_and(|dot| members.contains(&dot) && generation.seen.covers(&dot)));
        }
    }
}

/// Reads one value of all the bytes, if they are one.
pub(super) fn strict<T: Decode + Encode>(data: &[u8]) -> Option<T> {
    let value = T::from_cbor(data).ok()?;
    assert_eq!(value.to_cbor(), data, "a value has two encodings");
    Some(value)
}

/// As [`strict`], and what is read twice is equal.
pub(super) fn strict_eq<T: Decode + Encode + PartialEq + Debug>(data: &[u8]) -> Option<T> {
    let value = strict::<T>(data)?;
    assert_eq!(T::from_cbor(&value.to_cbor()).as_ref(), Ok(&value));
    Some(value)
}

/// Item heads take bytes away until there are none, whatever they say.
fn heads(data: &[u8]) {
    let mut reader = Reader::new(data);
    let read = std::iter::from_fn(|| reader.head().ok()).take(data.len() + 1).count();
    assert!(read <= data.len(), "an item of no bytes");
}
