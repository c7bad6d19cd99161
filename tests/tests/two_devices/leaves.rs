//! Values at paths that two devices write and delete without knowing of each other.

use memlet_tests::Device;
use serde_json::json;

use super::support::{in_both_orders, meet, value};

fn write(device: &Device, path: &str, value: &str) {
    device.run(["write", path, value]).succeeded();
}

fn rm(device: &Device, path: &str) {
    device.run(["rm", path]).succeeded();
}

#[test]
fn different_leaves_of_one_parent_are_both_there() {
    in_both_orders(|[a, b]| {
        write(a, "w/notes/a", "1");
        write(b, "w/notes/b", r#"{"deep": [true, null, "x"]}"#);
        meet(b, a);
        assert_eq!(value(a, "w/notes"), Some(json!({"a": 1, "b": {"deep": [true, null, "x"]}})));
    });
}

#[test]
fn one_leaf_written_twice_has_the_later_value_on_both() {
    in_both_orders(|[a, b]| {
        write(a, "w/notes/x", r#""by a""#);
        write(b, "w/notes/x", r#""by b""#);
        meet(b, a);
        assert_eq!(value(a, "w/notes/x"), Some(json!("by b")));
    });
}

#[test]
fn a_write_that_the_deleter_had_not_seen_survives_it() {
    in_both_orders(|[a, b]| {
        write(a, "w/notes/x", "1");
        meet(b, a);
        write(a, "w/notes/x", "2");
        rm(b, "w/notes/x");
        meet(b, a);
        assert_eq!(value(b, "w/notes/x"), Some(json!(2)));
    });
}

#[test]
fn what_one_device_deletes_is_gone_on_the_other_with_all_below() {
    in_both_orders(|[a, b]| {
        write(a, "w/notes", r#"{"x": 1, "y": {"z": 2}}"#);
        write(a, "w/kept", "true");
        meet(b, a);
        rm(b, "w/notes");
        meet(b, a);
        assert_eq!(value(a, "w/notes/y/z"), None);
        assert_eq!(value(a, "w"), Some(json!({"kept": true})));
        assert_eq!(a.run(["read", "w/notes"]).code, Some(3));
    });
}

#[test]
fn a_parent_written_whole_replaces_only_the_leaves_that_its_writer_had_seen() {
    in_both_orders(|[a, b]| {
        write(a, "w/notes", r#"{"x": 1, "y": 2}"#);
        meet(b, a);
        write(a, "w/notes", r#"{"x": 10}"#);
        write(b, "w/notes/z", "3");
        meet(b, a);
        assert_eq!(value(a, "w/notes"), Some(json!({"x": 10, "z": 3})));
    });
}
