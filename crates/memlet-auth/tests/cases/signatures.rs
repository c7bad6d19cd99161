//! Cases 1 to 7: signatures and keys.

use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use ed25519_dalek::{Digest as _, Sha512, Verifier as _};
use memlet_auth::error::{GrantRefusal, KeyError, RevocationRefusal, StampRefusal};
use memlet_auth::keys::{Signature, VerifyingKey};
use memlet_auth::stamp::Stamp;
use memlet_auth::statements::{Insertion, Statements};
use memlet_core::codec::{DecodeError, Encode};
use memlet_core::id::{GrantId, NamespaceId, PublicKey};

use crate::fixture::*;

/// Items of a grant and of a stamp that hold a key.
const ISSUER: usize = 2;
const AUDIENCE: usize = 3;
const PARENT: usize = 4;
const AUTHOR: usize = 3;
const DEVICE: usize = 5;

/// Order of the base point, little-endian (RFC 8032, section 5.1).
const L: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

fn grant_message(body: &[u8]) -> Vec<u8> {
    [b"memlet/grant/1\0", body].concat()
}

fn stamp_message(body: &[u8]) -> Vec<u8> {
    [b"memlet/stamp/1\0", body].concat()
}

/// The scalar by which a verifier multiplies the key: SHA-512 of R, key and message.
fn challenge(r: &[u8; 32], key: &PublicKey, message: &[u8]) -> Scalar {
    let hash = Sha512::new().chain_update(r).chain_update(key.0).chain_update(message).finalize();
    Scalar::from_bytes_mod_order_wide(&hash.into())
}

fn signature(r: EdwardsPoint, s: Scalar) -> Signature {
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(r.compress().as_bytes());
    bytes[32..].copy_from_slice(s.as_bytes());
    Signature(bytes)
}

#[test]
fn case_01_a_flipped_bit_of_a_signature() {
    let mut world = World::new();
    let body = Items::of_grant().body();
    let Signature(grant_signature) = key(ROOT).sign(&grant_message(&body));
    for bit in 0..512 {
        let mut flipped = grant_signature;
        flipped[bit / 8] ^= 1 << (bit % 8);
        world.refuses(&grant_with(&body, Signature(flipped)), &GrantRefusal::Signature);
    }
    // also once the honest one is known
    let statement = grant_with(&body, Signature(grant_signature));
    assert!(world.statements.insert(&statement, public(ALICE)).is_ok());
    let mut flipped = grant_signature;
    flipped[0] ^= 1;
    world.refuses(&grant_with(&body, Signature(flipped)), &GrantRefusal::Signature);

    let grant = world.ids()[0];
    let body = Items::of_stamp(grant).body();
    let Signature(stamp_signature) = key(ALICE).sign(&stamp_message(&body));
    let honest = Stamp::parse(&stamp_with(&body, Signature(stamp_signature))).unwrap();
    world.verified(&honest, &arrival(ALICE));
    for bit in 0..512 {
        let mut flipped = stamp_signature;
        flipped[bit / 8] ^= 1 << (bit % 8);
        let stamp = Stamp::parse(&stamp_with(&body, Signature(flipped))).unwrap();
        assert_eq!(world.refusal(&stamp, &arrival(ALICE)), StampRefusal::AuthorSignature);
    }
}

