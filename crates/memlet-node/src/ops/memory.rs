//! `v/ops/memory`: a flat numbered list with four commands.
//!
//! Numbers are those of the entries that recall shows, so an edit hits what its caller saw. A command that edits needs the
//! whole list and reads it without a cap.

use memlet_auth::grant::Ability;
use memlet_core::document::Document;
use memlet_core::id::Dot;
use memlet_core::value::Value;
use serde_json::{Value as Json, json};

use super::Mutation;
use super::address::{Address, Scope, Target};
use super::edit::{Edit, Plan, check_bytes, check_room};
use super::error::{Code, OpError};
use super::input::Fields;
use super::json::{by_utf16, string_form};
use super::text::safe_line;
use super::view::{Inside, Shape, inside, look, shape};

/// The list that is meant when no path is given.
pub(super) const DEFAULT_PATH: &str = "w/memory";

/// Numbered lines of what is shown at a path; null if there is nothing.
pub(super) fn recall(fields: Fields<'_>, scope: &Scope<'_>) -> Result<Json, OpError> {
    let reach = Address::text_field(fields, "path", DEFAULT_PATH)?.reach(scope)?;
    scope.require_read(&reach)?;
    let style = Style { display: fields.text("displayField"), note: fields.text("noteField") };
    let mut lines: Vec<String> = match look(scope, &reach).as_deref() {
        Some(Value::List(entries)) => entries.iter().filter(|entry| is_shown(entry)).map(|e| style.line(e)).collect(),
        Some(Value::Map(entries)) => {
            let mut lines: Vec<_> = entries.values().filter(|entry| is_shown(entry)).map(|e| style.line(e)).collect();
            lines.sort_by(|a, b| by_utf16(a, b));
            lines
        }
        _ => Vec::new(),
    };
    if lines.is_empty() {
        return Ok(Json::Null);
    }
    if fields.flag("safe") == Some(true) {
        lines.iter_mut().for_each(|line| *line = safe_line(line));
    }
    let numbered: Vec<String> = lines.iter().zip(1..).map(|(line, n)| format!("{n}. {line}")).collect();
    Ok(Json::from(numbered.join("\n")))
}

/// The place that a command edits, once everything is checked that needs no list.
pub(super) fn target(command: Mutation, fields: Fields<'_>, scope: &Scope<'_>) -> Result<Target, OpError> {
    if command != Mutation::Forget {
        text(fields)?;
    }
    let ability = if command == Mutation::Forget { Ability::Forget } else { Ability::Write };
    let target = Address::text_field(fields, "path", DEFAULT_PATH)?.writable(scope, ability)?;
    scope.require(Ability::Read, &target)?;
    scope.require(ability, &target)?;
    Ok(target)
}

/// Plans a command at `now_ms`.
pub(super) fn plan(
    command: Mutation,
    fields: Fields<'_>,
    scope: &Scope<'_>,
    target: &Target,
    now_ms: u64,
) -> Result<Plan, OpError> {
    let path = target.path.clone();
    let now = Value::Int(i64::try_from(now_ms).unwrap_or(i64::MAX));
    if command == Mutation::Remember {
        let text = text(fields)?;
        check_bytes(text.len())?;
        let list = List::at(scope.document, target)?;
        let n = list.shown().count() + 1;
        check_room(list.members.len() + 1)?;
        let mut edits = Vec::from_iter(list.replaces_null.then(|| Edit::DeleteLeaf(path.clone())));
        edits.push(Edit::Append(path, item(text, [("ts", now)])));
        return Ok(Plan { edits, output: json!({"remembered": true, "n": n, "count": n}) });
    }
    let replacement = if command == Mutation::Update { Some(text(fields)?) } else { None };
    check_bytes(replacement.map_or(0, str::len))?;
    let list = List::at(scope.document, target)?;
    let n = fields.integer("n").ok_or_else(|| OpError::new(Code::NRequired, "\"n\" must be the number of an item"))?;
    let (dot, entry) = list.numbered(n)?;
    if let Some(expected) = fields.guard("expect")?
        && expected != plain_line(entry)
    {
        let message = format!("item {n} is not what `expect` says; recall again and retry with its new number");
        return Err(OpError::new(Code::Conflict, message));
    }
    let count = list.shown().count();
    Ok(match replacement {
        Some(text) => {
            let first = field(entry, "ts").filter(|ts| matches!(ts, Value::Int(_))).unwrap_or(&now).clone();
            let edits = vec![Edit::Item(path, dot, item(text, [("ts", first), ("updated", now)]))];
            Plan { edits, output: json!({"updated": true, "n": n, "count": count}) }
        }
        None => {
            let output = json!({"forgotten": true, "n": n, "count": count - 1});
            Plan { edits: vec![Edit::Remove(path, dot)], output }
        }
    })
}

fn text<'a>(fields: Fields<'a>) -> Result<&'a str, OpError> {
    fields.text("text").ok_or_else(|| OpError::new(Code::TextRequired, "\"text\" must be a string"))
}

