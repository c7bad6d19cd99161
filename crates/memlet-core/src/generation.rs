//! Generations: the whole value of a list or a leaf as one small record.
//!
//! A mutation never edits the vector, it replaces it: its members by reference, and everything its writer had seen. That makes
//! concurrent versions mergeable ([`crate::sequence::join`]) and lets nothing that was forgotten come back.

use crate::clock::Clock;
use crate::codec::{Decode, DecodeError, Encode, Head, Reader, Writer};
use crate::dots::{DotRun, DotSet};
use crate::hlc::Hlc;
use crate::id::ReplicaId;
use crate::limits::DOT_RUNS_MAX;

/// One writer's view of a list or leaf. Ordered oldest first by (hlc, replica); the rest only makes the order total.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Generation {
    /// When it was written.
    pub hlc: Hlc,
    /// Who wrote it.
    pub replica: ReplicaId,
    /// Everything the writer had seen in the namespace, its own dots of the same change included.
    pub seen: Clock,
    /// Whether a list without members is absent rather than empty.
    pub deleted: bool,
    /// The members in order, as the fewest runs.
    pub members: Vec<DotRun>,
}

impl Generation {
    /// How many members there are, or the largest number if they are more: a generation may claim so before it is checked.
    pub fn len(&self) -> u64 {
        self.members.iter().fold(0, |sum, run| sum.saturating_add(run.len))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The members as a set.
    pub fn member_set(&self) -> DotSet {
        DotSet::from_runs(&self.members).expect("a generation names no dot twice: checked when it was decoded or built")
    }
}

/// Replicas stand as their index in `seen`, which names every replica a member can have.
impl Encode for Generation {
    fn encode(&self, w: &mut Writer) {
        let index = |replica: &ReplicaId| self.seen.iter().position(|(seen, _)| seen == replica).map(|at| at as u64);
        w.array(5);
        self.hlc.encode(w);
        match index(&self.replica) {
            Some(at) => w.uint(at),
            None => self.replica.encode(w),
        }
        self.seen.encode(w);
        w.bool(self.deleted);
        w.array(3 * self.members.len());
        for run in &self.members {
            w.uint(index(&run.replica).expect("a member is seen by the generation that names it"));
            w.uint(run.start);
            w.uint(run.len);
        }
    }
}

impl Decode for Generation {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.array(5)?;
        let hlc = Hlc::decode(r)?;
        let writer = r.head()?;
        let seen = Clock::decode(r)?;
        let replicas: Vec<ReplicaId> = seen.iter().map(|(replica, _)| *replica).collect();
        let named = |index: u64| {
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            replicas.get(index).copied().ok_or(DecodeError::Invalid("generation: replica outside its clock"))
        };
        let replica = match writer {
            Head::Uint(index) => named(index)?,
            Head::Bytes(bytes) => ReplicaId::from_slice(bytes)
                .filter(|replica| seen.get(replica) == 0)
                .ok_or(DecodeError::NotDeterministic)?,
            _ => return Err(DecodeError::Expected("a replica")),
        };
        let deleted = r.bool()?;
        let items = r.array_up_to(3 * DOT_RUNS_MAX, "the members of a generation")?;
        if !items.is_multiple_of(3) {
            return Err(DecodeError::Invalid("members"));
        }
        let mut members: Vec<DotRun> = Vec::new();
        for _ in 0..items / 3 {
            let run = DotRun { replica: named(r.uint()?)?, start: r.uint()?, len: r.uint()? };
            let last = run.start.checked_add(run.len).and_then(|end| end.checked_sub(1));
            if run.start == 0 || run.len == 0 || last.is_none_or(|last| last > seen.get(&run.replica)) {
                return Err(DecodeError::Invalid("members: not seen by their writer"));
            }
            if members.last().is_some_and(|before| before.replica == run.replica && before.end() == run.start) {
                return Err(DecodeError::NotDeterministic);
            }
            members.push(run);
        }
        if deleted && !members.is_empty() {
            return Err(DecodeError::Invalid("generation: deleted with members"));
        }
        if DotSet::from_runs(&members).is_none() {
            return Err(DecodeError::Invalid("members: a dot twice"));
        }
        Ok(Self { hlc, replica, seen, deleted, members })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dots::to_runs;
    use crate::id::Dot;

    fn replica(n: u8) -> ReplicaId {
        ReplicaId([n; 8])
    }

    fn generation(members: &[(u8, u64)]) -> Generation {
        let mut seen = Clock::default();
        seen.raise(replica(1), 9);
        seen.raise(replica(2), 4);
        let dots: Vec<Dot> =
            members.iter().map(|(r, counter)| Dot { replica: replica(*r), counter: *counter }).collect();
        Generation { hlc: Hlc::default().tick(5), replica: replica(2), seen, deleted: false, members: to_runs(&dots) }
    }

    #[test]
    fn reads_what_it_wrote_and_nothing_else() {
        let value = generation(&[(1, 1), (1, 2), (2, 4), (1, 3)]);
        let bytes = value.to_cbor();
        assert_eq!(Generation::from_cbor(&bytes).unwrap(), value);
        for cut in 0..bytes.len() {
            assert!(Generation::from_cbor(&bytes[..cut]).is_err());
        }
        let stranger = Generation { replica: replica(7), ..value };
        assert_eq!(Generation::from_cbor(&stranger.to_cbor()).unwrap(), stranger);
    }

    #[test]
    fn a_member_twice_or_unseen_is_refused() {
        assert!(Generation::from_cbor(&generation(&[(1, 1), (2, 1), (1, 1)]).to_cbor()).is_err());
        assert!(Generation::from_cbor(&generation(&[(2, 5)]).to_cbor()).is_err());
    }

    #[test]
    fn a_thousand_items_of_one_replica_take_no_more_than_one() {
        let many: Vec<(u8, u64)> = (1..=9).map(|counter| (1, counter)).collect();
        assert_eq!(generation(&many).to_cbor().len(), generation(&[(1, 1)]).to_cbor().len());
    }
}
