//! Every operation: its name, what it is, and the fields it reads. Shown at `v/ops`, and the source of other surfaces' schemas.

use std::sync::LazyLock;

use memlet_core::value::Value;
use serde_json::{Map, Value as Json, json};

use super::json::from_json;

/// Stands before an operation's name when it is called.
pub const PREFIX: &str = "v/ops/";

/// One operation, described.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its name after `v/ops/`.
    pub name: &'static str,
    /// A short title.
    pub title: &'static str,
    /// What it does, for people and models.
    pub description: &'static str,
    /// Whether it can never write.
    pub read_only: bool,
    fields: &'static [Field],
    required: &'static [&'static str],
}

/// A field: its name, JSON type (none: any) and meaning.
type Field = (&'static str, &'static str, &'static str);

const PATH: Field = ("path", "string", "Where, like w/notes; also an array of segments. Default: the root.");
const LIST_PATH: Field = ("path", "string", "The list. Default: w/memory.");
const DISPLAY: Field = ("displayField", "string", "Field of a map entry to show. Default: text.");
const NOTE: Field = ("noteField", "string", "Field of a map entry to add as a note.");
const SAFE: Field = ("safe", "boolean", "Show line breaks as a sign and drop characters that steer a terminal.");
const OFFSET: Field = ("offset", "integer", "How many to skip. Default: 0.");
const LIMIT: Field = ("limit", "integer", "How many at most.");
const SIZE: Field = ("maxSize", "integer", "Bytes of JSON at most. Default: 1000000.");
const VALUE: Field = ("value", "", "Any JSON. A string that holds a JSON list or map is parsed.");
const REQUEST_ID: Field = ("request_id", "string", "Makes a retry safe: the same id and input have one effect.");

/// The operations in the order of their names.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "context",
        title: "Context",
        description: "Resolves pinned entries (paths, read-only operations, texts) into messages for a model.",
        read_only: true,
        fields: &[
            ("entries", "array", "Strings, or maps with op and input, text or ref, and label and required."),
            ("safe", "boolean", "Fence stored text and mark it as untrusted."),
        ],
        required: &["entries"],
    },
    Entry {
        name: "covia/append",
        title: "Append",
        description: "Adds a value at the end of a list, which is made if absent.",
        read_only: false,
        fields: &[PATH, VALUE, REQUEST_ID],
        required: &["path"],
    },
    Entry {
        name: "covia/copy",
        title: "Copy",
        description: "Writes the value at one path to another.",
        read_only: false,
        fields: &[("from", "string", "The path to read."), ("to", "string", "The path to write."), REQUEST_ID],
        required: &["from", "to"],
    },
    Entry {
        name: "covia/delete",
        title: "Delete",
        description: "Removes what is at a path. A list position becomes null.",
        read_only: false,
        fields: &[PATH, REQUEST_ID],
        required: &["path"],
    },
    Entry {
        name: "covia/inspect",
        title: "Inspect",
        description: "Shows values as text within a budget; a comment stands for what is left out.",
        read_only: true,
        fields: &[
            PATH,
            ("paths", "array", "Several paths that share the budget."),
            ("budget", "integer", "Bytes at most. Default: 500."),
            ("compact", "boolean", "On one line. Default: true."),
        ],
        required: &[],
    },
    Entry {
        name: "covia/list",
        title: "List",
        description: "Tells the type at a path, how many elements it has, and a map's keys.",
        read_only: true,
        fields: &[PATH, OFFSET, LIMIT],
        required: &[],
    },
    Entry {
        name: "covia/read",
        title: "Read",
        description: "Reads the value at a path.",
        read_only: true,
        fields: &[PATH, SIZE],
        required: &[],
    },
    Entry {
        name: "covia/slice",
        title: "Slice",
        description: "Reads a page of a list's elements or of a map's entries.",
        read_only: true,
        fields: &[PATH, OFFSET, LIMIT, SIZE],
        required: &[],
    },
    Entry {
        name: "covia/write",
        title: "Write",
        description: "Writes a value at a path and makes the maps above it.",
        read_only: false,
        fields: &[PATH, VALUE, REQUEST_ID],
        required: &["path", "value"],
    },
    Entry {
        name: "memory",
        title: "Memory",
        description: "A numbered list of what to remember: remember adds, recall shows, update and forget edit by number.",
        read_only: false,
        fields: &[
            ("command", "string", "remember, recall, update or forget."),
            ("text", "string", "What to remember; for remember and update."),
            ("n", "integer", "The number that recall shows; for update and forget."),
            LIST_PATH,
            DISPLAY,
            NOTE,
            SAFE,
            ("expect", "string", "The text item n is believed to have; for update and forget."),
            REQUEST_ID,
        ],
        required: &["command"],
    },
    Entry {
        name: "memory/recall",
        title: "Recall",
        description: "Shows a list or map as numbered lines; cannot write.",
        read_only: true,
        fields: &[LIST_PATH, DISPLAY, NOTE, SAFE],
        required: &[],
    },
];

