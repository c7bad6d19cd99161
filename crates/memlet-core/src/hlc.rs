//! Hybrid logical time: orders concurrent writes and nothing else.
//!
//! 48 bits of milliseconds since 1970 and a 16-bit counter. It never runs backwards, whatever the wall clock does: causally
//! later is always later (Kulkarni et al., "Logical Physical Clocks", 2014).

use crate::codec::{Decode, DecodeError, Encode, Reader, Writer};

/// A hybrid logical timestamp: `milliseconds << 16 | counter`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Hlc(u64);

impl Hlc {
    /// The first moment that is refused: 2200-01-01T00:00:00Z in milliseconds.
    pub const END_MS: u64 = 7_258_118_400_000;

    /// The next timestamp after `self`, at or after wall-clock time `now_ms`.
    ///
    /// One tick for every written value. A wall clock beyond [`Hlc::END_MS`] is taken as lying and only counted on from here.
    pub fn tick(self, now_ms: u64) -> Self {
        let wall = if now_ms < Self::END_MS { now_ms << 16 } else { 0 };
        Self(wall.max(self.0 + 1))
    }

    /// The wall-clock part, in milliseconds since 1970.
    pub fn millis(self) -> u64 {
        self.0 >> 16
    }
}

impl Encode for Hlc {
    fn encode(&self, w: &mut Writer) {
        w.uint(self.0);
    }
}

impl Decode for Hlc {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let hlc = Self(r.uint()?);
        if hlc.millis() >= Self::END_MS {
            return Err(DecodeError::Invalid("time: past the year 2200"));
        }
        Ok(hlc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_runs_backwards_when_the_wall_clock_does() {
        let a = Hlc::default().tick(1_000);
        let b = a.tick(10);
        let c = b.tick(u64::MAX);
        assert!(a < b && b < c);
        assert_eq!(c.millis(), 1_000);
        assert_eq!(c.tick(2_000).millis(), 2_000);
    }

    #[test]
    fn past_2200_is_refused() {
        assert!(Hlc::from_cbor(&(Hlc::END_MS << 16).to_cbor()).is_err());
        assert!(Hlc::from_cbor(&((Hlc::END_MS << 16) - 1).to_cbor()).is_ok());
    }
}
