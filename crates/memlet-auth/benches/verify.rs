//! What a stamped change costs to judge: one signature, the first change of a chain, and every later one.
//!
//! `cargo bench -p memlet-auth`

use divan::Bencher;
use memlet_auth::grant::{Abilities, Cap, Grant, GrantBody, Terms};
use memlet_auth::keys::{SigningKey, VerifyingKey};
use memlet_auth::stamp::{Arrival, Stamp, StampContext, Verdict};
use memlet_auth::statements::Statements;
use memlet_core::id::{Actor, ChangeHash, EpochId, NamespaceId, ReplicaId};
use memlet_core::path::Path;

const NOW_MS: u64 = 1_800_000_000_000;
const EPOCH: EpochId = EpochId([0xe0; 32]);
const CHANGE: ChangeHash = ChangeHash([0xc4; 32]);
const LINKS: u8 = 3;

fn main() {
    divan::main();
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

/// A chain of three grants, the last one to key 4, and a change of that key's device.
struct Scene {
    namespace: NamespaceId,
    chain: Vec<Vec<u8>>,
    stamp: Stamp,
    arrival: Arrival,
}

impl Scene {
    fn new() -> Self {
        let namespace = NamespaceId(key(1).public().0);
        let mut parent = None;
        let mut chain = Vec::new();
        for link in 1..=LINKS {
            let caps = vec![Cap { abilities: Abilities::ALL, path: Path::ROOT }];
            let audience = key(link + 1).public();
            let terms = Terms { audience, caps, not_before: 0, expires: None, depth: LINKS - link, nonce: [0; 16] };
            let body = GrantBody { namespace, issuer: key(link).public(), parent, terms };
            let grant = Grant::issue(&key(link), &body).expect("the terms are within all limits");
            parent = Some(grant.id());
            chain.push(grant.to_bytes());
        }
        let device = key(LINKS + 1);
        let context = StampContext { namespace, epoch: EPOCH };
        let leaf = parent.expect("the chain has three links");
        let stamp = Stamp::sign(context, leaf, CHANGE, NOW_MS, &device, &device);
        let actor = Actor { device: device.public(), replica: ReplicaId([0; 8]) };
        let arrival = Arrival { epoch: EPOCH, actor, change: CHANGE, previous_ms: 0, now_ms: NOW_MS };
        Self { namespace, chain, stamp, arrival }
    }

    fn statements(&self) -> Statements {
        let mut statements = Statements::new(self.namespace).expect("the namespace is an honest key");
        for grant in &self.chain {
            assert!(statements.insert(grant, self.arrival.actor.device).is_ok());
        }
        statements
    }

    fn judge(&self, statements: &Statements) -> Verdict {
        let verdict = self.stamp.compact().verify(statements, &self.arrival).expect("the stamp is honest");
        assert!(matches!(verdict, Verdict::Verified(_)));
        verdict
    }
}

/// One signature by a key that has been accepted before: what everything else is measured against.
#[divan::bench]
fn one_signature(bencher: Bencher<'_, '_>) {
    let key = key(1);
    let verifying = VerifyingKey::new(&key.public()).expect("an honest key");
    let message = [7; 230];
    let signature = key.sign(&message);
    bencher.bench(|| verifying.verify(divan::black_box(&message), &signature));
}

/// Accepting a key that has not been seen before.
#[divan::bench]
fn one_new_key(bencher: Bencher<'_, '_>) {
    let key = key(1).public();
    bencher.bench(|| VerifyingKey::new(divan::black_box(&key)));
}

/// A change under a chain of three links that is known.
#[divan::bench]
fn stamp_under_a_known_chain(bencher: Bencher<'_, '_>) {
    let scene = Scene::new();
    let statements = scene.statements();
    bencher.bench(|| scene.judge(&statements));
}

/// A change together with the chain of three links that it stands under, nothing of it known.
#[divan::bench]
fn stamp_with_its_chain(bencher: Bencher<'_, '_>) {
    let scene = Scene::new();
    bencher.bench(|| scene.judge(&scene.statements()));
}
