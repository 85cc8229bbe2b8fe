//! Why a packet does not get there.

use std::fmt;

/// What went wrong on which way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RoutingError {
    /// No legal channel leads on.
    DeadEnd {
        /// The switch where the way ends.
        at: String,
        /// The destination.
        dst: String,
    },
    /// The way comes back to where it was.
    Loop {
        /// The destination.
        dst: String,
        /// The switches from the repeated one back to itself.
        switches: Vec<String>,
    },
}

impl fmt::Display for RoutingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeadEnd { at, dst } => write!(f, "no legal channel leads from {at} to {dst}; expected at least one"),
            Self::Loop { dst, switches } => {
                write!(f, "packets for {dst} go round {}; expected a way without repetition", switches.join(" - "))
            }
        }
    }
}

impl std::error::Error for RoutingError {}
