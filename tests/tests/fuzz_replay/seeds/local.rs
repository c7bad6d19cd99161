//! What this device's own store and callers may hand in: records damaged or foreign, and calls of any JSON.

use memlet_core::codec::{Encode as _, Writer};
use memlet_node::Peer;
use memlet_store::{Scope, Store as _, Table};
use memlet_tests::fuzzing::{Device, Entry, key};

use super::{Parts, Seed, seed};

pub(super) fn seeds() -> Vec<Seed> {
    records().into_iter().chain(calls()).map(seed).collect()
}

/// A record of the host's store, whose bytes `damage` changes.
fn damaged(table: Table, position: u64, damage: impl FnOnce(&mut Vec<u8>)) -> Entry {
    let host = Device::host();
    let store = host.disk.open();
    let key = position.to_be_bytes().to_vec();
    let mut value = store.read().unwrap().get(Scope::Namespace(host.home().id()), table, &key).unwrap().unwrap();
    damage(&mut value);
    Entry { store: false, table, key, value }
}

fn records() -> Vec<Parts> {
    let flip = |at: usize| move |value: &mut Vec<u8>| value[at] ^= 1;
    let own = |table, key: &[u8], value: &[u8]| Entry { store: true, table, key: key.to_vec(), value: value.to_vec() };
    let moved = |position: u64, entry: Entry| Entry { key: position.to_be_bytes().to_vec(), ..entry };
    let change = |position| damaged(Table::Changes, position, |_| {});
    let peer = {
        let host = Device::host();
        let peer = Peer {
            device: key(1).public(),
            name: "laptop".into(),
            addresses: vec!["192.0.2.7:4460".into()],
            last_seen_ms: 7,
        };
        host.node.remember_peer(peer).unwrap();
        let value =
            host.disk.open().read().unwrap().get(Scope::Store, Table::Peers, &key(1).public().0).unwrap().unwrap();
        own(Table::Peers, &key(1).public().0, &value)
    };
    let cut = |mut entry: Entry| {
        entry.value.truncate(entry.value.len() / 2);
        entry
    };
    let many_addresses = {
        let mut w = Writer::default();
        w.array(3);
        w.text("laptop");
        w.array(1_000);
        (0..1_000).for_each(|_| w.text("a"));
        w.uint(7);
        own(Table::Peers, &key(1).public().0, &w.into_bytes())
    };
    let answered = [&7_u64.to_be_bytes()[..], &[3; 32], b"{\"n\":1}"].concat();
    let request =
        |value: &[u8]| Entry { store: false, table: Table::Requests, key: b"one".to_vec(), value: value.to_vec() };
    let rows: Vec<(&str, Vec<Entry>)> = vec![
        ("nothing", vec![]),
        ("a flipped bit in a change", vec![damaged(Table::Changes, 1, flip(240))]),
        ("a flipped bit in a stamp", vec![damaged(Table::Changes, 1, flip(60))]),
        ("a flipped bit in a grant", vec![damaged(Table::Statements, 0, flip(40))]),
        ("a flipped bit in a signature", vec![damaged(Table::Statements, 1, flip(200))]),
        ("half a change", vec![cut(change(2))]),
        ("half a grant", vec![cut(damaged(Table::Statements, 0, |_| {}))]),
        ("an empty change", vec![Entry { value: Vec::new(), ..change(0) }]),
        ("a change twice", vec![moved(3, change(2))]),
        ("two changes exchanged", vec![moved(1, change(0)), moved(0, change(1))]),
        ("a change over another", vec![moved(0, change(2))]),
        ("a gap in the log", vec![moved(9, change(2))]),
        ("the last position there is", vec![moved(u64::MAX, change(2))]),
        ("a key that is no position", vec![Entry { key: b"x".to_vec(), ..change(2) }]),
        ("a grant twice", vec![moved(2, damaged(Table::Statements, 0, |_| {}))]),
        ("a peer", vec![peer.clone()]),
        ("half a peer", vec![cut(peer.clone())]),
        ("a peer of no key", vec![Entry { key: b"x".to_vec(), ..peer }]),
        ("a peer of many addresses", vec![many_addresses]),
        ("no replica id", vec![own(Table::Node, b"replica", b"")]),
        ("another device", vec![own(Table::Node, b"device", &key(1).public().0)]),
        ("no device", vec![own(Table::Node, b"device", b"x")]),
        ("another place", vec![own(Table::Node, b"place", b"x")]),
        ("no home", vec![own(Table::Node, b"home", b"x")]),
        ("an answered request", vec![request(&answered)]),
        ("half an answered request", vec![request(&answered[..42])]),
        ("an answer that is no json", vec![request(&[0; 41])]),
        (
            "a counter",
            vec![Entry {
                store: false,
                table: Table::Counters,
                key: b"requests pruned up to".to_vec(),
                value: 7_u64.to_cbor(),
            }],
        ),
    ];
    let row = |entries: Vec<Entry>| entries.iter().flat_map(Entry::to_bytes).collect();
    rows.into_iter().map(|(name, entries)| ("store", name.to_owned(), row(entries))).collect()
}

