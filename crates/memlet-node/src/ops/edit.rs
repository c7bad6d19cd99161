//! What a mutation does to the document, planned in full before anything is written.
//!
//! A plan knows the right that each of its edits needs, as every replica will judge it; it is checked, then applied whole.

use std::mem;

use memlet_auth::grant::Ability;
use memlet_core::document::{Document, Draft, Element};
use memlet_core::id::Dot;
use memlet_core::limits::{LIST_ITEMS_MAX, VALUE_BYTES_MAX, VALUE_DEPTH_MAX};
use memlet_core::path::Path;
use memlet_core::value::Value;
use serde_json::Value as Json;

use super::address::{Scope, position};
use super::error::{Code, OpError};
use super::json::measure;
use super::view::Inside;

/// One edit of a list or leaf.
#[derive(Debug)]
pub(super) enum Edit {
    /// A new item at the end.
    Append(Path, Value),
    /// A new value in place of an item's.
    Item(Path, Dot, Value),
    /// An item goes.
    Remove(Path, Dot),
    /// A whole new content; `drops` if items go that were there.
    Rewrite { list: Path, elements: Vec<Element>, drops: bool },
    /// The list goes.
    DeleteList(Path),
    /// A new value of a leaf.
    Leaf(Path, Value),
    /// The leaf goes.
    DeleteLeaf(Path),
}

/// The edits of one mutation and what it answers.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) edits: Vec<Edit>,
    pub(super) output: Json,
}

impl Plan {
    /// Refuses a caller that may not do all of it.
    pub(super) fn authorize(&self, scope: &Scope<'_>, asked: &str) -> Result<(), OpError> {
        self.edits.iter().try_for_each(|edit| {
            let (path, abilities) = edit.needs();
            abilities.iter().try_for_each(|ability| scope.require_at(*ability, path, asked))
        })
    }

    /// Refuses values that are larger or deeper than one may be.
    pub(super) fn check_values(&self) -> Result<(), OpError> {
        self.edits.iter().try_for_each(|edit| match edit {
            Edit::Append(_, value) | Edit::Item(_, _, value) | Edit::Leaf(_, value) => check_value(value),
            Edit::Rewrite { elements, .. } => elements.iter().try_for_each(|element| match element {
                Element::New(value) => check_value(value),
                Element::Keep(_) => Ok(()),
            }),
            Edit::Remove(..) | Edit::DeleteList(_) | Edit::DeleteLeaf(_) => Ok(()),
        })
    }

    /// Puts the edits into the draft.
    pub(super) fn apply(self, draft: &mut Draft<'_>) -> Json {
        for edit in self.edits {
            match edit {
                Edit::Append(list, value) => draft.append(&list, value),
                Edit::Item(list, dot, value) => draft.edit(&list, dot, value),
                Edit::Remove(list, dot) => draft.remove(&list, &dot),
                Edit::Rewrite { list, elements, .. } => draft.rewrite(&list, elements),
                Edit::DeleteList(list) => draft.delete_list(&list),
                Edit::Leaf(path, value) => draft.write_cell(&path, value),
                Edit::DeleteLeaf(path) => draft.delete_cell(&path),
            }
        }
        self.output
    }
}

impl Edit {
    fn needs(&self) -> (&Path, &'static [Ability]) {
        match self {
            Self::Append(path, _) | Self::Item(path, ..) | Self::Leaf(path, _) => (path, &[Ability::Write]),
            Self::Rewrite { list, drops: false, .. } => (list, &[Ability::Write]),
            Self::Rewrite { list, drops: true, .. } => (list, &[Ability::Write, Ability::Forget]),
            Self::Remove(path, _) | Self::DeleteList(path) | Self::DeleteLeaf(path) => (path, &[Ability::Forget]),
        }
    }
}

/// Refuses one item more in a list that is full.
pub(super) fn check_room(items: usize) -> Result<(), OpError> {
    if items <= LIST_ITEMS_MAX {
        return Ok(());
    }
    Err(OpError::new(Code::TooLarge, format!("a list has at most {LIST_ITEMS_MAX} items")))
}

fn check_value(value: &Value) -> Result<(), OpError> {
    if depth(value) > VALUE_DEPTH_MAX {
        let message = format!("a value nests at most {VALUE_DEPTH_MAX} levels");
        return Err(OpError::new(Code::InvalidInput, message));
    }
    check_bytes(measure(value))
}

/// Refuses an item or leaf of too many bytes.
pub(super) fn check_bytes(bytes: usize) -> Result<(), OpError> {
    if bytes <= VALUE_BYTES_MAX {
        return Ok(());
    }
    let message = format!("one item or leaf has at most {VALUE_BYTES_MAX} bytes, this one has {bytes}");
    Err(OpError::new(Code::TooLarge, message))
}

fn depth(value: &Value) -> usize {
    1 + match value {
        Value::List(items) => items.iter().map(depth).max().unwrap_or(0),
        Value::Map(entries) => entries.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// A stored value taken out to be changed at `rest`, the part of the path that leads on inside it.
pub(super) struct Stored<'p> {
    path: Path,
    /// The item's dot; none for a leaf.
    dot: Option<Dot>,
    value: Value,
    rest: &'p [String],
}

/// What a change of a value found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Whether something stood there.
    pub(super) existed: bool,
    /// Whether a map had to be made to hold it.
    pub(super) parent_made: bool,
}

