//! A workload that cannot be: what is wrong, and what would be right.

use std::fmt;

/// Why a workload or a placement cannot be built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkloadError {
    /// The key at fault, as it stands in the scenario.
    pub key: &'static str,
    /// What is wrong.
    pub found: String,
    /// What would be right.
    pub expected: String,
}

impl WorkloadError {
    /// The error about `key`.
    pub fn new(key: &'static str, found: impl Into<String>, expected: impl Into<String>) -> WorkloadError {
        WorkloadError { key, found: found.into(), expected: expected.into() }
    }

    /// Refuses a count below `least`.
    pub(crate) fn unless_at_least(key: &'static str, value: u32, least: u32) -> Result<(), WorkloadError> {
        if value >= least { Ok(()) } else { Err(Self::new(key, value.to_string(), format!("at least {least}"))) }
    }
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; expected {}", self.key, self.found, self.expected)
    }
}

impl std::error::Error for WorkloadError {}
