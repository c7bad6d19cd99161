//! Revocations: signed statements by which a grant, or every grant of a key, ends, and what of its holder's work stays.
//!
//! A [`Revocation`] is well formed and keeps the exact bytes that were signed; nothing about it is verified. Its signature
//! and its issuer are checked when it enters [`crate::statements::Statements`], which gives out [`VerifiedRevocation`]s.
//! Whether one has an effect is [`crate::revoked::Revoked`]'s to say.

mod verified;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use memlet_core::codec::{Decode, DecodeError, Encode, Reader, Writer};
use memlet_core::id::{Actor, ChangeHash, GrantId, NamespaceId, PublicKey};

pub use verified::VerifiedRevocation;

use crate::envelope::{Envelope, Kind};
use crate::error::{BadSignature, RevocationRefusal};
use crate::head::read_head;
use crate::keys::{SigningKey, VerifyingKey};
use crate::limits::{REVOCATION_KEEP_MAX, REVOCATION_UPHELD_MAX, STATEMENT_BYTES_MAX};

/// Revocations among signed statements.
pub(crate) const KIND: Kind = Kind { number: 2, prefix: b"memlet/revocation/1\0" };
/// The version of the body that this build reads and writes.
const VERSION: u64 = 1;
/// Items of a body of that version.
const BODY_ARITY: usize = 8;

/// What a revocation says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevocationBody {
    /// The namespace it is about.
    pub namespace: NamespaceId,
    /// Who revokes.
    pub issuer: PublicKey,
    /// By which grant of the issuer; none if it is the namespace key.
    pub grant: Option<GrantId>,
    /// What ends.
    pub target: Target,
    /// The changes of the target's holders that stay, each with everything in its causal past: as a rule the last accepted
    /// one of every actor. At most 32. An empty map keeps nothing.
    ///
    /// The hash decides, and whose change it names makes no difference, so one change that was made when all accepted ones
    /// were known can stand for them.
    pub keep: BTreeMap<Actor, Kept>,
    /// The revocations, issued by those whom this one hits, that stay in force. At most 32.
    ///
    /// A revocation stands outside the causal order of changes, so it is kept by name: what a revoked issuer signs later,
    /// however it dates it, cannot be among the names. An issuer may as well repeat a revocation as its own.
    pub upheld: BTreeSet<RevocationId>,
    /// 16 random bytes that keep equal revocations apart.
    pub nonce: [u8; 16],
}

/// What a revocation ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// One grant, with all that stand under it.
    Grant(GrantId),
    /// Every grant given to a key, now or later, over which the issuer has the right; each with all that stand under it.
    Key(PublicKey),
}

/// A change that a revocation keeps, with its causal past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// The number of the change in its actor's sequence, from 1: where to look for it.
    pub seq: u64,
    /// Which change it is.
    pub change: ChangeHash,
}

/// A revocation: blake3 of its signed body.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RevocationId(pub [u8; 32]);

/// A well-formed revocation whose signature and issuer are unverified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    id: RevocationId,
    body: RevocationBody,
    envelope: Envelope,
}

impl Revocation {
    /// Signs a revocation.
    ///
    /// # Errors
    /// [`RevocationRefusal::Signature`] if `key` is not the issuer's; else what any receiver would refuse it for, which is
    /// a list beyond its limit.
    pub fn issue(key: &SigningKey, body: &RevocationBody) -> Result<Self, RevocationRefusal> {
        if key.public() != body.issuer {
            return Err(RevocationRefusal::Signature);
        }
        Self::from_envelope(Envelope::sign(&KIND, body.to_bytes(), key))
    }

    /// Reads a statement, `[kind, body, signature]`, that is a revocation.
    ///
    /// # Errors
    /// The size first, then any deviation from the one encoding.
    pub fn parse(statement: &[u8]) -> Result<Self, RevocationRefusal> {
        if statement.len() > STATEMENT_BYTES_MAX {
            return Err(RevocationRefusal::TooLong);
        }
        Self::from_envelope(Envelope::parse(&KIND, statement, RevocationRefusal::Kind)?)
    }

    fn from_envelope(envelope: Envelope) -> Result<Self, RevocationRefusal> {
        let body = RevocationBody::parse(envelope.body())?;
        Ok(Self { id: RevocationId(envelope.id()), body, envelope })
    }

    /// The statement as it travels and is stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.envelope.to_bytes()
    }

    /// The name of this revocation.
    pub fn id(&self) -> RevocationId {
        self.id
    }

    /// What it says.
    pub fn body(&self) -> &RevocationBody {
        &self.body
    }

    /// Checks that the issuer signed it.
    pub(crate) fn verify_signature(&self, issuer: &VerifyingKey) -> Result<(), BadSignature> {
        self.envelope.verify(issuer)
    }
}

impl RevocationBody {
    fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.array(BODY_ARITY);
        w.uint(VERSION);
        self.namespace.encode(&mut w);
        self.issuer.encode(&mut w);
        w.option(self.grant.as_ref());
        self.target.encode(&mut w);
        w.array(self.keep.len());
        for (actor, Kept { seq, change }) in &self.keep {
            w.array(3);
            actor.encode(&mut w);
            w.uint(*seq);
            change.encode(&mut w);
        }
        w.list(self.upheld.iter());
        w.bytes(&self.nonce);
        w.into_bytes()
    }

    fn parse(bytes: &[u8]) -> Result<Self, RevocationRefusal> {
        let mut r = Reader::new(bytes);
        read_head(&mut r, BODY_ARITY, VERSION, RevocationRefusal::Version)?;
        let body = Self {
            namespace: NamespaceId::decode(&mut r)?,
            issuer: PublicKey::decode(&mut r)?,
            grant: r.option()?,
            target: Target::decode(&mut r)?,
            keep: read_keep(&mut r)?,
            upheld: read_upheld(&mut r)?,
            nonce: r.byte_array()?,
        };
        r.finish()?;
        Ok(body)
    }
}

