//! Records of deterministic CBOR, right ones and those that are none or another's.

use std::collections::BTreeMap;

use memlet_auth::keys::Signature;
use memlet_auth::stamp::{CompactStamp, Signatures};
use memlet_core::body::{Body, Run};
use memlet_core::clock::Clock;
use memlet_core::codec::Encode;
use memlet_core::document::Binding;
use memlet_core::dots::DotRun;
use memlet_core::generation::Generation;
use memlet_core::hlc::Hlc;
use memlet_core::id::{GrantRef, ReplicaId};
use memlet_core::path::Path;
use memlet_core::value::Value;
use memlet_tests::fuzzing::{GRANT, author, item};

use super::{Seed, seed};

pub(super) fn seeds() -> Vec<Seed> {
    let right = right().into_iter().map(|(name, record)| (name, record.to_cbor()));
    right.chain(wrong()).map(|(name, bytes)| seed(("records", name.to_owned(), bytes))).collect()
}

fn right() -> Vec<(&'static str, Box<dyn Encode>)> {
    let hlc = Hlc::default().tick(1_700_000_000_000);
    let [one, two] = [1, 2].map(|n| ReplicaId([n; 8]));
    let clock = |counter: u64| {
        let mut clock = Clock::default();
        clock.raise(one, counter);
        clock.raise(two, counter);
        clock
    };
    let runs = |runs: &[(ReplicaId, u64, u64)]| {
        runs.iter().map(|(replica, start, len)| DotRun { replica: *replica, start: *start, len: *len }).collect()
    };
    let generation = |seen: u64, members: &[(ReplicaId, u64, u64)]| Generation {
        hlc,
        replica: one,
        seen: clock(seen),
        deleted: false,
        members: runs(members),
    };
    let body = Body { birth: hlc, rewritten: None, grant: None, value: item("Prefers metric units") };
    let rewritten = Some((hlc.tick(1_800_000_000_000), two));
    let rewritten = Body { rewritten, grant: Some(GrantRef([5; 8])), ..body.clone() };
    let all = [
        Value::Null,
        Value::Bool(true),
        Value::Int(i64::MIN),
        Value::Int(i64::MAX),
        Value::Float(-0.0),
        Value::Float(1e300),
        Value::Text("é".into()),
    ];
    let entries = [("b", 1), ("aa", 2), ("", 3)].map(|(key, n)| (key.to_owned(), Value::Int(n)));
    let signatures = Signatures { author: Signature([1; 64]), device: Some(Signature([2; 64])) };
    vec![
        ("a value of every kind", Box::new(Value::List(all.to_vec()))),
        ("a map", Box::new(Value::Map(BTreeMap::from(entries)))),
        ("a clock", Box::new(clock(7))),
        ("a body", Box::new(body.clone())),
        ("a rewritten body", Box::new(rewritten.clone())),
        ("a run", Box::new(Run(vec![body, rewritten]))),
        ("a binding", Box::new(Binding { device: author(1).actor.device, grant: GRANT })),
        ("an actor", Box::new(author(1).actor)),
        ("a path", Box::new(Path::parse("w/memory").unwrap())),
        ("a generation", Box::new(generation(9, &[(one, 1, 3), (two, 4, 1), (one, 5, 5)]))),
        ("a generation of a stranger", Box::new(Generation { replica: ReplicaId([7; 8]), ..generation(9, &[]) })),
        ("a deleted generation", Box::new(Generation { deleted: true, ..generation(9, &[]) })),
        (
            "a generation of all members there can be",
            Box::new(generation(u64::MAX - 1, &[(one, 1, u64::MAX - 1), (two, 1, u64::MAX - 1)])),
        ),
        ("two signatures", Box::new(signatures)),
        ("a compact stamp", Box::new(CompactStamp { grant: GRANT, time_ms: 1_700_000_000_000, signatures })),
    ]
}

fn wrong() -> Vec<(&'static str, Vec<u8>)> {
    let deep = |head: &[u8], levels: usize| [head.repeat(levels), vec![0xf6]].concat();
    vec![
        ("nothing", Vec::new()),
        ("lists nested to the limit", deep(&[0x81], 127)),
        ("lists nested beyond the limit", deep(&[0x81], 128)),
        ("lists nested without end", vec![0x81; 2_000]),
        ("maps nested beyond the limit", deep(&[0xa1, 0x61, 0x61], 200)),
        ("a list of 2 to the 64", vec![0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00]),
        ("a list of 2 to the 32", vec![0x9a, 0xff, 0xff, 0xff, 0xff, 0x00]),
        ("a map of 2 to the 63", vec![0xbb, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x61, 0x61, 0x00]),
        ("a text longer than all", vec![0x7b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x61]),
        ("bytes longer than all", vec![0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x61]),
        ("a list without a length", vec![0x9f, 0x01, 0xff]),
        ("a map without a length", vec![0xbf, 0x61, 0x61, 0x01, 0xff]),
        ("a text without a length", vec![0x7f, 0x61, 0x61, 0xff]),
        ("a number in two bytes", vec![0x18, 0x17]),
        ("a number in nine bytes", vec![0x1b, 0, 0, 0, 0, 0, 0, 0, 1]),
        ("a length in two bytes", vec![0x98, 0x01, 0x00]),
        ("a number beyond 64 bits of sign", vec![0x1b, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        ("a negative beyond 64 bits of sign", vec![0x3b, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        ("no number", vec![0xf9, 0x7e, 0x00]),
        ("no number with a payload", vec![0xfb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 1]),
        ("an infinity", vec![0xf9, 0x7c, 0x00]),
        ("a float that fits in less", vec![0xfb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0]),
        ("a tag", vec![0xc1, 0x01]),
        ("undefined", vec![0xf7]),
        ("a break", vec![0xff]),
        ("a reserved length", vec![0x1c]),
        ("text that is none", vec![0x62, 0xc3, 0x28]),
        ("a key twice", vec![0xa2, 0x61, 0x61, 0x01, 0x61, 0x61, 0x02]),
        ("keys in another order", vec![0xa2, 0x62, 0x61, 0x61, 0x01, 0x61, 0x62, 0x02]),
        ("a key that is a number", vec![0xa1, 0x01, 0x02]),
        ("bytes behind it", vec![0xf6, 0x00]),
    ]
}
