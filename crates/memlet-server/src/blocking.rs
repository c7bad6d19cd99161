//! Calls into the node block on its store, so they run beside the tasks and not in them.

use memlet_sync::code::CloseCode;

/// A call into the node panicked, or the runtime is gone. What the call held is lost; the node itself starts over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this side failed in a way it should not; see its log")]
pub struct Crashed;

impl Crashed {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        CloseCode::Internal.code()
    }
}

/// Runs `work` where it may block. Once begun it is never cut short, even if nobody waits for it any more.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Crashed> {
    tokio::task::spawn_blocking(work).await.map_err(|crash| {
        tracing::error!(%crash, "a call into the node did not return");
        Crashed
    })
}
