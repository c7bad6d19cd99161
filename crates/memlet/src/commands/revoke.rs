//! Cutting off a device.

use memlet_auth::did::{from_did, to_did};
use memlet_auth::revocation::Target;
use memlet_core::id::PublicKey;
use memlet_node::Keep;
use serde_json::{Value as Json, json};

use super::devices::rows;
use crate::args::KeepWord;
use crate::context::{Context, Memory};
use crate::failure::Failure;

/// How many characters of a key tell a device from others.
const KEY_CHARS_MIN: usize = 6;

pub(super) fn revoke(context: &Context, named: &str, keep: KeepWord) -> Result<(), Failure> {
    let Memory { home, namespace } = context.existing()?;
    let device = find(&rows(home.node(), &namespace)?, named)?;
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

/// The one device that is meant.
fn find(rows: &[Json], named: &str) -> Result<PublicKey, Failure> {
    const METHOD: &str = "did:key:";
    let is_meant = |row: &&Json| {
        let did = row["device"].as_str().unwrap_or_default();
        let key = did.strip_prefix(METHOD).unwrap_or(did);
        let begins = named.strip_prefix(METHOD).unwrap_or(named);
        row["name"].as_str() == Some(named) || begins.len() >= KEY_CHARS_MIN && key.starts_with(begins)
    };
    let meant: Vec<&Json> = rows.iter().filter(is_meant).collect();
    match meant[..] {
        [] => Err(Failure::Usage(format!("no device of this memory is called {named}; `memlet devices` shows them"))),
        [row] => from_did(row["device"].as_str().unwrap_or_default())
            .map(|key| key.public())
            .map_err(|error| Failure::Untrue(format!("a device has no did:key: {error}"))),
        _ => Err(Failure::Usage(format!(
            "several devices are called {named}; give the did:key that `memlet devices` shows"
        ))),
    }
}
