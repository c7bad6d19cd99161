//! Where the memory is, how it stands, and whether it is sound.

use std::path::Path as FilePath;

use memlet_auth::did::to_did;
use memlet_core::path::Path;
use memlet_node::ops::Code;
use memlet_node::{Caller, InvokeError, Namespace};
use memlet_server::home::{Check, Home};
use serde_json::{Value as Json, json};

use super::devices::namespace_did;
use crate::args::LIST;
use crate::context::{Context, Memory};
use crate::failure::Failure;
use crate::network;
use crate::output::{Color, Output, columns};

pub(super) fn status(context: &Context) -> Result<(), Failure> {
    let dir = context.dir()?;
    let Some(Memory { home, namespace }) = context.find()? else {
        let output = json!({"home": dir.display().to_string(), "namespace": null});
        return context.output.result(&output, |_| Failure::NoMemory(dir).to_string());
    };
    let status = namespace.status()?;
    let output = json!({
        "home": dir.display().to_string(),
        "namespace": namespace_did(namespace.id()),
        "device": to_did(&home.node().device()),
        "name": network::device_name().as_str(),
        "items": items(&namespace)?,
        "changes": status.changes,
        "waiting": status.waiting,
        "left_out": status.left_out,
        "replicas": status.replicas,
        "devices": namespace.devices()?.len(),
        "epoch": status.epoch.0,
        "store_bytes": store_bytes(home.store().path()),
        "version": env!("CARGO_PKG_VERSION"),
    });
    if status.waiting > 0 {
        let waiting = status.waiting;
        context.output.note(&format!("{waiting} changes wait for a grant, an earlier change, or the time they claim"));
    }
    context.output.result(&output, |output| {
        let shown = [
            "home",
            "namespace",
            "device",
            "name",
            "items",
            "changes",
            "waiting",
            "left_out",
            "devices",
            "store_bytes",
        ];
        columns(&shown.map(|name| match &output[name] {
            Json::String(text) => [name.replace('_', " "), text.clone()],
            value => [name.replace('_', " "), value.to_string()],
        }))
    })
}

/// How many items the list shows; none if this device may not read it, as a venue.
fn items(namespace: &Namespace) -> Result<Option<usize>, Failure> {
    let list = Path::parse(LIST).expect("the usual list is at a path");
    match namespace.entries(&Caller::Device, &list) {
        Ok(entries) => Ok(Some(entries.iter().filter(|entry| entry.n.is_some()).count())),
        Err(InvokeError::Op(error)) if error.code == Code::PermissionDenied => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Bytes of the store on disk, its log included.
fn store_bytes(store: &FilePath) -> u64 {
    let mut log = store.as_os_str().to_owned();
    log.push("-wal");
    // The log is gone while nobody uses the store.
    [store, FilePath::new(&log)].iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

pub(super) fn doctor(context: &Context) -> Result<(), Failure> {
    let dir = context.dir()?;
    let checks = Home::examine(&dir)?.ok_or_else(|| Failure::NoMemory(dir.clone()))?;
    let found = checks.iter().filter(|check| check.outcome.is_err()).count();
    let output = json!({"ok": found == 0, "checks": checks.iter().map(row).collect::<Vec<_>>()});
    context
        .output
        .result(&output, |_| checks.iter().map(|check| line(context.output, check)).collect::<Vec<_>>().join("\n"))?;
    if found == 0 { Ok(()) } else { Err(Failure::Damage { found, checked: checks.len(), dir }) }
}

/// A check for programs.
fn row(check: &Check) -> Json {
    let error = check.outcome.as_ref().err().map(|error| json!({"code": error.code(), "message": error.to_string()}));
    json!({"subject": check.subject, "ok": check.outcome.is_ok(), "error": error})
}

/// A check for people.
fn line(output: Output, check: &Check) -> String {
    match &check.outcome {
        Ok(()) => format!("{}  {}", output.paint(Color::Green, "ok"), check.subject),
        Err(error) => format!("{}  {}: {error}", output.paint(Color::Red, "damaged"), check.subject),
    }
}
