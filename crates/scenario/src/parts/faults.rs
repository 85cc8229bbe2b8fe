//! Faults during a run: `[[faults.degraded]]`, `[[faults.down]]`, `[[faults.pause_storm]]`. Links that never worked
//! are `as_built.failed` of the topology.

use etherweave_primitives::{ChannelId, Duration, HostId, InputError, InputErrors, Priority, SwitchId, Time};
use etherweave_routing::Outage;
use etherweave_sim::{DegradedLink, ForwardErrorCorrection, LinkRetry, PauseStorm, params::FlowControl};
use etherweave_topology::Topology;

use crate::Scenario;

/// Faults of a run. Default none.
#[derive(Clone, Debug, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FaultsSpec {
    /// Links that damage frames, for `etherweave run`. Default none.
    pub degraded: Vec<DegradedSpec>,
    /// Links and switches that fail and return. Default none.
    pub down: Vec<DownSpec>,
    /// Hosts that pause their switches without end, for `etherweave run`. Default none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pause_storm: Vec<PauseStormSpec>,
    /// Delay after a link fails or returns until the routing "shortest_path" computes its tables again, in a run
    /// [whole ns]. Absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reroute_after: Option<Duration>,
}

/// A link that damages frames in both directions.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DegradedSpec {
    /// The cable, by its ends: "leaf0 - core0".
    pub link: String,
    /// Number of the cable among several parallel ones, counted from 0 by the ports of the first end. Default 0.
    #[serde(default)]
    pub parallel: u32,
    /// Bit error rate, 0..=0.001, in steps of 10^-18; before forward error correction, where it is stated.
    pub bit_error_rate: f64,
    /// Forward error correction of the link. Absent: that of its class in `fec`; without either, `bit_error_rate` is
    /// that behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fec: Option<ForwardErrorCorrection>,
    /// Start of the fault. Default "0s".
    #[serde(default)]
    pub from: Duration,
    /// End of the fault: frames that begin at this time or later are not damaged. Absent: the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Duration>,
    /// Link-level retry: the link sends damaged frames again. Absent: they are lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<LinkRetry>,
}

impl FaultsSpec {
    /// Whether every key has its default.
    pub(crate) fn is_default(&self) -> bool {
        *self == FaultsSpec::default()
    }
}

/// The degraded links on their channels; the simulator checks the rest.
///
/// # Errors
/// Every link that is wrong.
pub(crate) fn degraded(scenario: &Scenario, topology: &Topology) -> Result<Vec<DegradedLink>, InputErrors> {
    let mut errors = InputErrors::default();
    let links = errors.each("faults.degraded", &scenario.faults.degraded, |spec| spec.link(scenario, topology));
    errors.into_result().map(|()| links)
}

impl DegradedSpec {
    fn link(&self, scenario: &Scenario, topology: &Topology) -> Result<DegradedLink, InputError> {
        let channel = cable(topology, &self.link, self.parallel)?;
        if let Some(end) = scenario.run.end.filter(|&end| self.from >= end) {
            return Err(InputError::new("from", self.from, format!("less than the end of the run, {end}")));
        }
        let fec = self.fec.or_else(|| scenario.fec.stated(topology.channel(channel).class));
        let DegradedSpec { bit_error_rate, from, until, retry, .. } = *self;
        Ok(DegradedLink { channel, bit_error_rate, fec, from, until, retry })
    }
}

/// Cables by name; one of several parallel ones by the port of its first end, as OpenFlow counts them from 1
/// ("leaf0:13 - core0"), or the first ones by being named again.
pub(crate) fn cables(topology: &Topology, names: &[String]) -> Result<Vec<ChannelId>, InputError> {
    let mut channels: Vec<ChannelId> = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let before = names[..place].iter().filter(|other| *other == name).count();
        let named = by_port(topology, name).map_or_else(|| cable(topology, name, before as u32), Ok);
        channels.push(named.map_err(|error| InputError { key: String::new(), ..error })?);
    }
    Ok(channels)
}

/// The cable of a name with a port: "leaf0:13 - core0".
fn by_port(topology: &Topology, name: &str) -> Option<ChannelId> {
    let cuts = name.match_indices(" - ").filter_map(|(at, _)| Some((name[..at].rsplit_once(':')?, &name[at..])));
    let mut channels = cuts.filter_map(|((node, port), rest)| {
        let port = port.parse::<usize>().ok()?.checked_sub(1)?;
        let cables = topology.cables(&format!("{node}{rest}"));
        cables.iter().copied().find(|&cable| topology.channel(cable).from.port.index() == port)
    });
    channels.next()
}

