//! Values that the caller of a run brings beside the scenario, as no file can hold them.

use std::{fmt, sync::Arc};

/// A function, or nothing as long as the caller has brought none. Equal to itself only.
pub struct Brought<F: ?Sized>(Option<Arc<F>>);

impl<F: ?Sized> Brought<F> {
    /// Something brought.
    pub fn new(brought: Arc<F>) -> Brought<F> {
        Brought(Some(brought))
    }

    /// It, if there is one.
    pub fn get(&self) -> Option<&F> {
        self.0.as_deref()
    }
}

impl<F: ?Sized> Clone for Brought<F> {
    fn clone(&self) -> Self {
        Brought(self.0.clone())
    }
}

impl<F: ?Sized> Default for Brought<F> {
    fn default() -> Self {
        Brought(None)
    }
}

impl<F: ?Sized> fmt::Debug for Brought<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "brought" } else { "absent" })
    }
}

impl<F: ?Sized> PartialEq for Brought<F> {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }
}
