//! Bytes and messages that no honest peer sends: typed errors, never a panic, and nothing read that is not written so.

use memlet_core::codec::{Decode, DecodeError, Encode, Writer};
use memlet_core::id::PublicKey;
use memlet_core::limits::CHANGE_BYTES_MAX;
use memlet_sync::code::{CloseCode, RejectCode};
use memlet_sync::frame::FrameReader;
use memlet_sync::limits::{BATCH_BYTES_MAX, BATCH_CHANGES_MAX};
use memlet_sync::message::{Ack, Changes, Control, Hello, Limits, Message};
use memlet_sync::name::DeviceName;
use memlet_sync::replica::Replica as _;
use memlet_sync::session::Session;
use proptest::prelude::*;

use crate::fixed;
use crate::model::Model;
use crate::pipe::{EXPORTER, INITIATOR, NOW_MS, Pipe};

/// Every kind of message of a namespace stream.
fn messages() -> Vec<Message> {
    vec![
        Message::Open(fixed::open(0)),
        Message::State(fixed::state(3)),
        Message::Auth(vec![fixed::device_grant(0).to_bytes(), vec![]]),
        Message::Changes(fixed::changes(&fixed::key(0), &fixed::device_grant(0), vec![1; 30])),
        Message::Changes(fixed::later_changes()),
        Message::Ack(fixed::ack()),
        Message::Close(CloseCode::Done),
    ]
}

/// As [`messages`], those first that a model takes.
fn messages_for_a_model() -> Vec<Message> {
    let peer = Model::new(9);
    let open = Message::Open(peer.open(&EXPORTER).unwrap());
    let state = Message::State(peer.state().unwrap());
    let ack = Message::Ack(Ack { received: 0, durable: peer.state().unwrap().clock });
    [vec![open, state, ack], messages()].concat()
}

/// Every kind of message of the control stream.
fn control_messages() -> Vec<Control> {
    let name = DeviceName::new("laptop").unwrap();
    let hello = Hello::new(Limits::default(), fixed::invite().addresses, name.clone());
    let inviter = fixed::key(0).public();
    let join = memlet_sync::enrol::request(&fixed::invite(), &inviter, &inviter, &fixed::EXPORTER, name).unwrap();
    vec![
        Control::Hello(hello),
        join,
        Control::Welcome(vec![fixed::device_grant(0).to_bytes()]),
        Control::Reject(RejectCode::Used),
        Control::Close(CloseCode::Busy),
    ]
}

/// Whatever is read from `bytes` is written as exactly these bytes.
fn reads_only_what_is_written<T: Decode + Encode>(bytes: &[u8]) {
    if let Ok(message) = T::from_cbor(bytes) {
        assert_eq!(message.to_cbor(), bytes);
    }
}

#[test]
fn every_message_is_read_as_written() {
    for message in messages() {
        assert_eq!(Message::from_cbor(&message.to_cbor()), Ok(message));
    }
    for message in control_messages() {
        let bytes = message.to_cbor();
        assert_eq!(Control::from_cbor(&bytes).unwrap().to_cbor(), bytes);
    }
}

#[test]
fn every_cut_and_every_further_byte_is_noticed() {
    fn check<T: Decode + Encode>(message: &T) {
        let bytes = message.to_cbor();
        for end in 0..bytes.len() {
            assert!(T::from_cbor(&bytes[..end]).is_err(), "cut at {end}");
        }
        assert!(matches!(T::from_cbor(&[&bytes[..], &[0]].concat()), Err(DecodeError::Trailing)));
    }
    messages().iter().for_each(check);
    control_messages().iter().for_each(check);
}

#[test]
fn a_message_of_one_stream_is_none_of_the_other() {
    let unknown = |error| matches!(error, DecodeError::Invalid(what) if what.starts_with("message"));
    for message in messages().iter().filter(|message| message.name() != "Close") {
        assert!(unknown(Control::from_cbor(&message.to_cbor()).unwrap_err()));
    }
    for message in control_messages().iter().filter(|message| !matches!(message, Control::Close(_))) {
        assert!(unknown(Message::from_cbor(&message.to_cbor()).unwrap_err()));
    }
    // a number of no message, and a message with a field too many
    assert!(unknown(Message::from_cbor(&[0x81, 0x17]).unwrap_err()));
    assert!(unknown(Message::from_cbor(&[0x83, 0x08, 0x00, 0x00]).unwrap_err()));
}

