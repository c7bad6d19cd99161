//! What all signed statements have in common: `[kind, body, signature]`, and that the exact bytes of the body are kept.
//!
//! A signature and an id cover prefix ‖ body, where the prefix is the kind's own: nothing that is signed can pass for
//! another kind of statement.

use memlet_core::codec::{Decode as _, DecodeError, Encode as _, Reader, Writer};

use crate::error::BadSignature;
use crate::keys::{Signature, SigningKey, VerifyingKey};

/// A signed body whose signature is unverified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Envelope {
    kind: &'static Kind,
    body: Vec<u8>,
    signature: Signature,
}

/// One kind of statement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// Names the kind in the envelope.
    pub(crate) number: u64,
    /// Begins what the signature and the id cover.
    pub(crate) prefix: &'static [u8],
}

impl Kind {
    /// Whether `statement` claims to be of this kind. Nothing else about it is checked.
    pub(crate) fn is_of(&self, statement: &[u8]) -> bool {
        read_kind(&mut Reader::new(statement)) == Ok(self.number)
    }
}

fn read_kind(r: &mut Reader<'_>) -> Result<u64, DecodeError> {
    r.array(3)?;
    r.uint()
}

impl Envelope {
    pub(crate) fn sign(kind: &'static Kind, body: Vec<u8>, key: &SigningKey) -> Self {
        let signature = key.sign(&[kind.prefix, &body].concat());
        Self { kind, body, signature }
    }

    /// Reads a statement of `kind`, whose length has been checked.
    pub(crate) fn parse<E: From<DecodeError>>(
        kind: &'static Kind,
        statement: &[u8],
        another: impl FnOnce(u64) -> E,
    ) -> Result<Self, E> {
        let mut r = Reader::new(statement);
        let number = read_kind(&mut r)?;
        if number != kind.number {
            return Err(another(number));
        }
        let body = r.bytes()?.to_vec();
        let signature = Signature::decode(&mut r)?;
        r.finish()?;
        Ok(Self { kind, body, signature })
    }

    /// The statement as it travels and is stored.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.array(3);
        w.uint(self.kind.number);
        w.bytes(&self.body);
        self.signature.encode(&mut w);
        w.into_bytes()
    }

    /// The bytes that were signed, without the prefix.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Names what is signed: blake3 of prefix ‖ body.
    pub(crate) fn id(&self) -> [u8; 32] {
        *blake3::hash(&self.message()).as_bytes()
    }

    /// Checks that `issuer` signed it.
    pub(crate) fn verify(&self, issuer: &VerifyingKey) -> Result<(), BadSignature> {
        issuer.verify(&self.message(), &self.signature)
    }

    fn message(&self) -> Vec<u8> {
        [self.kind.prefix, &self.body].concat()
    }
}
