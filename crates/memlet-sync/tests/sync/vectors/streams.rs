//! `frames.json` and `invites.json`.

use memlet_sync::frame::{FrameError, FrameReader, frames};
use memlet_sync::invite::Invite;
use memlet_sync::limits::FRAME_BYTES_MIN;
use serde_json::{Value, json};

use super::{check, hex};
use crate::fixed;

#[test]
fn frames_of_messages() {
    let pattern: Vec<u8> = (0..=255).cycle().take(2_500).collect();
    let good = [("one frame", &pattern[..8]), ("a full frame", &pattern[..FRAME_BYTES_MIN]), ("three parts", &pattern)];
    let good = good.map(|(name, message)| {
        let frames: Vec<_> = frames(message, FRAME_BYTES_MIN).collect();
        assert_eq!(read(&frames.concat()), Ok(vec![message.to_vec()]));
        json!({
            "name": name,
            "frame_bytes": FRAME_BYTES_MIN,
            "message": hex(message),
            "frames": frames.iter().map(hex).collect::<Vec<_>>(),
        })
    });
    let bad: [(&str, &[u8]); 7] = [
        ("a frame beyond 1 MiB", &[0x00, 0x10, 0x00, 0x01]),
        ("an empty frame", &[0x00, 0x00, 0x00, 0x00]),
        ("the end of the stream inside a frame", &[0x00, 0x00, 0x00, 0x02, 0x82]),
        ("the end of the stream between two parts", &[0, 0, 0, 6, 0x84, 0x00, 0x00, 0x02, 0x41, 0x82]),
        ("a part that does not continue its message", &[0, 0, 0, 6, 0x84, 0x00, 0x01, 0x02, 0x41, 0x82]),
        ("a part that is its whole message", &[0, 0, 0, 6, 0x84, 0x00, 0x00, 0x01, 0x41, 0x82]),
        ("a message beyond its limit", &[0, 0, 0, 10, 0x84, 0x00, 0x00, 0x1a, 0xff, 0xff, 0xff, 0xff, 0x41, 0x82]),
    ];
    let bad = bad.map(|(name, stream)| {
        let code = read(stream).unwrap_err().close_code();
        json!({ "name": name, "stream": hex(stream), "close": code.code() })
    });
    check(
        "frames.json",
        "A message is cut into these frames by a sender whose peer asks for frames of at most frame_bytes. A stream without a \
         message ends with the close code.",
        good.into_iter().chain(bad).collect(),
    );
}

fn read(mut stream: &[u8]) -> Result<Vec<Vec<u8>>, FrameError> {
    let mut reader = FrameReader::default();
    let mut messages = Vec::new();
    while let Some(message) = reader.read(&mut stream)? {
        messages.push(message);
    }
    reader.finish()?;
    Ok(messages)
}

#[test]
fn invites() {
    let invite = fixed::invite();
    let uri = invite.to_uri();
    assert_eq!(Invite::parse(&uri).unwrap().to_uri(), uri);
    let good = json!({
        "name": "an invite",
        "uri": *uri,
        "meaning": {
            "namespace": hex(invite.namespace.0),
            "inviter": hex(invite.inviter.0),
            "addresses": invite.addresses.iter().map(|address| address.as_str()).collect::<Vec<_>>(),
            "secret": hex(invite.secret.as_bytes()),
            "expires": invite.expires,
        },
    });
    let bad: [(&str, String); 5] = [
        ("another scheme", uri.replace("memlet:", "http:")),
        ("the last character is missing", uri[..uri.len() - 1].to_owned()),
        ("a character too many", format!("{}A", *uri)),
        ("padding", format!("{}=", *uri)),
        ("a newer version", "memlet://invite/ggIA".to_owned()),
    ];
    let bad = bad.map(|(name, uri)| -> Value {
        let code = Invite::parse(&uri).unwrap_err().code();
        json!({ "name": name, "uri": uri, "error": code })
    });
    check(
        "invites.json",
        "The URI is the one spelling of its meaning, or no invite.",
        [vec![good], bad.to_vec()].concat(),
    );
}
