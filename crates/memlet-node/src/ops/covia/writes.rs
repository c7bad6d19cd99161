//! The writing operations: write, append, delete, copy.
//!
//! A written list becomes a list of items of its own, a written map one leaf for each of its leaves, so that devices can
//! change different parts at once. Below a list item or a leaf that had to be kept whole, the stored value is edited.

use std::collections::BTreeMap;

use memlet_auth::grant::Ability;
use memlet_core::codec::Encode as _;
use memlet_core::document::{Document, Element};
use memlet_core::path::Path;
use memlet_core::value::Value;
use serde_json::{Value as Json, json};

use crate::ops::Mutation;
use crate::ops::address::{Address, Scope, Target};
use crate::ops::edit::{Edit, Found, Plan, Stored, check_room};
use crate::ops::error::{Code, OpError};
use crate::ops::input::Fields;
use crate::ops::json::from_json;
use crate::ops::lcs::longest_common;
use crate::ops::view::{Inside, Shape, exists, inside, is_empty_map, look, shape, value_at};

/// The place that an operation writes to, once everything is checked that needs no value.
pub(in crate::ops) fn target(operation: Mutation, fields: Fields<'_>, scope: &Scope<'_>) -> Result<Target, OpError> {
    if operation == Mutation::Write && fields.value("value").is_none() {
        return Err(OpError::new(Code::ValueRequired, "\"value\" is missing; null is one"));
    }
    let (name, ability) = match operation {
        Mutation::Copy => ("to", Ability::Write),
        Mutation::Delete => ("path", Ability::Forget),
        _ => ("path", Ability::Write),
    };
    let target = Address::field(fields, name, "")?.writable(scope, ability)?;
    // At a list position a delete is an edit, because positions stay. Who has neither right is not told which it would be.
    let may_edit = operation == Mutation::Delete && scope.caller.permits(Ability::Write, &target.path);
    if may_edit && is_position(scope.document, &target.path) {
        return Ok(target);
    }
    scope.require(ability, &target)?;
    Ok(target)
}

/// Plans an operation.
pub(in crate::ops) fn plan(
    operation: Mutation,
    fields: Fields<'_>,
    scope: &Scope<'_>,
    target: &Target,
) -> Result<Plan, OpError> {
    let value = || coerced(fields.value("value").unwrap_or(&Json::Null));
    let plan = match operation {
        Mutation::Append => append(scope.document, target, value()?),
        Mutation::Delete => Ok(delete(scope.document, target)),
        Mutation::Copy => write(scope.document, target, source(fields, scope)?),
        _ => write(scope.document, target, value()?),
    }?;
    plan.check_values()?;
    Ok(plan)
}

/// A string that is a JSON list or map is taken as what it says.
fn coerced(json: &Json) -> Result<Value, OpError> {
    let inner = json.as_str().map(|text| text.trim_matches([' ', '\t', '\n', '\r']));
    let parsed = inner
        .filter(|text| text.starts_with('{') && text.ends_with('}') || text.starts_with('[') && text.ends_with(']'))
        .and_then(|text| serde_json::from_str(text).ok());
    from_json(parsed.as_ref().unwrap_or(json))
}

fn source(fields: Fields<'_>, scope: &Scope<'_>) -> Result<Value, OpError> {
    let address = Address::field(fields, "from", "")?;
    let asked = address.asked.clone();
    let reach = address.reach(scope)?;
    scope.require_read(&reach)?;
    let value = look(scope, &reach)
        .ok_or_else(|| OpError::new(Code::NotFound, format!("nothing stands at {asked:?} to copy from")))?;
    Ok(value.into_owned())
}

fn write(document: &Document, target: &Target, value: Value) -> Result<Plan, OpError> {
    let (edits, found) = match inside(document, &target.path) {
        None => (replace(document, &target.path, value)?, found(document, target)),
        Some(inside) => {
            let mut stored = Stored::open(document, inside)?;
            let found = stored.change(|_| Ok(value))?;
            (vec![stored.into_edit()], found)
        }
    };
    Ok(Plan { edits, output: answer(json!({"existed": found.existed}), &found) })
}

