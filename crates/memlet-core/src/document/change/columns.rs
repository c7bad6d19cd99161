//! How much a change would hold, counted from its columns before anything is unfolded.
//!
//! Automerge writes the operations of a change as columns of runs. So a hundred bytes can claim a billion operations, which its
//! reader walks one by one, a billion replaced operations, or a key of a billion bytes, which it allocates. What passes here takes
//! memory and time in proportion to its bytes. Whether it decodes at all is left to Automerge.

use crate::document::change::{MalformedChange, leb128};
use crate::limits::{CHANGE_OPS_MAX, CHANGE_REPLACED_MAX};

/// The columns of format 1, as Automerge numbers them: 16 times the field, plus the kind of column.
mod column {
    /// The keys that are written; one entry for each operation.
    pub(super) const KEY: u64 = 0x15;
    /// What each operation does; one entry for each.
    pub(super) const ACTION: u64 = 0x42;
    /// The values of all operations, behind one another.
    pub(super) const VALUE: u64 = 0x57;
    /// How many operations each operation replaces.
    pub(super) const REPLACED: u64 = 0x70;
    /// These, and: the actor and counter of the map, whether it is an insertion, the kind of the value, the actor and counter of
    /// the replaced operations. The others are for elements of lists and for marks.
    pub(super) const ALL: [u64; 10] = [0x01, 0x02, KEY, 0x34, ACTION, 0x56, VALUE, REPLACED, 0x71, 0x73];
}

/// Checks what follows the chunk header of a change.
///
/// # Errors
/// [`MalformedChange::TooLarge`] for more operations, or more replaced ones, than a change may have;
/// [`MalformedChange::Operation`] for a column that format 1 does not have, and for more operations than bytes of values, since
/// no record is empty; [`MalformedChange::NotCanonical`] if dependencies, actors or columns do not stand in rising order, or a
/// length points beyond the end.
pub(super) fn check(body: &[u8]) -> Result<(), MalformedChange> {
    let columns = Cursor(body).columns().ok_or(MalformedChange::NotCanonical)?;
    if columns.0.iter().any(|(spec, _)| !column::ALL.contains(spec)) {
        return Err(MalformedChange::Operation);
    }
    let count = |spec, entry: Entry| entries_and_sum(columns.get(spec), entry).ok_or(MalformedChange::NotCanonical);
    let (ops, _) = count(column::ACTION, number)?;
    let (_, replaced) = count(column::REPLACED, number)?;
    count(column::KEY, text)?;
    if ops > CHANGE_OPS_MAX as u64 || replaced > CHANGE_REPLACED_MAX as u64 {
        return Err(MalformedChange::TooLarge);
    }
    if ops > columns.get(column::VALUE).len() as u64 {
        return Err(MalformedChange::Operation);
    }
    Ok(())
}

/// The columns of a change by their numbers.
struct Columns<'a>(Vec<(u64, &'a [u8])>);

impl<'a> Columns<'a> {
    /// The bytes of a column; an absent one is empty.
    fn get(&self, spec: u64) -> &'a [u8] {
        self.0.iter().find(|(number, _)| *number == spec).map_or(&[], |(_, bytes)| bytes)
    }
}

/// Reads from the front of what is left.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    /// Walks over the fields of a change to its columns: dependencies, actor, number, first operation, time, message, other
    /// actors.
    fn columns(mut self) -> Option<Columns<'a>> {
        const HASH_BYTES: usize = 32;
        let deps = self.length()?;
        let (deps, _) = self.take(deps.checked_mul(HASH_BYTES)?)?.as_chunks::<HASH_BYTES>();
        if !deps.is_sorted_by(|a, b| a < b) {
            return None;
        }
        self.bytes()?;
        self.unsigned()?;
        self.unsigned()?;
        self.signed()?;
        self.bytes()?;
        let mut last_actor: Option<&[u8]> = None;
        for _ in 0..self.length()? {
            let actor = self.bytes()?;
            if last_actor.is_some_and(|last| last >= actor) {
                return None;
            }
            last_actor = Some(actor);
        }
        let mut specs: Vec<(u64, usize)> = Vec::new();
        for _ in 0..self.length()? {
            let spec = self.unsigned()?;
            if specs.last().is_some_and(|(last, _)| *last >= spec) {
                return None;
            }
            specs.push((spec, self.length()?));
        }
        specs.into_iter().map(|(spec, len)| Some((spec, self.take(len)?))).collect::<Option<_>>().map(Columns)
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// A length and that many bytes.
    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.length()?;
        self.take(len)
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.unsigned()?).ok()
    }

    fn unsigned(&mut self) -> Option<u64> {
        let (value, used) = leb128(self.0)?;
        self.take(used)?;
        Some(value)
    }

    /// A signed LEB128 number of at most nine bytes.
    fn signed(&mut self) -> Option<i64> {
        let (value, used) = leb128(self.0)?;
        self.take(used)?;
        // the highest of the bits that were read is the sign
        let unread = 64 - 7 * used;
        Some((value << unread).cast_signed() >> unread)
    }
}

