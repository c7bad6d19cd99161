//! Randomness by name: one seed, and a stream of its own for every purpose.
//!
//! Invariant: what one stream gives does not depend on what is drawn from any other, so a new kind of fault leaves all other
//! choices of a seed as they were.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of `purpose` under `seed`.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let mut key = blake3::Hasher::new_derive_key("memlet simulation stream 1");
        key.update(&seed.to_le_bytes()).update(purpose.as_bytes());
        Self(ChaCha8Rng::from_seed(*key.finalize().as_bytes()))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        assert!(end > 0, "nothing is below 0");
        // the bias is below 2^-32 for every range that a simulation has
        self.number() % end
    }

    /// A number from `first` to `last`, both included.
    pub fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// An index into something of `len` elements, which is not 0.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).expect("it is below a length")
    }

    /// One of `choices`, of which there is at least one.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.index(choices.len())]
    }

    /// True `per_mille` times of a thousand.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1_000) < per_mille
    }

    /// Fills `out`.
    pub fn fill(&mut self, out: &mut [u8]) {
        self.0.fill_bytes(out);
    }

    /// An array.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// A number from `first` to `last` of which every order of magnitude is equally likely.
    pub fn magnitude(&mut self, first: u64, last: u64) -> u64 {
        let doublings = (last / first.max(1)).max(1).ilog2();
        let low = first.max(1) << self.below(u64::from(doublings) + 1);
        self.between(low, (2 * low - 1).min(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_fixed_by_its_seed_and_its_purpose() {
        let take = |seed, purpose| Stream::new(seed, purpose).number();
        assert_eq!(take(1, "a"), take(1, "a"));
        assert_ne!(take(1, "a"), take(2, "a"));
        assert_ne!(take(1, "a"), take(1, "b"));
    }

    #[test]
    fn magnitudes_stay_within_their_bounds_and_reach_both_ends() {
        let mut stream = Stream::new(0, "test");
        let drawn: Vec<u64> = (0..2_000).map(|_| stream.magnitude(3, 5_000)).collect();
        assert!(drawn.iter().all(|value| (3..=5_000).contains(value)));
        assert!(drawn.iter().any(|value| *value < 6) && drawn.iter().any(|value| *value > 2_500));
    }
}
