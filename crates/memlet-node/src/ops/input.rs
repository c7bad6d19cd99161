//! The fields of an operation's input, read by one rule.
//!
//! A missing field, `null` and a value of the wrong JSON type are the same thing: absent. Nothing is coerced. Only guards,
//! whose loss would make a call do something else than was meant, must be a string or null.

use serde_json::{Map, Value as Json};

use super::error::{Code, OpError};

/// An input: its fields, none if it is no object.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(Option<&'a Map<String, Json>>);

impl<'a> Fields<'a> {
    pub(super) fn of(input: &'a Json) -> Self {
        Self(input.as_object())
    }

    /// The field as it is, null included.
    pub(super) fn value(self, name: &str) -> Option<&'a Json> {
        self.0?.get(name)
    }

    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        self.value(name)?.as_str()
    }

    pub(super) fn array(self, name: &str) -> Option<&'a [Json]> {
        self.value(name)?.as_array().map(Vec::as_slice)
    }

    pub(super) fn flag(self, name: &str) -> Option<bool> {
        self.value(name)?.as_bool()
    }

    /// An integer of 64 bits; `2.0` is none.
    pub(super) fn integer(self, name: &str) -> Option<i64> {
        self.value(name)?.as_i64()
    }

    /// A size or count, raised to `min` if it is below.
    pub(super) fn at_least(self, min: usize, name: &str, default: usize) -> usize {
        match self.integer(name) {
            Some(given) => usize::try_from(given).unwrap_or(0).max(min),
            None => default,
        }
    }

    /// A guard: a string or nothing.
    pub(super) fn guard(self, name: &str) -> Result<Option<&'a str>, OpError> {
        match self.value(name) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(_) => Err(OpError::new(Code::InvalidInput, format!("{name:?} must be a string"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::from_str;

    use super::*;

    #[test]
    fn nothing_is_coerced() {
        let input: Json = from_str(r#"{"a":2.0,"b":"2","c":true,"d":1180591620717411303424,"e":-3,"f":null}"#).unwrap();
        let fields = Fields::of(&input);
        for name in ["a", "b", "c", "d", "f", "g"] {
            assert_eq!(fields.integer(name), None, "{name}");
            assert_eq!(fields.at_least(1, name, 7), 7, "{name}");
        }
        assert_eq!(fields.at_least(1, "e", 7), 1);
        assert_eq!(fields.text("c"), None);
        assert_eq!(Fields::of(&Json::Bool(true)).value("a"), None);
    }

    #[test]
    fn a_guard_is_a_string_or_nothing() {
        let input: Json = from_str(r#"{"a":"x","b":null,"c":1,"d":[]}"#).unwrap();
        let fields = Fields::of(&input);
        assert_eq!(fields.guard("a"), Ok(Some("x")));
        assert_eq!(fields.guard("b"), Ok(None));
        assert_eq!(fields.guard("missing"), Ok(None));
        assert_eq!(fields.guard("c").unwrap_err().code, Code::InvalidInput);
        assert_eq!(fields.guard("d").unwrap_err().code, Code::InvalidInput);
    }
}
