//! Where searching begins: right inputs of every kind, and hostile ones that chance would not find. Calls are text, so they are
//! not made here: their files were written by hand.

mod altered;
mod by_hand;
mod changes;
mod chunk;
mod encoded;
mod store;
mod stream;
mod vectors;

use std::fs;

use memlet_tests::fuzzing::{TARGETS, Target};

use crate::folder;

pub(crate) use changes::assert_fates;

/// One input of the corpus.
pub(crate) struct Seed {
    /// For which target.
    pub(crate) target: Target,
    /// The name of its file.
    pub(crate) name: String,
    /// The input.
    pub(crate) bytes: Vec<u8>,
}

impl Seed {
    /// Puts it into the corpus.
    pub(crate) fn write(&self) {
        let folder = folder(self.target.name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(&self.name), &self.bytes).unwrap();
    }
}

/// All of them.
pub(crate) fn all() -> Vec<Seed> {
    [changes::seeds(), encoded::seeds(), store::seeds(), stream::seeds(), vectors::seeds()]
        .into_iter()
        .flatten()
        .collect()
}

/// What makes up a seed: target, name, bytes.
type Parts = (&'static str, String, Vec<u8>);

fn seed((target, name, bytes): Parts) -> Seed {
    let target = *TARGETS.iter().find(|known| known.name == target).unwrap();
    let name = name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    Seed { target, name, bytes }
}
