//! One mistake, told once: where, what, and what is expected.

use std::fmt::{self, Write};

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
        let said = format!(" {}{colon}{}", self.key, self.message);
        // One line, whatever names the file has: a key or a node may hold line ends.
        said.chars()
            .try_for_each(|c| if c.is_control() { write!(f, "{}", c.escape_default()) } else { f.write_char(c) })
    }
}

impl std::error::Error for ScenarioError {}
