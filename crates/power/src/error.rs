//! Why there is no answer.

use std::fmt;

/// What is wrong, where, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PowerError {
    /// No profile or price book of this name is shipped.
    Unknown {
        /// "power profile" or "price book".
        what: &'static str,
        /// What was asked for.
        name: String,
        /// The names that exist.
        known: Vec<&'static str>,
    },
    /// A profile or price book cannot be read.
    Text {
        /// Which: "power profile exascale-2015".
        document: String,
        /// What is wrong, with line and column.
        message: String,
    },
    /// A profile or price book lacks what the fabric needs.
    Missing {
        /// Which: "power profile exascale-2015".
        document: String,
        /// The key that would help.
        key: String,
        /// The keys of the same table that exist.
        known: Vec<String>,
    },
    /// A value does not fit.
    Value {
        /// The key or parameter.
        key: String,
        /// What was found.
        found: String,
        /// What would do.
        expected: String,
    },
}

impl PowerError {
    /// What TOML says of a text, in one line.
    pub(crate) fn text(document: String, text: &str, error: &toml::de::Error) -> PowerError {
        let before = &text[..error.span().map_or(0, |span| span.start)];
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let place = format!("line {}, column {column}", before.matches('\n').count() + 1);
        PowerError::Text { document, message: format!("{place}: {}", error.message().replace('\n', "; ")) }
    }

    pub(crate) fn value(key: impl Into<String>, found: impl fmt::Display, expected: impl fmt::Display) -> PowerError {
        PowerError::Value { key: key.into(), found: found.to_string(), expected: expected.to_string() }
    }
}

impl fmt::Display for PowerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { what, name, known } => write!(f, "no {what} \"{name}\"; known: {}", known.join(", ")),
            Self::Text { document, message } if message.contains("expected") => {
                write!(f, "{document}: {}", message.trim_end())
            }
            Self::Text { document, message } => {
                write!(f, "{document}: {}; expected the keys and forms of those that come along", message.trim_end())
            }
            Self::Missing { document, key, known } if known.is_empty() => {
                write!(f, "{document} has no {key}, nor anything else in that table")
            }
            Self::Missing { document, key, known } => {
                write!(f, "{document} has no {key}; it has {}", known.join(", "))
            }
            Self::Value { key, found, expected } => write!(f, "{key} is {found}; expected {expected}"),
        }
    }
}

impl std::error::Error for PowerError {}
