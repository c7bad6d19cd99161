//! `messages.json` and `malformed.json`.

use memlet_core::codec::{Decode, DecodeError, Encode};
use memlet_sync::clock::ActorClock;
use memlet_sync::code::{CloseCode, RejectCode};
use memlet_sync::message::{Changes, Control, Hello, Limits, Message, Open, State};
use memlet_sync::name::DeviceName;
use serde_json::{Value, json};

use super::{check, hex};
use crate::fixed;

#[test]
fn messages() {
    let stream = [
        ("open", Message::Open(fixed::open(0))),
        ("state", Message::State(fixed::state(2))),
        ("state of a new namespace", Message::State(State { clock: ActorClock::default(), ..fixed::state(0) })),
        ("auth", Message::Auth((0..2).map(|index| fixed::device_grant(index).to_bytes()).collect())),
        ("changes: one of a device, under a new grant", Message::Changes(device_changes())),
        ("changes: of a device and an agent, more to come", Message::Changes(fixed::later_changes())),
        ("changes: none", Message::Changes(Changes { grants: vec![], entries: vec![], more: false })),
        ("ack", Message::Ack(fixed::ack())),
        ("close", Message::Close(CloseCode::Denied)),
    ];
    let vectors = stream.map(|(name, message)| {
        let bytes = message.to_cbor();
        assert_eq!(Message::from_cbor(&bytes), Ok(message.clone()));
        json!({ "name": name, "stream": "namespace", "hex": hex(bytes), "meaning": meaning(&message) })
    });
    let control_vectors = control().map(|(name, message)| {
        let bytes = message.to_cbor();
        assert_eq!(Control::from_cbor(&bytes).unwrap().to_cbor(), bytes);
        json!({ "name": name, "stream": "control", "hex": hex(bytes), "meaning": control_meaning(&message) })
    });
    check(
        "messages.json",
        "Each hex is the one encoding of its meaning. Byte strings are hex. Grants, proofs and stamps are those of authority.json.",
        control_vectors.into_iter().chain(vectors).collect(),
    );
}

fn device_changes() -> Changes {
    fixed::changes(&fixed::key(0), &fixed::device_grant(0), vec![1, 2, 3])
}

