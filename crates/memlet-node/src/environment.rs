//! What a replica needs from the world besides its store: the time and random bytes.

/// Wall-clock time and randomness, handed in from outside so that a simulation can own them.
pub trait Environment: Send + Sync {
    /// Milliseconds since 1970. It may jump and run backwards; nothing is ordered by it alone.
    fn now_ms(&self) -> u64;

    /// Fills `out` with bytes no one can guess.
    fn fill_random(&self, out: &mut [u8]);
}

/// An array of random bytes.
pub(crate) fn random<const N: usize>(environment: &dyn Environment) -> [u8; N] {
    let mut bytes = [0; N];
    environment.fill_random(&mut bytes);
    bytes
}
