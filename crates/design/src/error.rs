//! Why there is no design.

use std::fmt;

/// What is wrong, and with which key of `[design]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DesignError {
    /// A key asks for what the fabric or a profile cannot give.
    Key {
        /// The key below `design`, with dots.
        key: &'static str,
        /// What is wrong, and what would be right.
        message: String,
    },
    /// The caller wished to stop.
    Stopped,
}

impl DesignError {
    pub(crate) fn key(key: &'static str, message: impl fmt::Display) -> DesignError {
        DesignError::Key { key, message: message.to_string() }
    }

    pub(crate) fn is_about(&self, name: &str) -> bool {
        matches!(self, DesignError::Key { key, .. } if *key == name)
    }
}

impl fmt::Display for DesignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { key, message } => write!(f, "{key}: {message}"),
            Self::Stopped => write!(f, "stopped before the design was complete"),
        }
    }
}

impl std::error::Error for DesignError {}
