//! Panics as results: a simulation that meets one reports it like any other failure.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// The message of the last panic of this thread, and where it was.
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `act`; a panic in it comes out as its message. Panics are no longer printed after the first call.
///
/// # Errors
/// The message of the panic.
pub fn catch<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        std::panic::set_hook(Box::new(|info| LAST.with(|last| *last.borrow_mut() = info.to_string())));
    });
    // After a panic only counters and the trace are looked at, which are whole at every moment.
    catch_unwind(AssertUnwindSafe(act)).map_err(|_| LAST.with(|last| last.borrow().clone()))
}
