//! Why a key, a statement, a stamp or a request does not pass, each with a stable code.
//!
//! Whoever sent the bytes is to blame for a refusal, which is final: count it and keep nothing. Whoever asked is to blame
//! for [`Denied`] and [`DelegateError`]. What may still pass later is no error of this module at all, see
//! [`crate::statements::Insertion`] and [`crate::stamp::Verdict`].

use memlet_core::codec::DecodeError;
use memlet_core::path::Path;

use crate::grant::Ability;
use crate::limits::{
    CHAIN_LINKS_MAX, GRANT_BODY_BYTES_MAX, GRANT_BYTES_MAX, STAMP_BYTES_MAX, STATEMENT_BYTES_MAX, TIME_SECONDS_MAX,
};

/// Why bytes are not a public key that may be used. See [`crate::keys::VerifyingKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Not 32 bytes.
    #[error("a public key has 32 bytes, not {0}")]
    Length(usize),
    /// The bytes name no point of the curve.
    #[error("the public key is no point of the curve")]
    NotAPoint,
    /// The bytes name a point, but are not its one canonical encoding (RFC 8032, section 5.1.3).
    #[error("the public key is not in its canonical encoding")]
    NotCanonical,
    /// A point of order 1, 2, 4 or 8: signatures that fit any message can be made for it.
    #[error("the public key is a point of small order, for which anyone can sign")]
    SmallOrder,
    /// A point with a torsion component: verifiers disagree on its signatures.
    #[error("the public key has a torsion component, so verifiers would disagree about its signatures")]
    Torsion,
}

impl KeyError {
    /// The stable code of this error: what programs match on. Messages may change, codes do not.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Length(_) => "KEY_LENGTH",
            Self::NotAPoint => "KEY_NOT_A_POINT",
            Self::NotCanonical => "KEY_NOT_CANONICAL",
            Self::SmallOrder => "KEY_SMALL_ORDER",
            Self::Torsion => "KEY_TORSION",
        }
    }
}

/// A signature or proof is not the key's own for what it stands under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the signature does not verify: it was made by another key or for other bytes")]
pub struct BadSignature;

impl BadSignature {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        "BAD_SIGNATURE"
    }
}

/// Why a grant is refused for good.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrantRefusal {
    /// The statement or its body is longer than any grant may be.
    #[error("a grant has at most {GRANT_BYTES_MAX} bytes and its body {GRANT_BODY_BYTES_MAX}: name fewer paths")]
    TooLong,
    /// The bytes are not the one encoding of a grant.
    #[error("the statement is not an encoded grant: {0}")]
    Encoding(#[from] DecodeError),
    /// A statement of a kind that this build does not know.
    #[error("the statement is of the unknown kind {0}: a newer memlet may know it")]
    Kind(u64),
    /// A grant of a version that this build does not know.
    #[error("the grant has the unknown version {0}: a newer memlet may know it")]
    Version(u64),
    /// The window is empty, or beyond what may be named.
    #[error("a grant expires after 0, not before it begins, and names no second above {TIME_SECONDS_MAX}")]
    Window,
    /// The grant is for another namespace.
    #[error("the grant belongs to another namespace")]
    Namespace,
    /// The issuer is no usable key.
    #[error("the issuer of the grant: {0}")]
    IssuerKey(KeyError),
    /// The audience is no usable key.
    #[error("the audience of the grant: {0}")]
    AudienceKey(KeyError),
    /// No parent, but the issuer is not the namespace key.
    #[error("a grant without a parent must be issued by the key of the namespace")]
    NotRoot,
    /// The issuer is not who the parent grant was given to.
    #[error("the issuer of the grant is not the audience of its parent")]
    NotTheAudience,
    /// The parent allows no further delegation, or less than the grant claims.
    #[error("the grant must leave fewer re-delegations than its parent does")]
    Depth,
    /// More links than a chain may have.
    #[error("a chain has at most {CHAIN_LINKS_MAX} grants")]
    ChainTooLong,
    /// The signature is not the issuer's.
    #[error("the grant is not signed by its issuer")]
    Signature,
}

impl GrantRefusal {
    /// The stable code of this refusal: the label of its counter.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLong => "GRANT_TOO_LONG",
            Self::Encoding(_) => "GRANT_ENCODING",
            Self::Kind(_) => "STATEMENT_KIND",
            Self::Version(_) => "GRANT_VERSION",
            Self::Window => "GRANT_WINDOW",
            Self::Namespace => "GRANT_NAMESPACE",
            Self::IssuerKey(_) => "GRANT_ISSUER_KEY",
            Self::AudienceKey(_) => "GRANT_AUDIENCE_KEY",
            Self::NotRoot => "GRANT_NOT_ROOT",
            Self::NotTheAudience => "GRANT_ISSUER",
            Self::Depth => "GRANT_DEPTH",
            Self::ChainTooLong => "GRANT_CHAIN",
            Self::Signature => "GRANT_SIGNATURE",
        }
    }
}

/// Why a revocation is refused for good. One that its issuer had no right to make is no error: it is kept and has no effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RevocationRefusal {
    /// Longer than any revocation.
    #[error("a revocation has at most {STATEMENT_BYTES_MAX} bytes")]
    TooLong,
    /// The bytes are not the one encoding of a revocation.
    #[error("the statement is not an encoded revocation: {0}")]
    Encoding(#[from] DecodeError),
    /// A statement of another kind.
    #[error("the statement is of kind {0}, which is no revocation")]
    Kind(u64),
    /// A revocation of a version that this build does not know.
    #[error("the revocation has the unknown version {0}: a newer memlet may know it")]
    Version(u64),
    /// The revocation is for another namespace.
    #[error("the revocation belongs to another namespace")]
    Namespace,
    /// The issuer is no usable key.
    #[error("the issuer of the revocation: {0}")]
    IssuerKey(KeyError),
    /// It names no grant of its issuer, but the issuer is not the namespace key.
    #[error("a revocation that names no grant of its issuer must be issued by the key of the namespace")]
    NotRoot,
    /// The grant that it names as its issuer's was given to another key.
    #[error("the issuer of the revocation is not the audience of the grant that it acts by")]
    NotTheAudience,
    /// The signature is not the issuer's.
    #[error("the revocation is not signed by its issuer")]
    Signature,
}

