//! One tree of JSON values over the lists and leaves of a document.
//!
//! Where one path is several things at once, because concurrent writers made it so, it reads as a list with items, else as
//! the map of what is below it, else as its leaf, else as an emptied list.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter;

use memlet_core::document::Document;
use memlet_core::id::Dot;
use memlet_core::path::Path;
use memlet_core::value::Value;

use super::address::{Reach, Scope, position, private_root};
use super::catalogue;

/// What stands at a path itself, apart from what is inside stored values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shape<'d> {
    Absent,
    /// A list; its members.
    List(&'d [Dot]),
    /// A map, made of what is below.
    Map,
    /// A single stored value.
    Leaf(&'d Value),
}

/// The stored value that a path leads into: what stands at the path is part of it.
#[derive(Debug, PartialEq)]
pub(super) enum Inside<'d, 'p> {
    /// An item of a list. `rest` begins with a position and is never empty.
    Items { list: Path, members: &'d [Dot], rest: &'p [String] },
    /// A leaf that is no empty map. `rest` is never empty.
    Leaf { path: Path, value: &'d Value, rest: &'p [String] },
}

/// What stands at a path.
pub(super) fn shape<'d>(document: &'d Document, path: &Path) -> Shape<'d> {
    let list = document.list(path);
    if let Some(members) = list.filter(|members| !members.is_empty()) {
        return Shape::List(members);
    }
    let lists_below = || document.lists_below(path).any(|(below, _)| below != path);
    let leaves_below = || document.cells_below(path).any(|(below, _)| below != path);
    if lists_below() || leaves_below() {
        return Shape::Map;
    }
    match (document.cell(path), list) {
        (Some(value), _) => Shape::Leaf(value),
        (None, Some(emptied)) => Shape::List(emptied),
        (None, None) => Shape::Absent,
    }
}

/// Finds the stored value that a path leads into; none if what stands there are lists and leaves of its own. A leaf `{}` is a
/// map like any other: paths go on below it.
pub(super) fn inside<'d, 'p>(document: &'d Document, path: &'p Path) -> Option<Inside<'d, 'p>> {
    let mut above: Vec<Path> = iter::successors(path.parent(), Path::parent).collect();
    above.reverse();
    for path_above in above {
        let rest = &path.segments()[path_above.segments().len()..];
        match shape(document, &path_above) {
            Shape::List(members) => return Some(Inside::Items { list: path_above, members, rest }),
            Shape::Leaf(value) if !is_empty_map(value) => {
                return Some(Inside::Leaf { path: path_above, value, rest });
            }
            Shape::Map | Shape::Leaf(_) | Shape::Absent => {}
        }
    }
    None
}

/// Whether anything stands at a path, stored values included.
pub(super) fn exists(document: &Document, path: &Path) -> bool {
    match inside(document, path) {
        None => shape(document, path) != Shape::Absent,
        Some(inside) => inside.value(document).is_some(),
    }
}

/// The value at a path.
pub(super) fn value_at<'d>(document: &'d Document, path: &Path) -> Option<Cow<'d, Value>> {
    match inside(document, path) {
        None => own_value(document, path),
        Some(inside) => inside.value(document).map(Cow::Borrowed),
    }
}

/// What a read shows to this caller.
pub(super) fn look<'d>(scope: &Scope<'d>, reach: &Reach) -> Option<Cow<'d, Value>> {
    match reach {
        Reach::Stored(target) => value_at(scope.document, &target.path),
        Reach::Catalogue(rest) => catalogue::value_at(rest).map(Cow::Borrowed),
        Reach::Nothing => None,
        Reach::Root(_) => {
            let top = |name: &str| Path::new([name]).expect("the prefixes are legal segments");
            let private = scope.caller.agent().and_then(|agent| private_root(&agent, &[]).ok());
            let stored = [("w", Some(top("w"))), ("o", Some(top("o"))), ("n", private)];
            let mut entries: BTreeMap<String, Value> = stored
                .into_iter()
                .filter_map(|(name, path)| Some((name.to_owned(), value_at(scope.document, &path?)?.into_owned())))
                .collect();
            entries.insert("v".to_owned(), catalogue::value_at(&[])?.clone());
            Some(Cow::Owned(Value::Map(entries)))
        }
    }
}

/// What stands inside a stored value.
fn within<'v>(value: &'v Value, rest: &[String]) -> Option<&'v Value> {
    rest.iter().try_fold(value, |value, segment| match value {
        Value::Map(entries) => entries.get(segment),
        Value::List(items) => items.get(position(segment)?),
        _ => None,
    })
}

pub(super) fn is_empty_map(value: &Value) -> bool {
    matches!(value, Value::Map(entries) if entries.is_empty())
}

impl<'d> Inside<'d, '_> {
    fn value(&self, document: &'d Document) -> Option<&'d Value> {
        match self {
            Self::Items { members, rest, .. } => {
                let (first, deeper) = rest.split_first()?;
                let dot = members.get(position(first)?)?;
                within(&document.body(dot).value, deeper)
            }
            Self::Leaf { value, rest, .. } => within(value, rest),
        }
    }
}

fn own_value<'d>(document: &'d Document, path: &Path) -> Option<Cow<'d, Value>> {
    match shape(document, path) {
        Shape::Absent => None,
        Shape::Leaf(value) => Some(Cow::Borrowed(value)),
        Shape::List(members) => Some(Cow::Owned(items(document, members))),
        Shape::Map => {
            let depth = path.segments().len();
            let mut tree = Branch::default();
            for (below, members) in document.lists_below(path) {
                tree.at(&below.segments()[depth..]).list = Some(members);
            }
            for (below, value) in document.cells_below(path) {
                tree.at(&below.segments()[depth..]).leaf = Some(value);
            }
            tree.assemble(document).map(Cow::Owned)
        }
    }
}

fn items(document: &Document, members: &[Dot]) -> Value {
    Value::List(members.iter().map(|dot| document.body(dot).value.clone()).collect())
}

/// Everything stored at one path and below it, before it is decided what the path is.
#[derive(Default)]
struct Branch<'d> {
    list: Option<&'d [Dot]>,
    leaf: Option<&'d Value>,
    below: BTreeMap<&'d str, Branch<'d>>,
}

impl<'d> Branch<'d> {
    fn at(&mut self, segments: &'d [String]) -> &mut Self {
        segments.iter().fold(self, |branch, segment| branch.below.entry(segment).or_default())
    }

    fn assemble(self, document: &Document) -> Option<Value> {
        if let Some(members) = self.list.filter(|members| !members.is_empty()) {
            return Some(items(document, members));
        }
        let below: BTreeMap<String, Value> = self
            .below
            .into_iter()
            .filter_map(|(segment, branch)| Some((segment.to_owned(), branch.assemble(document)?)))
            .collect();
        if !below.is_empty() {
            return Some(Value::Map(below));
        }
        self.leaf.cloned().or_else(|| self.list.map(|_| Value::List(Vec::new())))
    }
}
