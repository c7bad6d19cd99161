//! Why a node could not do what it was asked.

use memlet_auth::error::{DelegateError, Denied, GrantRefusal, KeyError, StatementRefusal};
use memlet_core::document::Broken;
use memlet_core::id::NamespaceId;
use memlet_store::StoreError;

use crate::ops::{Code, OpError};

/// A failure of the node, its store or its caller.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The store failed or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What the store holds cannot be what was put there.
    #[error("the store is damaged: {0}; run `memlet doctor`")]
    Damaged(String),
    /// No such namespace here.
    #[error("the namespace {0} is not on this device; `memlet join` brings it here")]
    UnknownNamespace(NamespaceId),
    /// The namespace is here already.
    #[error("the namespace {0} is on this device already")]
    NamespaceExists(NamespaceId),
    /// The store was made by another device: its key file is not the one beside it.
    #[error("the store belongs to another device key; put back its key file, or join anew from an empty directory")]
    OtherDevice,
    /// The change that a call makes would be larger than a change may be.
    #[error("the change would be larger than 4 MiB; write less at once")]
    ChangeTooLarge,
    /// The caller's grant does not allow what the call does.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// This device holds no valid grant in the namespace.
    #[error("this device holds no valid grant in the namespace; ask for a new invite")]
    NoGrant,
    /// A revocation would end no grant.
    #[error(
        "there is nothing to revoke: no such grant holds now, or this device may not revoke it; `memlet devices` shows who holds one"
    )]
    NothingToRevoke,
    /// A revocation would end the grant of the device that issues it.
    #[error("this would cut off this device itself; revoke it from another device, or with the root key there")]
    RevokesItself,
    /// A statement is refused.
    #[error("a statement is refused: {0}")]
    Statement(#[from] StatementRefusal),
    /// A grant cannot be made.
    #[error("a grant is refused: {0}")]
    Grant(#[from] GrantRefusal),
    /// A grant cannot be given.
    #[error("the grant cannot be given: {0}")]
    Delegate(#[from] DelegateError),
    /// A key is not acceptable.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The document in memory failed; it has been dropped and is loaded again at the next call.
    #[error(transparent)]
    Document(#[from] Broken),
}

impl NodeError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Damaged(_) => "STORE_DAMAGED",
            Self::UnknownNamespace(_) => "NAMESPACE_UNKNOWN",
            Self::NamespaceExists(_) => "NAMESPACE_EXISTS",
            Self::OtherDevice => "STORE_OTHER_DEVICE",
            Self::ChangeTooLarge => "TOO_LARGE",
            Self::Denied(error) => error.code(),
            Self::NoGrant => "NO_GRANT",
            Self::NothingToRevoke => "NOTHING_TO_REVOKE",
            Self::RevokesItself => "REVOKES_ITSELF",
            Self::Statement(error) => error.code(),
            Self::Grant(error) => error.code(),
            Self::Delegate(error) => error.code(),
            Self::Key(error) => error.code(),
            Self::Document(_) => "INTERNAL",
        }
    }
}

/// Why an operation of the surfaces gave no result.
#[derive(Debug, thiserror::Error)]
pub enum InvokeError {
    /// The operation refused; nothing was written.
    #[error(transparent)]
    Op(#[from] OpError),
    /// The node failed.
    #[error(transparent)]
    Node(#[from] NodeError),
}

impl InvokeError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Op(error) => error.code.name(),
            Self::Node(error) => error.code(),
        }
    }

    /// The exit code of the command line.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Op(error) => error.code.exit_code(),
            Self::Node(NodeError::Denied(_) | NodeError::NoGrant) => Code::PermissionDenied.exit_code(),
            Self::Node(NodeError::UnknownNamespace(_)) => Code::NotFound.exit_code(),
            Self::Node(_) => Code::Internal.exit_code(),
        }
    }
}
