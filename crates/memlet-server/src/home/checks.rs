//! Looking for damage in a data directory: keys, store, documents.
//!
//! Each check stands alone, so that one damage does not hide another. Nothing is changed.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use memlet_auth::did::to_did;
use memlet_core::id::PublicKey;
use memlet_store::SqliteStore;

use super::{Home, HomeError, KeyFile, exists, store_path};

/// What one check found.
#[derive(Debug)]
pub struct Check {
    /// What was looked at.
    pub subject: String,
    /// What is wrong with it.
    pub outcome: Result<(), HomeError>,
}

impl Home {
    /// Looks for damage in the data directory at `dir`; none if no store has been made there. Takes time in proportion to all
    /// that is in it.
    ///
    /// # Errors
    /// The directory cannot be searched.
    pub fn examine(dir: &Path) -> Result<Option<Vec<Check>>, HomeError> {
        let store = store_path(dir);
        if !exists(&store)? {
            return Ok(None);
        }
        let check = |subject: String, outcome| Check { subject, outcome };
        let (device, root) = (KeyFile::device(dir), KeyFile::root(dir));
        let mut checks = vec![
            check(dir.display().to_string(), examine_dir(dir)),
            check(
                device.path().display().to_string(),
                device.load().and_then(|key| key.map(drop).ok_or_else(|| HomeError::KeyLost(device.path().to_owned()))),
            ),
        ];
        if exists(root.path())? {
            checks.push(check(root.path().display().to_string(), root.load().map(drop)));
        }
        // Before the directory is opened as a whole, which takes more than a sound file.
        let sound = SqliteStore::open(&store).and_then(|store| store.check()).map_err(HomeError::from);
        checks.push(check(store.display().to_string(), sound));
        // What stands in the way of opening has been found by the checks above, unless it is new.
        match Self::open(dir) {
            Ok(Some(home)) => checks.extend(home.examine_namespaces()?),
            Err(error) if checks.iter().all(|check| check.outcome.is_ok()) => {
                checks.push(check("keys and store together".into(), Err(error)));
            }
            Ok(None) | Err(_) => {}
        }
        Ok(Some(checks))
    }

    fn examine_namespaces(&self) -> Result<Vec<Check>, HomeError> {
        let examine = |id| {
            let verified = self.node.namespace(id).and_then(|namespace| namespace.verify());
            Check { subject: to_did(&PublicKey(id.0)), outcome: verified.map_err(HomeError::from) }
        };
        Ok(self.node.namespaces()?.into_iter().map(examine).collect())
    }
}

/// Whoever may write in the directory may put other files in the place of those in it.
fn examine_dir(dir: &Path) -> Result<(), HomeError> {
    let metadata = std::fs::metadata(dir).map_err(|error| HomeError::io(dir, error))?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o022 == 0 { Ok(()) } else { Err(HomeError::DirExposed { path: dir.to_owned(), mode }) }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    fn found(dir: &Path) -> Vec<&'static str> {
        let checks = Home::examine(dir).unwrap().unwrap();
        checks.into_iter().filter_map(|check| Some(check.outcome.err()?.code())).collect()
    }

    #[test]
    fn every_damage_is_found_beside_the_others() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("home");
        assert!(Home::examine(&dir).unwrap().is_none());
        Home::open_or_create(&dir).unwrap().namespace_or_begin().unwrap();
        assert_eq!(Home::examine(&dir).unwrap().unwrap().len(), 5);
        assert!(found(&dir).is_empty());

        fs::set_permissions(&dir, Permissions::from_mode(0o770)).unwrap();
        fs::set_permissions(dir.join("device.key"), Permissions::from_mode(0o644)).unwrap();
        fs::write(dir.join("root.key"), "nothing").unwrap();
        assert_eq!(found(&dir), ["HOME_EXPOSED", "KEY_FILE_EXPOSED", "KEY_FILE_MALFORMED"]);

        fs::remove_file(dir.join("device.key")).unwrap();
        fs::write(dir.join("store.sqlite"), vec![7; 4096]).unwrap();
        assert_eq!(found(&dir), ["HOME_EXPOSED", "KEY_FILE_LOST", "KEY_FILE_MALFORMED", "STORE_FOREIGN_FILE"]);
    }

    #[test]
    fn keys_of_another_device_are_found() {
        let base = tempfile::tempdir().unwrap();
        let (one, other) = (base.path().join("one"), base.path().join("other"));
        for dir in [&one, &other] {
            Home::open_or_create(dir).unwrap();
        }
        fs::copy(other.join("device.key"), one.join("device.key")).unwrap();
        assert_eq!(found(&one), ["STORE_OTHER_DEVICE"]);
    }
}
