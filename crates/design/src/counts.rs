//! Counts, distances and rates of a fabric.

use etherweave_topology::{BisectionBasis, Cables, Metrics, Taper, Topology, TopologyKind};

/// Counts, distances and rates of a fabric.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct FabricFigures {
    /// Hosts.
    pub hosts: u64,
    /// Equal fabrics side by side, each with a port of every host.
    pub planes: u64,
    /// Most ports of a host.
    pub host_ports_max: u64,
    /// Switches.
    pub switches: u64,
    /// Ports of every switch, where it is given.
    pub radix: Option<u32>,
    /// Ports of switches in use.
    pub ports_used: u64,
    /// The most ports in use on one switch.
    pub ports_used_max: u32,
    /// Ports of switches left free, where the radix is given.
    pub ports_free: Option<u64>,
    /// Cables by class, medium, length and rate.
    pub cables: Vec<CableCount>,
    /// The largest distance of two hosts [links between switches].
    pub diameter: u32,
    /// The mean distance of two hosts [links between switches].
    pub distance_mean: f64,
    /// Rate between two halves of the hosts, one direction [Gb/s].
    pub bisection_gbps: f64,
    /// Rate between two halves, as a share of what half of the hosts can send.
    pub bisection_share: f64,
    /// Whether a formula gives the bisection; otherwise it is an upper bound.
    pub bisection_is_exact: bool,
    /// The formula, or how the halves were made.
    pub bisection_basis: &'static str,
    /// Fewest shortest paths between two switches with hosts.
    pub paths_min: u64,
    /// Mean number of shortest paths.
    pub paths_mean: f64,
    /// Most shortest paths.
    pub paths_max: u64,
    /// Whether paths were counted from every switch; otherwise from evenly spread ones.
    pub paths_are_exact: bool,
    /// Rate down over rate up, lowest level first.
    pub tapers: Vec<TaperRatio>,
}

/// Equal cables.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct CableCount {
    /// Host, local or global.
    pub class: &'static str,
    /// Copper or optical.
    pub medium: &'static str,
    /// Length of each [m].
    pub length_m: f64,
    /// Rate of each link [Gb/s].
    pub rate_gbps: f64,
    /// Links.
    pub links: u64,
    /// Cables; fewer than links where hosts share breakout cables.
    pub cables: u64,
}

/// How much more comes from below than goes up.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct TaperRatio {
    /// The level; 0 has the hosts.
    pub level: u8,
    /// Down over up.
    pub ratio: f64,
}

impl FabricFigures {
    /// None when `on_switch` stopped it; see [`Metrics::with`].
    pub(crate) fn of(
        kind: &TopologyKind,
        topology: &Topology,
        on_switch: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Option<FabricFigures> {
        let metrics = Metrics::with(kind, topology, on_switch)?;
        let (exact, basis) = match metrics.bisection.basis {
            BisectionBasis::Exact { formula } => (true, formula),
            BisectionBasis::UpperBound { cut } => (false, cut),
        };
        let bisection_gbps = gbps(metrics.bisection.rate.as_bps());
        let switches = (0..topology.switches()).map(etherweave_primitives::SwitchId::from_index);
        Some(FabricFigures {
            hosts: metrics.hosts as u64,
            planes: topology.planes() as u64,
            host_ports_max: topology.host_ports_max() as u64,
            switches: metrics.switches as u64,
            radix: topology.radix(),
            ports_used: metrics.ports_used,
            ports_used_max: switches.map(|switch| topology.ports_used(switch)).max().unwrap_or_default(),
            ports_free: metrics.ports_free,
            cables: metrics.cables.iter().map(CableCount::of).collect(),
            diameter: metrics.distances.diameter,
            distance_mean: metrics.distances.mean,
            bisection_gbps,
            bisection_share: bisection_gbps / (hosts_gbps(topology) / 2.0),
            bisection_is_exact: exact,
            bisection_basis: basis,
            paths_min: metrics.paths.least,
            paths_mean: metrics.paths.mean,
            paths_max: metrics.paths.most,
            paths_are_exact: metrics.paths.is_exact,
            tapers: metrics.tapers.iter().map(TaperRatio::of).collect(),
        })
    }
}

impl CableCount {
    fn of(cables: &Cables) -> CableCount {
        CableCount {
            class: cables.class.name(),
            medium: cables.medium.name(),
            length_m: cables.length.as_mm() as f64 / 1e3,
            rate_gbps: gbps(cables.rate.as_bps()),
            links: cables.links,
            cables: cables.cables,
        }
    }
}

impl TaperRatio {
    fn of(taper: &Taper) -> TaperRatio {
        TaperRatio { level: taper.level, ratio: taper.ratio() }
    }
}

pub(crate) fn gbps(bps: u64) -> f64 {
    bps as f64 / 1e9
}

/// Returns the rate at which all hosts can send [Gb/s].
fn hosts_gbps(topology: &Topology) -> f64 {
    let hosts = (0..topology.hosts()).map(etherweave_primitives::HostId::from_index);
    let links = hosts.flat_map(|host| topology.host_channels(host));
    links.map(|&channel| gbps(topology.channel(channel).rate.as_bps())).sum()
}
