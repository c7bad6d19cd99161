//! Verified chains: what a grant allows together with every grant above it.
//!
//! A [`VerifiedGrant`] exists only with a verified parent, up to one that the namespace key issued, so whoever holds one
//! holds a valid chain of at most 8 links. Authority is the intersection over the links: a child can claim anything and
//! gains nothing.

use std::iter;
use std::sync::Arc;

use memlet_core::id::{GrantId, PublicKey};
use memlet_core::path::Path;

use crate::error::{DelegateError, Denied, GrantRefusal};
use crate::grant::{Abilities, Ability, Cap, Grant, GrantBody, Terms};
use crate::keys::{SigningKey, VerifyingKey};
use crate::limits::CHAIN_LINKS_MAX;
use crate::revoked::Revoked;

/// A grant with a verified signature under a verified chain.
#[derive(Debug)]
pub struct VerifiedGrant {
    grant: Grant,
    audience: VerifyingKey,
    parent: Option<Arc<VerifiedGrant>>,
    window: Window,
    links: usize,
}

impl VerifiedGrant {
    /// Whether `grant`, whose namespace is right, may stand under `parent`. Costs no signature.
    pub(crate) fn check_link(grant: &Grant, parent: Option<&VerifiedGrant>) -> Result<(), GrantRefusal> {
        let body = grant.body();
        let Some(parent) = parent else {
            return if body.issuer.0 == body.namespace.0 { Ok(()) } else { Err(GrantRefusal::NotRoot) };
        };
        if parent.links >= CHAIN_LINKS_MAX {
            return Err(GrantRefusal::ChainTooLong);
        }
        if body.issuer != parent.audience() {
            return Err(GrantRefusal::NotTheAudience);
        }
        if body.terms.depth >= parent.terms().depth {
            return Err(GrantRefusal::Depth);
        }
        Ok(())
    }

    /// The link, once [`VerifiedGrant::check_link`] and the signature have passed.
    pub(crate) fn new(grant: Grant, audience: VerifyingKey, parent: Option<Arc<VerifiedGrant>>) -> Self {
        let own = Window::of(&grant.body().terms);
        let (window, links) = match &parent {
            Some(parent) => (own.intersection(parent.window), parent.links + 1),
            None => (own, 1),
        };
        Self { grant, audience, parent, window, links }
    }

    /// The name of this grant.
    pub fn id(&self) -> GrantId {
        self.grant.id()
    }

    /// The statement itself.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// Who may act by it.
    pub fn audience(&self) -> PublicKey {
        self.grant.body().terms.audience
    }

    /// The key of the audience, checked once when the grant was verified.
    pub(crate) fn audience_key(&self) -> &VerifyingKey {
        &self.audience
    }

    /// The links from this grant up to the one that the namespace key issued: 1 to 8.
    pub fn chain(&self) -> impl Iterator<Item = &VerifiedGrant> {
        iter::successors(Some(self), |link| link.parent.as_deref())
    }

    /// How many links the chain has, this one included; the namespace key would have rank 0.
    pub fn links(&self) -> usize {
        self.links
    }

    /// When the whole chain holds.
    pub fn window(&self) -> Window {
        self.window
    }

    /// What the whole chain allows at `path`: what each link gives there and, above the last link, may pass on there.
    pub fn abilities_at(&self, path: &Path) -> Abilities {
        let own = self.terms_at(path);
        self.chain().skip(1).fold(own, |allowed, link| {
            let given = link.terms_at(path);
            if given.contains(Ability::Grant) { allowed.intersection(given) } else { Abilities::NONE }
        })
    }

    /// Whether the whole chain allows `ability` at `path`, at whatever time.
    pub fn permits(&self, ability: Ability, path: &Path) -> bool {
        self.abilities_at(path).contains(ability)
    }

    /// Paths that together with what is below them are all at which the whole chain allows anything.
    ///
    /// What is allowed at a path is what is allowed at the longest path above it that a link names, because the same
    /// capabilities cover both.
    pub(crate) fn effective_paths(&self) -> impl Iterator<Item = &Path> {
        let named = self.chain().flat_map(|link| &link.terms().caps).map(|cap| &cap.path);
        named.filter(|path| self.abilities_at(path) != Abilities::NONE)
    }

    /// Whether its holder may do this now: what a surface asks before every request.
    ///
    /// # Errors
    /// The chain does not allow it, does not hold at `now_ms` (Unix time in milliseconds), or is revoked: a link of it or
    /// the key of a link's audience.
    pub fn check_request(&self, ability: Ability, path: &Path, now_ms: u64, revoked: &Revoked) -> Result<(), Denied> {
        if self.window.contains(now_ms) && self.permits(ability, path) && !revoked.hits(self) {
            return Ok(());
        }
        Err(Denied { ability, path: path.clone() })
    }

    /// Passes a part of this grant on, signed by its holder.
    ///
    /// A grant that names more would be valid and gain nothing; it is refused here, because it would promise what it
    /// cannot keep.
    ///
    /// # Errors
    /// `key` is not the holder's, the chain would become too long or too deep, or `terms` name an ability that the holder
    /// lacks or may not pass on at that path, or a time at which this grant does not hold.
    pub fn delegate(&self, key: &SigningKey, terms: Terms) -> Result<Grant, DelegateError> {
        for Cap { abilities, path } in &terms.caps {
            let own = self.abilities_at(path);
            let lacking = iter::once(Ability::Grant).chain(abilities.iter()).find(|ability| !own.contains(*ability));
            if let Some(ability) = lacking {
                return Err(Denied { ability, path: path.clone() }.into());
            }
        }
        if !self.window.covers(Window::of(&terms)) {
            return Err(DelegateError::Outlives);
        }
        let namespace = self.grant.body().namespace;
        let body = GrantBody { namespace, issuer: key.public(), parent: Some(self.id()), terms };
        let grant = Grant::issue(key, &body)?;
        Self::check_link(&grant, Some(self))?;
        Ok(grant)
    }

