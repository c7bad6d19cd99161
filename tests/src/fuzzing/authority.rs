//! Signed statements and stamps: one encoding each, and a set of statements that depends on no order of arrival.

use memlet_auth::grant::Grant;
use memlet_auth::limits::PARKED_PER_PEER_MAX;
use memlet_auth::stamp::{Arrival, Stamp, Verdict};
use memlet_auth::statements::{Insertion, Statements};
use memlet_core::id::{Actor, GrantId, ReplicaId};

use super::device::{NOW_MS, key, namespace, root_grant};

/// Grants behind one another, each behind its length in two bytes.
pub(super) fn grants(data: &[u8]) {
    let statements = split(data);
    for statement in &statements {
        if let Ok(grant) = Grant::parse(statement) {
            assert_eq!(grant.to_bytes(), *statement, "a grant has two encodings");
        }
    }
    let forth = set(statements.iter().copied());
    let back = set(statements.iter().rev().copied());
    assert_eq!(ids(&forth), ids(&back), "the order of arrival shows");
    assert!(forth.iter().all(|grant| grant.chain().count() == grant.links()));
    let sent: Vec<Vec<u8>> = forth.parents_first().map(|statement| statement.to_bytes()).collect();
    let received = set(sent.iter().map(Vec::as_slice));
    assert_eq!((ids(&received), received.parked()), (ids(&forth), 0), "a set that is sent on arrives otherwise");
}

/// The parts of which each stands behind its length, big-endian in two bytes; the last may be cut short. No more than may wait
/// for their parents together, since then order shows.
fn split(data: &[u8]) -> Vec<&[u8]> {
    let mut rest = data;
    let mut parts = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk::<2>()
        && parts.len() < PARKED_PER_PEER_MAX
    {
        let (part, behind) = behind.split_at(behind.len().min(u16::from_be_bytes(*length).into()));
        parts.push(part);
        rest = behind;
    }
    parts
}

fn set<'a>(statements: impl Iterator<Item = &'a [u8]>) -> Statements {
    let peer = key(0).public();
    let mut set = Statements::new(namespace()).unwrap();
    for statement in statements {
        if let Ok(Insertion::New { added, .. }) = set.insert(statement, peer) {
            assert!(added.iter().all(|id| set.statement(id).is_some()));
            assert!(matches!(set.insert(statement, peer), Ok(Insertion::Known(_))));
        }
    }
    set
}

fn ids(set: &Statements) -> Vec<GrantId> {
    set.iter().map(|grant| grant.id()).collect()
}

/// A full stamp, and the compact one that stands for it.
pub(super) fn stamp(data: &[u8]) {
    let Ok(stamp) = Stamp::parse(data) else { return };
    assert_eq!(stamp.to_bytes(), data, "a stamp has two encodings");
    let body = *stamp.body();
    let actor = Actor { device: body.device, replica: ReplicaId([1; 8]) };
    assert_eq!(stamp.compact().expand(body.context, body.author, &actor, body.change), stamp);
    let arrival = Arrival { epoch: body.context.epoch, actor, change: body.change, previous_ms: 0, now_ms: NOW_MS };
    let statements = set([root_grant().to_bytes().as_slice()].into_iter());
    if let Ok(Verdict::Verified(verified)) = stamp.verify(&statements, &arrival) {
        assert_eq!(*verified.body(), body);
        assert!(matches!(stamp.compact().verify(&statements, &arrival), Ok(Verdict::Verified(_))));
    }
}
