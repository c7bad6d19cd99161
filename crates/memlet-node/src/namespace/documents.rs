//! Which of the stored changes are shown: all of them, until a revocation leaves some out (authority rules, revocation).
//!
//! A change that holds by itself is stored and relayed whether or not it counts, because an author in good standing may turn out
//! to have built on it. It is judged against the document of **all** changes, so that a verdict depends on its causal past and on
//! nothing else. What is shown, and what this replica builds on, is the document of the changes that **count**; it is another one
//! only while they are fewer.

use std::collections::BTreeMap;

use memlet_auth::chain::VerifiedGrant;
use memlet_auth::revoked::{Change, Next, Revoked};
use memlet_auth::statements::Statements;
use memlet_core::document::{AdmitError, Broken, ChangeHead, Document, Effects, Parsed, Refusal, Written};
use memlet_core::id::{Actor, ChangeHash, GrantId, NamespaceId};

use super::log::StoredChange;
use crate::error::NodeError;

/// The document that is shown and, while it lacks something, the one of all changes.
pub(super) struct Documents {
    shown: Document,
    all: Option<Document>,
    /// The changes in `all` that are not in `shown`, and whose they are. After [`Documents::settle`] they are those that do not count.
    left_out: BTreeMap<ChangeHash, Actor>,
    /// Whether something came in by which others may count, or count no longer.
    stale: bool,
}

impl Documents {
    pub(super) fn new(id: NamespaceId) -> Self {
        Self { shown: Document::new(id), all: None, left_out: BTreeMap::new(), stale: false }
    }

    /// What this replica shows.
    pub(super) fn shown(&self) -> &Document {
        &self.shown
    }

    /// What this replica builds on. [`Documents::wrote`] must hear of what was written.
    pub(super) fn shown_mut(&mut self) -> &mut Document {
        &mut self.shown
    }

    /// Every change, whether or not it counts.
    pub(super) fn all(&self) -> &Document {
        self.all.as_ref().unwrap_or(&self.shown)
    }

    fn all_mut(&mut self) -> &mut Document {
        self.all.as_mut().unwrap_or(&mut self.shown)
    }

    /// Holds what is shown, and what it was judged by, against the Automerge documents.
    pub(super) fn verify(&self) -> Result<(), Broken> {
        self.all().verify()?;
        self.shown.verify()
    }

