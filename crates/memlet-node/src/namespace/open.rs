//! One namespace in memory, brought up to date with the store at the start of every operation.
//!
//! Several processes may share the store, and it alone tells them of each other: whoever reads first takes in what others
//! committed, and whoever writes does so inside the store's one write transaction. So nothing is ever written from an old view.

use std::sync::Arc;

use memlet_auth::chain::VerifiedGrant;
use memlet_auth::grant::Ability;
use memlet_auth::statements::{Insertion, Statements};
use memlet_core::codec::Encode as _;
use memlet_core::document::{ChangeHead, Document};
use memlet_core::id::{NamespaceId, PublicKey};
use memlet_core::path::Path;
use memlet_store::{Read, Table, Write};

use super::documents::Documents;
use super::index::Index;
use super::log::{self, StoredChange};
use super::waiting::Waiting;
use crate::error::NodeError;

/// What is known of a namespace, all of it also in the store but for what waits.
pub(super) struct Open {
    pub(super) documents: Documents,
    pub(super) statements: Statements,
    pub(super) index: Index,
    /// Changes that cannot be judged yet.
    pub(super) waiting: Waiting,
    statements_len: u64,
}

impl Open {
    /// An empty namespace; [`Open::catch_up`] fills it.
    pub(super) fn new(id: NamespaceId) -> Result<Self, NodeError> {
        Ok(Self {
            documents: Documents::new(id),
            statements: Statements::new(id)?,
            index: Index::default(),
            waiting: Waiting::default(),
            statements_len: 0,
        })
    }

    /// Takes in what was committed since, by whatever process. True if there was anything.
    pub(super) fn catch_up(&mut self, read: &dyn Read) -> Result<bool, NodeError> {
        let id = self.document().namespace();
        let statements = log::len(read, id, Table::Statements)?;
        let changes = log::len(read, id, Table::Changes)?;
        let news = statements > self.statements_len || changes > self.index.len();
        if statements > self.statements_len {
            for statement in log::entries(read, id, Table::Statements, self.statements_len)? {
                let inserted = self.statements.insert(&statement, PublicKey(id.0));
                if !matches!(inserted, Ok(Insertion::New { .. } | Insertion::Known(_))) {
                    return Err(NodeError::Damaged("a stored grant does not verify".into()));
                }
                self.statements_len += 1;
            }
            self.documents.statements_added();
        }
        if changes > self.index.len() {
            let stored = log::changes(read, id, self.index.len())?;
            self.documents.extend(&stored, &self.statements)?;
            for change in &stored {
                self.index.push(&change.head()?, change.stamp.time_ms);
            }
        }
        self.settle(read)?;
        Ok(news)
    }

    /// What this replica shows.
    pub(super) fn document(&self) -> &Document {
        self.documents.shown()
    }

    /// Makes what is shown follow what came in.
    pub(super) fn settle(&mut self, read: &dyn Read) -> Result<(), NodeError> {
        let id = self.documents.shown().namespace();
        self.documents.settle(&self.statements, || log::changes(read, id, 0))
    }

    /// Puts a change behind the log, in the store's open write and here.
    pub(super) fn append(
        &mut self,
        write: &mut dyn Write,
        head: &ChangeHead,
        change: &StoredChange,
    ) -> Result<(), NodeError> {
        log::append(write, Table::Changes, self.index.len(), &change.to_cbor())?;
        self.index.push(head, change.stamp.time_ms);
        Ok(())
    }

    /// Takes in a statement, and puts all that count through it behind the log.
    pub(super) fn add_statement(
        &mut self,
        write: &mut dyn Write,
        statement: &[u8],
        peer: PublicKey,
    ) -> Result<Insertion, NodeError> {
        let insertion = self.statements.insert(statement, peer)?;
        if let Insertion::New { added, .. } = &insertion {
            for id in added {
                let added = self.statements.statement(id).expect("what was added is there").to_bytes();
                log::append(write, Table::Statements, self.statements_len, &added)?;
                self.statements_len += 1;
            }
            self.documents.statements_added();
        }
        Ok(insertion)
    }

    /// The grant under which `device` holds this namespace at `now_ms`: the nearest to the root that lets it sync.
    pub(super) fn grant_of(&self, device: &PublicKey, now_ms: u64) -> Option<&Arc<VerifiedGrant>> {
        self.statements
            .iter()
            .filter(|grant| grant.audience() == *device)
            .filter(|grant| grant.check_request(Ability::Sync, &Path::ROOT, now_ms, self.statements.revoked()).is_ok())
            .min_by_key(|grant| (grant.links(), grant.id()))
    }
}