fn append(document: &Document, target: &Target, value: Value) -> Result<Plan, OpError> {
    let path = &target.path;
    let (edits, found, index) = match inside(document, path) {
        None => {
            let (members, leaf_goes): (&[_], bool) = match shape(document, path) {
                Shape::List(members) => (members, false),
                Shape::Absent => (&[], false),
                Shape::Leaf(leaf) if becomes_list(leaf) => (&[], true),
                Shape::Leaf(_) | Shape::Map => return Err(not_a_list(target)),
            };
            let mut edits = Vec::from_iter(leaf_goes.then(|| Edit::DeleteLeaf(path.clone())));
            edits.push(Edit::Append(path.clone(), value));
            (edits, found(document, target), members.len())
        }
        Some(inside) => {
            let mut index = 0;
            let mut stored = Stored::open(document, inside)?;
            let found = stored.change(|old| {
                let mut items = match old {
                    Some(Value::List(items)) => items,
                    Some(leaf) if !becomes_list(&leaf) => return Err(not_a_list(target)),
                    _ => Vec::new(),
                };
                index = items.len();
                items.push(value);
                Ok(Value::List(items))
            })?;
            (vec![stored.into_edit()], found, index)
        }
    };
    check_room(index + 1)?;
    let output = json!({"existed": found.existed, "index": index, "newSize": index + 1});
    Ok(Plan { edits, output: answer(output, &found) })
}

fn delete(document: &Document, target: &Target) -> Plan {
    let path = &target.path;
    let edits: Vec<Edit> = match inside(document, path) {
        None => {
            let lists = document.lists_below(path).map(|(path, _)| Edit::DeleteList(path.clone()));
            let leaves = document.cells_below(path).map(|(path, _)| Edit::DeleteLeaf(path.clone()));
            lists.chain(leaves).collect()
        }
        Some(inside) => {
            let stored = Stored::open(document, inside).ok();
            let removed = stored.and_then(|mut stored| stored.remove().then(|| stored.into_edit()));
            removed.into_iter().collect()
        }
    };
    Plan { output: json!({"deleted": !edits.is_empty()}), edits }
}

/// Whether the last segment of a path is a position in a list.
fn is_position(document: &Document, path: &Path) -> bool {
    match inside(document, path) {
        None => false,
        Some(Inside::Items { rest: [_], .. }) => true,
        Some(_) => {
            let parent = path.parent().and_then(|parent| value_at(document, &parent));
            matches!(parent.as_deref(), Some(Value::List(_)))
        }
    }
}

/// What a write outside of stored values finds.
fn found(document: &Document, target: &Target) -> Found {
    let is_made = |parent: Path| parent.segments().len() > target.base && !exists(document, &parent);
    Found { existed: exists(document, &target.path), parent_made: target.path.parent().is_some_and(is_made) }
}

fn answer(mut output: Json, found: &Found) -> Json {
    if found.parent_made {
        output["pathCreated"] = Json::Bool(true);
    }
    output
}

fn becomes_list(leaf: &Value) -> bool {
    *leaf == Value::Null || is_empty_map(leaf)
}

fn not_a_list(target: &Target) -> OpError {
    OpError::new(Code::NotAList, format!("{:?} is no list; write replaces it, delete makes room", target.asked))
}

