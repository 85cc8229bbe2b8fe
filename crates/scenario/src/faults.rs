//! What goes wrong during a run: `[[faults.degraded]]`. What never worked is the topology's, `as_built.failed`.

use etherweave_primitives::Duration;
use etherweave_sim::DegradedLink;
use etherweave_topology::Topology;

use crate::document::Document;
use crate::{Scenario, ScenarioError};

/// Faults of a run. Default none.
#[derive(Clone, Debug, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FaultsSpec {
    /// Links that damage frames. Default none.
    pub degraded: Vec<DegradedSpec>,
}

/// A link that damages frames in both directions.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DegradedSpec {
    /// The cable, by its ends: "leaf0 - core0".
    pub link: String,
    /// Which of several parallel cables, counted from 0 by the ports of the first end. Default 0.
    #[serde(default)]
    pub parallel: u32,
    /// Chance of each bit to be wrong, 0..=0.001, in steps of 10^-18.
    pub bit_error_rate: f64,
    /// Frames are damaged from here on. Default "0s".
    #[serde(default)]
    pub from: Duration,
    /// Frames that begin at this time or later are not. Absent: all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Duration>,
}

impl FaultsSpec {
    /// Whether a scenario says nothing of it.
    pub(crate) fn is_default(&self) -> bool {
        *self == FaultsSpec::default()
    }
}

/// The degraded links on their channels; what else may be wrong with them the simulator says.
pub(crate) fn degraded(
    document: &Document<'_>,
    scenario: &Scenario,
    topology: &Topology,
) -> Result<Vec<DegradedLink>, ScenarioError> {
    let links = scenario.faults.degraded.iter().enumerate();
    let link = |(number, spec): (usize, &DegradedSpec)| {
        let error =
            |(part, message): (&str, String)| document.error(&format!("faults.degraded.{number}.{part}"), message);
        spec.link(scenario, topology).map_err(error)
    };
    links.map(link).collect()
}

impl DegradedSpec {
    fn link(&self, scenario: &Scenario, topology: &Topology) -> Result<DegradedLink, (&'static str, String)> {
        let cables = topology.cables(&self.link);
        if cables.is_empty() {
            let example = topology.channel(etherweave_primitives::ChannelId::new(0));
            let (from, to) = (topology.name(example.from.node), topology.name(example.to.node));
            let message = format!("no cable \"{}\"; expected two nodes with one, such as \"{from} - {to}\"", self.link);
            return Err(("link", message));
        }
        let Some(&channel) = cables.get(self.parallel as usize) else {
            return Err(("parallel", format!("{}; expected 0 to {}", self.parallel, cables.len() - 1)));
        };
        if let Some(end) = scenario.run.end.filter(|&end| self.from >= end) {
            return Err(("from", format!("{}; expected less than the end of the run, {end}", self.from)));
        }
        Ok(DegradedLink { channel, bit_error_rate: self.bit_error_rate, from: self.from, until: self.until })
    }
}
