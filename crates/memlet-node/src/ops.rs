//! The memory and workspace operations, as functions of a document, a caller and a time.
//!
//! [`Operation::find`] turns a name and an input into a [`Reading`] or a [`Mutation`]; [`read`] and [`mutate`] run it. A
//! mutation is checked in a fixed order and planned in full before the draft is touched, so an error leaves it empty.

use memlet_core::document::{Document, Draft};
use memlet_core::id::NamespaceId;
use serde_json::Value as Json;

mod address;
pub mod catalogue;
mod context;
mod covia;
mod edit;
mod error;
mod input;
mod inspect;
mod json;
mod lcs;
mod memory;
mod request;
mod text;
mod view;

pub use address::Authority;
pub use error::{Code, OpError};
pub(crate) use json::to_json;
pub(crate) use memory::is_shown;
pub use request::{REQUEST_ID_BYTES_MAX, REQUEST_KEPT_MS, Request, Requests, Stored};

use address::{Address, Scope};
use input::Fields;

/// An operation, told apart by whether it can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It never writes: for [`read`].
    Reading(Reading),
    /// It writes: for [`mutate`].
    Mutation(Mutation),
}

/// The operations that never write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// `v/ops/memory/recall`, and the command recall of `v/ops/memory`.
    Recall,
    /// `v/ops/context`.
    Context,
    /// `v/ops/covia/read`.
    Read,
    /// `v/ops/covia/slice`.
    Slice,
    /// `v/ops/covia/list`.
    List,
    /// `v/ops/covia/inspect`.
    Inspect,
}

/// The operations that write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    /// The command remember of `v/ops/memory`.
    Remember,
    /// The command update of `v/ops/memory`.
    Update,
    /// The command forget of `v/ops/memory`.
    Forget,
    /// `v/ops/covia/write`.
    Write,
    /// `v/ops/covia/append`.
    Append,
    /// `v/ops/covia/delete`.
    Delete,
    /// `v/ops/covia/copy`.
    Copy,
}

/// A mutation that is in the draft.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// What the call answers once the draft is committed.
    pub output: Json,
    /// What to store in the same transaction, also when the draft is empty. None without a request id, and for a repeated
    /// request, whose draft is empty.
    pub request: Option<Request>,
}

impl Operation {
    /// The operation of this name; for `v/ops/memory`, that of its command.
    ///
    /// # Errors
    /// UNKNOWN_OPERATION, INVALID_COMMAND.
    pub fn find(name: &str, input: &Json) -> Result<Self, OpError> {
        Ok(match name.strip_prefix(catalogue::PREFIX) {
            Some("memory") => match Fields::of(input).text("command") {
                Some("recall") => Self::Reading(Reading::Recall),
                Some("remember") => Self::Mutation(Mutation::Remember),
                Some("update") => Self::Mutation(Mutation::Update),
                Some("forget") => Self::Mutation(Mutation::Forget),
                _ => {
                    let message = "\"command\" must be remember, recall, update or forget";
                    return Err(OpError::new(Code::InvalidCommand, message));
                }
            },
            Some("memory/recall") => Self::Reading(Reading::Recall),
            Some("context") => Self::Reading(Reading::Context),
            Some("covia/read") => Self::Reading(Reading::Read),
            Some("covia/slice") => Self::Reading(Reading::Slice),
            Some("covia/list") => Self::Reading(Reading::List),
            Some("covia/inspect") => Self::Reading(Reading::Inspect),
            Some("covia/write") => Self::Mutation(Mutation::Write),
            Some("covia/append") => Self::Mutation(Mutation::Append),
            Some("covia/delete") => Self::Mutation(Mutation::Delete),
            Some("covia/copy") => Self::Mutation(Mutation::Copy),
            _ => {
                let message = format!("no operation is called {name:?}; read v/ops for all of them");
                return Err(OpError::new(Code::UnknownOperation, message));
            }
        })
    }

