//! Broken invariants, and panics.

use std::{panic, panic::AssertUnwindSafe, sync::Mutex, sync::PoisonError};

/// A broken invariant.
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

/// Place and text of the first panic of a case: threads of a run panic where nobody sees them.
static PANIC: Mutex<Option<(String, String)>> = Mutex::new(None);

/// One act at a time: the place of a panic says nothing about whose it is.
static ACT: Mutex<()> = Mutex::new(());

/// Does what `act` says; a panic on any of its threads is a failure, also where it is caught.
pub(crate) fn calmly<T>(act: impl FnOnce() -> T) -> Result<T, Failure> {
    let _alone = ACT.lock().unwrap_or_else(PoisonError::into_inner);
    panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, |place| format!("{}:{}", place.file(), place.line()));
        PANIC.lock().expect("a hook does not panic").get_or_insert((place, info.payload_as_str().unwrap_or("").into()));
    }));
    let done = panic::catch_unwind(AssertUnwindSafe(act));
    drop(panic::take_hook());
    let panic = PANIC.lock().expect("a hook does not panic").take();
    match (done, panic) {
        (Ok(value), None) => Ok(value),
        (Ok(_) | Err(_), panic) => {
            let (place, message) = panic.unwrap_or_default();
            Err(Failure::new(format!("panic at {place}"), message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_failure_also_where_it_is_caught_or_on_another_thread() {
        let panics: [fn(); 3] = [
            || panic!("no bytes are lost"),
            || drop(panic::catch_unwind(|| panic!("no bytes are lost"))),
            || drop(std::thread::spawn(|| panic!("no bytes are lost")).join()),
        ];
        for act in panics {
            let failure = calmly(act).unwrap_err();
            assert!(failure.class.starts_with("panic at crates/fuzz/src/failure.rs:"), "{failure:?}");
            assert_eq!(failure.detail, "no bytes are lost");
        }
        assert_eq!(calmly(|| 1), Ok(1));
    }
}
