//! What revocations cost: counting 10,000 changes under three of them, and judging one change that arrives.
//!
//! `cargo bench -p memlet-auth --bench counting`

use divan::Bencher;
use memlet_auth::grant::{Abilities, Cap, Grant, Terms};
use memlet_auth::keys::SigningKey;
use memlet_auth::revocation::{Kept, Revocation, RevocationBody, Target};
use memlet_auth::revoked::{Change, Next, Revoked};
use memlet_auth::statements::Statements;
use memlet_core::id::{Actor, ChangeHash, GrantId, NamespaceId, ReplicaId};
use memlet_core::path::Path;

const CHANGES: usize = 10_000;
/// Devices that write in turn, each having seen what the one before it wrote.
const DEVICES: u8 = 8;
/// Of them, the first so many are revoked, each with half of its changes kept.
const REVOKED: u8 = 3;

fn main() {
    divan::main();
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn hash(number: usize) -> ChangeHash {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    ChangeHash(bytes)
}

struct Scene {
    statements: Statements,
    grants: Vec<GrantId>,
    dependencies: Vec<Vec<usize>>,
}

impl Scene {
    fn new() -> Self {
        let root = key(1);
        let namespace = NamespaceId(root.public().0);
        let mut statements = Statements::new(namespace).expect("the namespace is an honest key");
        let mut insert = |statement: &[u8]| assert!(statements.insert(statement, root.public()).is_ok());
        let mut grants = Vec::new();
        for device in 0..DEVICES {
            let caps = vec![Cap { abilities: Abilities::ALL, path: Path::ROOT }];
            let audience = key(10 + device).public();
            let terms = Terms { audience, caps, not_before: 0, expires: None, depth: 1, nonce: [0; 16] };
            let grant = Grant::root(&root, terms).expect("the terms are within all limits");
            insert(&grant.to_bytes());
            grants.push(grant.id());
        }
        for device in 0..REVOKED {
            let actor = Actor { device: key(10 + device).public(), replica: ReplicaId([0; 8]) };
            let turns = CHANGES / usize::from(DEVICES) / 2;
            let change = hash(turns * usize::from(DEVICES) + usize::from(device));
            let body = RevocationBody {
                namespace,
                issuer: root.public(),
                grant: None,
                target: Target::Grant(grants[usize::from(device)]),
                keep: [(actor, Kept { seq: 1, change })].into(),
                upheld: [].into(),
                nonce: [0; 16],
            };
            insert(&Revocation::issue(&root, &body).expect("the lists are within their limits").to_bytes());
        }
        let before = |number: usize, by: usize| number.checked_sub(by);
        let seen = |number| before(number, 1).into_iter().chain(before(number, DEVICES.into()));
        Self { statements, grants, dependencies: (0..CHANGES).map(|number| seen(number).collect()).collect() }
    }

    fn changes(&self) -> Vec<Change<'_>> {
        let change = |(number, dependencies)| Change {
            hash: hash(number),
            grant: self.statements.get(&self.grants[number % self.grants.len()]).expect("all grants are in the set"),
            dependencies,
        };
        self.dependencies.iter().map(Vec::as_slice).enumerate().map(change).collect()
    }
}

/// All changes anew, as after a revocation has come.
#[divan::bench]
fn count_ten_thousand_changes(bencher: Bencher<'_, '_>) {
    let scene = Scene::new();
    let changes = scene.changes();
    let revoked = scene.statements.revoked();
    bencher.bench(|| revoked.count(divan::black_box(&changes)));
}

/// One change of an author in good standing.
#[divan::bench]
fn judge_the_next_change(bencher: Bencher<'_, '_>) {
    let scene = Scene::new();
    let revoked: &Revoked = scene.statements.revoked();
    let grant = scene.statements.get(&scene.grants[7]).expect("all grants are in the set");
    let next = hash(CHANGES);
    assert_eq!(revoked.next(&next, grant, true), Next::Counts);
    bencher.bench(|| revoked.next(divan::black_box(&next), grant, true));
}
