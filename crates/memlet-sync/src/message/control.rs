//! The messages of a connection's control stream: greeting and enrolment.

use memlet_auth::proof::InviteProof;
use memlet_core::codec::{Decode, DecodeError, Encode, Reader, Writer};
use memlet_core::id::NamespaceId;

use super::{PROTOCOL_VERSION, UNKNOWN, decode_statements, encode_statements, head, number, read_head};
use crate::code::{CloseCode, RejectCode};
use crate::limits::{
    ADDRESSES_MAX, AUTH_STATEMENTS_MAX, BATCH_BYTES_MAX, BATCH_BYTES_MIN, FRAME_BYTES_MAX, FRAME_BYTES_MIN,
    HELLO_VERSIONS_MAX,
};
use crate::name::{Address, DeviceName};

/// A message of the control stream.
#[derive(Clone, Debug)]
pub enum Control {
    /// The first message of either side.
    Hello(Hello),
    /// A device asks to be let into a namespace, by an invite.
    Join(Join),
    /// The answer to a `Join` that is let in: the statements that do so, every parent before its children.
    Welcome(Vec<Vec<u8>>),
    /// The answer to any other `Join`.
    Reject(RejectCode),
    /// The last message: why the connection ends.
    Close(CloseCode),
}

/// What a device says about itself first. Who it is, its key says, which TLS has verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hello {
    /// The protocol versions it speaks, rising: at least one, at most 16.
    pub versions: Vec<u64>,
    /// What it asks the peer to keep to.
    pub limits: Limits,
    /// Where it listens, so that it can be found again: at most 8, best first.
    pub addresses: Vec<Address>,
    /// Its name for people.
    pub name: DeviceName,
}

impl Hello {
    /// What this build says.
    pub fn new(limits: Limits, addresses: Vec<Address>, name: DeviceName) -> Self {
        Self { versions: vec![PROTOCOL_VERSION], limits, addresses, name }
    }

    /// The highest version that both sides speak; none if they cannot talk, which closes with [`CloseCode::Version`].
    pub fn common_version(&self, other: &Hello) -> Option<u64> {
        self.versions.iter().rev().copied().find(|version| other.versions.contains(version))
    }
}

/// What a device asks its peer to keep to. It must still take whatever the protocol allows, since a peer may send before it
/// has read this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The payload of one frame in bytes, 1 KiB to 1 MiB.
    pub frame_bytes: usize,
    /// The changes of one batch in bytes, 1 KiB to 256 KiB. A single larger change still travels, alone.
    pub batch_bytes: usize,
}

impl Limits {
    /// The lower of each of two limits: what to keep to between them.
    #[must_use]
    pub fn least(self, other: Self) -> Self {
        Self {
            frame_bytes: self.frame_bytes.min(other.frame_bytes),
            batch_bytes: self.batch_bytes.min(other.batch_bytes),
        }
    }
}

impl Default for Limits {
    /// As much as the protocol allows.
    fn default() -> Self {
        Self { frame_bytes: FRAME_BYTES_MAX, batch_bytes: BATCH_BYTES_MAX }
    }
}

/// A device asks to be let in.
#[derive(Clone, Debug)]
pub struct Join {
    /// The namespace of the invite.
    pub namespace: NamespaceId,
    /// That the device knows the invite's secret, on this connection.
    pub proof: InviteProof,
    /// The device's name for people.
    pub name: DeviceName,
}

impl Encode for Control {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::Hello(hello) => {
                head(w, number::HELLO, 4);
                w.list(hello.versions.iter());
                w.array(2);
                w.uint(hello.limits.frame_bytes as u64);
                w.uint(hello.limits.batch_bytes as u64);
                w.list(hello.addresses.iter());
                hello.name.encode(w);
            }
            Self::Join(join) => {
                head(w, number::JOIN, 3);
                join.namespace.encode(w);
                join.proof.encode(w);
                join.name.encode(w);
            }
            Self::Welcome(statements) => {
                head(w, number::WELCOME, 1);
                encode_statements(statements, w);
            }
            Self::Reject(code) => {
                head(w, number::REJECT, 1);
                code.encode(w);
            }
            Self::Close(code) => {
                head(w, number::CLOSE, 1);
                code.encode(w);
            }
        }
    }
}