    fn terms(&self) -> &Terms {
        &self.grant.body().terms
    }

    /// What this link alone gives at `path`.
    fn terms_at(&self, path: &Path) -> Abilities {
        self.terms().caps.iter().fold(Abilities::NONE, |given, cap| given.union(cap.at(path)))
    }
}

/// The time in which grants hold, in Unix milliseconds. Both ends belong to it; it may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    first_ms: u64,
    last_ms: u64,
}

impl Window {
    fn of(terms: &Terms) -> Self {
        Self {
            first_ms: terms.not_before.saturating_mul(1_000),
            last_ms: terms.expires.map_or(u64::MAX, |seconds| seconds.saturating_mul(1_000)),
        }
    }

    /// Whether `time_ms` lies within.
    pub fn contains(self, time_ms: u64) -> bool {
        (self.first_ms..=self.last_ms).contains(&time_ms)
    }

    /// The first millisecond, unless the window is empty.
    pub fn first_ms(self) -> u64 {
        self.first_ms
    }

    /// The last millisecond, unless the window is empty; `u64::MAX` if there is none.
    pub fn last_ms(self) -> u64 {
        self.last_ms
    }

    fn intersection(self, other: Self) -> Self {
        Self { first_ms: self.first_ms.max(other.first_ms), last_ms: self.last_ms.min(other.last_ms) }
    }

    fn covers(self, other: Self) -> bool {
        self.intersection(other) == other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::SigningKey;
    use crate::statements::Statements;
    use memlet_core::id::NamespaceId;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_bytes(&[seed; 32])
    }

    fn terms(audience: u8, depth: u8, abilities: &[Ability], path: &str) -> Terms {
        let cap = Cap { abilities: Abilities::of(abilities), path: Path::parse(path).unwrap() };
        let audience = key(audience).public();
        Terms { audience, caps: vec![cap], not_before: 10, expires: Some(20), depth, nonce: [0; 16] }
    }

    /// The root key's grant of these terms, verified.
    fn root(terms: Terms) -> Arc<VerifiedGrant> {
        let root = key(1);
        let mut statements = Statements::new(NamespaceId(root.public().0)).unwrap();
        let grant = Grant::root(&root, terms).unwrap();
        assert!(statements.insert(&grant.to_bytes(), root.public()).is_ok());
        Arc::clone(statements.get(&grant.id()).unwrap())
    }

    #[test]
    fn delegates_a_part() {
        let own = root(terms(2, 1, &[Ability::Read, Ability::Write, Ability::Grant], "w"));
        let grant = own.delegate(&key(2), terms(3, 0, &[Ability::Read], "w/notes")).unwrap();
        assert_eq!((grant.body().parent, grant.body().issuer), (Some(own.id()), own.audience()));
    }

    #[test]
    fn delegates_nothing_that_the_holder_lacks() {
        let own = root(terms(2, 1, &[Ability::Read, Ability::Grant], "w"));
        let refused = |terms| own.delegate(&key(2), terms).unwrap_err();
        let denied = |ability, path: &str| DelegateError::from(Denied { ability, path: Path::parse(path).unwrap() });
        assert_eq!(refused(terms(3, 0, &[Ability::Read, Ability::Write], "w")), denied(Ability::Write, "w"));
        assert_eq!(refused(terms(3, 0, &[Ability::Read], "n")), denied(Ability::Grant, "n"));
        assert_eq!(refused(terms(3, 1, &[Ability::Read], "w")), GrantRefusal::Depth.into());
        for (not_before, expires) in [(9, Some(20)), (10, Some(21)), (10, None)] {
            let longer = Terms { not_before, expires, ..terms(3, 0, &[Ability::Read], "w") };
            assert_eq!(refused(longer), DelegateError::Outlives);
        }
        let by_another = own.delegate(&key(3), terms(3, 0, &[Ability::Read], "w"));
        assert_eq!(by_another, Err(GrantRefusal::NotTheAudience.into()));
    }

    #[test]
    fn who_may_not_pass_on_passes_nothing_on() {
        let root_key = key(1);
        let own = root(terms(2, 1, &[Ability::Read, Ability::Write], "w"));
        let asked = terms(3, 0, &[Ability::Read], "w");
        let path = Path::parse("w").unwrap();
        let denied = Denied { ability: Ability::Grant, path: path.clone() };
        assert_eq!(own.delegate(&key(2), asked.clone()), Err(denied.into()));

        // and gains nothing by signing the child all the same
        let namespace = NamespaceId(root_key.public().0);
        let body = GrantBody { namespace, issuer: key(2).public(), parent: Some(own.id()), terms: asked };
        let mut statements = Statements::new(namespace).unwrap();
        let child = Grant::issue(&key(2), &body).unwrap();
        for grant in [own.grant(), &child] {
            assert!(statements.insert(&grant.to_bytes(), root_key.public()).is_ok());
        }
        assert!(own.permits(Ability::Read, &path));
        assert!(!statements.get(&child.id()).unwrap().permits(Ability::Read, &path));
    }
}