impl Entry {
    /// The JSON schema of its input: a flat object.
    pub fn input_schema(&self) -> Json {
        let property = |(name, kind, description): &Field| {
            let mut property = json!({"description": description});
            if !kind.is_empty() {
                property["type"] = Json::from(*kind);
            }
            ((*name).to_owned(), property)
        };
        let properties: Map<String, Json> = self.fields.iter().map(property).collect();
        json!({"type": "object", "properties": properties, "required": self.required})
    }

    fn record(&self) -> Json {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "readOnly": self.read_only,
            "input": self.input_schema(),
        })
    }
}

static CATALOGUE: LazyLock<Value> = LazyLock::new(|| {
    let records: Map<String, Json> = ENTRIES.iter().map(|entry| (entry.name.to_owned(), entry.record())).collect();
    from_json(&json!({"ops": records})).expect("the catalogue is shallow and has no numbers")
});

/// What is in the catalogue at the segments after `v`. The longest name that fits is meant.
pub(super) fn value_at(rest: &[String]) -> Option<&'static Value> {
    let catalogue = &*CATALOGUE;
    let Some((first, below)) = rest.split_first() else { return Some(catalogue) };
    let operations = field(catalogue, first)?;
    if below.is_empty() {
        return Some(operations);
    }
    let (operation, inner) = (1..=below.len()).rev().find_map(|len| {
        let (name, inner) = below.split_at(len);
        Some((field(operations, &name.join("/"))?, inner))
    })?;
    inner.iter().try_fold(operation, |value, segment| field(value, segment))
}

fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Map(fields) => fields.get(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Operation, json::to_json};
    use super::*;

    fn at(path: &str) -> Option<Json> {
        let rest: Vec<String> = path.split_terminator('/').map(str::to_owned).collect();
        value_at(&rest).map(to_json)
    }

    #[test]
    fn a_name_with_a_slash_is_one_entry() {
        assert_eq!(at("ops/memory/recall/readOnly"), Some(json!(true)));
        assert_eq!(at("ops/memory/title"), Some(json!("Memory")));
        assert_eq!(at("ops/covia/write/input/required"), Some(json!(["path", "value"])));
        assert_eq!([at("ops/covia"), at("ops/none"), at("nothing")], [None, None, None]);
        assert_eq!(at("").unwrap()["ops"].as_object().unwrap().len(), ENTRIES.len());
    }

    #[test]
    fn what_is_marked_read_only_never_mutates() {
        for entry in ENTRIES {
            for command in ["remember", "recall", "update", "forget"] {
                let operation = Operation::find(&format!("{PREFIX}{}", entry.name), &json!({"command": command}));
                if entry.read_only {
                    assert!(matches!(operation, Ok(Operation::Reading(_))), "{}", entry.name);
                } else {
                    assert!(operation.is_ok(), "{}", entry.name);
                }
            }
        }
    }
}
