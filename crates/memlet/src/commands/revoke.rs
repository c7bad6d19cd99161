//! Cutting off a device.

use memlet_auth::did::to_did;
use memlet_auth::revocation::Target;
use memlet_core::id::PublicKey;
use memlet_node::Keep;
use serde_json::json;

use crate::args::KeepWord;
use crate::context::{Context, Memory};
use crate::failure::Failure;

/// How many characters of a key tell a device from others.
const KEY_CHARS_MIN: usize = 6;

pub(super) fn revoke(context: &Context, named: &str, keep: KeepWord) -> Result<(), Failure> {
    let memory = context.existing()?;
    let device = find(&memory, named)?;
    let Memory { home, namespace } = memory;
    let keep = match keep {
        KeepWord::Known => Keep::Known,
        KeepWord::Nothing => Keep::Nothing,
    };
    let cut = namespace.revoke(Target::Key(device), keep, home.root_key()?.as_ref())?;
    let output = json!({
        "device": to_did(&device),
        "revocation": cut.revocation.to_string(),
        "grants": cut.grants.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "kept": cut.kept,
        "left_out": cut.left_out,
    });
    context.output.result(&output, |_| {
        format!(
            "{} is cut off: grants ended {}, changes kept {}, changes no longer shown {}.",
            to_did(&device),
            cut.grants.len(),
            cut.kept,
            cut.left_out
        )
    })?;
    context.output.note("other devices cut it off when they hear of it: run `memlet sync`");
    Ok(())
}

/// The one device that is meant: by its whole name, its `did:key:`, or how its key begins.
fn find(memory: &Memory, named: &str) -> Result<PublicKey, Failure> {
    const METHOD: &str = "did:key:";
    let names = memory.device_names()?;
    let begins = named.strip_prefix(METHOD).unwrap_or(named);
    let is_meant = |device: &PublicKey| {
        let did = to_did(device);
        let key = did.strip_prefix(METHOD).expect("to_did writes did:key");
        names.get(device).is_some_and(|name| name == named) || begins.len() >= KEY_CHARS_MIN && key.starts_with(begins)
    };
    let devices = memory.namespace.devices()?;
    let meant: Vec<_> = devices.iter().map(|info| info.device).filter(is_meant).collect();
    match meant[..] {
        [] => Err(Failure::Usage(format!("no device of this memory is called {named}; `memlet devices` shows them"))),
        [device] => Ok(device),
        _ => Err(Failure::Usage(format!(
            "several devices are called {named}; give the did:key that `memlet devices` shows"
        ))),
    }
}