impl Decode for Control {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match read_head(r)? {
            (number::HELLO, 4) => Self::Hello(Hello {
                versions: decode_versions(r)?,
                limits: decode_limits(r)?,
                addresses: r.list(ADDRESSES_MAX, "the number of addresses")?,
                name: DeviceName::decode(r)?,
            }),
            (number::JOIN, 3) => Self::Join(Join {
                namespace: NamespaceId::decode(r)?,
                proof: InviteProof::decode(r)?,
                name: DeviceName::decode(r)?,
            }),
            (number::WELCOME, 1) => Self::Welcome(decode_statements(r, AUTH_STATEMENTS_MAX)?),
            (number::REJECT, 1) => Self::Reject(RejectCode::decode(r)?),
            (number::CLOSE, 1) => Self::Close(CloseCode::decode(r)?),
            _ => return Err(UNKNOWN),
        })
    }
}

fn decode_versions(r: &mut Reader<'_>) -> Result<Vec<u64>, DecodeError> {
    let versions: Vec<u64> = r.list(HELLO_VERSIONS_MAX, "the number of protocol versions")?;
    if versions.is_empty() || !versions.is_sorted_by(|a, b| a < b) {
        return Err(DecodeError::Invalid("list of protocol versions"));
    }
    Ok(versions)
}

fn decode_limits(r: &mut Reader<'_>) -> Result<Limits, DecodeError> {
    r.array(2)?;
    let mut within = |min: usize, max: usize| {
        let value = usize::try_from(r.uint()?).map_err(|_| DecodeError::Limit("a limit in a greeting"))?;
        if (min..=max).contains(&value) { Ok(value) } else { Err(DecodeError::Limit("a limit in a greeting")) }
    };
    Ok(Limits {
        frame_bytes: within(FRAME_BYTES_MIN, FRAME_BYTES_MAX)?,
        batch_bytes: within(BATCH_BYTES_MIN, BATCH_BYTES_MAX)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(versions: &[u64]) -> Hello {
        let name = DeviceName::new("laptop").unwrap();
        Hello { versions: versions.to_vec(), ..Hello::new(Limits::default(), Vec::new(), name) }
    }

    #[test]
    fn two_sides_agree_on_the_highest_version_of_both() {
        assert_eq!(hello(&[1, 2, 4]).common_version(&hello(&[2, 3])), Some(2));
        assert_eq!(hello(&[1]).common_version(&hello(&[2])), None);
        assert_eq!(hello(&[1, 2]).common_version(&hello(&[1, 2, 3])), Some(2));
    }

    #[test]
    fn a_greeting_must_be_one_that_can_be_kept_to() {
        let read = |hello: Hello| Control::from_cbor(&Control::Hello(hello).to_cbor()).map(|_| ());
        assert_eq!(read(hello(&[1, 2])), Ok(()));
        for versions in [&[][..], &[2, 1], &[1, 1]] {
            assert_eq!(read(hello(versions)), Err(DecodeError::Invalid("list of protocol versions")));
        }
        let starving = Limits { frame_bytes: FRAME_BYTES_MIN - 1, batch_bytes: BATCH_BYTES_MIN };
        let greedy = Limits { frame_bytes: FRAME_BYTES_MAX, batch_bytes: BATCH_BYTES_MAX + 1 };
        for limits in [starving, greedy] {
            let hello = Hello { limits, ..hello(&[1]) };
            assert_eq!(read(hello), Err(DecodeError::Limit("a limit in a greeting")));
        }
        let address = Address::new("host:1").unwrap();
        let crowded = Hello { addresses: vec![address; ADDRESSES_MAX + 1], ..hello(&[1]) };
        assert_eq!(read(crowded), Err(DecodeError::Limit("the number of addresses")));
    }
}
