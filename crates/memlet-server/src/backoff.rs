//! How long to wait before trying again, so that neither a flapping network nor a thousand peers at once make a storm.

use std::time::Duration;

/// The first wait, before jitter.
const BASE: Duration = Duration::from_millis(100);
/// The longest wait: a device that is back is found again within this time.
const CAP: Duration = Duration::from_secs(2);

/// Waits that double from try to try, up to a limit, each shortened by chance by up to half.
#[derive(Default, Debug)]
pub(crate) struct Backoff {
    tries: u32,
}

impl Backoff {
    /// The next wait. `chance` is a random byte.
    pub(crate) fn next(&mut self, chance: u8) -> Duration {
        let full = BASE.saturating_mul(1 << self.tries.min(16)).min(CAP);
        self.tries = self.tries.saturating_add(1);
        full - full / 512 * u32::from(chance)
    }

    /// A try has succeeded: the next wait is the shortest again.
    pub(crate) fn reset(&mut self) {
        self.tries = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_and_chance_shortens_them_by_up_to_half() {
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..7).map(|_| backoff.next(0).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 2000, 2000]);
        let shortest = backoff.next(u8::MAX);
        assert!(shortest > CAP / 2 && shortest < CAP * 51 / 100, "{shortest:?}");
        (0..100).for_each(|_| assert!(backoff.next(128) <= CAP));
        backoff.reset();
        assert_eq!(backoff.next(0), BASE);
    }
}
