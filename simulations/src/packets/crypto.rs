//! Randomness of a seed in place of the system's, wherever QUIC and TLS would ask for it.
//!
//! Ciphers, hashes and signatures are the production ones. Ed25519 signatures are a function of what they sign, so with these
//! every byte of every datagram follows from the seed.

use std::cell::RefCell;
use std::sync::Arc;

use curve25519_dalek::montgomery::MontgomeryPoint;
use quinn_proto::crypto::{CryptoError, HmacKey};
use quinn_proto::{ConnectionId, ConnectionIdGenerator, EndpointConfig, InvalidCid};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret, SupportedKxGroup, ring,
};
use rustls::{Error, NamedGroup, PeerMisbehaved};

use crate::random::Stream;

thread_local! {
    /// What TLS draws from. TLS takes only sources that live for ever, so they cannot belong to a run; a run has one thread.
    static TLS: RefCell<Stream> = RefCell::new(Stream::new(0, "tls"));
}

/// What TLS does on this thread from now on follows from `seed`.
pub(super) fn seed_tls(seed: u64) {
    TLS.set(Stream::new(seed, "tls"));
}

/// The provider of production with the randomness of this thread.
pub(super) fn provider() -> CryptoProvider {
    CryptoProvider { secure_random: &Seeded, kx_groups: vec![&SeededX25519], ..ring::default_provider() }
}

/// How an endpoint behaves, with randomness from `stream`.
pub(super) fn endpoint_config(stream: &mut Stream) -> EndpointConfig {
    let (reset, ids) = (stream.bytes(), stream.bytes());
    let mut config = EndpointConfig::new(Arc::new(ResetKey(reset)));
    config.rng_seed(Some(stream.bytes())).cid_generator(move || Box::new(KeyedIds { key: ids, made: 0 }));
    config
}

#[derive(Debug)]
struct Seeded;

impl SecureRandom for Seeded {
    fn fill(&self, out: &mut [u8]) -> Result<(), GetRandomFailed> {
        TLS.with_borrow_mut(|stream| stream.fill(out));
        Ok(())
    }
}

/// X25519 (RFC 7748) with secrets of the seed.
#[derive(Debug)]
struct SeededX25519;

struct Exchange {
    secret: [u8; 32],
    public: [u8; 32],
}

impl SupportedKxGroup for SeededX25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let secret = TLS.with_borrow_mut(Stream::bytes);
        Ok(Box::new(Exchange { secret, public: MontgomeryPoint::mul_base_clamped(secret).to_bytes() }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer = peer.try_into().map_err(|_| PeerMisbehaved::InvalidKeyShare)?;
        Ok(SharedSecret::from(&MontgomeryPoint(peer).mul_clamped(self.secret).to_bytes()[..]))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// Signs stateless resets (RFC 9000, section 10.3).
struct ResetKey([u8; 32]);

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], out: &mut [u8]) {
        blake3::Hasher::new_keyed(&self.0).update(data).finalize_xof().fill(out);
    }

    fn signature_len(&self) -> usize {
        blake3::OUT_LEN
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let expected = blake3::keyed_hash(&self.0, data);
        if expected.as_bytes() == signature { Ok(()) } else { Err(CryptoError) }
    }
}

/// Connection ids: a number and its keyed hash, so that one changed by a flipped bit is known for none of ours, as in production.
struct KeyedIds {
    key: [u8; 32],
    made: u32,
}

/// Bytes of an id, and of the number that it begins with.
const ID_BYTES: usize = 8;
const NUMBER_BYTES: usize = 4;

impl KeyedIds {
    fn id(&self, number: &[u8]) -> [u8; ID_BYTES] {
        let mut id = [0; ID_BYTES];
        id[..NUMBER_BYTES].copy_from_slice(number);
        blake3::Hasher::new_keyed(&self.key).update(number).finalize_xof().fill(&mut id[NUMBER_BYTES..]);
        id
    }
}

impl ConnectionIdGenerator for KeyedIds {
    fn generate_cid(&mut self) -> ConnectionId {
        self.made += 1;
        ConnectionId::new(&self.id(&self.made.to_le_bytes()))
    }

    fn validate(&self, id: &ConnectionId) -> Result<(), InvalidCid> {
        let is_ours = id.len() == ID_BYTES && self.id(&id[..NUMBER_BYTES]) == id[..];
        if is_ours { Ok(()) } else { Err(InvalidCid) }
    }

    fn cid_len(&self) -> usize {
        ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}
