//! Texts of every kind come back as they were given.

use memlet_tests::Device;
use serde_json::json;

fn recalled(device: &Device) -> String {
    device.run(["recall", "--json"]).json().as_str().expect("something is recalled").to_owned()
}

#[test]
fn every_text_comes_back_as_it_was_given() {
    for text in [
        "",
        " leading and trailing ",
        "--json",
        "- a list item",
        "line\r\nbreaks\n\n",
        "\u{1b}[31mred\u{1b}[0m\u{7}",
        "日本語 עברית e\u{301} é 👩‍👩‍👧 İıſ ﷽",
        "{\"looks\": \"like JSON\"}",
        "null",
    ] {
        let device = Device::new();
        device.run(["remember", "--json", "--", text]).succeeded();
        assert_eq!(recalled(&device), format!("1. {text}"));
    }
}

#[test]
fn texts_that_look_like_options_need_no_dashes() {
    let device = Device::new();
    device.remember("- milk");
    device.remember("--milk");
    assert_eq!(device.recall(), ["1. - milk", "2. --milk"]);
}

#[test]
fn stdin_is_the_text_without_the_line_break_at_its_end() {
    for (input, text) in [
        (&b"a"[..], "a"),
        (b"a\n", "a"),
        (b"a\r\n", "a"),
        (b"a\n\n", "a\n"),
        (b"\n", ""),
        (b"", ""),
        (b"a\0b\x1b", "a\0b\u{1b}"),
    ] {
        let device = Device::new();
        device.run_with_input(["remember", "-"], input).succeeded();
        assert_eq!(recalled(&device), format!("1. {text}"), "{input:?}");
    }
}

#[test]
fn the_largest_text_fits_and_a_larger_one_leaves_everything_as_it_was() {
    const BYTES_MAX: usize = 1 << 20;
    let device = Device::new();
    device.remember("before");
    let largest = vec![b'x'; BYTES_MAX];
    assert_eq!(device.run_with_input(["remember", "-", "--json"], &largest).json()["n"], json!(2));
    let larger = vec![b'x'; BYTES_MAX + 1];
    assert_eq!(device.run_with_input(["remember", "-", "--json"], &larger).failed_with_code(1), "TOO_LARGE");
    let far_larger = vec![b'x'; 32 << 20];
    assert_eq!(device.run_with_input(["update", "1", "-", "--json"], &far_larger).failed_with_code(1), "TOO_LARGE");
    assert_eq!(recalled(&device), format!("1. before\n2. {}", "x".repeat(BYTES_MAX)));
}
