//! One mistake, told once: where, what, and what is expected.

use std::fmt;

/// `file:line:column: key: what; expected …`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioError {
    /// The file, as the caller named it.
    pub origin: String,
    /// Line and column, counted from 1; `None` when the key does not stand in the file.
    pub place: Option<(usize, usize)>,
    /// Dotted key.
    pub key: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.origin)?;
        if let Some((line, column)) = self.place {
            write!(f, "{line}:{column}:")?;
        }
        let colon = if self.key.is_empty() { "" } else { ": " };
        write!(f, " {}{colon}{}", self.key, self.message)
    }
}

impl std::error::Error for ScenarioError {}
