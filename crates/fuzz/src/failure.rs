//! What does not hold, panics among it.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

/// What does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Kind of the failure, equal for smaller scenarios that fail likewise.
    pub class: String,
    /// Figures.
    pub detail: String,
}

impl Failure {
    pub(crate) fn new(class: impl Into<String>, detail: impl Into<String>) -> Failure {
        Failure { class: class.into(), detail: detail.into() }
    }
}

/// Where the first panic of a case was, and what it said; threads of a run panic in the middle of nowhere.
static PANIC: Mutex<Option<(String, String)>> = Mutex::new(None);

/// Does what `act` says; a panic on any of its threads is a failure.
pub(crate) fn calmly<T>(act: impl FnOnce() -> T) -> Result<T, Failure> {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, |place| format!("{}:{}", place.file(), place.line()));
        PANIC.lock().expect("a hook does not panic").get_or_insert((place, info.payload_as_str().unwrap_or("").into()));
    }));
    let done = panic::catch_unwind(AssertUnwindSafe(act));
    drop(panic::take_hook());
    let place = PANIC.lock().expect("a hook does not panic").take();
    done.map_err(|_| {
        let (place, message) = place.unwrap_or_default();
        Failure::new(format!("panic at {place}"), message)
    })
}
