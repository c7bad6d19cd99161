//! What the commands do.

use memlet_tests::{Device, names};
use serde_json::json;

#[test]
fn the_first_minute() {
    let device = Device::new();
    let first = device.run(["remember", "Prefers metric units"]);
    assert!(first.stderr.contains(&device.home().display().to_string()), "it does not say where: {first:?}");
    assert_eq!(first.succeeded(), "Remembered as 1.\n");
    assert_eq!(device.run(["recall"]).succeeded(), "1. Prefers metric units\n");
    assert_eq!(device.run(["update", "1", "Prefers SI units"]).succeeded(), "Updated 1.\n");
    assert_eq!(device.run(["recall"]).succeeded(), "1. Prefers SI units\n");
    assert_eq!(device.run(["forget", "1"]).succeeded(), "Forgot 1; 0 left.\n");
    let last = device.run(["recall"]);
    assert_eq!((last.stdout.as_str(), last.stderr.as_str(), last.code), ("", "", Some(0)));
}

#[test]
fn looking_around_leaves_no_trace() {
    let device = Device::new();
    assert_eq!(device.run(["recall", "--json"]).json(), json!(null));
    assert_eq!(device.run(["list", "--json"]).json(), json!([]));
    assert_eq!(device.run(["read", "w/x", "--json"]).json(), json!({"exists": false, "value": null, "valueBytes": 0}));
    assert_eq!(device.run(["rm", "w/x", "--json"]).json(), json!({"deleted": false}));
    assert_eq!(device.run(["status", "--json"]).json()["namespace"], json!(null));
    assert_eq!(device.run(["forget", "1", "--json"]).failed_with_code(3), "N_OUT_OF_RANGE");
    for command in ["id", "devices", "sync", "doctor"] {
        assert_eq!(device.run([command, "--json"]).failed_with_code(3), "NO_MEMORY", "{command}");
    }
    assert!(!device.home().exists());
}

#[test]
fn a_first_use_makes_three_files_and_nothing_else() {
    let device = Device::new();
    device.remember("a");
    assert_eq!(names(&device.home()), ["device.key", "root.key", "store.sqlite"]);
    let id = device.run(["id", "--json"]).json();
    assert_eq!(device.run(["id", "--json"]).json(), id, "the identity changes");
    assert!(id["namespace"].as_str().unwrap().starts_with("did:key:z6Mk"));
    assert_ne!(id["namespace"], id["device"]);
}

#[test]
fn a_directory_given_by_option_goes_before_the_variable() {
    let (one, other) = (Device::new(), Device::new());
    one.remember("one");
    let home = other.home();
    other.remember("other");
    assert_eq!(one.run(["recall", "--home", home.to_str().unwrap()]).succeeded(), "1. other\n");
    assert_eq!(one.run(["--home", home.to_str().unwrap(), "recall"]).succeeded(), "1. other\n");
}

#[test]
fn without_either_the_platforms_data_directory_is_used() {
    let device = Device::new();
    let data = device.home();
    let mut command = device.command(["remember", "a"]);
    command.env("MEMLET_HOME", "").env("XDG_DATA_HOME", &data).env("HOME", &data);
    assert_eq!(command.output().unwrap().status.code(), Some(0));
    let place =
        if cfg!(target_os = "macos") { data.join("Library/Application Support/memlet") } else { data.join("memlet") };
    assert!(place.join("store.sqlite").is_file());
}

#[test]
fn values_are_kept_in_a_tree() {
    let device = Device::new();
    let written = device.run(["write", "w/notes/today", r#"{"rain": true, "mm": 2.0}"#, "--json"]).json();
    assert_eq!(written, json!({"existed": false, "pathCreated": true}));
    assert_eq!(device.run(["read", "w/notes/today/mm"]).succeeded(), "2.0\n");
    assert_eq!(device.run(["ls", "w"]).succeeded(), "notes\n");
    assert_eq!(device.run(["ls", "w/notes/today"]).succeeded(), "mm\nrain\n");
    assert_eq!(device.run_with_input(["write", "w/notes/today/mm", "-"], b"\"much\"").code, Some(0));
    assert_eq!(device.run(["read", "w/notes/today/mm"]).succeeded(), "much\n");
    assert_eq!(device.run(["rm", "w/notes"]).succeeded(), "Deleted w/notes.\n");
    for gone in [["read", "w/notes/today/mm"], ["ls", "w/notes"], ["rm", "w/notes"]] {
        assert_eq!(device.run(gone).code, Some(3), "{gone:?}");
    }
}

#[test]
fn the_list_shows_numbers_times_and_authors() {
    let device = Device::new();
    device.remember("one\nand a second line");
    device.run(["write", "w/memory/0/status", "\"merged\""]).succeeded();
    device.remember("two");
    let list = device.run(["list", "--json"]).json();
    let me = device.run(["id", "--json"]).json()["device"].clone();
    assert_eq!((&list[0]["n"], &list[1]["n"]), (&json!(null), &json!(1)), "hidden items have no number");
    assert_eq!((&list[1]["author"], &list[1]["device"]), (&me, &me));
    assert_eq!(list[1]["value"]["ts"], list[1]["written_ms"]);
    let text = device.run(["list"]).succeeded();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "an item takes more than one line: {text}");
    assert!(lines[0].trim_start().starts_with("-  2") && lines[0].ends_with("one\\nand a second line"), "{text}");
    assert!(lines[1].trim_start().starts_with("1  2") && lines[1].ends_with("  two"), "{text}");
}

#[test]
fn guards_and_request_ids_protect_a_script() {
    let device = Device::new();
    let remember = ["remember", "a", "--request-id", "r1", "--json"];
    assert_eq!(device.run(remember).json(), device.run(remember).json());
    assert_eq!(device.recall(), ["1. a"]);
    let other = ["remember", "b", "--request-id", "r1", "--json"];
    assert_eq!(device.run(other).failed_with_code(5), "REQUEST_ID_CONFLICT");
    assert_eq!(device.run(["forget", "1", "--expect", "b", "--json"]).failed_with_code(5), "CONFLICT");
    assert_eq!(device.run(["update", "1", "c", "--expect", "a", "--json"]).json()["updated"], json!(true));
    assert_eq!(device.recall(), ["1. c"]);
}

#[test]
fn another_list_has_its_own_numbers() {
    let device = Device::new();
    device.remember("usual");
    device.run(["remember", "other", "--path", "w/shopping"]).succeeded();
    assert_eq!(device.run(["recall", "--path", "w/shopping"]).succeeded(), "1. other\n");
    assert_eq!(device.recall(), ["1. usual"]);
}