impl RevocationRefusal {
    /// The stable code of this refusal: the label of its counter.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLong => "REVOCATION_TOO_LONG",
            Self::Encoding(_) => "REVOCATION_ENCODING",
            Self::Kind(_) => "STATEMENT_KIND",
            Self::Version(_) => "REVOCATION_VERSION",
            Self::Namespace => "REVOCATION_NAMESPACE",
            Self::IssuerKey(_) => "REVOCATION_ISSUER_KEY",
            Self::NotRoot => "REVOCATION_NOT_ROOT",
            Self::NotTheAudience => "REVOCATION_ISSUER",
            Self::Signature => "REVOCATION_SIGNATURE",
        }
    }
}

/// Why a statement of either kind is refused for good.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatementRefusal {
    /// It is no acceptable grant, nor does it claim to be a revocation.
    #[error(transparent)]
    Grant(#[from] GrantRefusal),
    /// It claims to be a revocation and is no acceptable one.
    #[error(transparent)]
    Revocation(#[from] RevocationRefusal),
}

impl StatementRefusal {
    /// The stable code of this refusal: the label of its counter.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Grant(refusal) => refusal.code(),
            Self::Revocation(refusal) => refusal.code(),
        }
    }
}

/// Why a stamp is refused for good. The change may still count by another stamp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StampRefusal {
    /// Longer than any stamp.
    #[error("a stamp has at most {STAMP_BYTES_MAX} bytes")]
    TooLong,
    /// The bytes are not the one encoding of a stamp.
    #[error("the bytes are not an encoded stamp: {0}")]
    Encoding(#[from] DecodeError),
    /// A stamp of a version that this build does not know.
    #[error("the stamp has the unknown version {0}: a newer memlet may know it")]
    Version(u64),
    /// Made for another namespace.
    #[error("the stamp belongs to another namespace")]
    Namespace,
    /// Made for another epoch.
    #[error("the stamp belongs to another epoch")]
    Epoch,
    /// Made for another change.
    #[error("the stamp belongs to another change")]
    Change,
    /// The actor of the change does not begin with the stamp's device key.
    #[error("the change is written under the actor of another device")]
    Actor,
    /// A device's own change has one signature, an agent's has two.
    #[error("a stamp has one signature if its author is the device, and two otherwise")]
    SignatureCount,
    /// The author is no usable key.
    #[error("the author of the stamp: {0}")]
    AuthorKey(KeyError),
    /// The device is no usable key.
    #[error("the device of the stamp: {0}")]
    DeviceKey(KeyError),
    /// The author did not sign.
    #[error("the stamp is not signed by its author")]
    AuthorSignature,
    /// The device did not sign.
    #[error("the stamp is not signed by its device")]
    DeviceSignature,
    /// The grant was given to another key.
    #[error("the author of the stamp is not the audience of its grant")]
    NotTheAudience,
    /// The grant did not hold at the stamp's time.
    #[error("the grant did not hold at the time of the stamp")]
    Window,
    /// The time is before that of the actor's previous change.
    #[error("the time of the stamp lies before that of the actor's previous change")]
    Backwards,
}

impl StampRefusal {
    /// The stable code of this refusal: the label of its counter.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLong => "STAMP_TOO_LONG",
            Self::Encoding(_) => "STAMP_ENCODING",
            Self::Version(_) => "STAMP_VERSION",
            Self::Namespace => "STAMP_NAMESPACE",
            Self::Epoch => "STAMP_EPOCH",
            Self::Change => "STAMP_CHANGE",
            Self::Actor => "STAMP_ACTOR",
            Self::SignatureCount => "STAMP_SIGNATURE_COUNT",
            Self::AuthorKey(_) => "STAMP_AUTHOR_KEY",
            Self::DeviceKey(_) => "STAMP_DEVICE_KEY",
            Self::AuthorSignature => "STAMP_AUTHOR_SIGNATURE",
            Self::DeviceSignature => "STAMP_DEVICE_SIGNATURE",
            Self::NotTheAudience => "STAMP_AUDIENCE",
            Self::Window => "STAMP_WINDOW",
            Self::Backwards => "STAMP_BACKWARDS",
        }
    }
}

/// No grant in force allows this. It names what was asked and nothing else, so that an absent path and a forbidden one
/// read the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no grant allows to {ability} at {:?}: ask the owner of the namespace for one", .path.to_string())]
pub struct Denied {
    /// What was asked.
    pub ability: Ability,
    /// Where it was asked.
    pub path: Path,
}

impl Denied {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        "PERMISSION_DENIED"
    }
}

/// Why a holder of a grant may not pass it on in these terms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DelegateError {
    /// The new grant could stand under no chain.
    #[error(transparent)]
    Refused(#[from] GrantRefusal),
    /// The terms name more than the holder has, or the holder may not delegate there.
    #[error("the holder cannot pass on what it lacks: {0}")]
    Widens(#[from] Denied),
    /// The terms reach beyond the time of the holder's own grant.
    #[error("the new grant must lie within the time of the holder's own grant")]
    Outlives,
}

impl DelegateError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Widens(denied) => denied.code(),
            Self::Outlives => "GRANT_OUTLIVES",
        }
    }
}
