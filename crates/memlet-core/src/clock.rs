//! Version vectors over dots: what a writer, or a namespace, has seen.

use std::collections::{BTreeMap, btree_map};

use crate::codec::{Decode, DecodeError, Encode, Reader, Writer};
use crate::id::{Dot, ReplicaId};
use crate::limits::CLOCK_REPLICAS_MAX;

/// Replica to the highest counter seen. Gap-free: it covers every counter up to that one. Zero entries do not exist.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Clock(BTreeMap<ReplicaId, u64>);

impl Clock {
    /// The highest counter seen of `replica`, 0 for none.
    pub fn get(&self, replica: &ReplicaId) -> u64 {
        self.0.get(replica).copied().unwrap_or(0)
    }

    /// Raises the entry of `replica` to at least `counter`.
    pub fn raise(&mut self, replica: ReplicaId, counter: u64) {
        if counter > 0 {
            let entry = self.0.entry(replica).or_insert(0);
            *entry = counter.max(*entry);
        }
    }

    /// Whether the dot has been seen.
    pub fn covers(&self, dot: &Dot) -> bool {
        self.get(&dot.replica) >= dot.counter
    }

    /// Whether everything in `other` has been seen here.
    pub fn contains(&self, other: &Clock) -> bool {
        other.iter().all(|(replica, counter)| self.get(replica) >= *counter)
    }

    /// Joins `other` into this clock, entry by entry.
    pub fn join(&mut self, other: &Clock) {
        for (replica, counter) in other.iter() {
            self.raise(*replica, *counter);
        }
    }

    /// The entries, ascending by replica.
    pub fn iter(&self) -> btree_map::Iter<'_, ReplicaId, u64> {
        self.0.iter()
    }
}

impl Encode for Clock {
    fn encode(&self, w: &mut Writer) {
        w.array(2 * self.0.len());
        for (replica, counter) in self.iter() {
            replica.encode(w);
            w.uint(*counter);
        }
    }
}

impl Decode for Clock {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let items = r.array_up_to(2 * CLOCK_REPLICAS_MAX, "a clock")?;
        if !items.is_multiple_of(2) {
            return Err(DecodeError::Invalid("clock"));
        }
        let mut clock = BTreeMap::new();
        for _ in 0..items / 2 {
            let replica = ReplicaId::decode(r)?;
            let counter = r.uint()?;
            let ascending = clock.last_key_value().is_none_or(|(last, _)| *last < replica);
            if !ascending || counter == 0 {
                return Err(DecodeError::NotDeterministic);
            }
            clock.insert(replica, counter);
        }
        Ok(Self(clock))
    }
}