impl<'p> Stored<'p> {
    /// Takes out a copy.
    pub(super) fn open(document: &Document, inside: Inside<'_, 'p>) -> Result<Self, OpError> {
        Ok(match inside {
            Inside::Items { list, members, rest } => {
                let (first, rest) = rest.split_first().expect("a path below a list has a segment more");
                let dot = members[list_position(first, members.len())?];
                Self { path: list, dot: Some(dot), value: document.body(&dot).value.clone(), rest }
            }
            Inside::Leaf { path, value, rest } => Self { path, dot: None, value: value.clone(), rest },
        })
    }

    /// Puts what `change` makes of the part in its place. Absent keys are made, absent positions are not.
    pub(super) fn change(
        &mut self,
        change: impl FnOnce(Option<Value>) -> Result<Value, OpError>,
    ) -> Result<Found, OpError> {
        change_inside(&mut self.value, self.rest, change)
    }

    /// Removes the part; a list position becomes null. False if nothing was there.
    pub(super) fn remove(&mut self) -> bool {
        remove_inside(&mut self.value, self.rest)
    }

    /// Puts the value back.
    pub(super) fn into_edit(self) -> Edit {
        match self.dot {
            Some(dot) => Edit::Item(self.path, dot, self.value),
            None => Edit::Leaf(self.path, self.value),
        }
    }
}

fn change_inside(
    value: &mut Value,
    rest: &[String],
    change: impl FnOnce(Option<Value>) -> Result<Value, OpError>,
) -> Result<Found, OpError> {
    let Some((segment, deeper)) = rest.split_first() else {
        *value = change(Some(mem::replace(value, Value::Null)))?;
        return Ok(Found { existed: true, parent_made: false });
    };
    match value {
        Value::List(items) => {
            let at = list_position(segment, items.len())?;
            change_inside(&mut items[at], deeper, change)
        }
        Value::Map(entries) => match entries.get_mut(segment) {
            Some(inner) => change_inside(inner, deeper, change),
            None => {
                let inner = deeper.iter().rfold(change(None)?, |inner, key| Value::Map([(key.clone(), inner)].into()));
                entries.insert(segment.clone(), inner);
                Ok(Found { existed: false, parent_made: !deeper.is_empty() })
            }
        },
        _ => Err(OpError::new(Code::ShapeConflict, "the path leads through a scalar; nothing is stored below one")),
    }
}

fn remove_inside(value: &mut Value, rest: &[String]) -> bool {
    let Some((segment, deeper)) = rest.split_first() else {
        return mem::replace(value, Value::Null) != Value::Null;
    };
    match value {
        Value::Map(entries) if deeper.is_empty() => entries.remove(segment).is_some(),
        Value::Map(entries) => entries.get_mut(segment).is_some_and(|inner| remove_inside(inner, deeper)),
        Value::List(items) => {
            let item = position(segment).and_then(|at| items.get_mut(at));
            item.is_some_and(|item| remove_inside(item, deeper))
        }
        _ => false,
    }
}

/// The position that a segment names in a list of `len` items, for a write.
fn list_position(segment: &str, len: usize) -> Result<usize, OpError> {
    let at = position(segment).ok_or_else(|| {
        OpError::new(Code::ShapeConflict, "the path has a key where a list position is needed: 0, 1, …")
    })?;
    if at < len {
        return Ok(at);
    }
    let message = format!("the list has no position {at}, only {len} of them from 0; append adds one");
    Err(OpError::new(Code::IndexOutOfRange, message))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::json::{from_json, to_json};
    use super::*;

    fn path(text: &str) -> Vec<String> {
        text.split('/').map(str::to_owned).collect()
    }

    #[test]
    fn a_write_inside_a_value_makes_keys_but_no_positions() {
        let mut value = from_json(&json!({"a": [1, {"b": 2}], "s": "x"})).unwrap();
        let mut write = |at: &str| change_inside(&mut value, &path(at), |_| Ok(Value::Int(9)));
        assert_eq!(write("a/1/b"), Ok(Found { existed: true, parent_made: false }));
        assert_eq!(write("a/1/c/d/e"), Ok(Found { existed: false, parent_made: true }));
        assert_eq!(write("a/2").unwrap_err().code, Code::IndexOutOfRange);
        assert_eq!(write("a/k").unwrap_err().code, Code::ShapeConflict);
        assert_eq!(write("s/k").unwrap_err().code, Code::ShapeConflict);
        assert_eq!(to_json(&value), json!({"a": [1, {"b": 9, "c": {"d": {"e": 9}}}], "s": "x"}));
    }

    #[test]
    fn a_removal_inside_a_value_keeps_positions() {
        let mut value = from_json(&json!({"a": [1, {"b": 2}], "s": "x"})).unwrap();
        let mut remove = |at: &str| remove_inside(&mut value, &path(at));
        assert!(remove("a/0") && !remove("a/0") && !remove("a/7") && !remove("s/x"));
        assert!(remove("a/1/b") && !remove("a/1/b") && remove("s"));
        assert_eq!(to_json(&value), json!({"a": [null, {}]}));
    }
}
