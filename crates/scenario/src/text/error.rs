//! The mistakes of a scenario, each with its place in the file.

use std::fmt::{self, Write};

use etherweave_primitives::{InputError, TextPlace};

/// Every independent mistake that was found, one at least. Displayed as a line for each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioError {
    /// Mistakes in the order of their discovery.
    pub mistakes: Vec<Mistake>,
}

/// `file:line:column: key: found; expected …`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// The file, as the caller named it; empty where the key says it.
    pub origin: String,
    /// Where in the file; `None` when the key does not stand in it.
    pub place: Option<TextPlace>,
    /// Key, what was found there and what was expected.
    pub error: InputError,
}

impl From<Mistake> for ScenarioError {
    fn from(mistake: Mistake) -> ScenarioError {
        ScenarioError { mistakes: vec![mistake] }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.origin.is_empty() {
            write!(f, "{}:", self.origin)?;
        }
        if let Some(TextPlace { line, column }) = self.place {
            write!(f, "{line}:{}:", column.unwrap_or(1))?;
        }
        let gap = if self.origin.is_empty() { "" } else { " " };
        write!(f, "{gap}{}", OnOneLine(&self.error))
    }
}

/// A text on one line, whatever names the file has: a key or a node may hold line ends.
pub(crate) struct OnOneLine<T>(pub T);

impl<T: fmt::Display> fmt::Display for OnOneLine<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        text.chars()
            .try_for_each(|c| if c.is_control() { write!(f, "{}", c.escape_default()) } else { f.write_char(c) })
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.mistakes.iter().map(Mistake::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Mistake {}
impl std::error::Error for ScenarioError {}
