//! The tree of values.

use serde_json::{Value as Json, json};

use super::{given_or_stdin, invoke};
use crate::args::Retry;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::one_line;

pub(super) fn read(context: &Context, path: &str) -> Result<(), Failure> {
    // A value on this device is never too large to show.
    let input = json!({"path": path, "maxSize": i64::MAX});
    let output = invoke(&context.existing_or_empty()?, "v/ops/covia/read", &input)?;
    if output["exists"] == false && !context.output.is_json() {
        return Err(Failure::Absent(path.to_owned()));
    }
    context.output.result(&output, |output| match &output["value"] {
        Json::String(text) if context.output.is_terminal() => one_line(text),
        Json::String(text) => text.clone(),
        value => format!("{value:#}"),
    })
}

pub(super) fn write(context: &Context, path: &str, value: String, retry: &Retry) -> Result<(), Failure> {
    let value: Json = serde_json::from_str(&given_or_stdin(value)?).map_err(|error| {
        Failure::Usage(format!("the value is no JSON: {error}; text needs its quotes, as in '\"like this\"'"))
    })?;
    let input = json!({"path": path, "value": value, "request_id": retry.request_id});
    let output = invoke(&context.begin()?.namespace, "v/ops/covia/write", &input)?;
    context.output.result(&output, |output| {
        let verb = if output["existed"] == true { "Replaced" } else { "Wrote" };
        format!("{verb} {path}.")
    })
}

pub(super) fn ls(context: &Context, path: &str) -> Result<(), Failure> {
    let input = json!({"path": path, "limit": i64::MAX});
    let output = invoke(&context.existing_or_empty()?, "v/ops/covia/list", &input)?;
    // Everything has a root, also before anything is in it.
    if output["exists"] == false && !context.output.is_json() && !path.trim_matches('/').is_empty() {
        return Err(Failure::Absent(path.to_owned()));
    }
    context.output.result(&output, |output| match output["keys"].as_array() {
        Some(keys) => keys.iter().filter_map(Json::as_str).collect::<Vec<_>>().join("\n"),
        None => match (output["type"].as_str(), &output["count"]) {
            (Some(kind), Json::Number(count)) => format!("{kind} of {count}"),
            (Some(kind), _) => kind.to_owned(),
            (None, _) => String::new(),
        },
    })
}

pub(super) fn rm(context: &Context, path: &str, retry: &Retry) -> Result<(), Failure> {
    let input = json!({"path": path, "request_id": retry.request_id});
    let output = invoke(&context.existing_or_empty()?, "v/ops/covia/delete", &input)?;
    if output["deleted"] == false && !context.output.is_json() {
        return Err(Failure::Absent(path.to_owned()));
    }
    context.output.result(&output, |_| format!("Deleted {path}."))
}
