//! The forms of what is printed: exact JSON, plain text in a pipe, help, completions, man pages.

use std::io::pipe;
use std::process::Stdio;

use memlet_tests::{Device, Ran};

#[test]
fn json_is_the_output_of_the_operation_and_nothing_else() {
    let device = Device::new();
    for (words, printed) in [
        (&["recall"][..], "null\n"),
        (&["remember", "a \"quoted\" line\nand another"], "{\"count\":1,\"n\":1,\"remembered\":true}\n"),
        (&["recall"], "\"1. a \\\"quoted\\\" line\\nand another\"\n"),
        (&["update", "1", "b"], "{\"count\":1,\"n\":1,\"updated\":true}\n"),
        (&["forget", "1"], "{\"count\":0,\"forgotten\":true,\"n\":1}\n"),
        (&["recall"], "null\n"),
        (&["write", "w/x", "[1,2.0,null]"], "{\"existed\":false}\n"),
        (&["read", "w/x"], "{\"exists\":true,\"value\":[1,2.0,null],\"valueBytes\":12}\n"),
        (&["write", "w/x", "{}"], "{\"existed\":true}\n"),
        (&["ls", "w"], "{\"count\":2,\"exists\":true,\"keys\":[\"memory\",\"x\"],\"offset\":0,\"type\":\"Map\"}\n"),
        (&["rm", "w/x"], "{\"deleted\":true}\n"),
        (&["rm", "w/x"], "{\"deleted\":false}\n"),
        (&["read", "w/x"], "{\"exists\":false,\"value\":null,\"valueBytes\":0}\n"),
        (&["ls", "w/x"], "{\"exists\":false}\n"),
    ] {
        assert_eq!(device.run([words, &["--json"]].concat()).succeeded(), printed, "{words:?}");
    }
}

#[test]
fn a_pipe_gets_plain_text_also_where_colours_are_asked_for() {
    let device = Device::new();
    device.remember("a");
    for words in [&["recall"][..], &["list"], &["status"], &["doctor"], &["devices"], &["help"], &["frobnicate"]] {
        let mut command = device.command(words);
        command.env("CLICOLOR_FORCE", "1").env("TERM", "xterm-256color");
        let ran = Ran::of(command);
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{ran:?}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let device = Device::new();
    device.remember(&"long ".repeat(20_000));
    for words in [&["recall"][..], &["list", "--json"], &["help"], &["completions", "bash"], &["demo"]] {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let mut command = device.command(words);
        command.stdout(writer).stderr(Stdio::piped());
        let output = command.output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()), "{words:?}");
    }
}

#[test]
fn what_was_done_is_kept_where_it_could_not_be_said() {
    let device = Device::new();
    device.remember("a");
    let mut command = device.command(["remember", "b"]);
    command.stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    assert_eq!(command.output().unwrap().status.code(), Some(1));
    assert_eq!(device.recall(), ["1. a", "2. b"]);
}

#[test]
fn nothing_depends_on_time_zone_or_locale() {
    let device = Device::new();
    device.remember("İstanbul, ISTANBUL");
    let run = |words: &[&str], zone: &str, locale: &str| {
        let mut command = device.command(words);
        command.env("TZ", zone).env("LC_ALL", locale).env("LANG", locale);
        Ran::of(command).succeeded()
    };
    for words in [&["list"][..], &["recall"], &["status"], &["devices"]] {
        let plain = run(words, "UTC", "C");
        for (zone, locale) in
            [("Pacific/Kiritimati", "tr_TR.UTF-8"), ("Asia/Kathmandu", "de_DE.ISO-8859-1"), (":bad", "")]
        {
            assert_eq!(run(words, zone, locale), plain, "{words:?} in {zone}, {locale}");
        }
    }
}

#[test]
fn help_completions_and_man_pages_know_every_command() {
    let device = Device::new();
    let commands = [
        "remember",
        "recall",
        "update",
        "forget",
        "list",
        "read",
        "write",
        "ls",
        "rm",
        "status",
        "id",
        "invite",
        "join",
        "devices",
        "sync",
        "serve",
        "demo",
        "doctor",
        "completions",
        "man",
    ];
    let (help, man) = (device.run(["help"]).succeeded(), device.run(["man"]).succeeded());
    let completions = ["bash", "zsh", "fish"].map(|shell| device.run(["completions", shell]).succeeded());
    for command in commands {
        assert!(help.contains(&format!("\n  {command} ")), "{command} is not in the help");
        assert!(man.contains(&format!("memlet\\-{command}(1)")), "{command} is not in the man page");
        assert!(completions.iter().all(|script| script.contains(command)), "{command} is not completed");
        assert!(device.run(["man", command]).succeeded().contains(&format!("memlet\\-{command} \\-")));
    }
    assert!(device.run(["--version"]).succeeded().starts_with("memlet "));
    assert!(!device.home().exists());
}
