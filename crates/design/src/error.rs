//! Reasons for which there is no design.

use std::fmt;

use etherweave_primitives::{InputError, InputErrors};

/// A mistake in `[design]`, or the caller's request to stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DesignError {
    /// Keys, below `design`, that ask for what the fabric or a profile cannot give.
    Input(InputErrors),
    /// The caller stopped it.
    Stopped,
}

impl From<InputError> for DesignError {
    fn from(error: InputError) -> DesignError {
        DesignError::Input(error.into())
    }
}

impl From<InputErrors> for DesignError {
    fn from(errors: InputErrors) -> DesignError {
        DesignError::Input(errors)
    }
}

impl fmt::Display for DesignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(errors) => errors.fmt(f),
            Self::Stopped => f.write_str("stopped before the design was complete"),
        }
    }
}

impl std::error::Error for DesignError {}
