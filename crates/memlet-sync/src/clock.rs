//! What a replica holds, said in few bytes: for every actor its last change, for every statement its short name.
//!
//! An actor's changes are numbered from 1 without gaps, so a clock that names the last one names them all, and two clocks
//! say exactly what either side lacks. The names are shortened hashes: what they stand for is verified by signatures, never
//! by them.

use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::fmt;

use memlet_auth::statements::StatementId;
use memlet_core::codec::{Decode, DecodeError, Encode, Reader, Writer};
use memlet_core::id::{Actor, ChangeHash, GrantId};

use crate::limits::CLOCK_ACTORS_MAX;

/// For every actor the last change that is durable. Every earlier change of the actor is durable too.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ActorClock(BTreeMap<ActorRef, Tip>);

/// One entry of a clock: the last change of one actor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tip {
    /// The sequence number of the change among its actor's, from 1.
    pub seq: u64,
    /// Which change stands under that number.
    pub change: ChangeRef,
}

impl ActorClock {
    /// The last change of `actor`; none if the clock has no change of it.
    pub fn get(&self, actor: &ActorRef) -> Option<Tip> {
        self.0.get(actor).copied()
    }

    /// The last sequence number of `actor`, 0 for none.
    pub fn seq(&self, actor: &ActorRef) -> u64 {
        self.0.get(actor).map_or(0, |tip| tip.seq)
    }

    /// Takes in that `tip` is there. An entry never falls.
    pub fn raise(&mut self, actor: ActorRef, tip: Tip) {
        if tip.seq > self.seq(&actor) {
            self.0.insert(actor, tip);
        }
    }

    /// Raises every entry to that of `other`.
    pub fn join(&mut self, other: &ActorClock) {
        for (actor, tip) in other.iter() {
            self.raise(*actor, *tip);
        }
    }

    /// The entries that are higher here than in `other`.
    pub fn beyond(&self, other: &ActorClock) -> ActorClock {
        let higher = self.iter().filter(|(actor, tip)| tip.seq > other.seq(actor));
        ActorClock(higher.map(|(actor, tip)| (*actor, *tip)).collect())
    }

    /// How many changes are here that `other` lacks.
    pub fn changes_beyond(&self, other: &ActorClock) -> u64 {
        self.iter().map(|(actor, tip)| tip.seq.saturating_sub(other.seq(actor))).fold(0, u64::saturating_add)
    }

    /// The entries, by rising actor.
    pub fn iter(&self) -> btree_map::Iter<'_, ActorRef, Tip> {
        self.0.iter()
    }

    /// How many actors the clock names.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the clock names no actor.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(ActorRef, Tip)> for ActorClock {
    fn from_iter<I: IntoIterator<Item = (ActorRef, Tip)>>(tips: I) -> Self {
        let mut clock = Self::default();
        for (actor, tip) in tips {
            clock.raise(actor, tip);
        }
        clock
    }
}

/// A flat array of actor, sequence number and change, actors rising.
impl Encode for ActorClock {
    fn encode(&self, w: &mut Writer) {
        w.array(3 * self.0.len());
        for (actor, tip) in self.iter() {
            actor.encode(w);
            w.uint(tip.seq);
            tip.change.encode(w);
        }
    }
}

impl Decode for ActorClock {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let items = r.array_up_to(3 * CLOCK_ACTORS_MAX, "the number of actors in a clock")?;
        if !items.is_multiple_of(3) {
            return Err(DecodeError::Invalid("clock"));
        }
        let mut clock = BTreeMap::new();
        for _ in 0..items / 3 {
            let actor = ActorRef::decode(r)?;
            let tip = Tip { seq: r.uint()?, change: ChangeRef::decode(r)? };
            let rising = clock.last_key_value().is_none_or(|(last, _)| *last < actor);
            if !rising || tip.seq == 0 {
                return Err(DecodeError::NotDeterministic);
            }
            clock.insert(actor, tip);
        }
        Ok(Self(clock))
    }
}

