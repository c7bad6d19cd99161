//! The grant table of one direction of a stream: both ends build the same one from the batches that pass.

use std::collections::BTreeMap;

use memlet_core::id::GrantRef;

use super::ProtocolError;
use crate::limits::GRANT_TABLE_ENTRIES_MAX;
use crate::message::{ChangeEntry, Changes};
use crate::replica::StampedChange;

/// Grants by index. When the new grants of a batch no longer fit, both ends empty the table before they add them.
#[derive(Debug, Default)]
pub(super) struct GrantTable {
    grants: Vec<GrantRef>,
    indices: BTreeMap<GrantRef, u64>,
}

impl GrantTable {
    /// Puts changes into a message and their grants into the table.
    pub(super) fn pack(&mut self, changes: Vec<StampedChange>, more: bool) -> Changes {
        let mut grants = self.missing(&changes);
        if self.grants.len() + grants.len() > GRANT_TABLE_ENTRIES_MAX {
            *self = Self::default();
            grants = self.missing(&changes);
        }
        self.extend(&grants);
        let entries = changes.into_iter().map(|change| {
            let StampedChange { grant, time_ms, signatures, change } = change;
            ChangeEntry { grant: self.indices[&grant], time_ms, signatures, change }
        });
        Changes { entries: entries.collect(), grants, more }
    }

    /// Takes changes out of a message and its grants into the table.
    pub(super) fn unpack(&mut self, message: Changes) -> Result<Vec<StampedChange>, ProtocolError> {
        if self.grants.len() + message.grants.len() > GRANT_TABLE_ENTRIES_MAX {
            *self = Self::default();
        }
        self.extend(&message.grants);
        let find = |index: u64| usize::try_from(index).ok().and_then(|index| self.grants.get(index).copied());
        message
            .entries
            .into_iter()
            .map(|ChangeEntry { grant, time_ms, signatures, change }| {
                let grant = find(grant).ok_or(ProtocolError::GrantIndex(grant))?;
                Ok(StampedChange { grant, time_ms, signatures, change })
            })
            .collect()
    }

    fn extend(&mut self, grants: &[GrantRef]) {
        for grant in grants {
            self.indices.insert(*grant, self.grants.len() as u64);
            self.grants.push(*grant);
        }
    }

    /// The grants of `changes` that are not in the table, each once, by first use.
    fn missing(&self, changes: &[StampedChange]) -> Vec<GrantRef> {
        let mut missing = Vec::new();
        for StampedChange { grant, .. } in changes {
            if !self.indices.contains_key(grant) && !missing.contains(grant) {
                missing.push(*grant);
            }
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use memlet_auth::keys::Signature;
    use memlet_auth::stamp::Signatures;

    use super::*;
    use crate::limits::BATCH_CHANGES_MAX;

    fn change(grant: u64) -> StampedChange {
        let signatures = Signatures { author: Signature([1; 64]), device: None };
        StampedChange { grant: GrantRef(grant.to_be_bytes()), time_ms: 1, signatures, change: vec![1] }
    }

    #[test]
    fn both_ends_build_the_same_table_also_when_it_starts_anew() {
        let (mut sender, mut receiver) = (GrantTable::default(), GrantTable::default());
        let batch_len = BATCH_CHANGES_MAX as u64;
        for round in 0..12 {
            // half of each batch repeats grants of the last one, so that a new start has to announce them again
            let batch: Vec<_> = (0..batch_len).map(|index| change(round * batch_len / 2 + index)).collect();
            let message = sender.pack(batch.clone(), false);
            assert_eq!(receiver.unpack(message), Ok(batch));
            assert_eq!(sender.grants, receiver.grants);
            assert!(sender.grants.len() <= GRANT_TABLE_ENTRIES_MAX);
        }
    }

    #[test]
    fn a_grant_is_named_once() {
        let mut sender = GrantTable::default();
        assert_eq!(sender.pack(vec![change(1), change(2), change(1)], false).grants.len(), 2);
        let message = sender.pack(vec![change(2), change(3)], true);
        assert_eq!(message.grants, [GrantRef(3_u64.to_be_bytes())]);
        assert_eq!(message.entries.iter().map(|entry| entry.grant).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn an_index_beyond_the_table_is_refused() {
        let mut message = GrantTable::default().pack(vec![change(1)], false);
        message.entries[0].grant = 1;
        assert_eq!(GrantTable::default().unpack(message), Err(ProtocolError::GrantIndex(1)));
    }
}
