//! The vectors of `proto/` as inputs, and what is near them.

use std::fs;

use data_encoding::HEXLOWER;
use memlet_auth::did::to_did;
use memlet_tests::fuzzing::key;
use serde_json::Value as Json;

use super::{Parts, Seed, seed};

pub(super) fn seeds() -> Vec<Seed> {
    [frames(), messages("messages.json"), messages("malformed.json"), authority(), text()]
        .into_iter()
        .flatten()
        .map(seed)
        .collect()
}

fn vectors(file: &str) -> Vec<Json> {
    let path = [env!("CARGO_MANIFEST_DIR"), "..", "proto", "vectors", file].iter().collect::<std::path::PathBuf>();
    let mut vectors: Json = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    vectors["vectors"].as_array_mut().unwrap().drain(..).collect()
}

fn text_of<'a>(vector: &'a Json, field: &str) -> Option<&'a str> {
    vector[field].as_str()
}

fn bytes_of(vector: &Json, field: &str) -> Option<Vec<u8>> {
    text_of(vector, field).map(|hex| HEXLOWER.decode(hex.as_bytes()).unwrap())
}

fn name(vector: &Json) -> String {
    format!("proto {}", text_of(vector, "name").unwrap())
}

/// Whole streams, read in one piece.
fn frames() -> Vec<Parts> {
    let stream = |vector: &Json| match &vector["frames"] {
        Json::Array(frames) => {
            frames.iter().flat_map(|hex| HEXLOWER.decode(hex.as_str().unwrap().as_bytes()).unwrap()).collect()
        }
        _ => bytes_of(vector, "stream").unwrap(),
    };
    vectors("frames.json")
        .iter()
        .map(|vector| ("frames", name(vector), [vec![0xff], stream(vector)].concat()))
        .collect()
}

fn messages(file: &str) -> Vec<Parts> {
    let named = |vector: &Json| format!("{} {}", name(vector), text_of(vector, "stream").unwrap());
    vectors(file).iter().map(|vector| ("message", named(vector), bytes_of(vector, "hex").unwrap())).collect()
}

fn authority() -> Vec<Parts> {
    let vectors = vectors("authority.json");
    let all = |field: &str| vectors.iter().filter_map(|vector| bytes_of(vector, field)).collect::<Vec<_>>();
    let row = |statements: &[&[u8]]| {
        let sized =
            |statement: &&[u8]| [&u16::try_from(statement.len()).unwrap().to_be_bytes()[..], statement].concat();
        statements.iter().flat_map(sized).collect::<Vec<u8>>()
    };
    let changed = |bytes: &[u8], at: usize, to: u8| {
        let mut bytes = bytes.to_vec();
        bytes[at] = to;
        bytes
    };
    let (grants, stamps) = (all("statement"), all("stamp"));
    let [root, child] = [&grants[0][..], &grants[1][..]];
    let (device, agent) = (&stamps[0][..], &stamps[1][..]);
    let last = root.len() - 1;
    let rows = [
        ("a parent and its child", row(&[root, child])),
        ("a child and its parent", row(&[child, root])),
        ("a grant twice", row(&[root, root])),
        ("a child alone", row(&[child])),
        ("another signature", row(&[&changed(root, last, 0), child])),
        ("another kind", row(&[&changed(root, 1, 2)])),
        ("another version", row(&[&changed(root, 5, 2)])),
        ("a byte behind it", row(&[&[root, &[0]].concat()])),
        ("a cut", row(&[&root[..100]])),
        ("longer than all", [&[0xff, 0xff], root].concat()),
        ("nothing", Vec::new()),
        ("empty statements", vec![0; 200]),
    ];
    let single = [
        ("of a device", device.to_vec()),
        ("of an agent", agent.to_vec()),
        ("a signature too many", changed(device, 0, 0x83)),
        ("a signature too few", changed(agent, 0, 0x82)),
        ("no signature", changed(device, 0, 0x81)),
        ("another version", changed(device, 4, 2)),
        ("another signature", changed(device, device.len() - 1, 0)),
        ("a cut", device[..100].to_vec()),
        ("a byte behind it", [device, &[0]].concat()),
        ("nothing", Vec::new()),
    ];
    let named = |target| move |(name, bytes): (&str, _)| (target, name.to_owned(), bytes);
    rows.into_iter().map(named("grants")).chain(single.into_iter().map(named("stamp"))).collect()
}

fn text() -> Vec<Parts> {
    let did = to_did(&key(0).public());
    let others = [
        ("an identity", did.clone()),
        ("an identity of a million digits", did.replace("6Mk", &"z".repeat(1 << 16))),
        ("an identity of nothing", "did:key:z".into()),
        ("an ipv4 address", "192.0.2.7:4460".into()),
        ("an ipv6 address", "[2001:db8::7]:4460".into()),
        ("an ipv6 address in another spelling", "[2001:DB8:0::7]:04460".into()),
        ("a host", "venue.example:443".into()),
        ("a port too many", "venue.example:1:65536".into()),
        ("a path", "/w/memory//".into()),
        ("a path upwards", "w/../memory".into()),
        ("the longest path", vec!["a".repeat(128); 16].join("/")),
        ("a path too deep", ["a"; 17].join("/")),
        ("a name in two forms", "Zoe\u{308}".into()),
        ("a name that turns around", "a\u{202E}b".into()),
        ("a name with nothing in it", "a\0b".into()),
        ("nothing", String::new()),
    ];
    let invites = vectors("invites.json");
    let invites =
        invites.iter().map(|vector| (format!("invite {}", name(vector)), text_of(vector, "uri").unwrap().to_owned()));
    let others = others.into_iter().map(|(name, text)| (name.to_owned(), text));
    let encoded = ["192.0.2.7:4460", "laptop"].map(|text| {
        let head = 0x60 | u8::try_from(text.len()).unwrap();
        ("text", format!("encoded {text}"), [&[head], text.as_bytes()].concat())
    });
    others.chain(invites).map(|(name, text)| ("text", name, text.into_bytes())).chain(encoded).collect()
}
