//! Where a file is, told by what no copy of it can share: machine, file system, inode and time of birth.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::failure::explain_io;
use crate::StoreError;

/// Names the machine on systems that have such a file.
const MACHINE_ID: &str = "/etc/machine-id";

/// The place of the file at `path`. A part that a system cannot tell stays empty.
pub(super) fn of(path: &Path) -> Result<Vec<u8>, StoreError> {
    let metadata = fs::metadata(path).map_err(|error| explain_io(path, &error))?;
    let machine = fs::read_to_string(MACHINE_ID).unwrap_or_default();
    let born = metadata.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let place = format!("{} {} {} {}", machine.trim(), metadata.dev(), metadata.ino(), born.as_nanos());
    Ok(place.into_bytes())
}