    /// The namespace that the paths of `input` name, for a caller whose own is `own`. The operation is run on its document,
    /// with the caller's rights there; in that document its paths mean the same as without the name.
    ///
    /// # Errors
    /// PERMISSION_DENIED if they name several: one operation is one step in one namespace.
    pub fn namespace(self, input: &Json, own: NamespaceId) -> Result<NamespaceId, OpError> {
        let fields = Fields::of(input);
        let named: Vec<Option<&Json>> = match self {
            Self::Reading(Reading::Context) => Vec::new(),
            Self::Reading(Reading::Inspect) => match fields.array("paths") {
                Some(paths) => paths.iter().map(Some).collect(),
                None => vec![fields.value("path")],
            },
            Self::Mutation(Mutation::Copy) => vec![fields.value("from"), fields.value("to")],
            _ => vec![fields.value("path")],
        };
        // What is no path names nothing here; the operation says so itself.
        let address = |json: Option<&Json>| json.and_then(|json| Address::read(json).ok());
        let mut named =
            named.into_iter().map(|json| address(json).and_then(|address| address.namespace).unwrap_or(own));
        let first = named.next().unwrap_or(own);
        if named.all(|other| other == first) {
            return Ok(first);
        }
        Err(OpError::new(Code::PermissionDenied, "one operation cannot work in two namespaces; make two calls"))
    }
}

/// Runs an operation that never writes. `random` is a source of bits that nobody can guess; context takes its marks from it.
///
/// # Errors
/// Those of the operation.
pub fn read(
    reading: Reading,
    input: &Json,
    document: &Document,
    caller: &dyn Authority,
    random: &mut dyn FnMut() -> u64,
) -> Result<Json, OpError> {
    read_within(reading, Fields::of(input), &Scope { document, caller }, random)
}

fn read_within(
    reading: Reading,
    fields: Fields<'_>,
    scope: &Scope<'_>,
    random: &mut dyn FnMut() -> u64,
) -> Result<Json, OpError> {
    match reading {
        Reading::Recall => memory::recall(fields, scope),
        Reading::Context => context::context(fields, scope, random),
        Reading::Read => covia::reads::read(fields, scope),
        Reading::Slice => covia::reads::slice(fields, scope),
        Reading::List => covia::reads::list(fields, scope),
        Reading::Inspect => covia::reads::inspect_paths(fields, scope),
    }
}

/// Puts a mutation into a draft. `now_ms` is wall-clock time in milliseconds since 1970; times that items show never fall
/// behind what the document has seen.
///
/// Checks come in this order: arguments that need nothing else, path, namespace, grant, repeated request, size of the
/// argument, shape of what is there, number and guard, rights over all that would go, size of the result.
///
/// # Errors
/// Those of the operation; the draft is as before.
pub fn mutate(
    mutation: Mutation,
    input: &Json,
    draft: &mut Draft<'_>,
    caller: &dyn Authority,
    requests: &dyn Requests,
    now_ms: u64,
) -> Result<Done, OpError> {
    let fields = Fields::of(input);
    let scope = Scope { document: draft.document(), caller };
    let target = match mutation {
        Mutation::Remember | Mutation::Update | Mutation::Forget => memory::target(mutation, fields, &scope),
        _ => covia::writes::target(mutation, fields, &scope),
    }?;
    let fresh = match request::consult(mutation.name(), input, requests)? {
        Ok(fresh) => fresh,
        Err(output) => return Ok(Done { output, request: None }),
    };
    let shown_ms = now_ms.max(scope.document.hlc().millis());
    let plan = match mutation {
        Mutation::Remember | Mutation::Update | Mutation::Forget => {
            memory::plan(mutation, fields, &scope, &target, shown_ms)
        }
        _ => covia::writes::plan(mutation, fields, &scope, &target),
    }?;
    plan.authorize(&scope, &target.asked)?;
    let output = plan.apply(draft);
    let request = fresh.completed(&output, now_ms);
    Ok(Done { output, request })
}

impl Mutation {
    /// The name of the operation it belongs to.
    fn name(self) -> &'static str {
        match self {
            Self::Remember | Self::Update | Self::Forget => "memory",
            Self::Write => "covia/write",
            Self::Append => "covia/append",
            Self::Delete => "covia/delete",
            Self::Copy => "covia/copy",
        }
    }
}

#[cfg(test)]
mod tests;
