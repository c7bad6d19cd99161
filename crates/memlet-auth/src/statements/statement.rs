//! A statement of either kind, for whoever names, sends or stores statements without reading them.

use std::sync::Arc;

use memlet_core::id::GrantId;

use crate::chain::VerifiedGrant;
use crate::revocation::{RevocationId, VerifiedRevocation};

/// The name of a statement of either kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatementId {
    /// Of a grant.
    Grant(GrantId),
    /// Of a revocation.
    Revocation(RevocationId),
}

impl StatementId {
    /// The 32 bytes of the name: a hash under the prefix of its kind, so names of two kinds differ too.
    pub fn as_bytes(&self) -> &[u8; 32] {
        match self {
            Self::Grant(id) => &id.0,
            Self::Revocation(id) => &id.0,
        }
    }
}

/// A verified statement of either kind.
#[derive(Debug, Clone, Copy)]
pub enum Statement<'a> {
    /// A grant.
    Grant(&'a Arc<VerifiedGrant>),
    /// A revocation.
    Revocation(&'a Arc<VerifiedRevocation>),
}

impl Statement<'_> {
    /// The name of the statement.
    pub fn id(&self) -> StatementId {
        match self {
            Self::Grant(grant) => StatementId::Grant(grant.id()),
            Self::Revocation(revocation) => StatementId::Revocation(revocation.id()),
        }
    }

    /// The statement as it travels and is stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Grant(grant) => grant.grant().to_bytes(),
            Self::Revocation(revocation) => revocation.revocation().to_bytes(),
        }
    }
}
