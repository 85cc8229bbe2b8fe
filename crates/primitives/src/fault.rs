//! A panic is a fault of Etherweave. What it ends leaves what there is until then, with message and place.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::{any::Any, sync::Mutex, sync::PoisonError};

/// The first panic that nobody has taken yet: threads that waited for the one that panicked do so after it.
static FIRST: Mutex<Option<Fault>> = Mutex::new(None);

/// A panic.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Fault {
    /// Message of the panic.
    pub message: String,
    /// File and line of the code; empty where panics are not recorded.
    pub place: String,
}

/// Records panics from now on, and prints them only if `prints`.
pub fn record_panics(prints: bool) {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
        let place = panic.location().map(|place| format!("{}:{}", place.file(), place.line())).unwrap_or_default();
        let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(Fault { message: message(panic.payload()), place });
        drop(first);
        if prints {
            print(panic);
        }
    }));
}

/// The first panic since this was called, if panics are recorded.
pub fn take_fault() -> Option<Fault> {
    FIRST.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Result of `act`, or the fault in it.
///
/// # Errors
/// When `act` panics.
pub fn caught<T>(act: impl FnOnce() -> T) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(act))
        .map_err(|payload| take_fault().unwrap_or_else(|| Fault { message: message(&*payload), place: String::new() }))
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_recorded_with_its_place() {
        record_panics(false);
        let fault = caught(|| panic!("no bytes are lost")).unwrap_err();
        // Other tests print theirs.
        drop(std::panic::take_hook());
        assert_eq!(fault.message, "no bytes are lost");
        assert!(fault.place.starts_with("crates/primitives/src/fault.rs:"), "{}", fault.place);
    }
}
