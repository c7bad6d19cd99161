//! Bringing a device into a namespace: one side invites and waits, the other joins, and both end once they are level.

mod invitation;
mod join;

pub use invitation::{INVITE_VALID, Invitation, InviteFailed, InviteOptions, Joined};
pub use join::{JoinFailed, Joining, join};
