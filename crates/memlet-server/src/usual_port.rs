//! The port that a device listens on where nobody chose one, so that it is found again after its process has ended.

use memlet_core::id::PublicKey;

/// The usual port of a device, made from its key: always the same, known to everyone who knows the device, and likely another
/// than that of its neighbours on one machine.
///
/// It lies above the ports that Linux gives to outgoing connections (32768 to 60999), in the range that belongs to no service
/// (RFC 6335, section 6).
pub fn usual_port(device: &PublicKey) -> u16 {
    let [first, second, ..] = device.0;
    FIRST + u16::from_be_bytes([first, second]) % COUNT
}

const FIRST: u16 = 61_000;
const COUNT: u16 = u16::MAX - FIRST + 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_port_in_the_range() {
        for key in [[0; 32], [0x7a; 32], [0xff; 32]] {
            assert!((FIRST..=u16::MAX).contains(&usual_port(&PublicKey(key))));
        }
        assert_ne!(usual_port(&PublicKey([1; 32])), usual_port(&PublicKey([2; 32])));
    }
}