fn cable(topology: &Topology, name: &str, parallel: u32) -> Result<ChannelId, InputError> {
    let cables = topology.cables(name);
    if cables.is_empty() {
        let example = topology.channel(ChannelId::new(0));
        let (from, to) = (topology.name(example.from.node), topology.name(example.to.node));
        let expected = format!("two nodes with one, such as \"{from} - {to}\"");
        return Err(InputError::new("link", format!("no cable \"{name}\""), expected));
    }
    let channel = cables.get(parallel as usize).copied();
    channel.ok_or_else(|| InputError::new("parallel", parallel, format!("0 to {}", cables.len() - 1)))
}

/// A host that keeps priorities paused at its switches, as a broken NIC or a stopped driver does.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseStormSpec {
    /// The host, by its name, or a port of a host with several: "host3", "host3.1".
    pub host: String,
    /// Priorities; switches ignore pauses of lossy ones. Absent: all lossless priorities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priorities: Option<Vec<Priority>>,
    /// Frames that it sends: "pfc", or "global_pause", those of 802.3x, which switches with PFC ignore. Absent: those
    /// of `flow_control`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<PauseFrameKind>,
    /// Start of the storm. Default "0s".
    #[serde(default)]
    pub from: Duration,
    /// End of the storm. Absent: the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Duration>,
}

/// A kind of pause frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PauseFrameKind {
    /// 802.1Qbb, by priority.
    Pfc,
    /// 802.3x, which name no priority.
    GlobalPause,
}

/// Pauses of lossy priorities, which have no effect.
pub(crate) fn warnings(scenario: &Scenario) -> Vec<String> {
    let FlowControl::Pfc(pfc) = &scenario.flow_control else { return Vec::new() };
    let of_storm = |(number, storm): (usize, &PauseStormSpec)| {
        let named = storm.priorities.as_ref()?;
        let lossy = named.iter().find(|priority| !pfc.priorities.contains(priority))?;
        let key = format!("faults.pause_storm.{number}.priorities");
        Some(format!("{key}: {} is lossy; switches ignore pauses of it", lossy.get()))
    };
    scenario.faults.pause_storm.iter().enumerate().filter_map(of_storm).collect()
}

/// Storms that begin when the run has ended.
pub(crate) fn warnings_after(scenario: &Scenario, end: Time) -> impl Iterator<Item = String> {
    let storms = scenario.faults.pause_storm.iter().enumerate();
    let late = storms.filter(move |(_, storm)| Time::ZERO + storm.from >= end);
    late.map(move |(number, storm)| {
        let end = end.since(Time::ZERO);
        format!("faults.pause_storm.{number}.from: {}; the run ends at {end}, before any pause", storm.from)
    })
}

/// Hosts that pause their switches without end; the simulator checks the times.
///
/// # Errors
/// Every one that is wrong.
pub(crate) fn storms(scenario: &Scenario, topology: &Topology) -> Result<Vec<PauseStorm>, InputErrors> {
    let mut errors = InputErrors::default();
    let storms = errors.each("faults.pause_storm", &scenario.faults.pause_storm, |spec| spec.storm(scenario, topology));
    errors.into_result().map(|()| storms)
}

impl PauseStormSpec {
    fn storm(&self, scenario: &Scenario, topology: &Topology) -> Result<PauseStorm, InputError> {
        let (host, port) = self.place(topology).ok_or_else(|| {
            let example = topology.host_port_name(HostId::new(0), 0);
            InputError::new("host", format!("no host \"{}\"", self.host), format!("one such as \"{example}\""))
        })?;
        let priorities = self.priorities(&scenario.flow_control)?;
        Ok(PauseStorm { host, port, priorities, from: self.from, until: self.until })
    }

    /// The host of this name, with the port if the name is that of a port.
    fn place(&self, topology: &Topology) -> Option<(HostId, Option<usize>)> {
        let hosts = (0..topology.hosts()).map(HostId::from_index);
        let mut of_all = hosts.filter(|&host| topology.host_name(host) == self.host.as_str());
        let of_port = || topology.host_ports().find(|&(host, port)| topology.host_port_name(host, port) == self.host);
        of_all.next().map(|host| (host, None)).or_else(|| of_port().map(|(host, port)| (host, Some(port))))
    }

