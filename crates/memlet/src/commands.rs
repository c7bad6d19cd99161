//! The commands, one function each.

mod care;
mod demo;
mod devices;
mod exchange;
mod help;
mod memory;
mod revoke;
mod serve;
mod sync;
mod workspace;

use serde_json::Value as Json;

use memlet_node::{Caller, Namespace};

use crate::args::Command;
use crate::context::Context;
use crate::failure::Failure;

/// Does what was asked.
pub(crate) fn run(command: Command, context: &Context) -> Result<(), Failure> {
    match command {
        Command::Remember { text, list, retry } => memory::remember(context, text, &list, &retry),
        Command::Recall { list } => memory::recall(context, &list),
        Command::Update { item, text, list, retry } => memory::update(context, &item, text, &list, &retry),
        Command::Forget { item, list, retry } => memory::forget(context, &item, &list, &retry),
        Command::List { list } => memory::list(context, &list),
        Command::Read { path } => workspace::read(context, &path),
        Command::Write { path, value, retry } => workspace::write(context, &path, value, &retry),
        Command::Ls { path } => workspace::ls(context, &path),
        Command::Rm { path, retry } => workspace::rm(context, &path, &retry),
        Command::Status => care::status(context),
        Command::Doctor => care::doctor(context),
        Command::Id => devices::id(context),
        Command::Devices { list: _ } => devices::devices(context),
        Command::Revoke { device, keep } => revoke::revoke(context, &device, keep),
        Command::Invite { role, listen } => devices::invite(context, role, &listen),
        Command::Join { uri } => devices::join(context, &uri),
        Command::Sync { now: _, peer } => sync::sync(context, peer.as_deref()),
        Command::Serve { listen } => serve::serve(context, &listen),
        Command::Demo => demo::demo(context.output),
        Command::Completions { shell } => help::completions(context.output, shell),
        Command::Man { command } => help::man(context.output, command.as_deref()),
    }
}

/// Runs an operation as this device.
fn invoke(namespace: &Namespace, operation: &str, input: &Json) -> Result<Json, Failure> {
    Ok(namespace.invoke(&Caller::Device, operation, input)?)
}

/// What the user gave, or what is on stdin if that is `-`.
fn given_or_stdin(given: String) -> Result<String, Failure> {
    if given == "-" { std::io::read_to_string(std::io::stdin()).map_err(Failure::stdin) } else { Ok(given) }
}
