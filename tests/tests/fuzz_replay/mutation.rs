//! Mutations of an input, the same in every run.

/// Makes mutations from a fixed seed.
pub(crate) struct Mutator(u64);

/// Bytes that begin something, or say that something long follows.
const TELLING: [u8; 12] = [0x00, 0x01, 0x7f, 0x80, 0x81, 0x9b, 0x9f, 0x5b, 0xbb, 0xf6, 0xfb, 0xff];

impl Mutator {
    /// The mutations that belong to `name`.
    pub(crate) fn new(name: &str) -> Self {
        Self(
            name.bytes()
                .fold(0xcbf2_9ce4_8422_2325, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)),
        )
    }

    /// The next number (SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `bound - 1`; 0 if there is none.
    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap();
        usize::try_from(self.next() % bound).unwrap()
    }

    /// A few edits of `input`; parts of `others` may come into it.
    pub(crate) fn mutate(&mut self, input: &[u8], others: &[&[u8]]) -> Vec<u8> {
        let mut bytes = input.to_vec();
        for _ in 0..=self.below(4) {
            self.edit(&mut bytes, others);
        }
        bytes
    }

    fn edit(&mut self, bytes: &mut Vec<u8>, others: &[&[u8]]) {
        let at = self.below(bytes.len());
        let end = (at + 1 + self.below(16)).min(bytes.len());
        match self.below(9) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at.min(end)..end)),
            2 => bytes.insert(at, TELLING[self.below(TELLING.len())]),
            3 => {
                let part = bytes[at.min(end)..end].to_vec();
                bytes.splice(at..at, part);
            }
            4 => {
                let other = others[self.below(others.len())];
                let from = self.below(other.len());
                let to = (from + self.below(64)).min(other.len());
                bytes.splice(at.min(end)..end, other[from..to].iter().copied());
            }
            kind => {
                if let Some(byte) = bytes.get_mut(at) {
                    match kind {
                        5 => *byte = TELLING[self.below(TELLING.len())],
                        6 => *byte = byte.wrapping_add(1),
                        7 => *byte = byte.wrapping_sub(1),
                        _ => *byte ^= 1 << self.below(8),
                    }
                }
            }
        }
    }
}
