//! On whose behalf an operation runs: the device itself, or an agent whose key this node holds.

use std::sync::Arc;

use memlet_auth::keys::SigningKey;
use memlet_core::id::GrantId;

/// Who calls. Everything a call reads or writes is limited by the caller's grant.
#[derive(Clone)]
pub enum Caller {
    /// This device, under its own grant.
    Device,
    /// An agent.
    Agent(Agent),
}

/// An agent that has a key of its own, kept for it by this node.
#[derive(Clone)]
pub struct Agent {
    /// Signs what the agent writes.
    pub key: Arc<SigningKey>,
    /// What it may do.
    pub grant: GrantId,
}
