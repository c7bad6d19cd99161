//! Taking a grant back: signing a revocation, with what is kept of the work done under it (authority rules, revocation).

use std::collections::{BTreeMap, BTreeSet};

use memlet_auth::chain::VerifiedGrant;
use memlet_auth::error::StatementRefusal;
use memlet_auth::keys::SigningKey;
use memlet_auth::revocation::{Kept, Revocation, RevocationBody, RevocationId, Target};
use memlet_auth::statements::Statements;
use memlet_core::document::Document;
use memlet_core::id::{Actor, GrantId, NamespaceId};

use super::open::Open;
use super::{Namespace, Outcome};
use crate::environment::random;
use crate::error::NodeError;

/// What stays of the work done under a revoked grant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// All that is known and shown here now, and the revocations that its holders have issued. What they did elsewhere and what they do
    /// later does not count.
    Known,
    /// Nothing, but for what someone in good standing has built on.
    Nothing,
}

/// What a revocation does here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The revocation.
    pub revocation: RevocationId,
    /// The grants that hold no longer because of it, those named and all that stand under them, by rising id.
    pub grants: BTreeSet<GrantId>,
    /// Changes made under those grants that are still shown.
    pub kept: u64,
    /// Changes that were shown before and no longer are.
    pub left_out: u64,
}

impl Namespace {
    /// Revokes a grant, or every grant of a key: signed by `root` if that is the key of this namespace, else by this device under its own
    /// grant. Whoever hears of it cuts the holders off. It is never undone; a new grant, to another key if a key was named, can be given.
    ///
    /// # Errors
    /// [`NodeError::NothingToRevoke`] if it would end no grant that holds now, [`NodeError::RevokesItself`] if it would end this device's
    /// own, [`NodeError::NoGrant`] without `root` and without a grant; or the store fails. Nothing is revoked then.
    pub fn revoke(&self, target: Target, keep: Keep, root: Option<&SigningKey>) -> Result<Cut, NodeError> {
        let nonce = random(&*self.shared.environment);
        let root = root.filter(|root| NamespaceId(root.public().0) == self.id);
        self.transact(|open, write| {
            let (own, now_ms) = (self.shared.device.public(), self.shared.now_ms());
            let held = open.grant_of(&own, now_ms).map(|grant| grant.id());
            let issuer = if root.is_some() { None } else { Some(held.ok_or(NodeError::NoGrant)?) };
            let (keep, upheld) = match keep {
                Keep::Known => (heads(open.document()), issued_under(&open.statements, &target)),
                Keep::Nothing => (BTreeMap::new(), BTreeSet::new()),
            };
            let key = root.unwrap_or(&self.shared.device);
            let body =
                RevocationBody { namespace: self.id, issuer: key.public(), grant: issuer, target, keep, upheld, nonce };
            let revocation = Revocation::issue(key, &body).map_err(StatementRefusal::from)?;

            let (held_before, left_out_before) = (unrevoked(&open.statements), open.documents.left_out());
            open.add_statement(write, &revocation.to_bytes(), own).map(drop)?;
            open.settle(&*write)?;
            let grants: BTreeSet<GrantId> = &held_before - &unrevoked(&open.statements);
            if grants.is_empty() {
                return Err(NodeError::NothingToRevoke);
            }
            if held.is_some() && open.grant_of(&own, now_ms).is_none() {
                return Err(NodeError::RevokesItself);
            }
            let kept = open.shown_under(&*write, &grants)?;
            let left_out = open.documents.left_out() - left_out_before;
            Ok(Outcome::Commit(Cut { revocation: revocation.id(), grants, kept, left_out }))
        })
    }
}

impl Open {
    /// How many of the changes shown were made under one of `grants`.
    fn shown_under(&self, read: &dyn memlet_store::Read, grants: &BTreeSet<GrantId>) -> Result<u64, NodeError> {
        let log = super::log::changes(read, self.document().namespace(), 0)?;
        let mut shown = 0;
        for change in log.iter().filter(|change| grants.contains(&change.stamp.grant)) {
            shown += u64::from(self.document().knows(&change.head()?.hash));
        }
        Ok(shown)
    }
}

/// The last changes shown, which have all others in their past.
fn heads(document: &Document) -> BTreeMap<Actor, Kept> {
    let heads: BTreeSet<_> = document.heads().collect();
    let tips = document.tips().iter().filter(|(_, tip)| heads.contains(&tip.hash));
    tips.map(|(actor, tip)| (*actor, Kept { seq: tip.seq, change: tip.hash })).collect()
}

/// The revocations issued under a grant that `target` names, or one below it.
fn issued_under(statements: &Statements, target: &Target) -> BTreeSet<RevocationId> {
    let names = |link: &VerifiedGrant| match target {
        Target::Grant(id) => link.id() == *id,
        Target::Key(key) => link.audience() == *key,
    };
    let issued = statements.revocations().filter(|held| held.issuer().is_some_and(|grant| grant.chain().any(names)));
    issued.map(|held| held.id()).collect()
}

fn unrevoked(statements: &Statements) -> BTreeSet<GrantId> {
    statements.iter().filter(|grant| !statements.revoked().hits(grant)).map(|grant| grant.id()).collect()
}
