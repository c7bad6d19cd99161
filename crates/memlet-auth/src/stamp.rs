//! Stamps: signatures that bind one change to its author, its grant, its device and a time.
//!
//! A device's own change has one signature. An agent's change has two: the agent answers for what the change does, the
//! device that committed it for the actor id. The change hash covers the change's dependencies, so a stamp fixes the whole
//! causal past; a relay can drop or delay a change, but not forge, re-attribute, re-grant or move it.
//!
//! A [`Stamp`] is unverified. [`Stamp::verify`] gives a [`VerifiedStamp`], or says what it waits for.

mod verify;

use memlet_core::codec::{Decode, DecodeError, Encode, Reader, Writer};
use memlet_core::id::{Actor, ChangeHash, EpochId, GrantId, NamespaceId, PublicKey};

pub use verify::{Arrival, Verdict, VerifiedStamp};

use crate::error::StampRefusal;
use crate::head::read_head;
use crate::keys::{Signature, SigningKey};
use crate::limits::STAMP_BYTES_MAX;

/// Begins what a stamp's signatures cover.
const PREFIX: &[u8] = b"memlet/stamp/1\0";
/// The version of the body that this build reads and writes.
const VERSION: u64 = 1;
/// Items of a body of that version.
const BODY_ARITY: usize = 8;

/// Where a change belongs: what all stamps of one stream have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampContext {
    /// The namespace.
    pub namespace: NamespaceId,
    /// The epoch of the namespace.
    pub epoch: EpochId,
}

/// What a stamp says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampBody {
    /// Where the change belongs.
    pub context: StampContext,
    /// Who wrote the change: the device itself or an agent.
    pub author: PublicKey,
    /// By which grant. It must have been given to the author.
    pub grant: GrantId,
    /// The device that committed the change under its actor id.
    pub device: PublicKey,
    /// The change.
    pub change: ChangeHash,
    /// When, in Unix milliseconds by the device's clock.
    pub time_ms: u64,
}

/// An unverified stamp, complete in itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    body: StampBody,
    signatures: Signatures,
}

impl Stamp {
    /// Stamps a change. For a device's own change `author` and `device` are the same key.
    pub fn sign(
        context: StampContext,
        grant: GrantId,
        change: ChangeHash,
        time_ms: u64,
        author: &SigningKey,
        device: &SigningKey,
    ) -> Self {
        let body = StampBody { context, author: author.public(), grant, device: device.public(), change, time_ms };
        let message = body.message();
        let device = (body.author != body.device).then(|| device.sign(&message));
        Self { body, signatures: Signatures { author: author.sign(&message), device } }
    }

    /// Reads the full form, `[body, signature]` or `[body, signature, signature]`.
    ///
    /// # Errors
    /// Too long, of another version, or not in the one encoding. Nothing else is checked.
    pub fn parse(bytes: &[u8]) -> Result<Self, StampRefusal> {
        if bytes.len() > STAMP_BYTES_MAX {
            return Err(StampRefusal::TooLong);
        }
        let mut r = Reader::new(bytes);
        let items = r.array_up_to(1 + Signatures::COUNT_MAX, "a stamp")?;
        let body = StampBody::parse(r.bytes()?)?;
        let signatures = Signatures::read(&mut r, items.saturating_sub(1))?;
        r.finish()?;
        Ok(Self { body, signatures })
    }

    /// The full form.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.array(1 + self.signatures.count());
        w.bytes(&self.body.to_cbor());
        self.signatures.write(&mut w);
        w.into_bytes()
    }

    /// What it says.
    pub fn body(&self) -> &StampBody {
        &self.body
    }

    /// The form in which it travels and is stored beside its change.
    pub fn compact(&self) -> CompactStamp {
        CompactStamp { grant: self.body.grant, time_ms: self.body.time_ms, signatures: self.signatures }
    }
}

impl StampBody {
    /// The bytes that are signed.
    fn message(&self) -> Vec<u8> {
        [PREFIX, &self.to_cbor()].concat()
    }

    fn parse(bytes: &[u8]) -> Result<Self, StampRefusal> {
        let mut r = Reader::new(bytes);
        read_head(&mut r, BODY_ARITY, VERSION, StampRefusal::Version)?;
        let context = StampContext { namespace: NamespaceId::decode(&mut r)?, epoch: EpochId::decode(&mut r)? };
        let body = Self {
            context,
            author: PublicKey::decode(&mut r)?,
            grant: GrantId::decode(&mut r)?,
            device: PublicKey::decode(&mut r)?,
            change: ChangeHash::decode(&mut r)?,
            time_ms: r.uint()?,
        };
        r.finish()?;
        Ok(body)
    }
}

impl Encode for StampBody {
    fn encode(&self, w: &mut Writer) {
        w.array(BODY_ARITY);
        w.uint(VERSION);
        self.context.namespace.encode(w);
        self.context.epoch.encode(w);
        self.author.encode(w);
        self.grant.encode(w);
        self.device.encode(w);
        self.change.encode(w);
        w.uint(self.time_ms);
    }
}

/// The signatures of a stamp: the author's, then the device's if that is another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signatures {
    /// By the author.
    pub author: Signature,
    /// By the device, for a change of an agent.
    pub device: Option<Signature>,
}

