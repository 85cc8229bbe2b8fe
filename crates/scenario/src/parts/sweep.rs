//! Many runs of one scenario: `[sweep]`. The command line makes the points; a run does not use it.

use etherweave_primitives::params;
use serde_json::Value;

params! {
    /// Runs of a scenario at many values of its keys, for `etherweave sweep`; a run does not use it.
    pub struct SweepSpec {
        /// Scenario that is run: a file beside this one, which has nothing but `sweep` then. Absent: this file.
        pub scenario: Option<String> = None,
        /// Axes; every combination of their values is a run, the last axis varying fastest.
        pub axis: Vec<AxisSpec> = Vec::new(),
        /// Number of seeds of every combination, 1 or more: the scenario's and those that follow. Default 1.
        pub seeds: u32 = 1,
        /// How axes are sampled that have `from` and `to`, but no `count`. Absent: there are none.
        pub sample: Option<SampleSpec> = None,
        /// Keys of axes whose values are directories of the dataset. Default: the first axis of at least 2 and at most
        /// 64 `values`, if any.
        pub partition: Option<Vec<String>> = None,
    }
}

/// A key of the scenario, and its values.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AxisSpec {
    /// Dotted key, as in "switch.buffer" or "job.0.priority"; lists count from 0.
    pub key: String,
    /// Values, of any type that the key takes. Default: those of `from`, `to` and `count`, or sampled ones.
    #[serde(default)]
    pub values: Vec<Value>,
    /// First value, or lower end of samples: a number, or one with a unit.
    #[serde(default)]
    pub from: Option<Value>,
    /// Last value, or upper end of samples; with the unit of `from`.
    #[serde(default)]
    pub to: Option<Value>,
    /// Number of values from `from` to `to`, 2 or more. Absent: they are sampled.
    #[serde(default)]
    pub count: Option<u32>,
    /// Whether steps are sums or products. Default "linear".
    #[serde(default)]
    pub scale: Scale,
    /// Axes of one such name take their values in step: the first of all, the second of all. Absent: on its own.
    #[serde(default)]
    pub zip: Option<String>,
}

/// Spacing of the values of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Equal differences.
    #[default]
    Linear,
    /// Equal ratios.
    Log,
}

/// Points that fill the space of the sampled axes.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleSpec {
    /// Choice of points.
    pub method: SampleMethod,
    /// Number of points, 1 or more; of "sobol" best a power of 2, which keeps its balance.
    pub count: u32,
    /// Seed of the points. Default 1.
    #[serde(default = "first_seed")]
    pub seed: u32,
}

fn first_seed() -> u32 {
    1
}

/// Methods of sampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SampleMethod {
    /// Every axis is cut into as many equal parts as there are points; each part has one point.
    LatinHypercube,
    /// Scrambled Sobol sequence: every power of two of points is balanced.
    Sobol,
}
