//! The test vectors in `proto/vectors`: what they say is what this build writes and reads.
//!
//! `UPDATE_VECTORS=1 cargo test -p memlet-sync vectors` writes them anew; without it a difference is a failure.

mod authority;
mod messages;
mod streams;

use std::path::Path;

use data_encoding::HEXLOWER;
use serde_json::{Value, json};

/// Compares one file with what this build makes of the same input.
#[expect(clippy::disallowed_methods, reason = "the vectors are written anew on request")]
fn check(file: &str, about: &str, vectors: Vec<Value>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto/vectors").join(file);
    let made = json!({ "about": about, "vectors": vectors });
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        std::fs::write(&path, format!("{made:#}\n")).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert!(kept == made, "{file} differs from what this build makes; UPDATE_VECTORS=1 writes it anew");
}

fn hex(bytes: impl AsRef<[u8]>) -> String {
    HEXLOWER.encode(bytes.as_ref())
}
