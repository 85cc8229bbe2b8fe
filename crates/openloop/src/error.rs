//! What a user got wrong.

use std::borrow::Cow;
use std::fmt;

/// A value that cannot be: which, what it is, and what would do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenLoopError {
    /// The key, or the part of the fabric.
    pub key: Cow<'static, str>,
    /// What stands there.
    pub found: String,
    /// What would do.
    pub expected: String,
}

impl fmt::Display for OpenLoopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}; expected {}", self.key, self.found, self.expected)
    }
}

impl From<etherweave_primitives::InputError> for OpenLoopError {
    fn from(error: etherweave_primitives::InputError) -> OpenLoopError {
        OpenLoopError { key: error.key.into(), found: error.found, expected: error.expected }
    }
}

impl std::error::Error for OpenLoopError {}
