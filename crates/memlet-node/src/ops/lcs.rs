//! The longest common subsequence, which decides which items survive when a list is written anew.
//!
//! Hirschberg's division ("A linear space algorithm for computing maximal common subsequences", 1975) over Hyyrö's
//! bit-parallel rows ("Bit-parallel LCS-length computation revisited", 2004): n·m/64 steps and memory in proportion to the
//! longer list, whatever the lists hold. Two full lists that have nothing or everything in common take a fraction of a second.

use std::collections::BTreeMap;

/// The pairs of positions (in `old`, in `new`) of one longest common subsequence, ascending.
pub(super) fn longest_common<T: Ord>(old: &[T], new: &[T]) -> Vec<(usize, usize)> {
    let mut names = BTreeMap::new();
    let mut name = |item| {
        let next = names.len();
        *names.entry(item).or_insert(next)
    };
    let old: Vec<usize> = old.iter().map(&mut name).collect();
    let new: Vec<usize> = new.iter().map(&mut name).collect();
    let mut pairs = Vec::new();
    divide(&old, &new, (0, 0), &mut pairs);
    pairs
}

fn divide(mut old: &[usize], mut new: &[usize], mut at: (usize, usize), pairs: &mut Vec<(usize, usize)>) {
    while let ([first, old_rest @ ..], [other, new_rest @ ..]) = (old, new)
        && first == other
    {
        pairs.push(at);
        (old, new, at) = (old_rest, new_rest, (at.0 + 1, at.1 + 1));
    }
    let mut same_end = Vec::new();
    while let ([old_rest @ .., last], [new_rest @ .., other]) = (old, new)
        && last == other
    {
        (old, new) = (old_rest, new_rest);
        same_end.push((at.0 + old.len(), at.1 + new.len()));
    }
    match (old, new) {
        ([], _) | (_, []) => {}
        ([only], _) => pairs.extend(new.iter().position(|item| item == only).map(|found| (at.0, at.1 + found))),
        _ => {
            let middle = old.len() / 2;
            let before = prefix_lengths(old[..middle].iter(), new.iter());
            let behind = prefix_lengths(old[middle..].iter().rev(), new.iter().rev());
            let total = |split: &usize| before[*split] + behind[new.len() - split];
            let split = (0..=new.len()).max_by_key(total).expect("a range with its end is never empty");
            divide(&old[..middle], &new[..split], at, pairs);
            divide(&old[middle..], &new[split..], (at.0 + middle, at.1 + split), pairs);
        }
    }
    pairs.extend(same_end.into_iter().rev());
}

/// For every prefix of `row`, the length of its longest common subsequence with all of `column`.
fn prefix_lengths<'a>(
    column: impl Iterator<Item = &'a usize>,
    row: impl ExactSizeIterator<Item = &'a usize>,
) -> Vec<usize> {
    let len = row.len();
    let words = len.div_ceil(64);
    let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, item) in row.enumerate() {
        places.entry(*item).or_default().push(at);
    }
    // Where an item stands in the row, as bits; kept for items with more places than the row has words, which are few.
    let bits = |places: &[usize], mask: &mut [u64]| places.iter().for_each(|at| mask[at / 64] |= 1 << (at % 64));
    let frequent: BTreeMap<usize, Vec<u64>> = places
        .iter()
        .filter(|(_, places)| places.len() > words)
        .map(|(item, places)| {
            let mut mask = vec![0; words];
            bits(places, &mut mask);
            (*item, mask)
        })
        .collect();
    // A bit is clear where the length grows.
    let mut row_bits = vec![u64::MAX; words];
    let mut scratch = vec![0; words];
    for item in column {
        if let Some(mask) = frequent.get(item) {
            advance(&mut row_bits, mask);
        } else if let Some(places) = places.get(item) {
            bits(places, &mut scratch);
            advance(&mut row_bits, &scratch);
            places.iter().for_each(|at| scratch[at / 64] = 0);
        }
    }
    let grows = |at: usize| row_bits[at / 64] >> (at % 64) & 1 == 0;
    let mut lengths = vec![0];
    for at in 0..len {
        lengths.push(lengths[at] + usize::from(grows(at)));
    }
    lengths
}

/// One step of the recurrence: V = (V + (V & M)) | (V & !M), as one number of many words.
fn advance(row: &mut [u64], mask: &[u64]) {
    let mut carry = false;
    for (word, mask) in row.iter_mut().zip(mask) {
        let (sum, over) = word.overflowing_add(*word & mask);
        let (sum, over_carry) = sum.overflowing_add(carry.into());
        *word = sum | (*word & !mask);
        carry = over || over_carry;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The textbook table.
    fn length(old: &[u8], new: &[u8]) -> usize {
        let mut above = vec![0; new.len() + 1];
        for item in old {
            let mut row = vec![0];
            for (at, other) in new.iter().enumerate() {
                row.push(if item == other { above[at] + 1 } else { above[at + 1].max(row[at]) });
            }
            above = row;
        }
        above[new.len()]
    }

    proptest! {
        #[test]
        fn is_common_ascending_and_longest(
            old in prop::collection::vec(0..6u8, 0..200),
            new in prop::collection::vec(0..6u8, 0..200),
        ) {
            let pairs = longest_common(&old, &new);
            prop_assert!(pairs.iter().all(|(a, b)| old[*a] == new[*b]));
            prop_assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
            prop_assert_eq!(pairs.len(), length(&old, &new));
        }
    }

    #[test]
    fn keeps_what_is_around_an_insertion() {
        assert_eq!(longest_common(&["a", "b"], &["a", "x", "b"]), [(0, 0), (1, 2)]);
        assert_eq!(longest_common(&["a", "b"], &["b", "a"]).len(), 1);
        assert_eq!(longest_common::<u8>(&[], &[1]), []);
    }

    #[test]
    fn two_full_lists_are_compared_in_bounded_steps() {
        let old: Vec<u32> = (0..65_536).map(|at| at % 2).collect();
        let new: Vec<u32> = (0..65_536).map(|at| u32::from(at % 3 == 0)).collect();
        let pairs = longest_common(&old, &new);
        assert!(pairs.len() > 43_000, "{}", pairs.len());
    }
}
