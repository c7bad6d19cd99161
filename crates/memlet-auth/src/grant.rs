//! Grants: signed statements by which a key passes abilities at paths on to another key.
//!
//! A [`Grant`] is well formed and keeps the exact bytes that were signed; nothing about it is verified. Its signature and
//! its place under a parent are checked when it enters [`crate::statements::Statements`], which gives out
//! [`crate::chain::VerifiedGrant`]s.

mod ability;

use memlet_core::codec::{Decode as _, DecodeError, Encode as _, Reader, Writer};
use memlet_core::id::{GrantId, NamespaceId, PublicKey};

pub use ability::{Abilities, Ability, Cap};

use crate::envelope::{Envelope, Kind};
use crate::error::{BadSignature, GrantRefusal};
use crate::head::read_head;
use crate::keys::{SigningKey, VerifyingKey};
use crate::limits::{GRANT_BODY_BYTES_MAX, GRANT_BYTES_MAX, GRANT_CAPS_MAX, TIME_SECONDS_MAX};

/// Grants among signed statements.
const KIND: Kind = Kind { number: 1, prefix: b"memlet/grant/1\0" };
/// The version of the body that this build reads and writes.
const VERSION: u64 = 1;
/// Items of a body of that version.
const BODY_ARITY: usize = 10;

/// What a grant says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantBody {
    /// The namespace it is about.
    pub namespace: NamespaceId,
    /// Who grants: the namespace key, or the audience of the parent.
    pub issuer: PublicKey,
    /// The grant it stands under; none if the namespace key issues it.
    pub parent: Option<GrantId>,
    /// What it gives, to whom, and until when.
    pub terms: Terms,
}

/// The part of a grant that its issuer chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Who receives it.
    pub audience: PublicKey,
    /// At most 16 capabilities. Together with every grant above they decide what is allowed.
    pub caps: Vec<Cap>,
    /// The first second, in Unix time, at which it holds.
    pub not_before: u64,
    /// The last second, in Unix time, at which it holds; none if it does not expire.
    pub expires: Option<u64>,
    /// How many further grants may stand below it in a chain.
    pub depth: u8,
    /// 16 random bytes that keep equal grants apart.
    pub nonce: [u8; 16],
}

/// A well-formed grant whose signature and chain are unverified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    id: GrantId,
    body: GrantBody,
    envelope: Envelope,
}

impl Grant {
    /// Signs a grant.
    ///
    /// # Errors
    /// [`GrantRefusal::Signature`] if `key` is not the issuer's; else what any receiver would refuse it for.
    pub fn issue(key: &SigningKey, body: &GrantBody) -> Result<Self, GrantRefusal> {
        if key.public() != body.issuer {
            return Err(GrantRefusal::Signature);
        }
        Self::from_envelope(Envelope::sign(&KIND, body.to_bytes(), key))
    }

    /// Signs a grant that stands directly under the namespace key `root`.
    ///
    /// # Errors
    /// As [`Grant::issue`].
    pub fn root(root: &SigningKey, terms: Terms) -> Result<Self, GrantRefusal> {
        let issuer = root.public();
        Self::issue(root, &GrantBody { namespace: NamespaceId(issuer.0), issuer, parent: None, terms })
    }

    /// Reads a statement, `[kind, body, signature]`, that is a grant.
    ///
    /// # Errors
    /// Sizes first, then any deviation from the one encoding, then a window that no grant may have.
    pub fn parse(statement: &[u8]) -> Result<Self, GrantRefusal> {
        if statement.len() > GRANT_BYTES_MAX {
            return Err(GrantRefusal::TooLong);
        }
        Self::from_envelope(Envelope::parse(&KIND, statement, GrantRefusal::Kind)?)
    }

    fn from_envelope(envelope: Envelope) -> Result<Self, GrantRefusal> {
        if envelope.body().len() > GRANT_BODY_BYTES_MAX {
            return Err(GrantRefusal::TooLong);
        }
        let body = GrantBody::parse(envelope.body())?;
        Ok(Self { id: GrantId(envelope.id()), body, envelope })
    }

    /// The statement as it travels and is stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.envelope.to_bytes()
    }

    /// The name of this grant: blake3 of what is signed.
    pub fn id(&self) -> GrantId {
        self.id
    }

    /// What it says.
    pub fn body(&self) -> &GrantBody {
        &self.body
    }

    /// Checks that the issuer signed it.
    pub(crate) fn verify_signature(&self, issuer: &VerifyingKey) -> Result<(), BadSignature> {
        self.envelope.verify(issuer)
    }

    /// This grant under a name that is not its hash, as only a broken hash function could make it.
    #[cfg(test)]
    pub(crate) fn with_forged_id(self, id: GrantId) -> Self {
        Self { id, ..self }
    }
}

impl GrantBody {
    fn to_bytes(&self) -> Vec<u8> {
        let Terms { audience, caps, not_before, expires, depth, nonce } = &self.terms;
        let mut w = Writer::default();
        w.array(BODY_ARITY);
        w.uint(VERSION);
        self.namespace.encode(&mut w);
        self.issuer.encode(&mut w);
        audience.encode(&mut w);
        w.option(self.parent.as_ref());
        w.list(caps.iter());
        w.uint(*not_before);
        w.option(expires.as_ref());
        w.uint((*depth).into());
        w.bytes(nonce);
        w.into_bytes()
    }

    fn parse(bytes: &[u8]) -> Result<Self, GrantRefusal> {
        let mut r = Reader::new(bytes);
        read_head(&mut r, BODY_ARITY, VERSION, GrantRefusal::Version)?;
        let namespace = NamespaceId::decode(&mut r)?;
        let issuer = PublicKey::decode(&mut r)?;
        let audience = PublicKey::decode(&mut r)?;
        let parent = r.option()?;
        let caps = r.list(GRANT_CAPS_MAX, "a grant's list of capabilities")?;
        let not_before = r.uint()?;
        let expires = r.option()?;
        let depth = u8::try_from(r.uint()?).map_err(|_| DecodeError::Limit("a grant's depth"))?;
        let nonce = r.byte_array()?;
        r.finish()?;
        let terms = Terms { audience, caps, not_before, expires, depth, nonce };
        terms.check_window()?;
        Ok(Self { namespace, issuer, parent, terms })
    }
}

impl Terms {
    fn check_window(&self) -> Result<(), GrantRefusal> {
        let last = self.expires.unwrap_or(TIME_SECONDS_MAX);
        if last == 0 || self.not_before > last || last > TIME_SECONDS_MAX {
            return Err(GrantRefusal::Window);
        }
        Ok(())
    }
}
