//! A namespace with its root key, made of fixed seeds, and hand-made encodings with honest signatures.

use memlet_auth::grant::{Abilities, Ability, Cap, Grant, GrantBody, Terms};
use memlet_auth::keys::{Signature, SigningKey};
use memlet_auth::revocation::{Revocation, RevocationBody, Target};
use memlet_auth::stamp::{Arrival, Stamp, StampContext, Verdict, VerifiedStamp};
use memlet_auth::statements::{Insertion, StatementId, Statements};
use memlet_auth::{chain::VerifiedGrant, error::StampRefusal, error::StatementRefusal};
use memlet_core::codec::{Encode, Writer};
use memlet_core::id::{Actor, ChangeHash, EpochId, GrantId, NamespaceId, PublicKey, ReplicaId};
use memlet_core::path::Path;

pub(crate) use memlet_auth::grant::Ability::{Forget, Read, Write};

/// The second at which all stamps are made unless a test says otherwise.
pub(crate) const NOW: u64 = 1_800_000_000;
pub(crate) const EPOCH: EpochId = EpochId([0xe0; 32]);
pub(crate) const CHANGE: ChangeHash = ChangeHash([0xc4; 32]);

pub(crate) const ROOT: u8 = 1;
pub(crate) const ALICE: u8 = 2;
pub(crate) const BOB: u8 = 3;
pub(crate) const CAROL: u8 = 4;
pub(crate) const DAVE: u8 = 5;

pub(crate) fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

pub(crate) fn public(seed: u8) -> PublicKey {
    key(seed).public()
}

pub(crate) fn namespace() -> NamespaceId {
    NamespaceId(public(ROOT).0)
}

pub(crate) fn path(text: &str) -> Path {
    Path::parse(text).unwrap()
}

pub(crate) fn cap(abilities: &[Ability], at: &str) -> Cap {
    Cap { abilities: Abilities::of(abilities), path: path(at) }
}

/// Terms for `audience` that hold for ever and leave room for more links than a chain may have.
pub(crate) fn terms(audience: u8, depth: u8, caps: impl IntoIterator<Item = Cap>) -> Terms {
    let caps = caps.into_iter().collect();
    Terms { audience: public(audience), caps, not_before: 0, expires: None, depth, nonce: [0; 16] }
}

/// A grant by `issuer` under `parent`, whether or not it makes sense.
pub(crate) fn child(issuer: u8, parent: GrantId, terms: Terms) -> Grant {
    let body = GrantBody { namespace: namespace(), issuer: public(issuer), parent: Some(parent), terms };
    Grant::issue(&key(issuer), &body).unwrap()
}

/// A revocation by `issuer` that acts by `grant` and keeps nothing.
pub(crate) fn revocation(issuer: u8, grant: Option<GrantId>, target: Target) -> RevocationBody {
    let (keep, upheld, nonce) = Default::default();
    RevocationBody { namespace: namespace(), issuer: public(issuer), grant, target, keep, upheld, nonce }
}

/// Signs a revocation by `issuer`.
pub(crate) fn revoke(issuer: u8, body: &RevocationBody) -> Revocation {
    Revocation::issue(&key(issuer), body).unwrap()
}

/// The statements of the namespace and shorthands to fill and ask them.
pub(crate) struct World {
    pub(crate) statements: Statements,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { statements: Statements::new(namespace()).unwrap() }
    }

    pub(crate) fn insert(&mut self, grant: &Grant) -> Result<Insertion, StatementRefusal> {
        self.statements.insert(&grant.to_bytes(), public(ALICE))
    }

    /// Inserts a grant that must be accepted.
    pub(crate) fn add(&mut self, grant: &Grant) -> GrantId {
        let added = vec![StatementId::Grant(grant.id())];
        assert_eq!(self.insert(grant), Ok(Insertion::New { added, refused: vec![] }));
        grant.id()
    }

    /// Inserts a revocation that must be accepted.
    pub(crate) fn add_revocation(&mut self, revocation: &Revocation) {
        let added = vec![StatementId::Revocation(revocation.id())];
        let inserted = self.statements.insert(&revocation.to_bytes(), public(ALICE));
        assert_eq!(inserted, Ok(Insertion::New { added, refused: vec![] }));
    }

    /// Adds a grant directly under the root key.
    pub(crate) fn add_root(&mut self, terms: Terms) -> GrantId {
        self.add(&Grant::root(&key(ROOT), terms).unwrap())
    }

    pub(crate) fn get(&self, id: GrantId) -> &VerifiedGrant {
        self.statements.get(&id).unwrap()
    }

    /// Asserts that the statement is refused in this way and leaves no trace.
    pub(crate) fn refuses<R: Clone + Into<StatementRefusal>>(&mut self, statement: &[u8], refusal: &R) {
        let before = (self.statement_ids(), self.statements.parked());
        assert_eq!(self.statements.insert(statement, public(ALICE)), Err(refusal.clone().into()));
        assert_eq!((self.statement_ids(), self.statements.parked()), before);
    }

    pub(crate) fn statement_ids(&self) -> Vec<StatementId> {
        self.statements.parents_first().map(|statement| statement.id()).collect()
    }

    pub(crate) fn ids(&self) -> Vec<GrantId> {
        self.statements.iter().map(|grant| grant.id()).collect()
    }

    /// A stamp under `grant`, made now.
    pub(crate) fn stamp(&self, author: u8, device: u8, grant: GrantId) -> Stamp {
        self.stamp_at(author, device, grant, NOW * 1_000)
    }

    pub(crate) fn stamp_at(&self, author: u8, device: u8, grant: GrantId, time_ms: u64) -> Stamp {
        Stamp::sign(context(), grant, CHANGE, time_ms, &key(author), &key(device))
    }

    /// Judges a stamp that must hold.
    pub(crate) fn verified(&self, stamp: &Stamp, arrival: &Arrival) -> VerifiedStamp {
        match stamp.verify(&self.statements, arrival) {
            Ok(Verdict::Verified(verified)) => verified,
            other => panic!("{other:?}"),
        }
    }

    /// Why a stamp that must not hold is refused.
    pub(crate) fn refusal(&self, stamp: &Stamp, arrival: &Arrival) -> StampRefusal {
        stamp.verify(&self.statements, arrival).expect_err("the stamp must be refused")
    }
}