    /// The priorities that its frames name; none of those of 802.3x beside PFC.
    fn priorities(&self, flow_control: &FlowControl) -> Result<Vec<Priority>, InputError> {
        match (flow_control, self.frame) {
            (FlowControl::Pfc(_), Some(PauseFrameKind::GlobalPause)) => {
                let expected = "none: frames of 802.3x name no priorities";
                let mistake = self.priorities.iter().flatten().next().map_or(0, |priority| priority.get());
                InputError::unless(self.priorities.is_none(), "priorities", mistake, expected)?;
                Ok(Vec::new())
            }
            (FlowControl::Pfc(pfc), Some(PauseFrameKind::Pfc) | None) => self.named_or(|| pfc.priorities.clone()),
            (FlowControl::GlobalPause(_), Some(PauseFrameKind::GlobalPause) | None) => {
                self.named_or(|| Priority::all().collect())
            }
            (FlowControl::GlobalPause(_), Some(PauseFrameKind::Pfc)) => {
                Err(InputError::new("frame", "pfc", "\"global_pause\", as flow_control.global_pause has it"))
            }
            (FlowControl::None {} | FlowControl::Credits(_), _) => {
                let expected = "flow_control.pfc or flow_control.global_pause: nothing here obeys pause frames";
                Err(InputError::new("host", "a host that pauses its switch", expected))
            }
        }
    }

    fn named_or(&self, lossless: impl FnOnce() -> Vec<Priority>) -> Result<Vec<Priority>, InputError> {
        let named = self.priorities.clone().unwrap_or_else(lossless);
        let expected = "at least one priority, or no key";
        InputError::unless(!named.is_empty(), "priorities", "an empty list", expected)?;
        Ok(named)
    }
}

/// A cable, or every link of a switch, that fails and may return.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DownSpec {
    /// The cable, by its ends: "leaf0 - core0". Either this or `switch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Number of the cable among several parallel ones, counted from 0 by the ports of the first end. Default 0.
    #[serde(default)]
    pub parallel: u32,
    /// The switch, by its name: "core0".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// Time of the failure [whole ns]. Default "0s".
    #[serde(default)]
    pub from: Duration,
    /// Time of the return [whole ns]. Absent: it does not return.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Duration>,
}

/// Links that fail under open loops, where no link damages frames.
///
/// # Errors
/// Every one that does not exist.
pub(crate) fn open_loop_outages(faults: &FaultsSpec, topology: &Topology) -> Result<Vec<Outage>, InputErrors> {
    let mut errors = InputErrors::default();
    let mistake = "links that damage frames are simulated by `etherweave run`";
    errors.check(InputError::unless(faults.degraded.is_empty(), "faults.degraded", mistake, "none"));
    let mistake = "hosts that pause their switches are simulated by `etherweave run`";
    errors.check(InputError::unless(faults.pause_storm.is_empty(), "faults.pause_storm", mistake, "none"));
    let outages = errors.check(outages(faults, topology));
    errors.into_result().map(|()| outages.unwrap_or_default())
}

/// Links that fail.
///
/// # Errors
/// Every one that does not exist.
pub(crate) fn outages(faults: &FaultsSpec, topology: &Topology) -> Result<Vec<Outage>, InputErrors> {
    let mut errors = InputErrors::default();
    let outages = errors.each("faults.down", &faults.down, |spec| spec.outages(topology));
    errors.into_result().map(|()| outages.concat())
}

impl DownSpec {
    fn outages(&self, topology: &Topology) -> Result<Vec<Outage>, InputError> {
        let outage = |channel| Outage { channel, from: self.from, until: self.until };
        self.channels(topology).map(|channels| channels.into_iter().map(outage).collect())
    }

    fn channels(&self, topology: &Topology) -> Result<Vec<ChannelId>, InputError> {
        if let Some(until) = self.until.filter(|&until| until <= self.from) {
            return Err(InputError::new("until", until, format!("more than `from`, {}", self.from)));
        }
        match (&self.link, &self.switch) {
            (Some(link), None) => Ok(vec![cable(topology, link, self.parallel)?]),
            (None, Some(name)) => {
                let mut switches = (0..topology.switches()).map(SwitchId::from_index);
                let switch = switches.find(|&at| topology.switch_name(at) == name.as_str()).ok_or_else(|| {
                    let example = topology.switch_name(SwitchId::new(0));
                    InputError::new("switch", format!("no switch \"{name}\""), format!("one such as \"{example}\""))
                })?;
                Ok(topology.out_channels(switch).to_vec())
            }
            (Some(_), Some(_)) => Err(InputError::new("switch", "a switch besides a link", "one of them")),
            (None, None) => Err(InputError::new("link", "neither a link nor a switch", "one of them")),
        }
    }
}
