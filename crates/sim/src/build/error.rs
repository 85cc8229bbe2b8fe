//! Why an experiment cannot be simulated.

use std::fmt;

use etherweave_routing::RoutingError;

use crate::params::Misfit;

/// See the module.
#[derive(Clone, PartialEq, Debug)]
pub enum BuildError {
    /// Parameters that do not fit together.
    Misfit(Misfit),
    /// A destination that cannot be reached.
    Routing(RoutingError),
    /// A job that does not fit its hosts.
    Job {
        /// Which.
        name: String,
        /// What is wrong.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// Reserves and headroom take more than there is.
    Buffer {
        /// The switch.
        switch: String,
        /// What reserves and headroom take [B].
        needed: u64,
        /// What there is [B].
        buffer: u64,
    },
    /// More entities than their numbers can name.
    TooLarge(&'static str),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misfit(Misfit { key, found, expected }) => write!(f, "{key}: {found}; expected {expected}"),
            Self::Routing(error) => error.fmt(f),
            Self::Job { name, found, expected } => write!(f, "job {name}: {found}; expected {expected}"),
            Self::Buffer { switch, needed, buffer } => write!(
                f,
                "switch.buffer: reserves and headroom of {switch} take {needed} B of {buffer} B; \
                 expected a larger buffer, fewer lossless priorities, or less headroom"
            ),
            Self::TooLarge(what) => write!(f, "too many {what} for one shard; expected fewer than 2^24"),
        }
    }
}

impl std::error::Error for BuildError {}

impl From<RoutingError> for BuildError {
    fn from(error: RoutingError) -> BuildError {
        BuildError::Routing(error)
    }
}