/// Reads the kept changes, actors rising.
fn read_keep(r: &mut Reader<'_>) -> Result<BTreeMap<Actor, Kept>, DecodeError> {
    let mut keep = BTreeMap::new();
    for _ in 0..r.array_up_to(REVOCATION_KEEP_MAX, "a revocation's list of kept changes")? {
        r.array(3)?;
        let actor = Actor::decode(r)?;
        let kept = Kept { seq: r.uint()?, change: ChangeHash::decode(r)? };
        if kept.seq == 0 {
            return Err(DecodeError::Invalid("sequence number of a kept change"));
        }
        if keep.last_key_value().is_some_and(|(last, _)| *last >= actor) {
            return Err(DecodeError::NotDeterministic);
        }
        keep.insert(actor, kept);
    }
    Ok(keep)
}

/// Reads the upheld revocations, rising.
fn read_upheld(r: &mut Reader<'_>) -> Result<BTreeSet<RevocationId>, DecodeError> {
    let upheld: Vec<RevocationId> = r.list(REVOCATION_UPHELD_MAX, "a revocation's list of upheld revocations")?;
    if !upheld.is_sorted_by(|a, b| a < b) {
        return Err(DecodeError::NotDeterministic);
    }
    Ok(upheld.into_iter().collect())
}

impl Encode for Target {
    fn encode(&self, w: &mut Writer) {
        w.array(2);
        match self {
            Self::Grant(id) => {
                w.uint(0);
                id.encode(w);
            }
            Self::Key(key) => {
                w.uint(1);
                key.encode(w);
            }
        }
    }
}

impl Decode for Target {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.array(2)?;
        match r.uint()? {
            0 => Ok(Self::Grant(GrantId::decode(r)?)),
            1 => Ok(Self::Key(PublicKey::decode(r)?)),
            _ => Err(DecodeError::Invalid("target of a revocation")),
        }
    }
}

impl Encode for RevocationId {
    fn encode(&self, w: &mut Writer) {
        w.bytes(&self.0);
    }
}

impl Decode for RevocationId {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self(r.byte_array()?))
    }
}

impl fmt::Display for RevocationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for RevocationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RevocationId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::REVOCATION_BODY_BYTES_MAX;
    use memlet_core::id::ReplicaId;

    fn actor(number: usize) -> Actor {
        Actor { device: PublicKey([7; 32]), replica: ReplicaId(number.to_be_bytes()) }
    }

    /// A revocation that keeps and upholds so many, every number at its longest.
    fn body(keep: usize, upheld: usize) -> RevocationBody {
        let issuer = SigningKey::from_bytes(&[1; 32]).public();
        let kept = Kept { seq: u64::MAX, change: ChangeHash([9; 32]) };
        RevocationBody {
            namespace: NamespaceId(issuer.0),
            issuer,
            grant: Some(GrantId([2; 32])),
            target: Target::Grant(GrantId([3; 32])),
            keep: (0..keep).map(|number| (actor(number), kept)).collect(),
            upheld: (0..upheld).map(|number| RevocationId([u8::try_from(number).unwrap(); 32])).collect(),
            nonce: [5; 16],
        }
    }

    fn issue(body: &RevocationBody) -> Result<Revocation, RevocationRefusal> {
        Revocation::issue(&SigningKey::from_bytes(&[1; 32]), body)
    }

    #[test]
    fn is_read_as_written_and_fits_its_limit() {
        let longest = body(REVOCATION_KEEP_MAX, REVOCATION_UPHELD_MAX);
        assert_eq!(longest.to_bytes().len(), REVOCATION_BODY_BYTES_MAX);
        assert_eq!(issue(&longest).unwrap().to_bytes().len(), STATEMENT_BYTES_MAX);
        let of_key = RevocationBody { grant: None, target: Target::Key(PublicKey([3; 32])), ..body(0, 0) };
        for body in [longest, body(1, 2), of_key] {
            let revocation = issue(&body).unwrap();
            assert_eq!(*revocation.body(), body);
            assert_eq!(Revocation::parse(&revocation.to_bytes()), Ok(revocation));
        }
    }

    #[test]
    fn lists_have_limits() {
        let refusal = |what| Err(DecodeError::Limit(what).into());
        assert_eq!(issue(&body(REVOCATION_KEEP_MAX + 1, 0)), refusal("a revocation's list of kept changes"));
        assert_eq!(issue(&body(0, REVOCATION_UPHELD_MAX + 1)), refusal("a revocation's list of upheld revocations"));
        let one_byte_more = [issue(&body(32, 32)).unwrap().to_bytes(), vec![0]].concat();
        assert_eq!(Revocation::parse(&one_byte_more), Err(RevocationRefusal::TooLong));
    }

    #[test]
    fn is_signed_by_its_issuer_alone() {
        let another = SigningKey::from_bytes(&[2; 32]);
        assert_eq!(Revocation::issue(&another, &body(0, 0)), Err(RevocationRefusal::Signature));
    }

    #[test]
    fn another_target_is_another_revocation() {
        let name = [3; 32];
        let [grant, key] = [Target::Grant(GrantId(name)), Target::Key(PublicKey(name))]
            .map(|target| issue(&RevocationBody { target, ..body(1, 0) }).unwrap().id());
        assert_ne!(grant, key);
        assert_eq!(Target::from_cbor(&[0x82, 0x02, 0x40]), Err(DecodeError::Invalid("target of a revocation")));
    }
}
