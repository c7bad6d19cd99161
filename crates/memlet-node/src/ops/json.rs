//! JSON in, JSON out, and the string form that people and guards see.
//!
//! Integers and other numbers stay apart, nothing is rounded, and keys are in the order of their UTF-16 code units, so that
//! every language can produce the same text.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use memlet_core::limits::VALUE_DEPTH_MAX;
use memlet_core::value::Value;
use serde_json::{Number, Value as Json};

use super::error::{Code, OpError};

/// The stored form of a JSON value.
///
/// # Errors
/// INVALID_INPUT for an integer beyond 64 bits, a number beyond the range of a double, or more nesting than a value may have.
pub(super) fn from_json(json: &Json) -> Result<Value, OpError> {
    read(json, VALUE_DEPTH_MAX)
}

fn read(json: &Json, depth: usize) -> Result<Value, OpError> {
    let too_deep = || OpError::new(Code::InvalidInput, format!("a value nests deeper than {VALUE_DEPTH_MAX} levels"));
    let deeper = depth.checked_sub(1).ok_or_else(too_deep)?;
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => read_number(number)?,
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(|item| read(item, deeper)).collect::<Result<_, _>>()?),
        Json::Object(entries) => Value::Map(
            entries
                .iter()
                .map(|(key, value)| Ok((key.clone(), read(value, deeper)?)))
                .collect::<Result<BTreeMap<_, _>, OpError>>()?,
        ),
    })
}

/// A number as it was written: with a point or an exponent it is a double, else an integer.
fn read_number(number: &Number) -> Result<Value, OpError> {
    let written = number.as_str();
    let refuse =
        |what| Err(OpError::new(Code::InvalidInput, format!("{what}; send it as a string to keep its digits")));
    if written.contains(['.', 'e', 'E']) {
        match written.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Value::Float(value)),
            _ => refuse("a number is beyond the range of a double"),
        }
    } else {
        written.parse().map(Value::Int).or_else(|_| refuse("an integer has more than 64 bits"))
    }
}

/// The JSON of a stored value.
pub(crate) fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int(value) => Json::from(*value),
        Value::Float(value) => Json::from(*value),
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Map(entries) => entries.iter().map(|(key, value)| (key.clone(), to_json(value))).collect(),
    }
}

/// Compact JSON: no white space, keys by UTF-16, minimal escapes, other characters verbatim.
pub(super) fn compact(value: &Value) -> String {
    let mut out = String::new();
    write(value, None, &mut out);
    out
}

/// Writes JSON in compact form, or on lines indented by two spaces a level below `indent`.
pub(super) fn write(value: &Value, indent: Option<usize>, out: &mut String) {
    let below = indent.map(|level| level + 1);
    match value {
        Value::List(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                out.push(if at == 0 { '[' } else { ',' });
                line_break(below, out);
                write(item, below, out);
            }
            line_break(indent, out);
            out.push(']');
        }
        Value::Map(entries) if !entries.is_empty() => {
            for (at, (key, value)) in sorted(entries).into_iter().enumerate() {
                out.push(if at == 0 { '{' } else { ',' });
                line_break(below, out);
                out.push_str(&quoted(key));
                out.push_str(if indent.is_some() { ": " } else { ":" });
                write(value, below, out);
            }
            line_break(indent, out);
            out.push('}');
        }
        Value::Text(text) => out.push_str(&quoted(text)),
        // Rust's own form is the shortest that is read back the same, with a point or an exponent: `2.0`, `1e300`.
        Value::Float(number) => out.push_str(&format!("{number:?}")),
        other => out.push_str(&to_json(other).to_string()),
    }
}

/// A new line at this level of indentation; nothing in compact form.
pub(super) fn line_break(indent: Option<usize>, out: &mut String) {
    if let Some(level) = indent {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", level));
    }
}

/// A string as JSON.
pub(super) fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}

/// Strings as they are, null empty, everything else as compact JSON.
pub(super) fn string_form(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Text(text) => text.clone(),
        other => compact(other),
    }
}

/// Bytes of one list item or leaf, as its limit counts them: those of a string, else those of the compact JSON.
pub(super) fn measure(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        other => compact(other).len(),
    }
}

/// The entries of a map in the order in which they are shown.
pub(super) fn sorted(entries: &BTreeMap<String, Value>) -> Vec<(&String, &Value)> {
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_by(|(a, _), (b, _)| by_utf16(a, b));
    sorted
}

/// Order by UTF-16 code units. It differs from that of code points where surrogates meet U+E000 and above.
pub(super) fn by_utf16(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

/// What a value is, in the words of the read operations.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "Nil",
        Value::Bool(_) => "Boolean",
        Value::Int(_) => "Long",
        Value::Float(_) => "Double",
        Value::Text(_) => "String",
        Value::List(_) => "Vector",
        Value::Map(_) => "Map",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Value, OpError> {
        from_json(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn numbers_keep_what_they_are() {
        for (written, shown) in [
            ("2", "2"),
            ("2.0", "2.0"),
            ("0.1", "0.1"),
            ("1e300", "1e300"),
            ("1E2", "100.0"),
            ("-0", "0"),
            ("-0.0", "-0.0"),
            ("5e-324", "5e-324"),
            ("9223372036854775807", "9223372036854775807"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("0.30000000000000004", "0.30000000000000004"),
        ] {
            assert_eq!(string_form(&parse(written).unwrap()), shown);
        }
        for refused in ["9223372036854775808", "-9223372036854775809", "1180591620717411303424", "1e400", "[[1e999]]"] {
            assert_eq!(parse(refused).unwrap_err().code, Code::InvalidInput, "{refused}");
        }
        assert_eq!(to_json(&parse("[2,2.0]").unwrap()).to_string(), "[2,2.0]");
    }

    #[test]
    fn keys_are_in_the_order_of_utf16() {
        let value = parse(r#"{"\ufb01":1,"\ud83c\udf75":2,"b":3,"B":{"y":[],"x":{}}}"#).unwrap();
        assert_eq!(compact(&value), "{\"B\":{\"x\":{},\"y\":[]},\"b\":3,\"\u{1F375}\":2,\"\u{FB01}\":1}");
    }

    #[test]
    fn escapes_are_minimal() {
        let value = Value::Text("\"\\/\n\u{1}\u{7f}\u{2028}é".into());
        assert_eq!(compact(&value), "\"\\\"\\\\/\\n\\u0001\u{7f}\u{2028}é\"");
        assert_eq!(measure(&value), 11);
    }

    #[test]
    fn indented_json_says_the_same() {
        let value = parse(r#"{"a":[1,{"b":[]}],"c":{}}"#).unwrap();
        let mut out = String::new();
        write(&value, Some(0), &mut out);
        assert_eq!(out, "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}");
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |levels| (0..levels).fold(Json::Null, |inner, _| Json::Array(vec![inner]));
        assert!(from_json(&nested(VALUE_DEPTH_MAX - 1)).is_ok());
        assert_eq!(from_json(&nested(VALUE_DEPTH_MAX)).unwrap_err().code, Code::InvalidInput);
    }
}
