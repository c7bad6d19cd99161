//! The first change of every namespace: derived from its id alone, so that all replicas start from the same document.

use automerge::transaction::{CommitOptions, Transactable};
use automerge::{ActorId, Automerge, ObjType, ROOT, ScalarValue};

use crate::document::format::{FORMAT, Map};
use crate::id::{ChangeHash, EpochId, NamespaceId};

/// The actor of root changes. One byte long, so it can never be mistaken for a device's, and legal in root changes only.
pub(super) const ROOT_ACTOR: [u8; 1] = [0];

/// The operations of the genesis change: five maps, two values.
pub(super) const GENESIS_OPS: u64 = Map::ALL.len() as u64 + 2;

/// The first change of a namespace.
pub(super) struct Genesis {
    /// The change, to be applied to an empty document.
    pub change: automerge::Change,
    /// Its hash, on which every first change of a replica depends.
    pub hash: ChangeHash,
    /// The first epoch, number 0: blake3 of the change.
    pub epoch: EpochId,
}

/// Builds the genesis change of `namespace`: fixed actor, time 0, keys in fixed order.
pub(super) fn genesis(namespace: &NamespaceId) -> Genesis {
    const FRESH: &str = "putting into a fresh document cannot fail";
    let mut document = Automerge::new();
    document.set_actor(ActorId::from(&ROOT_ACTOR));
    let mut transaction = document.transaction();
    let maps = Map::ALL.map(|map| transaction.put_object(ROOT, map.name(), ObjType::Map).expect(FRESH));
    transaction.put(&maps[0], "format", ScalarValue::Uint(FORMAT)).expect(FRESH);
    transaction.put(&maps[0], "namespace", ScalarValue::Bytes(namespace.0.to_vec())).expect(FRESH);
    transaction.commit_with(CommitOptions::default().with_time(0));
    let change = document.get_last_local_change().expect("the transaction wrote operations");
    Genesis { hash: ChangeHash(change.hash().0), epoch: EpochId(*blake3::hash(change.raw_bytes()).as_bytes()), change }
}