#[test]
fn case_02_a_body_signed_by_another_key() {
    let mut world = World::new();
    world.refuses(&signed_grant(BOB, &Items::of_grant().body()), &GrantRefusal::Signature);

    let grant = world.add_root(terms(ALICE, 0, [cap(&[Write], "w")]));
    let body = Items::of_stamp(grant).body();
    let stamp = Stamp::parse(&signed_stamp(BOB, &body)).unwrap();
    assert_eq!(world.refusal(&stamp, &arrival(ALICE)), StampRefusal::AuthorSignature);

    // an agent's stamp needs the device as much as the agent
    let body = Items::of_stamp(grant).with(DEVICE, public(BOB).to_cbor()).body();
    for (agent, device, refusal) in
        [(CAROL, BOB, StampRefusal::AuthorSignature), (ALICE, CAROL, StampRefusal::DeviceSignature)]
    {
        let [agent, device] = [agent, device].map(|seed| key(seed).sign(&stamp_message(&body)).to_cbor());
        let bytes = [vec![0x83], bytes_item(&body), agent, device].concat();
        assert_eq!(world.refusal(&Stamp::parse(&bytes).unwrap(), &arrival(BOB)), refusal);
    }
    let stamp = world.stamp(ALICE, BOB, grant);
    world.verified(&stamp, &arrival(BOB));
}

#[test]
fn case_03_the_identity_point_as_key() {
    let identity = PublicKey({
        let mut bytes = [0; 32];
        bytes[0] = 1;
        bytes
    });
    let forged = signature(EdwardsPoint::default(), Scalar::ZERO);
    // a plain verifier takes it for any message: this is what the check is for
    let plain = ed25519_dalek::VerifyingKey::from_bytes(&identity.0).unwrap();
    assert!(plain.verify(b"anything", &ed25519_dalek::Signature::from_bytes(&forged.0)).is_ok());

    let mut world = World::new();
    let grant = world.add_root(terms(ALICE, 0, [cap(&[Write], "w")]));
    let body = Items::of_stamp(grant).with(AUTHOR, identity.to_cbor()).with(DEVICE, identity.to_cbor()).body();
    let stamp = Stamp::parse(&stamp_with(&body, forged)).unwrap();
    let mut arrival = arrival(ALICE);
    arrival.actor.device = identity;
    assert_eq!(world.refusal(&stamp, &arrival), StampRefusal::AuthorKey(KeyError::SmallOrder));

    let body = Items::of_grant().with(ISSUER, identity.to_cbor()).with(PARENT, GrantId([7; 32]).to_cbor()).body();
    world.refuses(&grant_with(&body, forged), &GrantRefusal::IssuerKey(KeyError::SmallOrder));
    assert_eq!(Statements::new(NamespaceId(identity.0)).err(), Some(KeyError::SmallOrder));
}

#[test]
fn case_03_the_identity_point_as_r_of_an_honest_key() {
    // R = identity and S = k a: no nonce hides the key, and a plain verifier takes it
    let secret = Scalar::from(0x1234_5678_9abc_def0_u64);
    let author = PublicKey((ED25519_BASEPOINT_POINT * secret).compress().to_bytes());
    let mut world = World::new();
    let grant = world.add_root(terms(ALICE, 0, [cap(&[Write], "w")]));
    let body = Items::of_stamp(grant).with(AUTHOR, author.to_cbor()).with(DEVICE, author.to_cbor()).body();
    let message = stamp_message(&body);
    let r = EdwardsPoint::default();
    let forged = signature(r, challenge(r.compress().as_bytes(), &author, &message) * secret);
    let plain = ed25519_dalek::VerifyingKey::from_bytes(&author.0).unwrap();
    assert!(plain.verify(&message, &ed25519_dalek::Signature::from_bytes(&forged.0)).is_ok());

    let stamp = Stamp::parse(&stamp_with(&body, forged)).unwrap();
    let mut arrival = arrival(ALICE);
    arrival.actor.device = author;
    assert_eq!(world.refusal(&stamp, &arrival), StampRefusal::AuthorSignature);
}

