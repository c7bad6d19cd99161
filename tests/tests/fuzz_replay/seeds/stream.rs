//! What a peer sends: streams as two devices really speak, and such as none would.

use memlet_core::codec::Encode as _;
use memlet_node::Caller;
use memlet_sync::frame::frames;
use memlet_sync::limits::FRAME_BYTES_MAX;
use memlet_sync::message::{Ack, Limits, Message};
use memlet_sync::session::Session;
use memlet_tests::fuzzing::{Device, EXPORTER, NOW_MS, key};
use serde_json::json;

use super::{Parts, Seed, seed};

/// Who opens a stream, as the first byte of an input says it.
const PEER_OPENS: u8 = 0;
const HOST_OPENS: u8 = 1;

pub(super) fn seeds() -> Vec<Seed> {
    sessions().into_iter().chain(streams()).map(seed).collect()
}

fn sessions() -> Vec<Parts> {
    let (peer_opens, host_opens) = (said(PEER_OPENS), said(HOST_OPENS));
    let row = |first: u8, messages: &[&[u8]]| {
        let framed = messages.iter().flat_map(|message| frames(message, FRAME_BYTES_MAX).flatten());
        std::iter::once(first).chain(framed).collect::<Vec<u8>>()
    };
    let [opens, answers] =
        [&peer_opens, &host_opens].map(|messages| messages.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let twice: Vec<_> = opens.iter().flat_map(|message| [*message, *message]).collect();
    let backwards: Vec<_> = opens.iter().rev().copied().collect();
    let ack = Message::Ack(Ack { received: u64::MAX, durable: Default::default() }).to_cbor();
    let mut cut = row(PEER_OPENS, &opens);
    cut.truncate(cut.len() - 100);
    let rows = [
        ("a peer that opens", row(PEER_OPENS, &opens)),
        ("a peer that answers", row(HOST_OPENS, &answers)),
        ("the answer of a peer that was not asked", row(PEER_OPENS, &answers)),
        ("two that open", row(HOST_OPENS, &opens)),
        ("everything twice", row(PEER_OPENS, &twice)),
        ("everything backwards", row(PEER_OPENS, &backwards)),
        ("changes without a greeting", row(PEER_OPENS, &opens[2..])),
        ("an acknowledgement of what was never sent", row(PEER_OPENS, &[opens[0], opens[1], &ack])),
        ("a greeting of another connection", row(PEER_OPENS, &[&open_elsewhere()])),
        ("a cut", cut),
        ("no message", row(PEER_OPENS, &[opens[0], &[0x80]])),
    ];
    rows.map(|(name, bytes)| ("session", name.to_owned(), bytes)).into()
}

/// The messages of the second device, which has written something, to the first, until both have nothing to say.
fn said(opener: u8) -> Vec<Vec<u8>> {
    let (host, guest) = (Device::host(), Device::guest());
    let input = json!({"command": "remember", "text": "Plays the cello"});
    guest.home().invoke(&Caller::Device, "v/ops/memory", &input).unwrap();
    let (mut at_host, mut at_guest) = (host.home().replica(), guest.home().replica());
    let [host_key, guest_key] = [0, 1].map(|index| key(index).public());
    let initiate = |replica: &_, peer| Session::initiate(replica, peer, EXPORTER, Limits::default(), NOW_MS).unwrap();
    let accept = |peer| Session::accept(peer, EXPORTER, Limits::default());
    let (mut host_side, mut guest_side) = match opener {
        PEER_OPENS => (accept(guest_key), initiate(&at_guest, host_key)),
        _ => (initiate(&at_host, guest_key), accept(host_key)),
    };
    let mut said = Vec::new();
    loop {
        let before = said.len();
        while let Some(message) = guest_side.poll(NOW_MS, &mut at_guest).unwrap() {
            said.push(message.to_cbor());
            host_side.receive(message, NOW_MS, &mut at_host).unwrap();
        }
        let mut answered = false;
        while let Some(message) = host_side.poll(NOW_MS, &mut at_host).unwrap() {
            answered = true;
            guest_side.receive(message, NOW_MS, &mut at_guest).unwrap();
        }
        if said.len() == before && !answered {
            return said;
        }
    }
}

/// A right greeting with the proof of another connection.
fn open_elsewhere() -> Vec<u8> {
    use memlet_auth::proof::Exporter;
    use memlet_sync::replica::Replica as _;
    Message::Open(Device::guest().home().replica().open(&Exporter([0xaa; 32])).unwrap()).to_cbor()
}

/// Bytes that are no frames, or frames that do not fit together. The first byte says how the stream is cut.
fn streams() -> Vec<Parts> {
    let part = |payload: &[u8]| [&u32::try_from(payload.len()).unwrap().to_be_bytes()[..], payload].concat();
    let streams = [
        ("nothing", vec![]),
        ("an empty frame", vec![0, 0, 0, 0]),
        ("the longest frame announced", vec![0x00, 0x10, 0x00, 0x00, 0x01]),
        ("a frame too long announced", vec![0x00, 0x10, 0x00, 0x01]),
        ("a frame of 4 GiB announced", vec![0xff; 8]),
        ("half a length", vec![0, 0]),
        ("half a frame", vec![0, 0, 0, 9, 1]),
        (
            "a message of 2 to the 64 announced",
            part(&[0x84, 0, 0, 0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x41, 1]),
        ),
        ("two parts", [part(&[0x84, 0, 0, 3, 0x42, 1, 2]), part(&[0x84, 0, 2, 3, 0x41, 3])].concat()),
        (
            "two parts of a message that begins as a part",
            [part(&[0x84, 0, 0, 3, 0x42, 0x84, 0]), part(&[0x84, 0, 2, 3, 0x41, 3])].concat(),
        ),
        ("two parts that overlap", [part(&[0x84, 0, 0, 3, 0x42, 1, 2]), part(&[0x84, 0, 1, 3, 0x41, 3])].concat()),
        ("a part of nothing", part(&[0x84, 0, 0, 3, 0x40])),
        ("a part of a part", part(&[0x84, 0, 0, 3, 0x42, 1])),
        ("a frame between parts", [part(&[0x84, 0, 0, 3, 0x42, 1, 2]), part(&[7])].concat()),
        ("a number that is not minimal", part(&[0x84, 0, 0x18, 0, 3, 0x42, 1, 2])),
    ];
    streams.map(|(name, bytes)| ("frames", name.to_owned(), [vec![0], bytes].concat())).into()
}