/// Makes what is at and below a path equal to a value.
fn replace(document: &Document, path: &Path, value: Value) -> Result<Vec<Edit>, OpError> {
    let mut lists = BTreeMap::new();
    let mut leaves = BTreeMap::new();
    spread(path.clone(), value, &mut lists, &mut leaves);
    let gone_lists = document.lists_below(path).filter(|(path, _)| !lists.contains_key(*path));
    let gone_leaves = document.cells_below(path).filter(|(path, _)| !leaves.contains_key(*path));
    let mut edits: Vec<Edit> = gone_lists
        .map(|(path, _)| Edit::DeleteList(path.clone()))
        .chain(gone_leaves.map(|(path, _)| Edit::DeleteLeaf(path.clone())))
        .collect();
    for (list, items) in lists {
        check_room(items.len())?;
        edits.push(rewrite(document, list, items));
    }
    edits.extend(leaves.into_iter().map(|(path, value)| Edit::Leaf(path, value)));
    Ok(edits)
}

/// Takes a value apart. A map that a path cannot name every key of, or that lies too deep, is one leaf as a whole.
fn spread(path: Path, value: Value, lists: &mut BTreeMap<Path, Vec<Value>>, leaves: &mut BTreeMap<Path, Value>) {
    match value {
        Value::List(items) => {
            lists.insert(path, items);
        }
        Value::Map(entries) if !entries.is_empty() && entries.keys().all(|key| path.child(key).is_ok()) => {
            for (key, value) in entries {
                let below = path.child(&key).expect("every key was just tried");
                spread(below, value, lists, leaves);
            }
        }
        leaf => {
            leaves.insert(path, leaf);
        }
    }
}

/// Gives a list its new items; those equal to old ones, in order, are kept as what they are.
fn rewrite(document: &Document, list: Path, items: Vec<Value>) -> Edit {
    let members = document.list(&list).unwrap_or_default();
    let old: Vec<Vec<u8>> = members.iter().map(|dot| document.body(dot).value.to_cbor()).collect();
    let new: Vec<Vec<u8>> = items.iter().map(|item| item.to_cbor()).collect();
    let kept = longest_common(&old, &new);
    let drops = kept.len() < members.len();
    let mut elements: Vec<Element> = items.into_iter().map(Element::New).collect();
    for (at_old, at_new) in kept {
        elements[at_new] = Element::Keep(members[at_old]);
    }
    Edit::Rewrite { list, elements, drops }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_of_json_is_taken_as_what_it_says() {
        let text = |text: &str| coerced(&Json::from(text));
        assert_eq!(text(" [1, 2.0]\n"), Ok(Value::List(vec![Value::Int(1), Value::Float(2.0)])));
        assert_eq!(text("{}"), Ok(Value::Map(BTreeMap::new())));
        for kept in ["{\"a\":", "12", "true", "\"x\"", "[1}", "{]", "[1] [2]", "\u{a0}[1]", "[", ""] {
            assert_eq!(text(kept), Ok(Value::Text(kept.into())), "{kept:?}");
        }
        assert_eq!(text("[1180591620717411303424]").unwrap_err().code, Code::InvalidInput);
    }

    #[test]
    fn a_map_is_spread_over_its_leaves_as_far_as_paths_can_name_them() {
        let value = coerced(&json!({"a": {"b": 1, "c": {}}, "l": [{"x": 1}], "odd": {"ok": 1, "100%": {"y": 2}}}));
        let (mut lists, mut leaves) = Default::default();
        spread(Path::parse("w/p").unwrap(), value.unwrap(), &mut lists, &mut leaves);
        let shown = |paths: Vec<&Path>| paths.iter().map(|path| path.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(shown(lists.keys().collect()), "w/p/l");
        assert_eq!(shown(leaves.keys().collect()), "w/p/a/b w/p/a/c w/p/odd");

        let deep = (0..20).fold(Value::Int(1), |inner, _| Value::Map([("k".to_owned(), inner)].into()));
        let (mut lists, mut leaves) = Default::default();
        spread(Path::parse("w/p").unwrap(), deep, &mut lists, &mut leaves);
        let (path, _) = leaves.first_key_value().unwrap();
        assert_eq!((leaves.len(), path.segments().len()), (1, 16));
    }
}
