//! Lists that two or three devices edit without knowing of each other.

use memlet_tests::Device;
use serde_json::json;

use super::support::{Serving, assert_level, ids, in_both_orders, meet, texts, value};

fn remember(device: &Device, items: &[&str]) {
    items.iter().for_each(|text| device.remember(text));
}

fn run<const N: usize>(device: &Device, words: [&str; N]) {
    device.run(words).succeeded();
}

/// One device forgot an item, the other remembered one, and a vector that is replaced whole kept one side only: by the order
/// of the actors either the forgotten item was back or the new one was lost. Generations join instead.
#[test]
fn what_one_device_forgets_stays_gone_and_what_the_other_remembers_stays() {
    in_both_orders(|[a, b]| {
        remember(a, &["a", "b"]);
        meet(b, a);
        run(a, ["forget", "1"]);
        remember(b, &["c"]);
        meet(b, a);
        assert_eq!(texts(a), ["b", "c"]);
    });
}

/// The same with the roles of the two exchanged.
#[test]
fn what_one_device_remembers_stays_and_what_the_other_forgets_stays_gone() {
    in_both_orders(|[a, b]| {
        remember(a, &["a", "b"]);
        meet(b, a);
        remember(a, &["c"]);
        run(b, ["forget", "1"]);
        meet(b, a);
        assert_eq!(texts(a), ["b", "c"]);
    });
}

#[test]
fn three_devices_edit_at_once_and_end_with_the_same() {
    in_both_orders(|[a, b, c]| {
        remember(a, &["one", "two", "three"]);
        meet(b, a);
        meet(c, a);
        run(a, ["forget", "1"]);
        remember(a, &["from a"]);
        run(b, ["update", "2", "two, better"]);
        remember(b, &["from b"]);
        run(c, ["forget", "3"]);
        remember(c, &["from c"]);
        // each hears of the two others by another way
        meet(b, a);
        meet(c, b);
        meet(a, c);
        meet(b, c);
        assert_level(a, b);
        let mut found = texts(a);
        assert_eq!(found.remove(0), "two, better");
        found.sort();
        assert_eq!(found, ["from a", "from b", "from c"]);
    });
}

#[test]
fn an_item_that_one_device_forgets_and_the_other_updates_is_gone() {
    in_both_orders(|[a, b]| {
        remember(a, &["kept", "disputed"]);
        meet(b, a);
        run(a, ["update", "2", "disputed, better"]);
        run(b, ["forget", "2"]);
        meet(b, a);
        assert_eq!(texts(a), ["kept"]);
    });
}

#[test]
fn an_item_that_both_devices_update_has_the_later_text_once() {
    in_both_orders(|[a, b]| {
        remember(a, &["first"]);
        meet(b, a);
        run(a, ["update", "1", "second"]);
        run(b, ["update", "1", "third"]);
        meet(b, a);
        assert_eq!(texts(a), ["third"]);
    });
}

#[test]
fn vectors_written_whole_on_both_devices_join_element_by_element() {
    in_both_orders(|[a, b]| {
        run(a, ["write", "w/list", r#"["a","b","c"]"#]);
        meet(b, a);
        let before = ids(a, "w/list");
        run(a, ["write", "w/list", r#"["b","c","x"]"#]);
        run(b, ["write", "w/list", r#"["a","b","y","c"]"#]);
        meet(b, a);
        let after = ids(a, "w/list");
        assert_eq!(after.keys().collect::<Vec<_>>(), ["b", "c", "x", "y"], "a is gone, x and y are there");
        assert_eq!((&after["b"], &after["c"]), (&before["b"], &before["c"]), "they are the same elements");
        assert_eq!(value(a, "w/list"), Some(json!(["b", "y", "c", "x"])));
    });
}

#[test]
fn a_list_that_one_device_deletes_keeps_what_the_other_remembered() {
    in_both_orders(|[a, b]| cleared(a, b, &["rm", "w/memory"]));
}

#[test]
fn a_list_that_one_device_empties_keeps_what_the_other_remembered() {
    in_both_orders(|[a, b]| cleared(a, b, &["write", "w/memory", "[]"]));
}

fn cleared(a: &Device, b: &Device, clear: &[&str]) {
    remember(a, &["a", "b"]);
    meet(b, a);
    a.run(clear).succeeded();
    remember(b, &["c"]);
    meet(b, a);
    assert_eq!(texts(a), ["c"]);
    // and with nothing new on the other side it is empty
    a.run(clear).succeeded();
    meet(b, a);
    assert_eq!(texts(b), [""; 0]);
}

#[test]
fn a_late_device_with_an_old_copy_brings_nothing_back_and_loses_nothing() {
    in_both_orders(|[a, b, late]| {
        remember(a, &["a", "b"]);
        meet(late, a);
        meet(b, a);
        run(a, ["forget", "1"]);
        meet(b, a);
        run(b, ["rm", "w/memory"]);
        remember(b, &["later"]);
        remember(late, &["written in its drawer"]);
        run(late, ["update", "1", "a, better"]);
        // it meets the device that it did not have its copy from, and the other hears of it through that one
        meet(late, b);
        meet(a, b);
        assert_level(a, late);
        let mut found = texts(a);
        found.sort();
        assert_eq!(found, ["later", "written in its drawer"]);
    });
}

#[test]
fn a_second_sync_moves_nothing() {
    in_both_orders(|[a, b]| {
        remember(a, &["a"]);
        remember(b, &["b"]);
        meet(b, a);
        let serving = Serving::begin(a);
        let synced = b.run(["sync", "--peer", &serving.address.to_string(), "--json"]).json();
        assert_eq!((&synced["devices"][0]["received"], &synced["devices"][0]["sent"]), (&json!(0), &json!(0)));
        assert!(serving.end().is_empty());
    });
}
