//! Calls of the surfaces: any JSON is answered or refused with a code, and what is refused or only read changes nothing.

use memlet_node::Caller;
use memlet_node::ops::{Code, Operation};
use serde_json::Value as Json;

use super::device::Device;

/// One call a line: the operation, a space, and its input as JSON. Lines that are none are passed over.
pub(super) fn run(data: &[u8]) {
    let host = Device::host();
    let home = host.home();
    for line in data.split(|byte| *byte == b'\n') {
        let Some((operation, input)) = read(line) else { continue };
        let before = home.canonical_bytes().unwrap();
        let answer = home.invoke(&Caller::Device, operation, &input);
        let reads = matches!(Operation::find(operation, &input), Ok(Operation::Reading(_)));
        if answer.is_err() || reads {
            assert_eq!(home.canonical_bytes().unwrap(), before, "a call that does not write has written");
        }
        match answer {
            Ok(output) => assert_eq!(serde_json::from_str::<Json>(&output.to_string()).unwrap(), output),
            Err(error) => assert_ne!(error.code(), Code::Internal.name(), "{error}"),
        }
    }
    host.assert_sound();
}

fn read(line: &[u8]) -> Option<(&str, Json)> {
    let (operation, input) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    Some((operation, serde_json::from_str(input).ok()?))
}