impl Signatures {
    /// An agent's stamp has two.
    const COUNT_MAX: usize = 2;

    fn count(&self) -> usize {
        1 + usize::from(self.device.is_some())
    }

    fn write(&self, w: &mut Writer) {
        self.author.encode(w);
        if let Some(device) = &self.device {
            device.encode(w);
        }
    }

    fn read(r: &mut Reader<'_>, count: usize) -> Result<Self, DecodeError> {
        if count == 0 {
            return Err(DecodeError::Expected("a signature"));
        }
        let author = Signature::decode(r)?;
        let device = if count == Self::COUNT_MAX { Some(Signature::decode(r)?) } else { None };
        Ok(Self { author, device })
    }
}

impl Encode for Signatures {
    fn encode(&self, w: &mut Writer) {
        w.array(self.count());
        self.write(w);
    }
}

impl Decode for Signatures {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = r.array_up_to(Self::COUNT_MAX, "a stamp's list of signatures")?;
        Self::read(r, count)
    }
}

/// A stamp without what its surroundings tell: namespace, epoch, device, change, and the author, who is the audience of
/// the grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactStamp {
    /// The grant.
    pub grant: GrantId,
    /// When, in Unix milliseconds.
    pub time_ms: u64,
    /// Over the full body.
    pub signatures: Signatures,
}

impl CompactStamp {
    /// The stamp that this stands for, if the change is `change` by `actor` and `author` is the grant's audience. Any wrong
    /// part makes a stamp whose signatures do not verify.
    pub fn expand(&self, context: StampContext, author: PublicKey, actor: &Actor, change: ChangeHash) -> Stamp {
        let Self { grant, time_ms, signatures } = *self;
        Stamp { body: StampBody { context, author, grant, device: actor.device, change, time_ms }, signatures }
    }
}

impl Encode for CompactStamp {
    fn encode(&self, w: &mut Writer) {
        w.array(3);
        self.grant.encode(w);
        w.uint(self.time_ms);
        self.signatures.encode(w);
    }
}

impl Decode for CompactStamp {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.array(3)?;
        Ok(Self { grant: GrantId::decode(r)?, time_ms: r.uint()?, signatures: Signatures::decode(r)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(author: u8, device: u8, time_ms: u64) -> Stamp {
        let context = StampContext { namespace: NamespaceId([1; 32]), epoch: EpochId([2; 32]) };
        let [author, device] = [author, device].map(|seed| SigningKey::from_bytes(&[seed; 32]));
        Stamp::sign(context, GrantId([3; 32]), ChangeHash([4; 32]), time_ms, &author, &device)
    }

    /// An array head of no signatures was taken, and a signature read from what followed it.
    #[test]
    fn a_stamp_has_a_signature_inside_its_own_array() {
        let whole = stamp(5, 5, 1).to_bytes();
        let none = [&[0x81], &whole[1..]].concat();
        assert!(matches!(Stamp::parse(&none), Err(StampRefusal::Encoding(_))));
        let signatures = stamp(5, 5, 1).compact().signatures.to_cbor();
        let none = [&[0x80], &signatures[1..]].concat();
        assert!(Signatures::from_cbor(&none).is_err());
    }

    #[test]
    fn the_full_form_is_read_as_written_and_fits_its_limit() {
        assert_eq!(stamp(5, 6, u64::MAX).to_bytes().len(), STAMP_BYTES_MAX);
        for stamp in [stamp(5, 5, 1), stamp(5, 6, u64::MAX)] {
            assert_eq!(Stamp::parse(&stamp.to_bytes()), Ok(stamp));
        }
    }

    #[test]
    fn the_compact_form_stands_for_the_full_one_and_is_small() {
        let now = 1_800_000_000_000;
        for (stamp, bytes_max) in [(stamp(5, 5, now), 120), (stamp(5, 6, now), 190)] {
            let compact = stamp.compact();
            assert!(compact.to_cbor().len() <= bytes_max);
            assert_eq!(CompactStamp::from_cbor(&compact.to_cbor()), Ok(compact));
            let StampBody { context, author, device, change, .. } = *stamp.body();
            let actor = Actor { device, replica: memlet_core::id::ReplicaId([7; 8]) };
            assert_eq!(compact.expand(context, author, &actor, change), stamp);
        }
    }

    #[test]
    fn a_stamp_needs_one_or_two_signatures() {
        let bytes = stamp(5, 6, 1).to_bytes();
        let body_end = bytes.len() - 2 * 66;
        let without = [&[0x81], &bytes[1..body_end]].concat();
        assert_eq!(Stamp::parse(&without), Err(StampRefusal::Encoding(DecodeError::Expected("a signature"))));
        let three = [&[0x84], &bytes[1..], &bytes[bytes.len() - 66..]].concat();
        assert_eq!(Stamp::parse(&three), Err(StampRefusal::TooLong));
        assert_eq!(Signatures::from_cbor(&[0x80]), Err(DecodeError::Expected("a signature")));
        let list = Signatures { author: Signature([1; 64]), device: Some(Signature([2; 64])) }.to_cbor();
        let three = [&[0x83], &list[1..], &list[1..67]].concat();
        assert_eq!(Signatures::from_cbor(&three), Err(DecodeError::Limit("a stamp's list of signatures")));
    }
}
