//! The data directory of one device: its keys and its store.
//!
//! | file | what |
//! |---|---|
//! | `device.key` | the key of this device, made at first use |
//! | `root.key` | the key of the namespace, only on the device where the namespace began |
//! | `store.sqlite` | everything else |
//!
//! Invariant: the keys stand before whatever is made with them. So a store without its device key has lost it, and is never
//! given another. Any number of processes may open one directory at once, also for the first time.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use etcetera::BaseStrategy as _;
use etcetera::base_strategy::choose_native_strategy;
use memlet_auth::keys::SigningKey;
use memlet_node::{Namespace, Node};
use memlet_store::SqliteStore;

mod checks;
mod environment;
mod error;
mod key_file;

pub use checks::Check;
pub use environment::SystemEnvironment;
pub use error::HomeError;
pub use key_file::KeyFile;

/// An open data directory.
///
/// [`Home::locate`] tells where it is, [`Home::open`] opens it if it is there, [`Home::open_or_create`] in any case. A new one
/// holds no namespace: [`Home::namespace_or_begin`] begins one, joining another device brings one.
pub struct Home {
    dir: PathBuf,
    device: SigningKey,
    store: Arc<SqliteStore>,
    node: Node,
}

impl Home {
    /// Where the data directory is, as an absolute path: `chosen`, or else `memlet` in the platform's data directory (the XDG
    /// base directory `data`, and its like on other systems).
    ///
    /// # Errors
    /// Nothing is chosen and the user has no home directory.
    pub fn locate(chosen: Option<PathBuf>) -> Result<PathBuf, HomeError> {
        let dir = match chosen {
            Some(dir) => dir,
            None => choose_native_strategy().map_err(|_| HomeError::Nowhere)?.data_dir().join("memlet"),
        };
        std::path::absolute(&dir).map_err(|error| HomeError::io(&dir, error))
    }

    /// Opens the data directory at `dir`; none if no store has been made there. Nothing is created.
    ///
    /// # Errors
    /// A key or the store is missing, damaged, unreadable or of a newer format.
    pub fn open(dir: &Path) -> Result<Option<Self>, HomeError> {
        if !exists(&store_path(dir))? {
            return Ok(None);
        }
        let device = KeyFile::device(dir);
        let key = device.load()?.ok_or_else(|| HomeError::KeyLost(device.path().to_owned()))?;
        Self::with_device(dir, key).map(Some)
    }

    /// Opens the data directory at `dir` and makes what is missing: the directory for this user alone (mode 0700), the device
    /// key, an empty store.
    ///
    /// # Errors
    /// As [`Home::open`], or it cannot be written.
    pub fn open_or_create(dir: &Path) -> Result<Self, HomeError> {
        if let Some(home) = Self::open(dir)? {
            return Ok(home);
        }
        make_dir(dir).map_err(|error| HomeError::io(dir, error))?;
        let key = {
            let _alone = lock(dir)?;
            KeyFile::device(dir).load_or_create(&SystemEnvironment)?
        };
        Self::with_device(dir, key)
    }

    fn with_device(dir: &Path, device: SigningKey) -> Result<Self, HomeError> {
        let store = Arc::new(SqliteStore::open(store_path(dir))?);
        let node = Node::open(store.clone(), device.clone(), Arc::new(SystemEnvironment))?;
        Ok(Self { dir: dir.to_owned(), device, store, node })
    }

    /// The path of the data directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The replica in it.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The store of that replica.
    pub fn store(&self) -> &SqliteStore {
        &self.store
    }

    /// The key of this device.
    pub fn device_key(&self) -> &SigningKey {
        &self.device
    }

    /// The key of the namespace, if it began here.
    ///
    /// # Errors
    /// The key file is damaged or can be read by others.
    pub fn root_key(&self) -> Result<Option<SigningKey>, HomeError> {
        KeyFile::root(&self.dir).load()
    }