fn item<const N: usize>(text: &str, times: [(&str, Value); N]) -> Value {
    let text = ("text", Value::Text(text.to_owned()));
    Value::Map([text].into_iter().chain(times).map(|(key, value)| (key.to_owned(), value)).collect())
}

/// A list that commands may edit.
struct List<'d> {
    document: &'d Document,
    members: &'d [Dot],
    /// Whether a leaf null stands where the list will be.
    replaces_null: bool,
}

impl<'d> List<'d> {
    /// The list at a path; absent and null are empty ones.
    fn at(document: &'d Document, target: &Target) -> Result<Self, OpError> {
        let not_a_list = || {
            let message = format!("{:?} is no flat list; memory commands edit only those", target.asked);
            Err(OpError::new(Code::NotAList, message))
        };
        let (members, replaces_null): (&'d [Dot], bool) = match inside(document, &target.path) {
            None => match shape(document, &target.path) {
                Shape::List(members) => (members, false),
                Shape::Absent => (&[], false),
                Shape::Leaf(Value::Null) => (&[], true),
                Shape::Leaf(_) | Shape::Map => return not_a_list(),
            },
            Some(Inside::Items { .. } | Inside::Leaf { value: Value::List(_) | Value::Map(_), .. }) => {
                return not_a_list();
            }
            Some(Inside::Leaf { .. }) => {
                let message = format!("{:?} leads through a scalar; nothing is stored below one", target.asked);
                return Err(OpError::new(Code::ShapeConflict, message));
            }
        };
        Ok(Self { document, members, replaces_null })
    }

    fn shown(&self) -> impl Iterator<Item = (Dot, &'d Value)> {
        let entries = self.members.iter().map(|dot| (*dot, &self.document.body(dot).value));
        entries.filter(|(_, entry)| is_shown(entry))
    }

    fn numbered(&self, n: i64) -> Result<(Dot, &'d Value), OpError> {
        let index = n.checked_sub(1).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.shown().nth(index)).ok_or_else(|| {
            let count = self.shown().count();
            let items = if count == 1 { "item" } else { "items" };
            OpError::new(Code::NOutOfRange, format!("there is no item {n}: the list shows {count} {items}"))
        })
    }
}

/// Whether an entry is shown, and so has a number. Hidden is a map whose `status` is other than `active`, whose `surfacing`
/// is `hold`, or that has been merged into another.
pub(crate) fn is_shown(entry: &Value) -> bool {
    let present = |name| field(entry, name).map(string_form);
    present("status").is_none_or(|status| status == "active")
        && present("surfacing").is_none_or(|surfacing| surfacing != "hold")
        && present("mergedInto").is_none()
}

/// A field of an entry that is a map; null counts as absent.
fn field<'v>(entry: &'v Value, name: &str) -> Option<&'v Value> {
    match entry {
        Value::Map(fields) => fields.get(name).filter(|value| **value != Value::Null),
        _ => None,
    }
}

/// Which fields of a map make its line.
struct Style<'a> {
    display: Option<&'a str>,
    note: Option<&'a str>,
}

impl Style<'_> {
    fn line(&self, entry: &Value) -> String {
        let shown = self.display.and_then(|name| field(entry, name));
        let line = shown.map_or_else(|| plain_line(entry), string_form);
        match self.note.and_then(|name| field(entry, name)).map(string_form) {
            Some(note) if !note.is_empty() => format!("{line} \u{2014} {note}"),
            _ => line,
        }
    }
}

/// An entry without any style: what `expect` is held against.
fn plain_line(entry: &Value) -> String {
    string_form(field(entry, "text").unwrap_or(entry))
}

#[cfg(test)]
mod tests {
    use super::super::json::from_json;
    use super::*;

    #[test]
    fn a_line_shows_the_chosen_field_then_text_then_the_whole() {
        let style = Style { display: Some("title"), note: Some("why") };
        for (entry, line) in [
            (json!({"title": "T", "text": "t", "why": 3}), "T — 3"),
            (json!({"title": null, "text": "t", "why": ""}), "t"),
            (json!({"other": 2.0}), r#"{"other":2.0}"#),
            (json!(["x", null]), r#"["x",null]"#),
            (json!(null), ""),
            (json!("plain"), "plain"),
        ] {
            assert_eq!(style.line(&from_json(&entry).unwrap()), line);
        }
    }

    #[test]
    fn only_three_fields_hide_an_entry() {
        let shown = |entry| is_shown(&from_json(&entry).unwrap());
        assert!(shown(json!({"status": "active", "surfacing": "show", "mergedInto": null})));
        assert!(shown(json!("status")) && shown(json!({"status": null})));
        assert!(!shown(json!({"status": true})) && !shown(json!({"status": ""})));
        assert!(!shown(json!({"surfacing": "hold"})) && !shown(json!({"mergedInto": false})));
    }
}
