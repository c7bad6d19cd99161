//! JSON values as the lattice stores them: integers apart from floats, maps in one order, one encoding each.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::codec::{Decode, DecodeError, Encode, Head, Reader, Writer};
use crate::limits::VALUE_DEPTH_MAX;

/// A JSON value. Integers are 64-bit and never turn into floats.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer of the signed 64-bit range.
    Int(i64),
    /// Any other number; always finite.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A map.
    Map(BTreeMap<String, Value>),
}

impl Encode for Value {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::Null => w.null(),
            Self::Bool(value) => w.bool(*value),
            Self::Int(value) => w.int(*value),
            Self::Float(value) => w.float(*value),
            Self::Text(value) => w.text(value),
            Self::List(values) => w.list(values.iter()),
            Self::Map(entries) => {
                let mut sorted: Vec<_> = entries.iter().collect();
                sorted.sort_by(|(a, _), (b, _)| by_encoding(a, b));
                w.map(sorted.len());
                for (key, value) in sorted {
                    w.text(key);
                    value.encode(w);
                }
            }
        }
    }
}

impl Decode for Value {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        decode_below(r, VALUE_DEPTH_MAX)
    }
}

fn decode_below(r: &mut Reader<'_>, depth: usize) -> Result<Value, DecodeError> {
    let deeper = depth.checked_sub(1).ok_or(DecodeError::Limit("nesting"))?;
    Ok(match r.head()? {
        Head::Null => Value::Null,
        Head::Bool(value) => Value::Bool(value),
        Head::Uint(n) => Value::Int(i64::try_from(n).map_err(|_| DecodeError::Invalid("integer beyond 64 bits"))?),
        Head::Negative(n) => Value::Int(!i64::try_from(n).map_err(|_| DecodeError::Invalid("integer beyond 64 bits"))?),
        Head::Float(n) if n.is_finite() => Value::Float(n),
        Head::Float(_) => return Err(DecodeError::Invalid("number: not finite")),
        Head::Text(text) => Value::Text(text.to_owned()),
        Head::Array(len) => Value::List((0..len).map(|_| decode_below(r, deeper)).collect::<Result<_, _>>()?),
        Head::Map(len) => {
            let mut entries = BTreeMap::new();
            let mut last: Option<String> = None;
            for _ in 0..len {
                let key = r.text()?.to_owned();
                if last.as_ref().is_some_and(|last| by_encoding(last, &key).is_ge()) {
                    return Err(DecodeError::NotDeterministic);
                }
                let value = decode_below(r, deeper)?;
                last = Some(key.clone());
                entries.insert(key, value);
            }
            Value::Map(entries)
        }
        Head::Bytes(_) => return Err(DecodeError::Expected("a JSON value")),
    })
}

/// Map keys ascend by their encoded bytes (RFC 8949, 4.2.1): for text that is by length, then by bytes.
fn by_encoding(a: &str, b: &str) -> Ordering {
    (a.len(), a).cmp(&(b.len(), b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_stay_apart() {
        for value in [
            Value::Int(2),
            Value::Float(2.0),
            Value::Int(i64::MIN),
            Value::Int(i64::MAX),
            Value::Float(-0.0),
            Value::Float(1e300),
        ] {
            assert_eq!(Value::from_cbor(&value.to_cbor()).unwrap(), value);
        }
        assert_ne!(Value::Int(2).to_cbor(), Value::Float(2.0).to_cbor());
    }

    #[test]
    fn only_the_one_encoding_is_read() {
        let bad: [&[u8]; 9] = [
            &[0x18, 0x01],                         // 1 in two bytes
            &[0xbf, 0xff],                         // indefinite map
            &[0xa2, 0x61, b'b', 1, 0x61, b'a', 2], // keys out of order
            &[0xa2, 0x61, b'a', 1, 0x61, b'a', 2], // repeated key
            &[0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            &[0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            &[0x00, 0x00],
            &[0xfb, 0x40, 0, 0, 0, 0, 0, 0, 0], // 2.0 in eight bytes
            &[0x62, b'a'],
        ];
        for bytes in bad {
            assert!(Value::from_cbor(bytes).is_err(), "{bytes:02x?}");
        }
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_crash() {
        assert_eq!(Value::from_cbor(&vec![0x81; 100_000]), Err(DecodeError::Limit("nesting")));
    }
}
