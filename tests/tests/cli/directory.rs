//! Data directories that are not as memlet left them: each is refused by a code of its own, and left as it is.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use memlet_tests::{Device, Ran, executable};

fn used() -> Device {
    let device = Device::new();
    device.remember("a");
    device
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("the mode can be set");
}

#[test]
fn keys_and_store_belong_to_the_user_alone() {
    let device = used();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&device.home()), 0o700);
    for name in ["device.key", "root.key", "store.sqlite"] {
        assert_eq!(mode(&device.file(name)), 0o600, "{name}");
    }
}

#[test]
fn a_key_that_others_can_read_is_refused_until_it_is_private_again() {
    let device = used();
    set_mode(&device.file("device.key"), 0o644);
    let refused = device.run(["recall"]);
    assert!(refused.stderr.contains(&format!("chmod 600 {}", device.file("device.key").display())), "{refused:?}");
    assert_eq!(device.run(["recall", "--json"]).failed_with_code(1), "KEY_FILE_EXPOSED");
    set_mode(&device.file("device.key"), 0o600);
    assert_eq!(device.recall(), ["1. a"]);
}

#[test]
fn foreign_newer_and_damaged_files_are_refused_and_left_as_they_are() {
    // The user version of a SQLite file is at offset 60, in four bytes.
    let newer = |bytes: &mut Vec<u8>| bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    let other_program = |bytes: &mut Vec<u8>| bytes[68..72].copy_from_slice(b"else");
    for (name, change, code) in [
        ("store.sqlite", &newer as &dyn Fn(&mut Vec<u8>), "STORE_NEWER_FORMAT"),
        ("store.sqlite", &other_program, "STORE_FOREIGN_FILE"),
        ("store.sqlite", &|bytes| *bytes = b"some notes of mine".to_vec(), "STORE_FOREIGN_FILE"),
        ("store.sqlite", &|bytes| *bytes = vec![7; 5000], "STORE_FOREIGN_FILE"),
        ("store.sqlite", &|bytes| bytes.truncate(100), "STORE_DAMAGED"),
        ("device.key", &|bytes| bytes.truncate(20), "KEY_FILE_MALFORMED"),
        ("device.key", &|bytes| *bytes = b"memlet-key-2 something\n".to_vec(), "KEY_FILE_VERSION"),
    ] {
        let device = used();
        let mut bytes = fs::read(device.file(name)).unwrap();
        change(&mut bytes);
        fs::write(device.file(name), &bytes).unwrap();
        for words in [&["recall", "--json"][..], &["remember", "b", "--json"], &["serve", "--json"]] {
            assert_eq!(device.run(words).failed_with_code(1), code, "{words:?}");
        }
        assert_eq!(fs::read(device.file(name)).unwrap(), bytes, "{code} changed {name}");
        let found = device.run(["doctor"]);
        assert_eq!(found.code, Some(1), "{found:?}");
        assert!(found.stdout.contains(&format!("damaged  {}", device.file(name).display())), "{found:?}");
    }
}

#[test]
fn a_lost_or_exchanged_device_key_is_said_and_never_replaced() {
    let (device, other) = (used(), used());
    let key = fs::read(device.file("device.key")).unwrap();
    fs::remove_file(device.file("device.key")).unwrap();
    assert_eq!(device.run(["remember", "b", "--json"]).failed_with_code(1), "KEY_FILE_LOST");
    assert!(!device.file("device.key").exists());
    fs::copy(other.file("device.key"), device.file("device.key")).unwrap();
    assert_eq!(device.run(["recall", "--json"]).failed_with_code(1), "STORE_OTHER_DEVICE");
    fs::write(device.file("device.key"), key).unwrap();
    assert_eq!(device.recall(), ["1. a"]);
}

#[test]
fn doctor_finds_a_byte_that_was_changed_in_a_document() {
    let device = Device::new();
    device.remember("the text of a change that is to be damaged");
    let mut bytes = fs::read(device.file("store.sqlite")).unwrap();
    let at = bytes.windows(11).position(|window| window == b"the text of").unwrap();
    bytes[at] ^= 0x20;
    fs::write(device.file("store.sqlite"), bytes).unwrap();
    let found = device.run(["doctor"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.stdout.lines().any(|line| line.starts_with("damaged  did:key:")), "{found:?}");
    assert!(!found.stderr.contains("he text of") && !found.stdout.contains("he text of"), "{found:?}");
}

#[test]
fn a_path_that_cannot_be_a_directory_is_said() {
    let device = Device::new();
    fs::write(device.home(), "a file").unwrap();
    for words in [["recall", "--json"], ["doctor", "--json"]] {
        assert_eq!(device.run(words).failed_with_code(1), "HOME_IO", "{words:?}");
    }
    assert_eq!(device.run(["remember", "a", "--json"]).failed_with_code(1), "HOME_IO");
    assert_eq!(fs::read(device.home()).unwrap(), b"a file");
}

/// Root may write everywhere, so it looks through the eyes of a user who may not.
#[test]
fn a_directory_that_may_not_be_written_is_said_and_left_as_it_is() {
    const NOBODY: u32 = 65_534;
    let device = used();
    let base = device.home().parent().unwrap().to_owned();
    let is_root = fs::metadata(&base).unwrap().uid() == 0;
    let memlet = base.join("memlet");
    if is_root {
        // Where tests are built may be closed to others.
        fs::copy(executable(), &memlet).unwrap();
        set_mode(&base, 0o755);
        for name in ["", "device.key", "root.key", "store.sqlite"] {
            chown(device.file(name), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    let run = |words: &[&str]| {
        let mut command = device.command(words);
        if is_root {
            command = std::process::Command::new(&memlet);
            command.args(words).env_clear().env("MEMLET_HOME", device.home()).uid(NOBODY).gid(NOBODY);
        }
        Ran::of(command)
    };
    assert_eq!(run(&["recall"]).succeeded(), "1. a\n", "the test itself does not work");

    set_mode(&device.file("store.sqlite"), 0o400);
    set_mode(&device.home(), 0o500);
    let before = fs::read(device.file("store.sqlite")).unwrap();
    for words in [&["remember", "b", "--json"][..], &["recall", "--json"]] {
        assert_eq!(run(words).failed_with_code(1), "STORE_READ_ONLY", "{words:?}");
    }
    assert_eq!(fs::read(device.file("store.sqlite")).unwrap(), before);

    set_mode(&device.home(), 0o000);
    assert_eq!(
        run(&["recall", "--json"]).failed_with_code(1),
        "HOME_IO",
        "a closed directory is taken for an empty one"
    );
    set_mode(&device.home(), 0o700);
}
