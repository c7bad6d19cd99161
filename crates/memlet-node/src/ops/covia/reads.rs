//! The reading operations: read, slice, list, inspect. A limit of size limits what is shown, never what is found.

use std::borrow::Cow;

use memlet_core::value::Value;
use serde_json::{Map, Value as Json, json};

use crate::ops::address::{Address, Scope};
use crate::ops::error::{Code, OpError};
use crate::ops::input::Fields;
use crate::ops::inspect::{BUDGET_BYTES_MIN, inspect};
use crate::ops::json::{compact, sorted, to_json, type_name};
use crate::ops::view::look;

/// Bytes of compact JSON that one read shows unless told otherwise.
const SIZE_BYTES_DEFAULT: usize = 1_000_000;

/// The value at a path, whole or not at all.
pub(in crate::ops) fn read(fields: Fields<'_>, scope: &Scope<'_>) -> Result<Json, OpError> {
    let Some(value) = found(fields, scope)? else {
        return Ok(json!({"exists": false, "value": null, "valueBytes": 0}));
    };
    let bytes = compact(&value).len();
    if bytes > fields.at_least(0, "maxSize", SIZE_BYTES_DEFAULT) {
        let kind = type_name(&value);
        return Ok(json!({"exists": true, "type": kind, "value": null, "truncated": true, "valueBytes": bytes}));
    }
    Ok(json!({"exists": true, "value": to_json(&value), "valueBytes": bytes}))
}

/// A page of the elements of a list, or of the entries of a map.
pub(in crate::ops) fn slice(fields: Fields<'_>, scope: &Scope<'_>) -> Result<Json, OpError> {
    let Some(value) = found(fields, scope)? else { return Ok(json!({"exists": false})) };
    let page = Page::of(fields, 100);
    let (count, values): (usize, Vec<Json>) = match &*value {
        Value::List(items) => (items.len(), page.take(items).map(to_json).collect()),
        Value::Map(entries) => {
            let entry = |(key, value)| json!({"key": key, "value": to_json(value)});
            (entries.len(), page.take(sorted(entries)).map(entry).collect())
        }
        _ => {
            let message = format!("a {} cannot be sliced, only a list or a map", type_name(&value));
            return Err(OpError::new(Code::ShapeConflict, message));
        }
    };
    let values = Json::from(values);
    let bytes_max = fields.at_least(0, "maxSize", SIZE_BYTES_DEFAULT);
    if values.to_string().len() > bytes_max {
        let message = format!("the page has more than {bytes_max} bytes; ask for fewer values or a larger maxSize");
        return Err(OpError::new(Code::TooLarge, message));
    }
    let kind = type_name(&value);
    Ok(json!({"exists": true, "type": kind, "count": count, "values": values, "offset": page.offset}))
}

/// What is at a path: its type, how many elements it has, and a page of a map's keys.
pub(in crate::ops) fn list(fields: Fields<'_>, scope: &Scope<'_>) -> Result<Json, OpError> {
    let Some(value) = found(fields, scope)? else { return Ok(json!({"exists": false})) };
    let kind = type_name(&value);
    Ok(match &*value {
        Value::List(items) => json!({"exists": true, "type": kind, "count": items.len()}),
        Value::Map(entries) => {
            let page = Page::of(fields, 1_000);
            let keys: Vec<&String> = page.take(sorted(entries)).map(|(key, _)| key).collect();
            json!({"exists": true, "type": kind, "count": entries.len(), "keys": keys, "offset": page.offset})
        }
        _ => json!({"exists": true, "type": kind}),
    })
}

/// Values as texts within a budget of bytes. Several paths share it: what one leaves unused goes to the next.
pub(in crate::ops) fn inspect_paths(fields: Fields<'_>, scope: &Scope<'_>) -> Result<Json, OpError> {
    let budget = fields.at_least(BUDGET_BYTES_MIN, "budget", 500);
    let compact = fields.flag("compact").unwrap_or(true);
    let text = |address: Address, budget: usize| {
        let reach = address.clone().reach(scope)?;
        scope.require_read(&reach)?;
        Ok::<_, OpError>(match look(scope, &reach) {
            Some(value) => inspect(&value, budget, compact),
            None => format!("null /* not found: {} */", address.asked),
        })
    };
    let Some(paths) = fields.array("paths") else {
        return Ok(json!({"result": text(Address::field(fields, "path", "")?, budget)?}));
    };
    let mut left = budget;
    let mut result = Map::new();
    for (path, paths_left) in paths.iter().zip((1..=paths.len()).rev()) {
        let address = Address::read(path)?;
        let key = address.asked.clone();
        let shown = text(address, (left / paths_left).max(BUDGET_BYTES_MIN))?;
        left = left.saturating_sub(shown.len());
        result.insert(key, Json::from(shown));
    }
    Ok(json!({"result": result}))
}

fn found<'d>(fields: Fields<'_>, scope: &Scope<'d>) -> Result<Option<Cow<'d, Value>>, OpError> {
    let reach = Address::field(fields, "path", "")?.reach(scope)?;
    scope.require_read(&reach)?;
    Ok(look(scope, &reach))
}

/// A window on elements.
struct Page {
    offset: usize,
    limit: usize,
}

impl Page {
    fn of(fields: Fields<'_>, limit_default: usize) -> Self {
        Self { offset: fields.at_least(0, "offset", 0), limit: fields.at_least(1, "limit", limit_default) }
    }

    fn take<T>(&self, elements: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        elements.into_iter().skip(self.offset).take(self.limit)
    }
}
