//! What the protocol costs on the wire beyond the changes themselves, frames included.

use memlet_core::codec::Encode as _;
use memlet_sync::frame::frames;
use memlet_sync::limits::FRAME_BYTES_MAX;
use memlet_sync::message::Message;

use crate::fixed;

fn wire_bytes(message: Message) -> usize {
    frames(&message.to_cbor(), FRAME_BYTES_MAX).map(|frame| frame.len()).sum()
}

#[test]
fn a_change_of_a_device_costs_at_most_120_bytes_also_when_its_grant_is_new() {
    let device = fixed::key(0);
    for change_bytes in [0, 23, 250, 60_000] {
        let changes = fixed::changes(&device, &fixed::device_grant(0), vec![1; change_bytes]);
        let overhead = wire_bytes(Message::Changes(changes)) - change_bytes;
        assert!(overhead <= 120, "{overhead} bytes");
    }
}

#[test]
fn a_change_of_an_agent_costs_at_most_190_bytes() {
    let agent = fixed::key(9);
    let changes = fixed::changes(&agent, &fixed::agent_grant(&agent), vec![1; 250]);
    let overhead = wire_bytes(Message::Changes(changes)) - 250;
    assert!(overhead <= 190, "{overhead} bytes");
}

#[test]
fn one_item_while_connected_costs_at_most_150_bytes_with_its_acknowledgement() {
    let changes = fixed::changes(&fixed::key(0), &fixed::device_grant(0), vec![1; 250]);
    let overhead = wire_bytes(Message::Changes(changes)) - 250 + wire_bytes(Message::Ack(fixed::ack()));
    assert!(overhead <= 150, "{overhead} bytes");
}

#[test]
fn opening_a_namespace_of_four_devices_costs_at_most_600_bytes_a_side() {
    let bytes = wire_bytes(Message::Open(fixed::open(0))) + wire_bytes(Message::State(fixed::state(4)));
    assert!(bytes <= 600, "{bytes} bytes");
}