#[test]
fn lengths_beyond_the_input_and_deep_nesting_end_at_once() {
    let huge = [0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    assert_eq!(Message::from_cbor(&huge), Err(DecodeError::Truncated));
    let huge_auth = [&[0x82, 0x0b][..], &huge].concat();
    assert_eq!(Message::from_cbor(&huge_auth), Err(DecodeError::Truncated));
    let huge_statement = [0x82, 0x0b, 0x81, 0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    assert_eq!(Message::from_cbor(&huge_statement), Err(DecodeError::Truncated));
    let nested = vec![0x81; 1 << 20];
    assert_eq!(Message::from_cbor(&nested), Err(DecodeError::Expected("an unsigned integer")));
    let nested_auth = [&[0x82, 0x0b][..], &nested].concat();
    assert_eq!(Message::from_cbor(&nested_auth), Err(DecodeError::Expected("a byte string")));
    for forms in [&[0x9f, 0x08, 0x00, 0xff][..], &[0x82, 0x18, 0x08, 0x00], &[0xc1, 0x82, 0x08, 0x00]] {
        assert_eq!(Message::from_cbor(forms), Err(DecodeError::NotDeterministic), "{forms:02x?}");
    }
}

#[test]
fn the_limits_of_a_batch_hold_when_it_is_read() {
    let batch = |sizes: &[usize]| {
        let one = fixed::changes(&fixed::key(0), &fixed::device_grant(0), Vec::new());
        let entry = |size: &usize| {
            let mut entry = one.entries[0].clone();
            entry.change = vec![0; *size];
            entry
        };
        Changes { entries: sizes.iter().map(entry).collect(), ..one }
    };
    let read = |changes: Changes| Message::from_cbor(&Message::Changes(changes).to_cbor()).map(|_| ());
    assert_eq!(read(batch(&[CHANGE_BYTES_MAX])), Ok(()));
    assert_eq!(read(batch(&[CHANGE_BYTES_MAX + 1])), Err(DecodeError::Limit("the changes of a batch")));
    assert_eq!(read(batch(&[BATCH_BYTES_MAX, 0])), Ok(()));
    assert_eq!(read(batch(&[BATCH_BYTES_MAX, 1])), Err(DecodeError::Limit("the changes of a batch")));
    assert_eq!(read(batch(&[0; BATCH_CHANGES_MAX])), Ok(()));
    let crowded = read(batch(&[0; BATCH_CHANGES_MAX + 1]));
    assert_eq!(crowded, Err(DecodeError::Limit("the number of changes in a batch")));
    let empty = Changes { grants: Vec::new(), entries: Vec::new(), more: true };
    assert!(matches!(read(empty), Err(DecodeError::Invalid(_))), "an endless row of empty batches");
    let idle_grants = Changes { grants: vec![fixed::device_grant(0).id().short(); 2], ..batch(&[0]) };
    assert!(matches!(read(idle_grants), Err(DecodeError::Invalid(_))), "more grants than changes");
    let mut far = batch(&[0]);
    far.entries[0].grant = u64::MAX;
    assert_eq!(read(far), Err(DecodeError::Limit("the index of a grant")));
}

#[test]
fn a_change_has_one_signature_or_two() {
    // a batch of an empty change with a byte string of so many bytes for its signatures
    let batch = |signature_bytes: usize| {
        let mut w = Writer::default();
        w.array(4);
        w.uint(12);
        w.array(0);
        w.array(1);
        w.array(4);
        w.uint(0);
        w.uint(1);
        w.bytes(&vec![7; signature_bytes]);
        w.bytes(&[]);
        w.bool(false);
        Message::from_cbor(&w.into_bytes()).map(|_| ())
    };
    assert_eq!((batch(64), batch(128)), (Ok(()), Ok(())));
    for wrong in [0, 63, 65, 127, 192] {
        assert_eq!(batch(wrong), Err(DecodeError::Invalid("list of signatures")), "{wrong}");
    }
}

/// Some message, its bytes changed in a few places.
fn damaged(messages: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let edit = (any::<prop::sample::Index>(), any::<u8>(), 0..4_u8);
    (prop::sample::select(messages), prop::collection::vec(edit, 1..4)).prop_map(|(mut bytes, edits)| {
        for (index, byte, kind) in edits {
            let at = index.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes[at] ^= 1 << (byte % 8),
                2 => bytes.insert(at, byte),
                _ => bytes.truncate(at.max(1)),
            }
        }
        bytes
    })
}

fn encoded<T: Encode>(messages: &[T]) -> Vec<Vec<u8>> {
    messages.iter().map(Encode::to_cbor).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_strictly(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        reads_only_what_is_written::<Message>(&bytes);
        reads_only_what_is_written::<Control>(&bytes);
    }

    #[test]
    fn damaged_messages_are_read_strictly(bytes in damaged(encoded(&messages()))) {
        reads_only_what_is_written::<Message>(&bytes);
    }

    #[test]
    fn damaged_control_messages_are_read_strictly(bytes in damaged(encoded(&control_messages()))) {
        reads_only_what_is_written::<Control>(&bytes);
    }

    #[test]
    fn any_stream_of_bytes_is_frames_or_an_error(bytes in prop::collection::vec(prop_oneof![Just(0), any::<u8>()], 0..300)) {
        let mut reader = FrameReader::default();
        let mut input = bytes.as_slice();
        let mut message_bytes = 0;
        while let Ok(Some(message)) = reader.read(&mut input) {
            message_bytes += message.len();
        }
        prop_assert!(message_bytes <= bytes.len());
    }

    #[test]
    fn any_row_of_messages_ends_well(
        row in prop::collection::vec(prop::sample::select(messages_for_a_model()), 0..12),
        speaks_first in any::<bool>(),
        opened in any::<bool>(),
    ) {
        let mut models = [Model::new(1), Model::new(2)];
        let mut session = if opened {
            // past the greeting, so that the row meets a session in the middle of its work
            let mut pipe = Pipe::new(&models, Limits::default());
            pipe.settle(&mut models);
            let [initiator, _] = pipe.sessions;
            initiator
        } else if speaks_first {
            Session::initiate(&models[INITIATOR], PublicKey([1; 32]), EXPORTER, Limits::default(), NOW_MS).unwrap()
        } else {
            Session::accept(PublicKey([1; 32]), EXPORTER, Limits::default())
        };
        let replica = &mut models[INITIATOR];
        let mut failed = false;
        for message in row {
            failed |= session.receive(message, NOW_MS, replica).is_err();
            while let Some(message) = session.poll(NOW_MS, replica).unwrap() {
                prop_assert!(!failed || matches!(message, Message::Close(_)));
            }
            prop_assert!(!failed || session.ended().is_some());
        }
    }
}
