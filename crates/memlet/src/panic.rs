//! A panic is our fault and says so in one line, without a word of what was being worked on.

use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Mutex, PoisonError};

use crate::failure::Failure;

/// Where the last panic was.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Runs a command; a panic in it becomes a failure.
///
/// Panics that are caught elsewhere, such as those over hostile input, stay silent but for the log.
pub(crate) fn guard(command: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    panic::set_hook(Box::new(note));
    panic::catch_unwind(AssertUnwindSafe(command)).unwrap_or_else(|_| {
        let place = LAST.lock().unwrap_or_else(PoisonError::into_inner).take();
        Err(Failure::Panic(place.unwrap_or_else(|| "an unknown place".into())))
    })
}

/// Keeps the place alone: the payload may quote what was being worked on.
fn note(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string);
    tracing::error!(place, "panicked");
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = place;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_failure_that_tells_where_and_not_what() {
        let failure = guard(|| panic!("the secret text")).unwrap_err();
        drop(panic::take_hook());
        assert_eq!((failure.code(), failure.exit_code()), ("INTERNAL", 1));
        let report = failure.report(false);
        assert!(report.contains("panic.rs:") && !report.contains("secret") && !report.contains('\n'), "{report}");
    }
}