/// Defines the short name of something: the first bytes of a hash, shown as lower-case hex.
macro_rules! short_name {
    ($(#[$doc:meta])* $name:ident, $len:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $len]);

        impl $name {
            fn cut(hash: &[u8; 32]) -> Self {
                let mut short = [0; $len];
                short.copy_from_slice(&hash[..$len]);
                Self(short)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl Encode for $name {
            fn encode(&self, w: &mut Writer) {
                w.bytes(&self.0);
            }
        }

        impl Decode for $name {
            fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(Self(r.byte_array()?))
            }
        }
    };
}

short_name! {
    /// An actor in a clock: the first 16 bytes of blake3 over `"memlet/actor/1\0"` ‖ actor id. Long enough that no one can
    /// make two actors of one name.
    ActorRef, 16
}
short_name! {
    /// A change in a clock: the first 8 bytes of its hash. It tells two branches of one actor's history apart.
    ChangeRef, 8
}
short_name! {
    /// A signed statement: the first 8 bytes of its id. A peer that holds one statement of this name is not sent another of
    /// the same name; to make such a pair takes its issuer about 2^32 attempts.
    StatementRef, 8
}

impl ActorRef {
    /// The short name of `actor`.
    pub fn of(actor: &Actor) -> Self {
        const PREFIX: &[u8] = b"memlet/actor/1\0";
        Self::cut(blake3::hash(&[PREFIX, &actor.to_bytes()].concat()).as_bytes())
    }
}

impl ChangeRef {
    /// The short name of the change with that hash.
    pub fn of(hash: &ChangeHash) -> Self {
        Self::cut(hash.as_bytes())
    }
}

impl StatementRef {
    /// The short name of the statement with that id.
    pub fn of(id: &StatementId) -> Self {
        Self::cut(id.as_bytes())
    }

    /// The short name of the grant with that id.
    pub fn of_grant(id: &GrantId) -> Self {
        Self::of(&StatementId::Grant(*id))
    }
}

/// Writes references as one byte string of 8 bytes each, rising.
pub(crate) fn encode_statement_refs(refs: &BTreeSet<StatementRef>, w: &mut Writer) {
    let packed: Vec<u8> = refs.iter().flat_map(|reference| reference.0).collect();
    w.bytes(&packed);
}

/// Reads what [`encode_statement_refs`] wrote, at most `max` references.
pub(crate) fn decode_statement_refs(r: &mut Reader<'_>, max: usize) -> Result<BTreeSet<StatementRef>, DecodeError> {
    let (refs, rest) = r.bytes()?.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(DecodeError::Invalid("list of statement references"));
    }
    if refs.len() > max {
        return Err(DecodeError::Limit("the number of statement references"));
    }
    if !refs.is_sorted_by(|a, b| a < b) {
        return Err(DecodeError::NotDeterministic);
    }
    Ok(refs.iter().copied().map(StatementRef).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(entries: &[(u8, u64)]) -> ActorClock {
        entries
            .iter()
            .map(|(actor, seq)| (ActorRef([*actor; 16]), Tip { seq: *seq, change: ChangeRef([1; 8]) }))
            .collect()
    }

    #[test]
    fn two_clocks_say_what_either_lacks() {
        let (a, b) = (clock(&[(1, 5), (2, 3)]), clock(&[(1, 7), (3, 1)]));
        assert_eq!(a.beyond(&b), clock(&[(2, 3)]));
        assert_eq!(b.beyond(&a), clock(&[(1, 7), (3, 1)]));
        assert_eq!((a.changes_beyond(&b), b.changes_beyond(&a)), (3, 3));
        let mut joined = a.clone();
        joined.join(&b);
        assert_eq!(joined, clock(&[(1, 7), (2, 3), (3, 1)]));
        assert_eq!(joined.beyond(&joined), ActorClock::default());
    }

    #[test]
    fn an_entry_never_falls() {
        let mut clock = clock(&[(1, 5)]);
        clock.raise(ActorRef([1; 16]), Tip { seq: 5, change: ChangeRef([9; 8]) });
        clock.raise(ActorRef([1; 16]), Tip { seq: 4, change: ChangeRef([9; 8]) });
        assert_eq!(clock.get(&ActorRef([1; 16])), Some(Tip { seq: 5, change: ChangeRef([1; 8]) }));
    }

    #[test]
    fn a_clock_has_one_encoding() {
        let rising = clock(&[(1, 5), (2, 3)]).to_cbor();
        assert_eq!(ActorClock::from_cbor(&rising), Ok(clock(&[(1, 5), (2, 3)])));
        let (head, entries) = rising.split_at(1);
        let (first, second) = entries.split_at(entries.len() / 2);
        let falling = [head, second, first].concat();
        let doubled = [head, first, first].concat();
        for wrong in
            [falling, doubled, clock(&[(1, 1)]).to_cbor().iter().map(|b| if *b == 1 { 0 } else { *b }).collect()]
        {
            assert_eq!(ActorClock::from_cbor(&wrong), Err(DecodeError::NotDeterministic));
        }
        assert_eq!(ActorClock::from_cbor(&[0x82, 0x41, 0x00]), Err(DecodeError::Invalid("clock")));
    }

    #[test]
    fn statement_references_rise_and_are_bounded() {
        let read = |bytes: &[u8]| decode_statement_refs(&mut Reader::new(bytes), 2);
        let packed = |refs: &[u8]| {
            let mut w = Writer::default();
            w.bytes(&refs.iter().flat_map(|byte| [*byte; 8]).collect::<Vec<_>>());
            w.into_bytes()
        };
        assert_eq!(read(&packed(&[1, 2])), Ok(BTreeSet::from([StatementRef([1; 8]), StatementRef([2; 8])])));
        assert_eq!(read(&packed(&[2, 1])), Err(DecodeError::NotDeterministic));
        assert_eq!(read(&packed(&[1, 1])), Err(DecodeError::NotDeterministic));
        assert_eq!(read(&packed(&[1, 2, 3])), Err(DecodeError::Limit("the number of statement references")));
        assert_eq!(read(&[0x41, 0x01]), Err(DecodeError::Invalid("list of statement references")));
    }
}