#[test]
fn case_04_non_canonical_encodings_of_a_key() {
    let mut world = World::new();
    let grant = world.add_root(terms(ALICE, 0, [cap(&[Write], "w")]));
    let mut readable = 0;
    // p = 2^255 - 19, so the encodings of p to 2^255 - 1 end in ed to ff; the top bit is the sign of x
    for (low, high) in (0xed..=0xff).flat_map(|low| [(low, 0x7f), (low, 0xff)]) {
        let mut bytes = [0xff; 32];
        (bytes[0], bytes[31]) = (low, high);
        let bad = PublicKey(bytes);
        let error = if CompressedEdwardsY(bytes).decompress().is_some() {
            readable += 1;
            KeyError::NotCanonical
        } else {
            KeyError::NotAPoint
        };
        assert_eq!(VerifyingKey::new(&bad), Err(error));

        let audience = Items::of_grant().with(AUDIENCE, bad.to_cbor()).body();
        world.refuses(&signed_grant(ROOT, &audience), &GrantRefusal::AudienceKey(error));
        let issuer = Items::of_grant().with(ISSUER, bad.to_cbor()).with(PARENT, GrantId([7; 32]).to_cbor()).body();
        world.refuses(&signed_grant(ROOT, &issuer), &GrantRefusal::IssuerKey(error));
        let author = Items::of_stamp(grant).with(AUTHOR, bad.to_cbor()).with(DEVICE, bad.to_cbor()).body();
        let stamp = Stamp::parse(&signed_stamp(ALICE, &author)).unwrap();
        let mut arrival = arrival(ALICE);
        arrival.actor.device = bad;
        assert_eq!(world.refusal(&stamp, &arrival), StampRefusal::AuthorKey(error));
    }
    assert!(readable > 0, "some of them are points, and must be refused for their encoding");
}

#[test]
fn case_05_an_honest_key_plus_a_torsion_point() {
    let secret = Scalar::from(0x1234_5678_9abc_def0_u64);
    let nonce = Scalar::from(0x0fed_cba9_8765_4321_u64);
    let mixed = ED25519_BASEPOINT_POINT * secret + EIGHT_TORSION[1];
    let key = PublicKey(mixed.compress().to_bytes());
    let r = ED25519_BASEPOINT_POINT * nonce;
    let mut world = World::new();
    let grant = world.add_root(terms(ALICE, 0, [cap(&[Write], "w")]));

    let (mut strictly, mut cofactored) = (0, 0);
    for time in 0..64u64 {
        let body = Items::of_stamp(grant)
            .with(AUTHOR, key.to_cbor())
            .with(DEVICE, key.to_cbor())
            .with(7, (NOW * 1_000 + time).to_cbor())
            .body();
        let message = stamp_message(&body);
        let k = challenge(r.compress().as_bytes(), &key, &message);
        let forged = signature(r, nonce + k * secret);
        // [8](S B - k A - R) = 0: what a cofactored verifier asks
        let difference = ED25519_BASEPOINT_POINT * (nonce + k * secret) - mixed * k - r;
        cofactored += u32::from(difference.mul_by_cofactor().is_identity());
        // one in eight passes the cofactorless check as well, so verifying strictly is not enough
        let dalek = ed25519_dalek::VerifyingKey::from_bytes(&key.0).unwrap();
        strictly += u32::from(dalek.verify_strict(&message, &ed25519_dalek::Signature::from_bytes(&forged.0)).is_ok());

        let stamp = Stamp::parse(&stamp_with(&body, forged)).unwrap();
        let mut arrival = arrival(ALICE);
        arrival.actor.device = key;
        assert_eq!(world.refusal(&stamp, &arrival), StampRefusal::AuthorKey(KeyError::Torsion));
    }
    assert_eq!(cofactored, 64);
    assert!(strictly > 0);

    let body = Items::of_grant().with(AUDIENCE, key.to_cbor()).body();
    world.refuses(&signed_grant(ROOT, &body), &GrantRefusal::AudienceKey(KeyError::Torsion));
}

