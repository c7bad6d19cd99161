//! Finding the executable under test, and seeing to it that it is the one of this source tree.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The path of the `memlet` executable, in the profile that the tests are built in.
///
/// It is built when it is first asked for, so that a test of this package alone never runs an old one; if it is up to date,
/// that costs a moment. Where there is no cargo, as in a container that has only what was built, it must be there already.
pub fn executable() -> &'static Path {
    static EXECUTABLE: OnceLock<PathBuf> = OnceLock::new();
    EXECUTABLE.get_or_init(build)
}

fn build() -> PathBuf {
    // TARGET/PROFILE/deps/TEST, and the executable is TARGET/PROFILE/memlet.
    let test = std::env::current_exe().expect("a test knows its own path");
    let place = test.ancestors().nth(2).expect("a test lies in TARGET/PROFILE/deps");
    let executable = place.join(format!("memlet{}", std::env::consts::EXE_SUFFIX));
    let (target, profile) = (place.parent().expect("a profile lies in a target directory"), place.file_name());
    let profile = match profile.and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--quiet", "--package", "memlet", "--profile", profile, "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    // What cargo tells a test of its package is no business of this build. Build scripts that look at it (ring's does) would
    // find it changed, and everything above them would be built anew each time.
    for (name, _) in std::env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
    match cargo.status() {
        Ok(status) => assert!(status.success(), "memlet does not build"),
        Err(error) => {
            assert!(executable.exists(), "{} is missing, and cargo cannot build it: {error}", executable.display())
        }
    }
    executable
}
