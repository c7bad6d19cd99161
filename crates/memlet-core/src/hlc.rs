//! Hybrid logical time: orders concurrent writes and nothing else.
//!
//! 48 bits of milliseconds since 1970 and a 16-bit counter. It never runs backwards, whatever the wall clock does: causally
//! later is always later (Kulkarni et al., "Logical Physical Clocks", 2014).

use crate::codec::{Decode, DecodeError, Encode, Reader, Writer};

/// A hybrid logical timestamp: `milliseconds << 16 | counter`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Hlc(u64);

impl Hlc {
    /// The first moment that no wall clock is believed: 2200-01-01T00:00:00Z in milliseconds.
    pub const END_MS: u64 = 7_258_118_400_000;

    /// The next timestamp after `self`, at or after wall-clock time `now_ms`.
    ///
    /// One tick for every written value. A wall clock beyond [`Hlc::END_MS`] is taken as lying and only counted on from here.
    pub fn tick(self, now_ms: u64) -> Self {
        let wall = if now_ms < Self::END_MS { now_ms << 16 } else { 0 };
        Self(wall.max(self.0 + 1))
    }

    /// The latest that the last of `ticks` ticks after `self` can be, whatever the wall clock says.
    ///
    /// So whoever claims the last moment before [`Hlc::END_MS`] does not end time for others: they count on from there.
    pub fn latest_after(self, ticks: u64) -> Self {
        Self(self.0.max((Self::END_MS << 16) - 1).saturating_add(ticks))
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
        Ok(Self(r.uint()?))
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
    fn no_clock_brings_a_tick_past_the_latest() {
        let end = Hlc::END_MS - 1;
        for start in [Hlc::default(), Hlc::default().tick(end), Hlc((Hlc::END_MS << 16) + 5)] {
            for now_ms in [0, 1_000, end, end + 1, u64::MAX] {
                let third = start.tick(now_ms).tick(now_ms).tick(now_ms);
                assert!(start < third && third <= start.latest_after(3), "{start:?} {now_ms}");
            }
        }
        let last = Hlc((Hlc::END_MS << 16) - 1);
        assert!(last.tick(0) <= last.latest_after(1) && last.tick(0) > last.latest_after(0));
    }
}