#[test]
fn case_06_the_order_added_to_s() {
    let plus_order = |Signature(mut bytes): Signature| {
        let mut carry = 0u16;
        for (byte, order) in bytes[32..].iter_mut().zip(L) {
            let sum = u16::from(*byte) + u16::from(order) + carry;
            *byte = sum.to_le_bytes()[0];
            carry = sum >> 8;
        }
        assert_eq!(carry, 0);
        Signature(bytes)
    };
    let mut world = World::new();
    let body = Items::of_grant().body();
    let malleated = plus_order(key(ROOT).sign(&grant_message(&body)));
    world.refuses(&grant_with(&body, malleated), &GrantRefusal::Signature);

    let grant = world.add_root(terms(ALICE, 0, [cap(&[Write], "w")]));
    let body = Items::of_stamp(grant).body();
    let malleated = plus_order(key(ALICE).sign(&stamp_message(&body)));
    let stamp = Stamp::parse(&stamp_with(&body, malleated)).unwrap();
    assert_eq!(world.refusal(&stamp, &arrival(ALICE)), StampRefusal::AuthorSignature);
}

#[test]
fn case_07_keys_of_another_length_or_of_one_byte() {
    for bytes in [vec![7; 31], vec![7; 33], vec![]] {
        assert_eq!(VerifyingKey::from_slice(&bytes), Err(KeyError::Length(bytes.len())));
        let wrong = DecodeError::Expected("a byte string of another length");
        for item in [ISSUER, AUDIENCE] {
            let body = Items::of_grant().with(item, bytes_item(&bytes)).body();
            World::new().refuses(&signed_grant(ROOT, &body), &GrantRefusal::Encoding(wrong.clone()));
        }
        let body = Items::of_stamp(GrantId([7; 32])).with(AUTHOR, bytes_item(&bytes)).body();
        assert_eq!(Stamp::parse(&signed_stamp(ALICE, &body)), Err(StampRefusal::Encoding(wrong)));
    }
    assert_eq!(VerifyingKey::from_slice(&[0x00; 32]), Err(KeyError::SmallOrder));
    assert_eq!(VerifyingKey::from_slice(&[0xff; 32]), Err(KeyError::NotCanonical));
}

#[test]
fn a_revocation_is_signed_by_its_issuer_in_its_own_namespace() {
    let mut world = World::new();
    let grant = world.add_root(terms(ALICE, 0, [cap(&[Write], "w")]));
    let items = Items::of_revocation(grant);
    let body = items.body();
    // case 1, with and without the honest one
    let Signature(honest) = key(ROOT).sign(&[b"memlet/revocation/1\0", body.as_slice()].concat());
    for round in 0..2 {
        for bit in 0..512 {
            let mut flipped = honest;
            flipped[bit / 8] ^= 1 << (bit % 8);
            world.refuses(&revocation_with(&body, Signature(flipped)), &RevocationRefusal::Signature);
        }
        let inserted = world.statements.insert(&revocation_with(&body, Signature(honest)), public(ALICE));
        assert_eq!(matches!(inserted, Ok(Insertion::New { .. })), round == 0);
    }
    // case 2
    world.refuses(&signed_revocation(BOB, &items.with(7, bytes_item(&[8; 16])).body()), &RevocationRefusal::Signature);
    // cases 3 and 4
    let mut identity = [0; 32];
    identity[0] = 1;
    for (bad, error) in [(identity, KeyError::SmallOrder), ([0xff; 32], KeyError::NotCanonical)] {
        let unknown = GrantId([7; 32]).to_cbor();
        let body = items.with(ISSUER, bytes_item(&bad)).with(3, unknown).body();
        world.refuses(&signed_revocation(ROOT, &body), &RevocationRefusal::IssuerKey(error));
    }
    // cases 26 and 27
    let body = items.with(ISSUER, public(BOB).to_cbor()).body();
    world.refuses(&signed_revocation(BOB, &body), &RevocationRefusal::NotRoot);
    let body = items.with(ISSUER, public(BOB).to_cbor()).with(3, grant.to_cbor()).body();
    world.refuses(&signed_revocation(BOB, &body), &RevocationRefusal::NotTheAudience);
    let body = items.with(1, public(BOB).to_cbor()).body();
    world.refuses(&signed_revocation(ROOT, &body), &RevocationRefusal::Namespace);
}
