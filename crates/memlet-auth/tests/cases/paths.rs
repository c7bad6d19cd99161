//! Cases 33 and 35 to 40: paths in grants are arrays of strict segments.

use memlet_auth::error::GrantRefusal;
use memlet_core::codec::{DecodeError, Writer};
use memlet_core::path::Path;

use crate::fixture::*;

/// A signed grant of `write` at a path of any segments, however wrong.
fn grant_at(segments: &[&str]) -> Vec<u8> {
    let mut w = Writer::default();
    w.array(1);
    w.array(2);
    w.uint(4);
    w.array(segments.len());
    for segment in segments {
        w.text(segment);
    }
    signed_grant(ROOT, &Items::of_grant().with(5, w.into_bytes()).body())
}

fn refuses(segments: &[&str]) {
    World::new().refuses(&grant_at(segments), &GrantRefusal::Encoding(DecodeError::Invalid("path segment")));
}

/// Whether a grant at `granted` allows to write at `asked`.
fn permits(granted: &[&str], asked: &[&str]) -> bool {
    let mut world = World::new();
    assert!(world.statements.insert(&grant_at(granted), public(ALICE)).is_ok());
    let grant = world.statements.iter().next().unwrap();
    grant.permits(Write, &Path::new(asked.iter().copied()).unwrap())
}

#[test]
fn case_33_a_path_covers_whole_segments() {
    assert!(permits(&["w", "mem"], &["w", "mem", "x"]));
    assert!(!permits(&["w", "mem"], &["w", "memory"]));
}

#[test]
fn case_35_a_slash_inside_a_segment() {
    for segment in ["w/memory", "/", "w/", "w\\memory", "w%2Fmemory"] {
        refuses(&[segment]);
    }
}

#[test]
fn case_36_a_segment_in_nfd() {
    refuses(&["w", "cafe\u{301}"]);
    assert!(permits(&["w", "caf\u{e9}"], &["w", "caf\u{e9}"]));
}

#[test]
fn case_37_a_look_alike_letter_is_another_path() {
    let cyrillic = "mem\u{43e}ry";
    assert!(!permits(&["w", cyrillic], &["w", "memory"]));
    assert!(!permits(&["w", "memory"], &["w", cyrillic]));
    assert!(permits(&["w", cyrillic], &["w", cyrillic]));
}

#[test]
fn case_38_invisible_characters_in_a_segment() {
    for invisible in ["\u{200b}", "\u{200d}", "\u{2060}", "\u{202e}", "\u{2066}", "\u{61c}", "\0", "\u{7f}", "\u{feff}"]
    {
        refuses(&["w", &format!("mem{invisible}ory")]);
        refuses(&["w", invisible]);
    }
    for segment in ["", ".", ".."] {
        refuses(&["w", segment]);
    }
}

#[test]
fn case_39_a_full_width_slash_separates_nothing() {
    let wide = "w\u{ff0f}memory";
    assert!(permits(&[wide], &[wide]));
    assert!(!permits(&[wide], &["w", "memory"]));
    assert!(!permits(&["w"], &[wide]));
}

#[test]
fn case_40_too_many_segments_or_a_long_one() {
    let refusal = GrantRefusal::Encoding(DecodeError::Limit("a path"));
    World::new().refuses(&grant_at(&["s"; 17]), &refusal);
    assert!(permits(&["s"; 16], &["s"; 16]));

    let (longest, longer) = ("s".repeat(128), "s".repeat(129));
    refuses(&[&longer]);
    assert!(permits(&[&longest], &[&longest]));
    // bytes count, not characters
    refuses(&[&"\u{e9}".repeat(65)]);
}
