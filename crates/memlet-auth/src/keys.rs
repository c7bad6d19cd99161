//! Ed25519 keys and signatures (RFC 8032), with one strict reading.
//!
//! A [`VerifyingKey`] exists only for a key that is canonical, of large order and torsion-free, and it verifies strictly
//! only. So no signature passes that another implementation would judge differently, and none that fits any message.

use std::fmt;

use curve25519_dalek::edwards::CompressedEdwardsY;
use ed25519_dalek::Signer as _;
use memlet_core::codec::{Decode, DecodeError, Encode, Reader, Writer};
use memlet_core::id::PublicKey;
use zeroize::Zeroizing;

use crate::error::{BadSignature, KeyError};

/// A private key. It is wiped from memory when dropped and can be neither printed nor compared.
#[derive(Clone)]
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// The key of a 32-byte secret, which must come from a source of strong randomness.
    pub fn from_bytes(secret: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(secret))
    }

    /// The 32-byte secret, for the key file alone.
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes())
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    /// Signs `message`, which must begin with a prefix that no other use of the key has.
    pub fn sign(&self, message: &[u8]) -> Signature {
        Signature(self.0.sign(message).to_bytes())
    }
}

/// A public key that has passed every check of [`VerifyingKey::new`].
#[derive(Clone, PartialEq, Eq)]
pub struct VerifyingKey(ed25519_dalek::VerifyingKey);

impl VerifyingKey {
    /// Accepts a public key. This costs about as much as verifying a signature, so keep the result.
    ///
    /// # Errors
    /// The bytes are not a point, not its canonical encoding, of small order, or carry a torsion component.
    pub fn new(key: &PublicKey) -> Result<Self, KeyError> {
        let point = CompressedEdwardsY(key.0).decompress().ok_or(KeyError::NotAPoint)?;
        if point.compress().to_bytes() != key.0 {
            return Err(KeyError::NotCanonical);
        }
        if point.is_small_order() {
            return Err(KeyError::SmallOrder);
        }
        if !point.is_torsion_free() {
            return Err(KeyError::Torsion);
        }
        Ok(Self(ed25519_dalek::VerifyingKey::from(point)))
    }

    /// Accepts a public key of bytes that may have any length.
    ///
    /// # Errors
    /// [`KeyError::Length`] unless there are 32 bytes, then as [`VerifyingKey::new`].
    pub fn from_slice(bytes: &[u8]) -> Result<Self, KeyError> {
        Self::new(&PublicKey::from_slice(bytes).ok_or(KeyError::Length(bytes.len()))?)
    }

    /// The 32 bytes of this key.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.to_bytes())
    }

    /// Checks that this key signed `message`, by the strict and cofactorless rule.
    ///
    /// # Errors
    /// The signature is of another key or message, or is not in its one canonical form.
    pub fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), BadSignature> {
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        self.0.verify_strict(message, &signature).map_err(|_| BadSignature)
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey({})", self.public())
    }
}

/// The 64 bytes of a signature, unchecked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature(pub [u8; 64]);

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signature(")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

impl Encode for Signature {
    fn encode(&self, w: &mut Writer) {
        w.bytes(&self.0);
    }
}

impl Decode for Signature {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self(r.byte_array()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_as_the_rfc_does() {
        // RFC 8032, section 7.1, test 2: one byte, 0x72.
        let secret = [
            0x4c, 0xcd, 0x08, 0x9b, 0x28, 0xff, 0x96, 0xda, 0x9d, 0xb6, 0xc3, 0x46, 0xec, 0x11, 0x4e, 0x0f, 0x5b, 0x8a,
            0x31, 0x9f, 0x35, 0xab, 0xa6, 0x24, 0xda, 0x8c, 0xf6, 0xed, 0x4f, 0xb8, 0xa6, 0xfb,
        ];
        let key = SigningKey::from_bytes(&secret);
        let signature = key.sign(&[0x72]);
        assert_eq!(key.public().to_string(), "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
        assert_eq!(
            format!("{signature:?}"),
            "Signature(92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
             085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00)"
        );

        let verifying = VerifyingKey::new(&key.public()).unwrap();
        assert_eq!(verifying.verify(&[0x72], &signature), Ok(()));
        assert_eq!(verifying.verify(&[0x73], &signature), Err(BadSignature));
        assert_eq!(*key.to_bytes(), secret);
    }
}
