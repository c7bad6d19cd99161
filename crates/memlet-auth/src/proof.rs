//! Proofs that belong to one connection: of the device key when a namespace is opened, of an invite's secret when a
//! device joins.
//!
//! Both cover the keying material that both ends of a TLS 1.3 connection export (RFC 8446, section 7.5), so a proof that
//! is replayed or forwarded on another connection does not verify.

use memlet_core::codec::{Decode, DecodeError, Encode, Reader, Writer};
use memlet_core::id::{NamespaceId, PublicKey};
use zeroize::Zeroizing;

use crate::error::BadSignature;
use crate::keys::{Signature, SigningKey, VerifyingKey};

/// Begins what the opening of a namespace signs.
const OPEN_PREFIX: &[u8] = b"memlet/open/1\0";

/// The 32 bytes exported from a connection's TLS session, equal at both ends and on no other connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exporter(pub [u8; 32]);

/// Proves that the holder of `device` opens `namespace` on the connection of `exporter`.
pub fn open_proof(device: &SigningKey, namespace: &NamespaceId, exporter: &Exporter) -> Signature {
    device.sign(&open_message(namespace, exporter))
}

/// Checks an [`open_proof`] against the key that the connection itself has authenticated.
///
/// # Errors
/// The proof is of another key, namespace or connection.
pub fn verify_open_proof(
    device: &VerifyingKey,
    namespace: &NamespaceId,
    exporter: &Exporter,
    proof: &Signature,
) -> Result<(), BadSignature> {
    device.verify(&open_message(namespace, exporter), proof)
}

fn open_message(namespace: &NamespaceId, exporter: &Exporter) -> Vec<u8> {
    [OPEN_PREFIX, namespace.as_bytes(), &exporter.0].concat()
}

/// The single-use secret of an invite. It is wiped from memory when dropped and cannot be printed.
#[derive(Clone)]
pub struct InviteSecret(Zeroizing<[u8; 32]>);

impl InviteSecret {
    /// The secret of 32 bytes, which must come from a source of strong randomness.
    pub fn from_bytes(secret: [u8; 32]) -> Self {
        Self(Zeroizing::new(secret))
    }

    /// The 32 bytes, for the invite alone.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Proves, as `joiner` to `inviter` on the connection of `exporter`, that the secret is known.
    pub fn prove(&self, exporter: &Exporter, inviter: &PublicKey, joiner: &PublicKey) -> InviteProof {
        InviteProof(*self.mac(exporter, inviter, joiner).as_bytes())
    }

    /// Checks a proof in constant time.
    ///
    /// # Errors
    /// The proof was made with another secret, on another connection, or between other keys.
    pub fn verify(
        &self,
        exporter: &Exporter,
        inviter: &PublicKey,
        joiner: &PublicKey,
        proof: &InviteProof,
    ) -> Result<(), BadSignature> {
        // comparing a `blake3::Hash` takes the same time wherever the bytes differ
        if self.mac(exporter, inviter, joiner) == proof.0 { Ok(()) } else { Err(BadSignature) }
    }

    fn mac(&self, exporter: &Exporter, inviter: &PublicKey, joiner: &PublicKey) -> blake3::Hash {
        blake3::keyed_hash(&self.0, &[exporter.0, inviter.0, joiner.0].concat())
    }
}

/// What a joiner shows instead of the secret: keyed blake3 over exporter ‖ inviter key ‖ joiner key.
#[derive(Clone, Copy, Debug)]
pub struct InviteProof(pub [u8; 32]);

impl Encode for InviteProof {
    fn encode(&self, w: &mut Writer) {
        w.bytes(&self.0);
    }
}

impl Decode for InviteProof {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self(r.byte_array()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_bytes(&[seed; 32])
    }

    #[test]
    fn an_open_proof_fits_one_key_namespace_and_connection() {
        let (bob, namespace, here) = (key(1), NamespaceId(key(9).public().0), Exporter([1; 32]));
        let proof = open_proof(&bob, &namespace, &here);
        let bob = VerifyingKey::new(&bob.public()).unwrap();
        assert_eq!(verify_open_proof(&bob, &namespace, &here, &proof), Ok(()));
        assert_eq!(verify_open_proof(&bob, &namespace, &Exporter([2; 32]), &proof), Err(BadSignature));
        assert_eq!(verify_open_proof(&bob, &NamespaceId([7; 32]), &here, &proof), Err(BadSignature));
    }

    #[test]
    fn an_invite_proof_fits_one_secret_connection_and_pair() {
        let (secret, here) = (InviteSecret::from_bytes([5; 32]), Exporter([1; 32]));
        let (inviter, joiner, other) = (key(1).public(), key(2).public(), key(3).public());
        let proof = secret.prove(&here, &inviter, &joiner);
        assert_eq!(secret.verify(&here, &inviter, &joiner, &proof), Ok(()));
        assert_eq!(secret.verify(&Exporter([2; 32]), &inviter, &joiner, &proof), Err(BadSignature));
        assert_eq!(secret.verify(&here, &inviter, &other, &proof), Err(BadSignature));
        assert_eq!(secret.verify(&here, &joiner, &inviter, &proof), Err(BadSignature));
        let wrong = InviteSecret::from_bytes([6; 32]);
        assert_eq!(wrong.verify(&here, &inviter, &joiner, &proof), Err(BadSignature));
        for bit in 0..256 {
            let mut flipped = proof;
            flipped.0[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(secret.verify(&here, &inviter, &joiner, &flipped), Err(BadSignature));
        }
    }
}