/// Reads an entry of a column and tells what it counts for.
type Entry = fn(&mut Cursor<'_>) -> Option<u64>;

fn number(cursor: &mut Cursor<'_>) -> Option<u64> {
    cursor.unsigned()
}

fn text(cursor: &mut Cursor<'_>) -> Option<u64> {
    cursor.bytes().map(|text| text.len() as u64)
}

/// How many entries a column has, and their sum as `entry` tells it of each, both capped at the largest number; none if the column
/// does not read as runs.
///
/// Of each run the count comes first: a positive one before one value for all, a negative one before so many values, and 0
/// before the number of entries without a value.
fn entries_and_sum(column: &[u8], entry: Entry) -> Option<(u64, u64)> {
    let (mut entries, mut sum) = (0_u64, 0_u64);
    let mut cursor = Cursor(column);
    while !cursor.0.is_empty() {
        let count = cursor.signed()?;
        let mut len = count.unsigned_abs();
        match count {
            0 => len = cursor.unsigned()?,
            1.. => sum = sum.saturating_add(entry(&mut cursor)?.saturating_mul(len)),
            _ => {
                for _ in 0..len {
                    sum = sum.saturating_add(entry(&mut cursor)?);
                }
            }
        }
        entries = entries.saturating_add(len);
    }
    Some((entries, sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LEB128 (DWARF 5, section 7.6) of a number that may be negative; below 64 it is also that of an unsigned one.
    fn leb(mut value: i64) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let byte = u8::try_from(value & 0x7f).unwrap();
            value >>= 7;
            if (value == 0 && byte & 0x40 == 0) || (value == -1 && byte & 0x40 != 0) {
                bytes.push(byte);
                return bytes;
            }
            bytes.push(byte | 0x80);
        }
    }

    /// A change of no dependencies with these actors beside its own and these columns.
    fn body(actors: &[&[u8]], columns: &[(u8, &[u8])]) -> Vec<u8> {
        let length = |len: usize| u8::try_from(len).unwrap();
        let mut body = vec![0, 1, 9, 1, 1, 0, 0, length(actors.len())];
        for actor in actors {
            body.push(length(actor.len()));
            body.extend_from_slice(actor);
        }
        body.push(length(columns.len()));
        for (spec, bytes) in columns {
            body.extend([*spec, length(bytes.len())]);
        }
        body.extend(columns.iter().flat_map(|(_, bytes)| *bytes));
        body
    }

    fn run(count: i64, value: i64) -> Vec<u8> {
        [leb(count), leb(value)].concat()
    }

    #[test]
    fn runs_are_counted_and_not_walked() {
        let entries_and_sum = |column: &[u8]| entries_and_sum(column, number);
        assert_eq!(entries_and_sum(&[]), Some((0, 0)));
        assert_eq!(entries_and_sum(&[run(3, 2), leb(-2), leb(1), leb(5), leb(0), leb(4)].concat()), Some((9, 12)));
        assert_eq!(entries_and_sum(&[run(i64::MAX >> 1, 5), run(1, 1)].concat()), Some(((1 << 62), u64::MAX)));
        for cut in [leb(3), leb(-2), [leb(-2), leb(1)].concat(), leb(0), vec![0x80]] {
            assert_eq!(entries_and_sum(&cut), None, "{cut:02x?}");
        }
    }

    #[test]
    fn a_hundred_bytes_cannot_claim_a_billion() {
        const BILLION: i64 = 1_000_000_000;
        let check = |key: &[u8], ops: i64, replaced: &[u8]| {
            check(&body(&[], &[(0x15, key), (0x42, &run(ops, 1)), (0x57, &[0; 12]), (0x70, replaced)]))
        };
        let key = [&run(2, 3)[..], b"w/x"].concat();
        assert_eq!(check(&key, 2, &run(2, 0)), Ok(()));
        assert_eq!(check(&key, BILLION, &[]), Err(MalformedChange::TooLarge));
        assert_eq!(check(&key, 13, &[]), Err(MalformedChange::Operation));
        assert_eq!(check(&key, 1, &run(1, BILLION)), Err(MalformedChange::TooLarge));
        assert_eq!(check(&key, 2, &run(1_000_000, 1_000_000)), Err(MalformedChange::TooLarge));
        assert_eq!(check(&key, 2, &[0x02]), Err(MalformedChange::NotCanonical));
        assert_eq!(check(&run(2, BILLION), 2, &[]), Err(MalformedChange::NotCanonical));
        assert_eq!(
            check(&[&leb(-2)[..], &leb(1), b"x", &leb(BILLION)].concat(), 2, &[]),
            Err(MalformedChange::NotCanonical)
        );
    }

    #[test]
    fn what_a_change_names_rises_and_its_columns_are_those_of_format_1() {
        let check = |actors: &[&[u8]], columns: &[(u8, &[u8])]| check(&body(actors, columns));
        assert_eq!(check(&[&[0], &[1, 2]], &[(0x42, &[]), (0x57, &[])]), Ok(()));
        type Named<'a> = (&'a [&'a [u8]], &'a [(u8, &'a [u8])]);
        let wrong: [Named<'_>; 4] = [
            (&[&[], &[]], &[]),
            (&[&[2], &[1]], &[]),
            // of two columns of one number Automerge reads the last
            (&[], &[(0x42, &[1, 1]), (0x42, &[])]),
            (&[], &[(0x57, &[]), (0x42, &[])]),
        ];
        for (actors, columns) in wrong {
            assert_eq!(check(actors, columns), Err(MalformedChange::NotCanonical), "{actors:?} {columns:?}");
        }
        let with_deps = |deps: [u8; 2]| [&[2][..], &[deps[0]; 32], &[deps[1]; 32], &body(&[], &[])[1..]].concat();
        assert_eq!(super::check(&with_deps([1, 2])), Ok(()));
        assert_eq!(super::check(&with_deps([1, 1])), Err(MalformedChange::NotCanonical));
        // the actors of elements, and a compressed column of actions
        for spec in [0x11, 0x4a] {
            assert_eq!(check(&[], &[(spec, &[])]), Err(MalformedChange::Operation), "{spec:#x}");
        }
        let whole = body(&[&[7; 40]], &[(0x42, &[1, 1]), (0x57, &[0; 6])]);
        for end in 0..whole.len() {
            assert!(super::check(&whole[..end]).is_err(), "cut at {end}");
        }
    }
}
