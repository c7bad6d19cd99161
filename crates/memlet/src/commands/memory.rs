//! The numbered list.

use std::collections::BTreeMap;

use memlet_auth::did::to_did;
use memlet_core::id::PublicKey;
use memlet_core::path::Path;
use memlet_node::{Caller, ListEntry};
use serde_json::{Value as Json, json};

use super::{given_or_stdin, invoke};
use crate::args::{Item, List, Retry, Text};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Color, one_line};
use crate::time::rfc3339;

const OPERATION: &str = "v/ops/memory";

pub(super) fn remember(context: &Context, text: Text, list: &List, retry: &Retry) -> Result<(), Failure> {
    let text = text.read()?;
    let memory = context.begin()?;
    let input = json!({"command": "remember", "text": text, "path": list.path, "request_id": retry.request_id});
    let output = invoke(&memory.namespace, OPERATION, &input)?;
    context.output.result(&output, |output| format!("Remembered as {}.", output["n"]))
}

pub(super) fn recall(context: &Context, list: &List) -> Result<(), Failure> {
    let namespace = context.existing_or_empty()?;
    // What agents have stored must not be able to steer a terminal.
    let safe = context.output.is_terminal() && !context.output.is_json();
    let input = json!({"command": "recall", "path": list.path, "safe": safe});
    let output = invoke(&namespace, OPERATION, &input)?;
    if output.is_null() && safe {
        context.output.note("nothing is remembered here; `memlet remember TEXT` adds something");
    }
    context.output.result(&output, |output| output.as_str().unwrap_or_default().to_owned())
}

pub(super) fn update(context: &Context, item: &Item, text: Text, list: &List, retry: &Retry) -> Result<(), Failure> {
    let text = text.read()?;
    let input = json!({
        "command": "update", "n": item.n, "text": text, "path": list.path,
        "expect": item.expect, "request_id": retry.request_id,
    });
    let output = invoke(&context.existing_or_empty()?, OPERATION, &input)?;
    context.output.result(&output, |output| format!("Updated {}.", output["n"]))
}

pub(super) fn forget(context: &Context, item: &Item, list: &List, retry: &Retry) -> Result<(), Failure> {
    let input = json!({
        "command": "forget", "n": item.n, "path": list.path,
        "expect": item.expect, "request_id": retry.request_id,
    });
    let output = invoke(&context.existing_or_empty()?, OPERATION, &input)?;
    context.output.result(&output, |output| format!("Forgot {}; {} left.", output["n"], output["count"]))
}

pub(super) fn list(context: &Context, list: &List) -> Result<(), Failure> {
    let path =
        Path::parse(&list.path).map_err(|error| Failure::Usage(format!("{:?} is no path: {error}", list.path)))?;
    let (entries, names) = match context.find()? {
        Some(memory) => (memory.namespace.entries(&Caller::Device, &path)?, memory.device_names()?),
        None => (Vec::new(), BTreeMap::new()),
    };
    let rows = Json::Array(entries.iter().map(row).collect());
    context.output.result(&rows, |_| {
        let line = |entry: &ListEntry| {
            let number = entry.n.map_or("-".into(), |n| n.to_string());
            let when = rfc3339(entry.rewritten_ms.unwrap_or(entry.written_ms));
            let about = format!("{when}  {}", author(entry, &names));
            format!("{number:>4}  {}  {}", context.output.paint(Color::Dim, &about), said(&entry.value))
        };
        entries.iter().map(line).collect::<Vec<_>>().join("\n")
    })
}

/// An item for programs.
fn row(entry: &ListEntry) -> Json {
    json!({
        "n": entry.n,
        "id": entry.id,
        "value": entry.value,
        "written_ms": entry.written_ms,
        "rewritten_ms": entry.rewritten_ms,
        "device": to_did(&entry.device),
        "author": entry.author.as_ref().map(to_did),
    })
}

/// Who wrote an item last, for people: the name of the device, and the agent on it if one wrote.
fn author(entry: &ListEntry, names: &BTreeMap<PublicKey, String>) -> String {
    let name = |key| names.get(key).cloned().unwrap_or_else(|| to_did(key));
    match &entry.author {
        Some(author) if *author != entry.device => format!("{} on {}", name(author), name(&entry.device)),
        _ => name(&entry.device),
    }
}

/// What an item says, on one line.
fn said(value: &Json) -> String {
    match value["text"].as_str().or(value.as_str()) {
        Some(text) => one_line(text),
        None => one_line(&value.to_string()),
    }
}

impl Text {
    /// The text. A line break at the end of stdin belongs to whoever wrote it there, `echo` for one, and not to the text.
    fn read(self) -> Result<String, Failure> {
        let from_stdin = self.text == "-";
        let text = given_or_stdin(self.text)?;
        Ok(match text.strip_suffix('\n') {
            Some(line) if from_stdin => line.strip_suffix('\r').unwrap_or(line).to_owned(),
            _ => text,
        })
    }
}