fn control() -> [(&'static str, Control); 5] {
    let name = DeviceName::new("Ada's laptop").unwrap();
    let limits = Limits { frame_bytes: 65_536, batch_bytes: 32_768 };
    let (inviter, joiner) = (fixed::key(0).public(), fixed::key(1).public());
    let join = memlet_sync::enrol::request(&fixed::invite(), &inviter, &joiner, &fixed::EXPORTER, name.clone());
    [
        ("hello", Control::Hello(Hello::new(limits, fixed::invite().addresses, name))),
        ("join", join.unwrap()),
        ("welcome", Control::Welcome(vec![fixed::device_grant(1).to_bytes()])),
        ("reject", Control::Reject(RejectCode::Used)),
        ("close", Control::Close(CloseCode::Version)),
    ]
}

fn meaning(message: &Message) -> Value {
    let fields = match message {
        Message::Open(Open { version, namespace, chain, proof }) => json!({
            "version": version,
            "namespace": hex(namespace.0),
            "chain": statements(chain),
            "proof": hex(proof.0),
        }),
        Message::State(State { epoch, clock, statements }) => json!({
            "epoch": { "number": epoch.number, "id": hex(epoch.id.0) },
            "clock": clock_meaning(clock),
            "statements": statements.iter().map(|reference| hex(reference.0)).collect::<Vec<_>>(),
        }),
        Message::Auth(sent) => json!({ "statements": statements(sent) }),
        Message::Changes(Changes { grants, entries, more }) => json!({
            "grants": grants.iter().map(|grant| hex(grant.0)).collect::<Vec<_>>(),
            "changes": entries.iter().map(|entry| json!({
                "grant": entry.grant,
                "time_ms": entry.time_ms,
                "author_signature": hex(entry.signatures.author.0),
                "device_signature": entry.signatures.device.map(|signature| hex(signature.0)),
                "change": hex(&entry.change),
            })).collect::<Vec<_>>(),
            "more": more,
        }),
        Message::Ack(ack) => json!({ "received": ack.received, "durable": clock_meaning(&ack.durable) }),
        Message::Close(code) => json!({ "code": code.code() }),
    };
    json!({ message.name(): fields })
}

fn control_meaning(message: &Control) -> Value {
    match message {
        Control::Hello(Hello { versions, limits, addresses, name }) => json!({ "Hello": {
            "versions": versions,
            "limits": { "frame_bytes": limits.frame_bytes, "batch_bytes": limits.batch_bytes },
            "addresses": addresses.iter().map(|address| address.as_str()).collect::<Vec<_>>(),
            "name": name.as_str(),
        }}),
        Control::Join(join) => json!({ "Join": {
            "namespace": hex(join.namespace.0),
            "proof": hex(join.proof.0),
            "name": join.name.as_str(),
        }}),
        Control::Welcome(sent) => json!({ "Welcome": { "statements": statements(sent) } }),
        Control::Reject(code) => json!({ "Reject": { "code": code.code() } }),
        Control::Close(code) => json!({ "Close": { "code": code.code() } }),
    }
}

fn statements(statements: &[Vec<u8>]) -> Vec<String> {
    statements.iter().map(hex).collect()
}

fn clock_meaning(clock: &ActorClock) -> Vec<Value> {
    let entry =
        |actor: [u8; 16], seq: u64, change: [u8; 8]| json!({ "actor": hex(actor), "seq": seq, "change": hex(change) });
    clock.iter().map(|(actor, tip)| entry(actor.0, tip.seq, tip.change.0)).collect()
}

#[test]
fn malformed() {
    let close = Message::Close(CloseCode::Denied).to_cbor();
    let ack = Message::Ack(fixed::ack()).to_cbor();
    let falling_clock = {
        // two entries, the higher actor first
        let entries = fixed::clock(2, 1).to_cbor();
        let (first, second) = entries[1..].split_at((entries.len() - 1) / 2);
        [&[0x83, 0x0d, 0x00, 0x86][..], second, first].concat()
    };
    let cases = [
        ("nothing", vec![]),
        ("cut inside a clock", ack[..ack.len() - 1].to_vec()),
        ("a byte behind the message", [&close[..], &[0]].concat()),
        ("a number that is not minimal", vec![0x82, 0x18, 0x08, 0x05]),
        ("an array without a length", vec![0x9f, 0x08, 0x05, 0xff]),
        ("a tag", vec![0xc1, 0x82, 0x08, 0x05]),
        ("no array", vec![0x08]),
        ("a message of no known number", vec![0x82, 0x17, 0x05]),
        ("a field too many", vec![0x83, 0x08, 0x05, 0x05]),
        ("a message of the control stream", Control::Reject(RejectCode::Used).to_cbor()),
        ("a length beyond the input", vec![0x82, 0x0b, 0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        ("a code beyond 16 bits", vec![0x82, 0x08, 0x1a, 0x00, 0x01, 0x00, 0x00]),
        ("a clock whose actors do not rise", falling_clock),
        ("an empty batch that announces more", vec![0x84, 0x0c, 0x80, 0x80, 0xf5]),
        ("a batch with more grants than changes", [&[0x84, 0x0c, 0x81, 0x48][..], &[1; 8], &[0x80, 0xf4]].concat()),
    ];
    let vectors = cases.map(|(name, bytes)| {
        let error = Message::from_cbor(&bytes).unwrap_err();
        json!({ "name": name, "stream": "namespace", "hex": hex(&bytes), "error": class(&error) })
    });
    check(
        "malformed.json",
        "No hex is a message of its stream; whoever receives one closes the stream. The error is a class, not a text.",
        vectors.to_vec(),
    );
}

fn class(error: &DecodeError) -> &'static str {
    match error {
        DecodeError::Truncated => "truncated",
        DecodeError::Trailing => "trailing",
        DecodeError::NotDeterministic => "not deterministic",
        DecodeError::Expected(_) => "wrong type",
        DecodeError::Limit(_) => "beyond a limit",
        _ => "invalid",
    }
}
