//! What goes wrong during a run: `[[faults.degraded]]`, `[[faults.down]]`. What never worked is the topology's,
//! `as_built.failed`.

use etherweave_openloop::Outage;
use etherweave_primitives::{ChannelId, Duration, SwitchId};
use etherweave_sim::DegradedLink;
use etherweave_topology::Topology;

use crate::document::Document;
use crate::{Scenario, ScenarioError};

/// Faults of a run. Default none.
#[derive(Clone, Debug, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FaultsSpec {
    /// Links that damage frames, for `etherweave run`. Default none.
    pub degraded: Vec<DegradedSpec>,
    /// Links and switches that fail and return, for `[open_loop]`. Default none.
    pub down: Vec<DownSpec>,
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
    if !scenario.faults.down.is_empty() {
        let message = "what fails and returns is simulated by `etherweave curve` and `observe`; expected none";
        return Err(document.error("faults.down", message));
    }
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
        let channel = cable(topology, &self.link, self.parallel)?;
        if let Some(end) = scenario.run.end.filter(|&end| self.from >= end) {
            return Err(("from", format!("{}; expected less than the end of the run, {end}", self.from)));
        }
        Ok(DegradedLink { channel, bit_error_rate: self.bit_error_rate, from: self.from, until: self.until })
    }
}

/// Cables by name; one of several parallel ones by the port of its first end, as OpenFlow counts them from 1
/// ("leaf0:13 - core0"), or the first ones by being named again.
pub(crate) fn cables(topology: &Topology, names: &[String]) -> Result<Vec<ChannelId>, String> {
    let mut found: Vec<ChannelId> = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let before = names[..place].iter().filter(|other| *other == name).count();
        let named = by_port(topology, name).map_or_else(|| cable(topology, name, before as u32), Ok);
        found.push(named.map_err(|(_, message)| message)?);
    }
    Ok(found)
}

/// The cable of a name with a port: "leaf0:13 - core0".
fn by_port(topology: &Topology, name: &str) -> Option<ChannelId> {
    let cuts = name.match_indices(" - ").filter_map(|(at, _)| Some((name[..at].rsplit_once(':')?, &name[at..])));
    let mut found = cuts.filter_map(|((node, port), rest)| {
        let port = port.parse::<usize>().ok()?.checked_sub(1)?;
        let cables = topology.cables(&format!("{node}{rest}"));
        cables.iter().copied().find(|&cable| topology.channel(cable).from.port.index() == port)
    });
    found.next()
}

/// One of the parallel cables of a name, or which key is wrong and why.
fn cable(topology: &Topology, name: &str, parallel: u32) -> Result<ChannelId, (&'static str, String)> {
    let cables = topology.cables(name);
    if cables.is_empty() {
        let example = topology.channel(ChannelId::new(0));
        let (from, to) = (topology.name(example.from.node), topology.name(example.to.node));
        let message = format!("no cable \"{name}\"; expected two nodes with one, such as \"{from} - {to}\"");
        return Err(("link", message));
    }
    let found = cables.get(parallel as usize).copied();
    found.ok_or_else(|| ("parallel", format!("{parallel}; expected 0 to {}", cables.len() - 1)))
}

/// What carries nothing for a time: a cable, or every link of a switch.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DownSpec {
    /// The cable, by its ends: "leaf0 - core0". Either this or `switch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Which of several parallel cables, counted from 0 by the ports of the first end. Default 0.
    #[serde(default)]
    pub parallel: u32,
    /// The switch, by its name: "core0".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// When it fails [whole ns]. Default "0s".
    #[serde(default)]
    pub from: Duration,
    /// When it returns [whole ns]. Absent: not in this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Duration>,
}

/// Links that fail, as keys and messages where they do not exist.
pub(crate) fn outages(faults: &FaultsSpec, topology: &Topology) -> Result<Vec<Outage>, (String, String)> {
    if !faults.degraded.is_empty() {
        let message = "links that damage frames are simulated by `etherweave run`; expected none".to_owned();
        return Err(("faults.degraded".to_owned(), message));
    }
    let mut outages = Vec::new();
    for (number, spec) in faults.down.iter().enumerate() {
        let told = |(part, message)| (format!("faults.down.{number}.{part}"), message);
        let channels = spec.channels(topology).map_err(told)?;
        outages.extend(channels.into_iter().map(|channel| Outage { channel, from: spec.from, until: spec.until }));
    }
    Ok(outages)
}

impl DownSpec {
    fn channels(&self, topology: &Topology) -> Result<Vec<ChannelId>, (&'static str, String)> {
        if let Some(until) = self.until.filter(|&until| until <= self.from) {
            return Err(("until", format!("{until}; expected more than `from`, {}", self.from)));
        }
        match (&self.link, &self.switch) {
            (Some(link), None) => Ok(vec![cable(topology, link, self.parallel)?]),
            (None, Some(name)) => {
                let mut switches = (0..topology.switches()).map(SwitchId::from_index);
                let found = switches.find(|&at| topology.switch_name(at) == name.as_str());
                let example = || {
                    format!("no switch \"{name}\"; expected one such as \"{}\"", topology.switch_name(SwitchId::new(0)))
                };
                Ok(topology.out_channels(found.ok_or_else(|| ("switch", example()))?).to_vec())
            }
            (Some(_), Some(_)) => Err(("switch", "a switch besides a link; expected one of them".to_owned())),
            (None, None) => Err(("link", "neither a link nor a switch; expected one of them".to_owned())),
        }
    }
}
