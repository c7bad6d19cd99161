//! Wrong input: which exit code, which error code, and that nothing else happens.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use memlet_tests::Device;

#[test]
fn every_kind_of_failure_has_its_exit_code() {
    let device = Device::new();
    device.remember("a");
    device.run(["write", "w/scalar", "1"]).succeeded();
    for (words, exit_code, code) in [
        (&["frobnicate"][..], 2, "USAGE"),
        (&["remember"], 2, "USAGE"),
        (&["remember", "a", "b"], 2, "USAGE"),
        (&["forget", "one"], 2, "USAGE"),
        (&["forget", "1.0"], 2, "USAGE"),
        (&["forget", "9223372036854775808"], 2, "USAGE"),
        (&["write", "w/x", "not json"], 2, "USAGE"),
        (&["write", "w/x", "{\"a\":1} 2"], 2, "USAGE"),
        (&["list", "--path", "w//x"], 2, "USAGE"),
        (&["sync", "later"], 2, "USAGE"),
        (&["sync", "--peer", "nowhere"], 2, "USAGE"),
        (&["sync", "--peer", "did:key:z1@localhost:1"], 2, "USAGE"),
        (&["serve", "--quic", "here"], 2, "USAGE"),
        (&["invite", "--as", "king"], 2, "USAGE"),
        (&["man", "frobnicate"], 2, "USAGE"),
        (&["join", "https://example.org"], 2, "INVITE_MALFORMED"),
        (&["join", "memlet://invite/AAAA"], 2, "INVITE_MALFORMED"),
        (&["recall", "--path", "w/../x"], 2, "INVALID_PATH"),
        (&["remember", "a", "--path", "w"], 2, "INVALID_PATH"),
        (&["remember", "a", "--request-id", ""], 2, "INVALID_INPUT"),
        (&["write", "w/x", "99999999999999999999"], 2, "INVALID_INPUT"),
        (&["forget", "0"], 3, "N_OUT_OF_RANGE"),
        (&["forget", "-1"], 3, "N_OUT_OF_RANGE"),
        (&["update", "2", "b"], 3, "N_OUT_OF_RANGE"),
        (&["write", "w/memory/7", "1"], 3, "INDEX_OUT_OF_RANGE"),
        (&["sync"], 3, "NO_PEERS"),
        (&["remember", "a", "--path", "x/y"], 4, "NAMESPACE_NOT_WRITABLE"),
        (&["read", "n/x"], 4, "AGENT_SCOPE_REQUIRED"),
        (&["forget", "1", "--expect", "b"], 5, "CONFLICT"),
        (&["remember", "a", "--path", "w/scalar"], 1, "NOT_A_LIST"),
        (&["write", "w/scalar/deeper", "1"], 1, "SHAPE_CONFLICT"),
        (&["serve", "--quic", "192.0.2.77:1"], 1, "LISTEN_FAILED"),
    ] {
        let ran = device.run([words, &["--json"]].concat());
        assert_eq!(ran.stdout, "", "{words:?}");
        assert_eq!(ran.failed_with_code(exit_code), code, "{words:?}");
    }
    assert_eq!(device.recall(), ["1. a"]);
}

#[test]
fn without_json_a_failure_is_a_sentence() {
    let device = Device::new();
    let ran = device.run(["forget", "3"]);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("", "memlet: there is no item 3: the list shows 0 items\n")
    );
}

#[test]
fn words_that_are_no_text_are_refused() {
    let device = Device::new();
    let no_text = OsStr::from_bytes(b"caf\xe9");
    for words in [[OsStr::new("remember"), no_text], [OsStr::new("read"), no_text], [no_text, OsStr::new("recall")]] {
        let ran = device.run(words.iter().chain(&[OsStr::new("--json")]));
        assert_eq!(ran.failed_with_code(2), "USAGE", "{words:?}");
    }
    assert_eq!(device.run_with_input(["remember", "-", "--json"], b"caf\xe9").failed_with_code(2), "STDIN_NO_TEXT");
    assert!(!device.home().exists());
}

#[test]
fn a_data_directory_need_not_be_text() {
    let device = Device::new();
    let home = device.home().join(OsStr::from_bytes(b"caf\xe9"));
    let run = |words: &[&str]| {
        let mut command = device.command(words);
        command.env("MEMLET_HOME", &home);
        command.output().unwrap().status.code()
    };
    assert_eq!((run(&["remember", "a"]), run(&["status", "--json"]), run(&["doctor"])), (Some(0), Some(0), Some(0)));
}

#[test]
fn a_wrong_log_filter_is_said_and_a_right_one_logs_no_memory() {
    let device = Device::new();
    let run = |filter: &str, text: &str| {
        let mut command = device.command(["remember", text]);
        command.env("MEMLET_LOG", filter);
        memlet_tests::Ran::of(command)
    };
    assert_eq!(run("=,=", "x").code, Some(2));
    let logged = run("trace", "the canary text");
    assert!(!logged.stderr.contains("canary"), "{logged:?}");
    assert_eq!(logged.succeeded(), "Remembered as 1.\n");
}
