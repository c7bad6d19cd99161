//! Request ids: a retried call has one effect and one answer.
//!
//! The first completed call is remembered with a hash of its input, never the input itself. A failed call uses up nothing.

use serde_json::Value as Json;

use super::error::{Code, OpError};
use super::input::Fields;

/// Bytes of a request id.
pub const REQUEST_ID_BYTES_MAX: usize = 128;

/// How long a completed call is remembered at least, in milliseconds: 24 hours.
pub const REQUEST_KEPT_MS: u64 = 24 * 60 * 60 * 1000;

/// A completed call, as it is remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// When it completed, in milliseconds since 1970.
    pub at_ms: u64,
    /// blake3 of the operation and its input.
    pub hash: [u8; 32],
    /// What it answered.
    pub output: Json,
}

/// The calls remembered for the user whose namespace is written.
pub trait Requests {
    /// The completed call of this id.
    ///
    /// # Errors
    /// The store fails.
    fn find(&self, id: &str) -> Result<Option<Stored>, OpError>;
}

/// A call to remember, together with its effect, under its id.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The id, 1 to 128 bytes.
    pub id: String,
    /// What to store.
    pub stored: Stored,
}

impl Stored {
    /// The record as it is stored: time (8 bytes, big-endian), hash, answer as JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.at_ms.to_be_bytes()[..], &self.hash, self.output.to_string().as_bytes()].concat()
    }

    /// Reads a record; none if the bytes are not one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (at_ms, rest) = bytes.split_first_chunk()?;
        let (hash, output) = rest.split_first_chunk()?;
        let output = serde_json::from_slice(output).ok()?;
        Some(Self { at_ms: u64::from_be_bytes(*at_ms), hash: *hash, output })
    }
}

/// The request of a call that has not been answered before.
pub(super) struct Fresh(Option<(String, [u8; 32])>);

impl Fresh {
    /// What to remember now that the call has its answer.
    pub(super) fn completed(self, output: &Json, now_ms: u64) -> Option<Request> {
        self.0.map(|(id, hash)| Request { id, stored: Stored { at_ms: now_ms, hash, output: output.clone() } })
    }
}

/// Looks up the call's id: `Err(Ok(answer))` if it has been answered.
pub(super) fn consult(operation: &str, input: &Json, requests: &dyn Requests) -> Result<Result<Fresh, Json>, OpError> {
    let Some(id) = Fields::of(input).guard("request_id")? else { return Ok(Ok(Fresh(None))) };
    if !(1..=REQUEST_ID_BYTES_MAX).contains(&id.len()) {
        let message = format!("\"request_id\" has 1 to {REQUEST_ID_BYTES_MAX} bytes");
        return Err(OpError::new(Code::InvalidInput, message));
    }
    let hash = hash(operation, input);
    match requests.find(id)? {
        None => Ok(Ok(Fresh(Some((id.to_owned(), hash))))),
        Some(stored) if stored.hash == hash => Ok(Err(stored.output)),
        Some(_) => {
            let message = "this request_id was used with another input; take a new one for a new call";
            Err(OpError::new(Code::RequestIdConflict, message))
        }
    }
}

/// Objects keep their keys sorted, so equal inputs have equal text.
fn hash(operation: &str, input: &Json) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(operation.as_bytes()).update(&[0]).update(input.to_string().as_bytes());
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json};

    use super::*;

    #[test]
    fn the_hash_is_of_the_input_and_not_of_its_layout() {
        let one: Json = from_str(r#"{"a":{"y":1,"x":2.0},"b":[]}"#).unwrap();
        let two: Json = from_str(r#" {"b":[ ],"a":{"x":2.0, "y":1}} "#).unwrap();
        assert_eq!(hash("op", &one), hash("op", &two));
        assert_ne!(hash("op", &one), hash("other", &one));
        assert_ne!(hash("op", &json!({"n": 2})), hash("op", &from_str(r#"{"n":2.0}"#).unwrap()));
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let stored = Stored { at_ms: 7, hash: [3; 32], output: json!({"n": 1, "text": null}) };
        assert_eq!(Stored::from_bytes(&stored.to_bytes()), Some(stored.clone()));
        assert_eq!(Stored::from_bytes(&stored.to_bytes()[..39]), None);
        assert_eq!(Stored::from_bytes(&stored.to_bytes()[..44]), None);
    }
}