fn calls() -> Vec<Parts> {
    let memory = |input: &str| format!("v/ops/memory {input}\n");
    let covia = |operation: &str, input: &str| format!("v/ops/covia/{operation} {input}\n");
    let deep = |levels: usize| ["[".repeat(levels), "]".repeat(levels)].concat();
    let value = |value: &str| covia("write", &format!(r#"{{"path":"w/x","value":{value}}}"#));
    let rows = vec![
        ("the list", [r#"{"command":"remember","text":"a"}"#, r#"{"command":"update","n":1,"text":"b"}"#, r#"{"command":"forget","n":2,"expect":"Lives in Lisbon"}"#, r#"{"command":"recall","path":"w"}"#].map(memory).concat()),
        ("a guard that fails", memory(r#"{"command":"forget","n":1,"expect":"x"}"#)),
        ("a request twice", memory(r#"{"command":"remember","text":"a","request_id":"r"}"#).repeat(2) + &memory(r#"{"command":"remember","text":"b","request_id":"r"}"#)),
        ("the workspace", [("write", r#"{"path":"w/a","value":{"b":[1,2.5,{"c":null}],"d":"x"}}"#), ("append", r#"{"path":"w/a/b","value":true}"#), ("read", r#"{"path":"w/a"}"#), ("slice", r#"{"path":"w/a/b","offset":1,"limit":1}"#), ("list", r#"{"path":"w"}"#), ("copy", r#"{"from":"w/a","to":"w/e/f"}"#), ("inspect", r#"{"paths":["w/a","w/memory"],"budget":40}"#), ("delete", r#"{"path":"w/a/b/0"}"#), ("delete", r#"{"path":"w"}"#)].map(|(operation, input)| covia(operation, input)).concat()),
        ("contexts", "v/ops/context {\"entries\":[\"w/memory\",{\"op\":\"v/ops/covia/read\",\"input\":{\"path\":\"w\"}},{\"text\":\"x\",\"label\":\"l\"},{\"op\":\"v/ops/context\",\"input\":{\"entries\":[]}},{\"ref\":\"w/none\",\"required\":true}],\"safe\":true}\n".into()),
        ("no operation", "v/ops/none {}\nnone {}\n {}\nv/ops/memory\n".into()),
        ("no object", [memory("[]"), memory("null"), memory("\"recall\""), memory("1e400")].concat()),
        ("wrong types", memory(r#"{"command":"forget","n":"1"}"#) + &memory(r#"{"command":"update","n":-1,"text":[]}"#) + &memory(r#"{"command":"remember","text":1,"path":{}}"#)),
        ("numbers", ["9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e308", "1e309", "-0.0", "1e-400", "0.1", "123456789012345678901234567890"].map(value).concat()),
        ("numbers of items", ["0", "-1", "2.0", "1e0", "9223372036854775807", "18446744073709551616", "1.5"].map(|n| memory(&format!(r#"{{"command":"forget","n":{n}}}"#))).concat()),
        ("deep lists", value(&deep(100)) + &value(&deep(127)) + &value(&deep(128)) + &value(&deep(1_000))),
        ("deep lists in a text", value(&format!("\"{}\"", deep(120))) + &value(&format!("\"{}\"", deep(10_000)))),
        ("keys twice", memory(r#"{"command":"remember","command":"recall","text":"a","text":"b"}"#) + &value(r#"{"a":1,"a":2}"#)),
        ("odd texts", [r#""\u0000""#, r#""\ud800""#, r#""\ud83d\ude00""#, r#""\u202e\u200b\u001b[31m""#, r#""e\u0301""#, "\"\u{feff}\"", r#""\r\n\u2028\u0085""#].map(|text| memory(&format!(r#"{{"command":"remember","text":{text}}}"#)) + &memory(r#"{"command":"recall","safe":true}"#)).concat()),
        ("paths", ["\"\"", "\"/\"", "\"w\"", "\"w//x\"", "\"w/../x\"", "\"v/ops\"", "\"n/x\"", "\"w/memory/0\"", "\"w/memory/9999999999999999999\"", "\"w/memory/-1\"", "[\"w\",\"a/b\"]", "[\"w\",0]", "[]", "\"did:key:z6Mk/w\"", "null", "7"].map(|path| covia("read", &format!(r#"{{"path":{path}}}"#)) + &covia("write", &format!(r#"{{"path":{path},"value":1}}"#))).concat()),
        ("keys that no path can name", value(r#"{"":1,"a/b":2,".":3,"..":4,"%":5,"\u0000":6,"\u200b":7}"#)),
        ("a list of lists", value("[[1],[2,[3]],{}]") + &covia("write", r#"{"path":"w/x/1/1/0","value":4}"#) + &covia("delete", r#"{"path":"w/x/0"}"#) + &covia("read", r#"{"path":"w/x"}"#)),
        ("sizes", covia("read", r#"{"path":"w","maxSize":0}"#) + &covia("slice", r#"{"path":"w/memory","offset":18446744073709551615,"limit":18446744073709551615}"#) + &covia("inspect", r#"{"path":"w","budget":0}"#) + &covia("inspect", r#"{"path":"w","budget":9223372036854775807}"#)),
    ];
    let bytes =
        vec![("bytes that are no text", b"v/ops/memory {\"command\":\"remember\",\"text\":\"\xff\xfe\"}\n".to_vec())];
    let rows = rows.into_iter().map(|(name, lines)| (name, lines.into_bytes())).chain(bytes);
    rows.map(|(name, bytes)| ("operations", name.to_owned(), bytes)).collect()
}
