//! What a change or a request does, as authority sees it: abilities used at paths.

use std::collections::BTreeSet;

use memlet_core::path::Path;

use crate::chain::VerifiedGrant;
use crate::error::Denied;
use crate::grant::Ability;

/// A set of (ability, path), in that order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Effects(BTreeSet<(Ability, Path)>);

impl Effects {
    /// Adds one use of an ability.
    pub fn add(&mut self, ability: Ability, path: Path) {
        self.0.insert((ability, path));
    }

    /// The effects in order.
    pub fn iter(&self) -> impl Iterator<Item = (Ability, &Path)> {
        self.0.iter().map(|(ability, path)| (*ability, path))
    }
}

impl FromIterator<(Ability, Path)> for Effects {
    fn from_iter<I: IntoIterator<Item = (Ability, Path)>>(effects: I) -> Self {
        Self(effects.into_iter().collect())
    }
}

/// Checks that a grant allows all of a change: one denied effect denies the whole.
///
/// Whether the grant holds at the time in question is not asked here: a [`crate::stamp::VerifiedStamp`] has been judged
/// at its own time, a request is judged by [`VerifiedGrant::check_request`].
///
/// # Errors
/// The first effect, in their order, that is not allowed.
pub fn check_effects(grant: &VerifiedGrant, effects: &Effects) -> Result<(), Denied> {
    match effects.iter().find(|(ability, path)| !grant.permits(*ability, path)) {
        Some((ability, path)) => Err(Denied { ability, path: path.clone() }),
        None => Ok(()),
    }
}
