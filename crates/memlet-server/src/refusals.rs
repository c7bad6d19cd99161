//! How often each kind of thing was refused, by its stable code.
//!
//! What a hostile or broken peer does leaves a number here and nothing else: no bytes of it are kept or logged.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The refusals of one node, shared by all that refuses. Cloning gives another handle to the same counts.
///
/// Codes are constants of the program, so the table cannot grow by what peers send.
#[derive(Clone, Default, Debug)]
pub struct Refusals(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Refusals {
    /// One more refusal under `code`.
    pub fn count(&self, code: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(code).or_default() += 1;
    }

    /// How often `code` was refused.
    pub fn of(&self, code: &str) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(code).copied().unwrap_or_default()
    }

    /// All counts so far.
    pub fn all(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
