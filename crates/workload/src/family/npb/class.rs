//! Sizes of the NAS Parallel Benchmarks.

/// Problem sizes of the benchmarks; `docs/models/workload.md` has their numbers.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Default,
    Debug,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub enum NpbClass {
    /// Class for a quick trial.
    S,
    /// Class for a workstation of the 1990s.
    W,
    /// Standard size.
    A,
    /// Standard size.
    #[default]
    B,
    /// Standard size.
    C,
    /// Large.
    D,
    /// Large.
    E,
    /// Large; conjugate gradient alone.
    F,
}
