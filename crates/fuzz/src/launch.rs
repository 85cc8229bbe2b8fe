//! Runs within the memory of a case.

use etherweave_scenario::{Run, RunOptions, ScenarioError};

/// Threads whose results are compared.
pub(crate) const THREADS: [usize; 3] = [1, 2, 3];
/// Memory of a run, at most.
pub(crate) const MEMORY_MAX: &str = "512MiB";

pub(crate) fn start(text: &str, threads: usize) -> Result<Run, ScenarioError> {
    start_with(text, &[], threads)
}

pub(crate) fn start_with(text: &str, changes: &[(String, String)], threads: usize) -> Result<Run, ScenarioError> {
    let options = RunOptions { threads, memory_limit: Some(MEMORY_MAX), ..RunOptions::default() };
    Run::start_with(text, "x.toml", changes, options)
}
