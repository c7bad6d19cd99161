//! What a device says about itself: a name for people, and addresses where it can be found.
//!
//! Both come from a peer and are shown or dialled later, so both are checked when they are read.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV6};

use memlet_core::codec::{Decode, DecodeError, Encode, Reader, Writer};
use memlet_core::path::is_segment;

use crate::limits::ADDRESS_BYTES_MAX;

/// The name of a device, for people: 1 to 128 bytes of NFC text without `/ \ %`, controls or invisible characters. It proves
/// nothing; devices are told apart by their keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeviceName(String);

/// Why text is no device name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a device name has 1 to 128 bytes of NFC text without / \\ %, control or invisible characters: choose another")]
pub struct BadDeviceName;

impl DeviceName {
    /// Checks a name.
    pub fn new(name: &str) -> Result<Self, BadDeviceName> {
        if is_segment(name) { Ok(Self(name.to_owned())) } else { Err(BadDeviceName) }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Encode for DeviceName {
    fn encode(&self, w: &mut Writer) {
        w.text(&self.0);
    }
}

impl Decode for DeviceName {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::new(r.text()?).map_err(|_| DecodeError::Invalid("device name"))
    }
}

/// Where a device listens: `host:port`, the host an IPv4 address, an IPv6 address in brackets, or a lower-case DNS name
/// (RFC 1123). One address has one spelling. Peers are named by key, so an address need not be trusted, only tried.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address(String);

/// Why text is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an address is host:port, with a DNS name in lower case, an IPv4 address or an IPv6 address in brackets")]
pub struct BadAddress;

impl Address {
    /// Checks an address.
    pub fn new(text: &str) -> Result<Self, BadAddress> {
        let (host, port) = text.rsplit_once(':').ok_or(BadAddress)?;
        let valid = text.len() <= ADDRESS_BYTES_MAX
            && is_port(port)
            && if host.starts_with('[') { is_ipv6_address(text) } else { is_ipv4(host) || is_dns_name(host) };
        if valid { Ok(Self(text.to_owned())) } else { Err(BadAddress) }
    }

    /// The address as `host:port`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// 1 to 65535 in decimal, without leading zeros or a sign.
fn is_port(port: &str) -> bool {
    port.parse::<u16>().is_ok_and(|number| number != 0 && number.to_string() == port)
}

/// Also that it is spelled in the one canonical way (RFC 5952), and without a scope, which means nothing elsewhere.
fn is_ipv6_address(text: &str) -> bool {
    text.parse::<SocketAddrV6>().is_ok_and(|address| address.scope_id() == 0 && address.to_string() == text)
}

fn is_ipv4(host: &str) -> bool {
    host.parse::<Ipv4Addr>().is_ok()
}

fn is_dns_name(host: &str) -> bool {
    let numeric = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    // a numeric last label would be taken for an IPv4 address
    host.len() <= 253 && host.split('.').all(is_dns_label) && host.rsplit('.').next().is_some_and(|last| !numeric(last))
}

fn is_dns_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && !label.starts_with('-')
        && !label.ends_with('-')
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Encode for Address {
    fn encode(&self, w: &mut Writer) {
        w.text(&self.0);
    }
}

impl Decode for Address {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::new(r.text()?).map_err(|_| DecodeError::Invalid("address"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling() {
        let longest = format!("{}.{}:65535", ["a".repeat(63).as_str(); 3].join("."), "a".repeat(61));
        for good in
            ["127.0.0.1:1", "[::1]:65535", "[2001:db8::7]:443", "venue.example.com:443", "nas:7", "4.local:9", &longest]
        {
            assert_eq!(Address::new(good).map(|address| address.to_string()), Ok(good.to_owned()));
        }
        let too_long = format!("{}:1", ["a".repeat(63).as_str(); 4].join("."));
        for bad in [
            "",
            "host",
            "host:",
            ":1",
            "host:0",
            "host:01",
            "host:+1",
            "host:65536",
            "Host:1",
            "a..b:1",
            "-a:1",
            "a-:1",
            "a_b:1",
            "127.0.0.01:1",
            "1.2.3:1",
            "999.1.1.1:1",
            "::1:1",
            "[::1]",
            "[::1]:01",
            "[0::1]:1",
            "[::1%1]:1",
            "a b:1",
            "ü:1",
            "a/b:1",
            "user@host:1",
            &too_long,
        ] {
            assert_eq!(Address::new(bad), Err(BadAddress), "{bad:?}");
        }
    }

    #[test]
    fn a_device_name_can_be_shown() {
        assert_eq!(DeviceName::new("Ada's laptop").map(|name| name.to_string()), Ok("Ada's laptop".into()));
        for bad in ["", "a\nb", "a\u{202E}b", "a/b", &"a".repeat(129)] {
            assert_eq!(DeviceName::new(bad), Err(BadDeviceName), "{bad:?}");
        }
    }
}