pub(crate) fn context() -> StampContext {
    StampContext { namespace: namespace(), epoch: EPOCH }
}

/// The first change of `device`, arriving now.
pub(crate) fn arrival(device: u8) -> Arrival {
    let actor = Actor { device: public(device), replica: ReplicaId([0; 8]) };
    Arrival { epoch: EPOCH, actor, change: CHANGE, previous_ms: 0, now_ms: NOW * 1_000 }
}

/// A record as its encoded items, so that a test can replace one of them.
#[derive(Clone)]
pub(crate) struct Items(pub(crate) Vec<Vec<u8>>);

impl Items {
    /// A root grant for Alice, every ability everywhere. Items: version, namespace, issuer, audience, parent, caps,
    /// not before, expires, depth, nonce.
    pub(crate) fn of_grant() -> Self {
        let mut caps = Writer::default();
        caps.list([cap(&Ability::ALL, "")].iter());
        Self(vec![
            1u64.to_cbor(),
            namespace().to_cbor(),
            public(ROOT).to_cbor(),
            public(ALICE).to_cbor(),
            vec![0xf6],
            caps.into_bytes(),
            NOW.to_cbor(),
            (NOW + 1).to_cbor(),
            3u64.to_cbor(),
            bytes_item(&[9; 16]),
        ])
    }

    /// A revocation by the root key of a grant, keeping one change. Items: version, namespace, issuer, issuer's grant,
    /// target, keep, upheld, nonce.
    pub(crate) fn of_revocation(target: GrantId) -> Self {
        let actor = Actor { device: public(ALICE), replica: ReplicaId([0; 8]) };
        Self(vec![
            1u64.to_cbor(),
            namespace().to_cbor(),
            public(ROOT).to_cbor(),
            vec![0xf6],
            [vec![0x82, 0x00], target.to_cbor()].concat(),
            [vec![0x81, 0x83], actor.to_cbor(), 7u64.to_cbor(), CHANGE.to_cbor()].concat(),
            vec![0x80],
            bytes_item(&[9; 16]),
        ])
    }

    /// Alice's own stamp. Items: version, namespace, epoch, author, grant, device, change, time.
    pub(crate) fn of_stamp(grant: GrantId) -> Self {
        Self(vec![
            1u64.to_cbor(),
            namespace().to_cbor(),
            EPOCH.to_cbor(),
            public(ALICE).to_cbor(),
            grant.to_cbor(),
            public(ALICE).to_cbor(),
            CHANGE.to_cbor(),
            (NOW * 1_000).to_cbor(),
        ])
    }

    pub(crate) fn with(&self, index: usize, item: impl Into<Vec<u8>>) -> Self {
        let mut items = self.clone();
        items.0[index] = item.into();
        items
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.array(self.0.len());
        [w.into_bytes(), self.0.concat()].concat()
    }
}

pub(crate) fn bytes_item(bytes: &[u8]) -> Vec<u8> {
    let mut w = Writer::default();
    w.bytes(bytes);
    w.into_bytes()
}

/// A grant statement around any body, honestly signed.
pub(crate) fn signed_grant(issuer: u8, body: &[u8]) -> Vec<u8> {
    grant_with(body, key(issuer).sign(&[b"memlet/grant/1\0", body].concat()))
}

pub(crate) fn grant_with(body: &[u8], signature: Signature) -> Vec<u8> {
    [vec![0x83, 0x01], bytes_item(body), signature.to_cbor()].concat()
}

/// A revocation statement around any body, honestly signed.
pub(crate) fn signed_revocation(issuer: u8, body: &[u8]) -> Vec<u8> {
    revocation_with(body, key(issuer).sign(&[b"memlet/revocation/1\0", body].concat()))
}

pub(crate) fn revocation_with(body: &[u8], signature: Signature) -> Vec<u8> {
    [vec![0x83, 0x02], bytes_item(body), signature.to_cbor()].concat()
}

/// A full stamp around any body, honestly signed by one key.
pub(crate) fn signed_stamp(author: u8, body: &[u8]) -> Vec<u8> {
    stamp_with(body, key(author).sign(&[b"memlet/stamp/1\0", body].concat()))
}

pub(crate) fn stamp_with(body: &[u8], signature: Signature) -> Vec<u8> {
    [vec![0x82], bytes_item(body), signature.to_cbor()].concat()
}