    /// How many changes do not count.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out.len() as u64
    }

    /// Whether a change of `actor` does not count, so that it cannot go on: its next number is taken.
    pub(super) fn cut_off(&self, actor: &Actor) -> bool {
        self.left_out.values().any(|of| of == actor)
    }

    /// Takes in a change from outside that passes the gate and `permits`; [`Documents::settle`] must follow.
    pub(super) fn admit<E: From<Refusal>>(
        &mut self,
        change: &Parsed,
        grant: &VerifiedGrant,
        revoked: &Revoked,
        permits: impl FnOnce(&Effects) -> Result<(), E>,
    ) -> Result<(), AdmitError<E>> {
        self.all_mut().admit(change, &grant.id(), permits)?;
        if self.place(&change.head(), grant, revoked) && self.all.is_some() {
            add(&mut self.shown, change, &grant.id())?;
        }
        Ok(())
    }

    /// Takes in a change that this replica made on what it shows.
    pub(super) fn wrote(&mut self, written: &Written, grant: &GrantId) -> Result<(), Broken> {
        let Some(all) = &mut self.all else { return Ok(()) };
        add(all, &written.change, grant)
    }

    /// Takes in the next changes of the log; [`Documents::settle`] must follow.
    pub(super) fn extend(&mut self, stored: &[StoredChange], statements: &Statements) -> Result<(), NodeError> {
        self.all_mut().extend_stored(stored.iter().map(bytes))?;
        let revoked = statements.revoked();
        // Nothing is left out yet, and nothing can be, or a recount will say.
        if self.all.is_none() && (revoked.is_empty() || self.stale) {
            return Ok(());
        }
        let mut counted = Vec::new();
        for change in stored {
            if self.place(&change.head()?, grant_of(change, statements)?, revoked) {
                counted.push(bytes(change));
            }
        }
        if self.all.is_some() {
            self.shown.extend_stored(counted)?;
        }
        Ok(())
    }

    /// Notes that statements were added. What that means for the changes is worked out once, in [`Documents::settle`].
    pub(super) fn statements_added(&mut self) {
        self.stale = true;
    }

    /// Makes what is shown follow what came in. The log is read only if some changes may count or not count because of it.
    pub(super) fn settle(
        &mut self,
        statements: &Statements,
        log: impl FnOnce() -> Result<Vec<StoredChange>, NodeError>,
    ) -> Result<(), NodeError> {
        self.all_mut().seal()?;
        let may_differ = self.all.is_some() || !statements.revoked().is_empty();
        if std::mem::take(&mut self.stale) && may_differ {
            self.recount(&log()?, statements)?;
        }
        Ok(self.shown.seal()?)
    }

    /// Whether the change that `all` has just taken in counts, as far as can be said before the next recount.
    fn place(&mut self, head: &ChangeHead, grant: &VerifiedGrant, revoked: &Revoked) -> bool {
        let all = self.all.as_ref().unwrap_or(&self.shown);
        let dependencies_count = all
            .dependencies(&head.hash)
            .expect("the change has just been applied")
            .all(|hash| !self.left_out.contains_key(hash));
        let next = revoked.next(&head.hash, grant, dependencies_count);
        if next != Next::Counts {
            self.stale |= next == Next::Recount || self.all.is_none();
            if self.all.is_some() {
                self.left_out.insert(head.hash, head.actor);
            }
        }
        next == Next::Counts
    }

    fn recount(&mut self, log: &[StoredChange], statements: &Statements) -> Result<(), NodeError> {
        let heads = log.iter().map(StoredChange::head).collect::<Result<Vec<_>, _>>()?;
        let counts = count(&heads, log, self.all(), statements)?;
        let left_out = heads.iter().zip(&counts).filter(|(_, counts)| !**counts);
        let left_out: BTreeMap<_, _> = left_out.map(|(head, _)| (head.hash, head.actor)).collect();
        if left_out == self.left_out {
            return Ok(());
        }
        let namespace = self.shown.namespace();
        let all = self.all.take().unwrap_or_else(|| std::mem::replace(&mut self.shown, Document::new(namespace)));
        if left_out.is_empty() {
            self.shown = all;
        } else {
            let counted = log.iter().zip(&counts).filter(|(_, counts)| **counts);
            self.shown = Document::load(namespace, counted.map(|(change, _)| bytes(change)))?;
            self.all = Some(all);
        }
        self.left_out = left_out;
        Ok(())
    }
}

/// Adds to one document a change that has passed the gate of the other: both hold its whole past, which alone decides.
fn add(document: &mut Document, change: &Parsed, grant: &GrantId) -> Result<(), Broken> {
    document.admit(change, grant, |_| Ok::<_, Refusal>(())).map_err(|error| match error {
        AdmitError::Refused(refusal) => Broken(format!("a change that counts does not fit what is shown: {refusal}")),
        AdmitError::Broken(broken) => broken,
    })
}

/// Of every change of the log, whether it counts.
fn count(
    heads: &[ChangeHead],
    log: &[StoredChange],
    all: &Document,
    statements: &Statements,
) -> Result<Vec<bool>, NodeError> {
    let positions: BTreeMap<ChangeHash, usize> = heads.iter().map(|head| head.hash).zip(0..).collect();
    let missing = || NodeError::Damaged("a stored change lacks its past".into());
    let dependencies = |head: &ChangeHead| {
        let dependencies = all.dependencies(&head.hash).ok_or_else(missing)?;
        dependencies.map(|hash| positions.get(hash).copied().ok_or_else(missing)).collect::<Result<Vec<_>, _>>()
    };
    let dependencies = heads.iter().map(dependencies).collect::<Result<Vec<_>, _>>()?;
    let grants = log.iter().map(|change| grant_of(change, statements)).collect::<Result<Vec<_>, _>>()?;
    let changes = heads.iter().zip(grants).zip(&dependencies);
    let changes: Vec<_> =
        changes.map(|((head, grant), dependencies)| Change { hash: head.hash, grant, dependencies }).collect();
    Ok(statements.revoked().count(&changes))
}

fn bytes(change: &StoredChange) -> &[u8] {
    &change.change
}

fn grant_of<'a>(change: &StoredChange, statements: &'a Statements) -> Result<&'a VerifiedGrant, NodeError> {
    let grant = statements.get(&change.stamp.grant).map(|grant| &**grant);
    grant.ok_or_else(|| NodeError::Damaged("the grant of a stored change is missing".into()))
}
