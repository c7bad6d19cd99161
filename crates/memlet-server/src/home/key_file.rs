//! Key files: one secret each, as one line of text, `memlet-key-1 <base64>`.
//!
//! A key file is there whole or not at all, and is never replaced: whatever was made with its key would be lost with it.
//! Nobody but its owner may read it, and its secret is wiped from memory as soon as it is a key.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use memlet_auth::keys::SigningKey;
use memlet_node::Environment;
use tempfile::TempPath;
use zeroize::Zeroizing;

use super::HomeError;

/// The place of a secret key in a data directory.
#[derive(Clone, Debug)]
pub struct KeyFile {
    path: PathBuf,
}

impl KeyFile {
    /// That of the device.
    pub fn device(dir: &Path) -> Self {
        Self { path: dir.join("device.key") }
    }

    /// That of the namespace.
    pub fn root(dir: &Path) -> Self {
        Self { path: dir.join("root.key") }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the key; none if there is no file.
    ///
    /// # Errors
    /// Others have rights on the file, it cannot be read, or it holds something else.
    pub fn load(&self) -> Result<Option<SigningKey>, HomeError> {
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| self.io(error))?,
        };
        let mode = file.metadata().map_err(|error| self.io(error))?.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(HomeError::KeyExposed { path: self.path.clone(), mode });
        }
        // One byte more than a key file has shows that the file is longer.
        let mut text = Zeroizing::new(Vec::with_capacity(LINE_BYTES + 1));
        (&mut file).take(LINE_BYTES as u64 + 1).read_to_end(&mut text).map_err(|error| self.io(error))?;
        self.parse(&text).map(Some)
    }

    /// Reads the key, or makes one. Call with the directory's lock.
    pub(super) fn load_or_create(&self, environment: &dyn Environment) -> Result<SigningKey, HomeError> {
        if let Some(key) = self.load()? {
            return Ok(key);
        }
        let mut secret = Zeroizing::new([0; SECRET_BYTES]);
        environment.fill_random(&mut *secret);
        let key = SigningKey::from_bytes(&secret);
        self.create(&key).map_err(|error| self.io(error))?;
        Ok(key)
    }

    /// Writes the file under another name, then gives it its own, which must be free. The other name is always the same, so
    /// that whatever a crash left there goes with the next attempt.
    fn create(&self, key: &SigningKey) -> io::Result<()> {
        let temporary = self.path.with_extension("key.new");
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        let temporary = TempPath::try_from_path(temporary)?;
        file.write_all(&line(key))?;
        file.sync_all()?;
        temporary.persist_noclobber(&self.path).map_err(|error| error.error)?;
        let dir = self.path.parent().expect("a key file stands in a directory");
        File::open(dir)?.sync_all()
    }

    fn parse(&self, text: &[u8]) -> Result<SigningKey, HomeError> {
        let malformed = || HomeError::KeyMalformed(self.path.clone());
        let Some(encoded) = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(b"\n")) else {
            let newer = text.starts_with(FAMILY) && !text.starts_with(PREFIX);
            return Err(if newer { HomeError::KeyVersion(self.path.clone()) } else { malformed() });
        };
        let mut secret = Zeroizing::new([0; ENCODED_BYTES / 4 * 3]);
        let fits = encoded.len() == ENCODED_BYTES;
        let decoded = if fits { BASE64.decode_mut(encoded, &mut *secret).ok() } else { None };
        match (decoded, secret.first_chunk()) {
            (Some(SECRET_BYTES), Some(secret)) => Ok(SigningKey::from_bytes(secret)),
            _ => Err(malformed()),
        }
    }

    fn io(&self, error: io::Error) -> HomeError {
        HomeError::io(&self.path, error)
    }
}

/// The content of the key file of `key`.
fn line(key: &SigningKey) -> Zeroizing<Vec<u8>> {
    let encoded = Zeroizing::new(BASE64.encode(&*key.to_bytes()));
    Zeroizing::new([PREFIX, encoded.as_bytes(), b"\n"].concat())
}

/// Begins the key files of every version.
const FAMILY: &[u8] = b"memlet-key-";
/// Begins a key file of the version that this program reads and writes.
const PREFIX: &[u8] = b"memlet-key-1 ";
/// Bytes of a secret, and of its base64 (RFC 4648, section 4, with padding).
const SECRET_BYTES: usize = 32;
const ENCODED_BYTES: usize = SECRET_BYTES.div_ceil(3) * 4;
/// Bytes of a key file.
const LINE_BYTES: usize = PREFIX.len() + ENCODED_BYTES + 1;

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::super::SystemEnvironment;
    use super::*;

    fn key_file(dir: &Path) -> KeyFile {
        KeyFile::device(dir)
    }

    fn put(file: &KeyFile, content: &[u8]) {
        fs::write(file.path(), content).unwrap();
        fs::set_permissions(file.path(), Permissions::from_mode(0o600)).unwrap();
    }

    #[test]
    fn a_key_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = key_file(dir.path());
        assert!(file.load().unwrap().is_none());
        let key = file.load_or_create(&SystemEnvironment).unwrap();
        assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(file.load().unwrap().unwrap().to_bytes(), key.to_bytes());
        assert_eq!(file.load_or_create(&SystemEnvironment).unwrap().to_bytes(), key.to_bytes());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "a stray was left");
    }

    #[test]
    fn a_key_is_never_replaced_and_what_a_crash_left_does_not_disturb() {
        let dir = tempfile::tempdir().unwrap();
        let file = key_file(dir.path());
        fs::write(dir.path().join("device.key.new"), "half a li").unwrap();
        let key = file.load_or_create(&SystemEnvironment).unwrap();
        let other = SigningKey::from_bytes(&[7; 32]);
        assert_eq!(file.create(&other).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(file.load().unwrap().unwrap().to_bytes(), key.to_bytes());
    }

    #[test]
    fn anything_else_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = key_file(dir.path());
        let good = line(&SigningKey::from_bytes(&[0xab; 32]));
        put(&file, &good);
        assert!(file.load().unwrap().is_some());
        let text = std::str::from_utf8(&good).unwrap();
        for bad in [
            String::new(),
            text.trim_end().to_owned(),
            format!("{text}\n"),
            format!(" {text}"),
            text.replace("key-1 ", "key-1  "),
            text.replace("=\n", "\n"),
            text.replace("=\n", "A\n"),
            text.replace("s=\n", "t=\n"),
            text.to_uppercase(),
        ] {
            put(&file, bad.as_bytes());
            assert!(matches!(file.load(), Err(HomeError::KeyMalformed(_))), "{bad:?}");
        }
        put(&file, text.replace("key-1", "key-2").as_bytes());
        assert!(matches!(file.load(), Err(HomeError::KeyVersion(_))));
    }

    #[test]
    fn a_key_that_others_may_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = key_file(dir.path());
        file.load_or_create(&SystemEnvironment).unwrap();
        for mode in [0o604, 0o640, 0o620, 0o601] {
            fs::set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
            assert!(matches!(file.load(), Err(HomeError::KeyExposed { mode: found, .. }) if found == mode), "{mode:o}");
        }
    }
}
