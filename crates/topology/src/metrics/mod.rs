//! The figures of a fabric: counts, distances, bisection, path diversity, tapers, free ports.
//!
//! Distances count links between switches, so that two hosts on one switch are 0 apart; all figures of pairs of
//! hosts are exact for the fabric as built, also at 300,000 hosts. Where a figure is a bound or comes from a sample,
//! the value is marked.

mod bisection;
mod cables;
mod distance;
mod graph;
mod path_diversity;
mod taper;

use etherweave_primitives::SwitchId;

pub use bisection::{Bisection, BisectionBasis};
pub use cables::Cables;
pub use distance::Distances;
pub use path_diversity::PathDiversity;
pub use taper::Taper;

use crate::{Topology, TopologyKind};
use graph::SwitchGraph;

/// The figures of a fabric.
#[derive(Clone, PartialEq, Debug)]
pub struct Metrics {
    /// Hosts.
    pub hosts: usize,
    /// Switches.
    pub switches: usize,
    /// Cables by class, medium, length and rate.
    pub cables: Vec<Cables>,
    /// Ports of switches in use.
    pub ports_used: u64,
    /// Ports of switches not in use; none where the radix is unknown.
    pub ports_free: Option<u64>,
    /// How far hosts are apart.
    pub distances: Distances,
    /// The rate between two halves.
    pub bisection: Bisection,
    /// How many shortest paths there are.
    pub paths: PathDiversity,
    /// Rates down and up, for every level with links up.
    pub tapers: Vec<Taper>,
}

impl Metrics {
    /// Measures `topology`, which `kind` has generated; of several planes, distances, paths and tapers of each. Time
    /// grows with channels × switches with hosts / 256, unless a formula gives the distances.
    pub fn of(kind: &TopologyKind, topology: &Topology) -> Metrics {
        Metrics::with(kind, topology, &mut |_, _| true).expect("nobody stops it")
    }

    /// Does the same as [`Metrics::of`]. `on_switch` is called before each search for distances with how many of how
    /// many switches are done, and returns whether to continue; none when it does not.
    pub fn with(
        kind: &TopologyKind,
        topology: &Topology,
        on_switch: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Option<Metrics> {
        let by_port = topology.by_port();
        let graph = SwitchGraph::of(by_port);
        let distances = kind.distances().or_else(|| distance::measure(&graph, on_switch))?;
        let switches = (0..topology.switches()).map(SwitchId::from_index);
        let ports_used = switches.map(|switch| u64::from(topology.ports_used(switch))).sum();
        let ports = topology.radix().map(|radix| u64::from(radix) * topology.switches() as u64);
        Some(Metrics {
            hosts: topology.hosts(),
            switches: topology.switches(),
            cables: Cables::of(topology),
            ports_used,
            ports_free: ports.map(|ports| ports - ports_used),
            distances,
            bisection: kind.bisection().unwrap_or_else(|| bisection::bound(by_port)).times(topology.planes()),
            paths: path_diversity::count(&graph),
            tapers: taper::measure(by_port),
        })
    }

    /// How much memory it takes to measure a fabric, about [B].
    pub fn memory_bytes(topology: &Topology) -> u64 {
        let switch = distance::SEARCH_BYTES + path_diversity::SEARCH_BYTES;
        SwitchGraph::memory_bytes(topology) + (topology.switches() * switch) as u64
    }
}
