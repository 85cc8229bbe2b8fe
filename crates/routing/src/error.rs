//! Why a packet does not arrive, or a routing does not suit a fabric.

use std::fmt;

use etherweave_primitives::Priority;

/// What is wrong, and on which path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RoutingError {
    /// No legal channel leads on.
    DeadEnd {
        /// The switch where the path ends.
        at: String,
        /// The destination.
        dst: String,
    },
    /// The path returns to a switch that it visited.
    Loop {
        /// The destination.
        dst: String,
        /// The switches from the repeated one back to itself.
        switches: Vec<String>,
    },
    /// The fabric is not of the kind that the routing is for.
    Unsuited {
        /// What the fabric lacks.
        found: String,
        /// What the routing is for.
        expected: &'static str,
    },
    /// The routing needs more priorities than there are.
    Priorities {
        /// How many it needs.
        needed: u32,
    },
    /// The routing changes priorities or depends on the ingress port, which a table of channels by destination cannot
    /// express.
    NotATable {
        /// How many priorities it needs.
        priorities: u8,
    },
    /// A table would have too many entries.
    TooLarge {
        /// Switches × switches with hosts.
        entries: u64,
        /// The limit.
        limit: u64,
    },
}

impl fmt::Display for RoutingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeadEnd { at, dst } => write!(f, "no legal channel leads from {at} to {dst}; expected at least one"),
            Self::Loop { dst, switches } => {
                write!(f, "packets for {dst} loop through {}; expected a path without repetition", switches.join(" - "))
            }
            Self::Unsuited { found, expected } => write!(f, "{found}; expected {expected}"),
            Self::Priorities { needed } => {
                let most = Priority::COUNT;
                write!(
                    f,
                    "the routing needs {needed} priorities on this fabric; expected at most {most}, as 802.1Q has"
                )
            }
            Self::NotATable { priorities } => {
                match priorities {
                    0 | 1 => f.write_str("the routing decides by the port of arrival")?,
                    several => write!(f, "the routing changes among {several} priorities")?,
                }
                f.write_str(
                    "; expected one that decides by the destination only: up_down, shortest_path, or dimension_order \
                     without rings",
                )
            }
            Self::TooLarge { entries, limit } => {
                write!(f, "the routing's table would have {entries} entries; expected at most {limit}")
            }
        }
    }
}

impl std::error::Error for RoutingError {}
