//! Invites: a one-time URI that brings a device to a namespace.
//!
//! `memlet://invite/` and the payload in base64url without padding (RFC 4648, section 5): the CBOR array `[1, namespace,
//! inviter, addresses, secret, expires]`. One invite has one spelling. Whoever holds the URI can use it, so it is printed once
//! and never logged: [`Invite`] does not show its secret.

use std::fmt;

use data_encoding::BASE64URL_NOPAD;
use memlet_auth::proof::InviteSecret;
use memlet_core::codec::{Decode as _, DecodeError, Encode as _, Reader, Writer};
use memlet_core::id::{NamespaceId, PublicKey};
use zeroize::Zeroizing;

use crate::limits::{ADDRESSES_MAX, INVITE_URI_BYTES_MAX};
use crate::name::Address;

/// Begins every invite.
const PREFIX: &str = "memlet://invite/";
/// The version of the payload that this build reads and writes.
const VERSION: u64 = 1;
/// Items of a payload of that version.
const ARITY: usize = 6;

/// What a device needs to join.
#[derive(Clone)]
pub struct Invite {
    /// The namespace to join.
    pub namespace: NamespaceId,
    /// The device that lets others in. The joiner talks to no other.
    pub inviter: PublicKey,
    /// Where the inviter listens, best first: 1 to 8.
    pub addresses: Vec<Address>,
    /// What the joiner must know.
    pub secret: InviteSecret,
    /// The last second, in Unix time by the inviter's clock, at which the invite can be used.
    pub expires: u64,
}

/// Why text is no invite.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InviteError {
    /// It does not begin like an invite, or is too long for one.
    #[error("an invite begins with {PREFIX}: copy the whole line that `memlet invite` printed")]
    NotAnInvite,
    /// Characters are missing or wrong.
    #[error("the invite is damaged ({0}): copy the whole line that `memlet invite` printed")]
    Damaged(DecodeError),
    /// A newer memlet made it.
    #[error("the invite has the unknown version {0}: upgrade memlet on this device")]
    Version(u64),
}

impl InviteError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotAnInvite | Self::Damaged(_) => "INVITE_MALFORMED",
            Self::Version(_) => "INVITE_VERSION",
        }
    }
}

impl Invite {
    /// Reads the URI. White space around it is ignored, anything else must be exact.
    ///
    /// # Errors
    /// The text is no invite of this version.
    pub fn parse(uri: &str) -> Result<Self, InviteError> {
        let uri = uri.trim_ascii();
        let payload = uri.strip_prefix(PREFIX).filter(|_| uri.len() <= INVITE_URI_BYTES_MAX);
        let payload = payload.ok_or(InviteError::NotAnInvite)?;
        let payload = BASE64URL_NOPAD
            .decode(payload.as_bytes())
            .map_err(|_| InviteError::Damaged(DecodeError::Invalid("base64url")))?;
        let payload = Zeroizing::new(payload);
        let mut r = Reader::new(&payload);
        let items = r.array_up_to(usize::MAX, "the payload")?;
        let version = r.uint()?;
        if version != VERSION {
            return Err(InviteError::Version(version));
        }
        if items != ARITY {
            return Err(InviteError::Damaged(DecodeError::Expected("an array of another arity")));
        }
        let invite = Self {
            namespace: NamespaceId::decode(&mut r)?,
            inviter: PublicKey::decode(&mut r)?,
            addresses: r.list(ADDRESSES_MAX, "the number of addresses")?,
            secret: InviteSecret::from_bytes(r.byte_array()?),
            expires: r.uint()?,
        };
        r.finish()?;
        if invite.addresses.is_empty() {
            return Err(InviteError::Damaged(DecodeError::Invalid("list of addresses")));
        }
        Ok(invite)
    }

    /// The URI, which holds the secret. It is wiped from memory when dropped.
    pub fn to_uri(&self) -> Zeroizing<String> {
        let mut w = Writer::default();
        w.array(ARITY);
        w.uint(VERSION);
        self.namespace.encode(&mut w);
        self.inviter.encode(&mut w);
        w.list(self.addresses.iter());
        w.bytes(self.secret.as_bytes());
        w.uint(self.expires);
        let payload = Zeroizing::new(w.into_bytes());
        let encoded = Zeroizing::new(BASE64URL_NOPAD.encode(&payload));
        Zeroizing::new([PREFIX, &encoded].concat())
    }
}

impl From<DecodeError> for InviteError {
    fn from(error: DecodeError) -> Self {
        Self::Damaged(error)
    }
}

/// All but the secret.
impl fmt::Debug for Invite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, inviter, addresses, secret: _, expires } = self;
        f.debug_struct("Invite")
            .field("namespace", namespace)
            .field("inviter", inviter)
            .field("addresses", addresses)
            .field("expires", expires)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invite() -> Invite {
        Invite {
            namespace: NamespaceId([1; 32]),
            inviter: PublicKey([2; 32]),
            addresses: ["192.0.2.7:4460", "[2001:db8::7]:4460", "venue.example:443"]
                .map(|text| Address::new(text).unwrap())
                .to_vec(),
            secret: InviteSecret::from_bytes([0xab; 32]),
            expires: 1_800_000_000,
        }
    }

    #[test]
    fn an_invite_is_read_as_written() {
        let uri = invite().to_uri();
        let read = Invite::parse(&format!(" {}\n", *uri)).unwrap();
        assert_eq!(read.to_uri(), uri);
        assert_eq!(read.secret.as_bytes(), &[0xab; 32]);
        assert_eq!(read.addresses, invite().addresses);
    }

    #[test]
    fn the_longest_invite_fits_its_limit() {
        let host = [["a".repeat(63).as_str(); 3].join("."), "b".repeat(61)].join(".");
        let longest = Address::new(&format!("{host}:65535")).unwrap();
        let invite = Invite { addresses: vec![longest; ADDRESSES_MAX], expires: u64::MAX, ..invite() };
        assert!(Invite::parse(&invite.to_uri()).is_ok());
    }

    #[test]
    fn every_damage_is_noticed() {
        let uri = invite().to_uri();
        for end in 0..uri.len() {
            assert!(Invite::parse(&uri[..end]).is_err(), "cut at {end}");
        }
        let wrong = |text: &str| Invite::parse(text).unwrap_err().code();
        assert_eq!(wrong(&format!("{}A", *uri)), "INVITE_MALFORMED");
        assert_eq!(wrong(&uri.replace("memlet://invite/", "memlet://invite/=")), "INVITE_MALFORMED");
        assert_eq!(wrong(&uri.replace("memlet:", "Memlet:")), "INVITE_MALFORMED");
        assert_eq!(wrong(&format!("{PREFIX}{}", "A".repeat(INVITE_URI_BYTES_MAX))), "INVITE_MALFORMED");
        let without_addresses = Invite { addresses: Vec::new(), ..invite() };
        assert_eq!(wrong(&without_addresses.to_uri()), "INVITE_MALFORMED");
    }

    #[test]
    fn a_newer_version_says_so() {
        let newer = BASE64URL_NOPAD.encode(&[0x82, 0x02, 0x00]);
        assert_eq!(Invite::parse(&format!("{PREFIX}{newer}")).unwrap_err(), InviteError::Version(2));
    }

    #[test]
    fn the_secret_is_not_shown() {
        let shown = format!("{:?} {:#?}", invite(), invite());
        for form in ["ab, ab", "171", "abab", "ABAB", "q6ur"] {
            assert!(!shown.contains(form), "{shown}");
        }
        assert!(shown.contains("venue.example:443"));
    }
}