    /// The namespace that commands mean; none before one has been created or joined.
    ///
    /// # Errors
    /// The store fails.
    pub fn namespace(&self) -> Result<Option<Namespace>, HomeError> {
        let id = self.node.home()?;
        Ok(id.map(|id| self.node.namespace(id)).transpose()?)
    }

    /// The namespace that commands mean, begun now, with a key of its own, if there is none. Says whether it was.
    ///
    /// # Errors
    /// The key or the namespace cannot be written.
    pub fn namespace_or_begin(&self) -> Result<(Namespace, bool), HomeError> {
        if let Some(namespace) = self.namespace()? {
            return Ok((namespace, false));
        }
        let _alone = lock(&self.dir)?;
        // Another process may have been faster.
        if let Some(namespace) = self.namespace()? {
            return Ok((namespace, false));
        }
        let root = KeyFile::root(&self.dir).load_or_create(self.node.environment())?;
        Ok((self.node.create_namespace(&root)?, true))
    }
}

/// The path of the store in a data directory.
fn store_path(dir: &Path) -> PathBuf {
    dir.join("store.sqlite")
}

/// Whether something is at `path`. A directory that cannot be searched is an error, not an empty one.
fn exists(path: &Path) -> Result<bool, HomeError> {
    path.try_exists().map_err(|error| HomeError::io(path, error))
}

/// Waits to be the only process that makes something in `dir`, until the result is dropped. A crash frees it.
///
/// Opening a store takes the same lock for a moment, so it must not be done while this is held.
fn lock(dir: &Path) -> Result<File, HomeError> {
    let locked = File::open(dir).and_then(|file| file.lock().map(|()| file));
    locked.map_err(|error| HomeError::io(dir, error))
}

/// Creates a directory and its missing parents for this user alone, each durable in its own parent.
fn make_dir(dir: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|ancestor| !ancestor.is_dir()).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    missing.iter().filter_map(|made| made.parent()).try_for_each(|parent| File::open(parent)?.sync_all())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_is_made_belongs_to_this_user_alone_and_is_found_again() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("a/b");
        assert!(Home::open(&dir).unwrap().is_none());
        assert!(!dir.exists(), "opening made something");

        let home = Home::open_or_create(&dir).unwrap();
        assert!(home.namespace().unwrap().is_none());
        let (namespace, begun) = home.namespace_or_begin().unwrap();
        assert!(begun);
        assert_eq!(mode(&dir), 0o700);
        for file in ["device.key", "root.key", "store.sqlite"] {
            assert_eq!(mode(&dir.join(file)), 0o600, "{file}");
        }
        let (device, id) = (home.node().device(), namespace.id());
        drop((home, namespace));
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 3, "the store was not closed");

        let again = Home::open(&dir).unwrap().unwrap();
        assert_eq!((again.node().device(), again.device_key().public()), (device, device));
        let (found, begun) = again.namespace_or_begin().unwrap();
        assert_eq!((found.id(), begun), (id, false));
        assert_eq!(again.root_key().unwrap().unwrap().public().0, id.0);
    }

    #[test]
    fn a_store_never_gets_another_device_key() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path();
        drop(Home::open_or_create(dir).unwrap());
        std::fs::remove_file(dir.join("device.key")).unwrap();
        for _ in 0..2 {
            assert!(matches!(Home::open_or_create(dir), Err(HomeError::KeyLost(_))));
        }
    }

    #[test]
    fn first_uses_at_once_end_with_one_device_and_one_namespace() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("home");
        let first_use = || {
            let home = Home::open_or_create(&dir).unwrap();
            let (namespace, begun) = home.namespace_or_begin().unwrap();
            ((home.node().actor().unwrap(), namespace.id()), begun)
        };
        let made: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(first_use)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(made.iter().all(|(one, _)| *one == made[0].0), "{made:?}");
        assert_eq!(made.iter().filter(|(_, begun)| *begun).count(), 1);
        let namespace = Home::open(&dir).unwrap().unwrap().namespace().unwrap().unwrap();
        assert_eq!(namespace.devices().unwrap().len(), 1);
    }
}
