//! The channel of a fabric that is full first, by the tables and by the routing that they are made of.

use etherweave_forwarding::{self as forwarding, LoadPattern, MinimalRouting, Sharing, TableLoads};
use etherweave_topology::{Node, Topology, TopologyKind};

use crate::TablesSpec;

/// The channels that are full first.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct BusiestChannels {
    /// Busiest channels by the compacted tables.
    pub tables: BusiestUnder,
    /// Busiest channels by the minimal routing itself, where each of several ports takes as much.
    pub algorithm: BusiestUnder,
}

/// The channels that are full first under two kinds of traffic.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct BusiestUnder {
    /// Every host sends to every other, all alike.
    pub uniform: BusiestChannel,
    /// The worst of some patterns: uniform; all hosts of a switch to those of the switch 1, 2, 4, ... further, or a
    /// group further.
    pub worst: BusiestChannel,
}

/// The channel that is full first.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct BusiestChannel {
    /// Load that it would carry, as a multiple of its capacity, if every host sent as much as its link takes.
    pub load: f64,
    /// Traffic that every host can send until it is full, as a share of its link, 0..=1.
    pub accepted: f64,
    /// Its name: "leaf0 port 12 to core0".
    pub channel: String,
    /// How many switches further hosts send; absent under uniform traffic.
    pub switches_further: Option<u64>,
}

impl BusiestChannels {
    /// Follows all traffic, or says why that would take too long.
    pub(crate) fn of(kind: &TopologyKind, topology: &Topology, spec: &TablesSpec) -> Result<BusiestChannels, String> {
        TableLoads::check(topology)?;
        let minimal = MinimalRouting::of(kind, topology).map_err(|error| error.reason())?;
        let strategy = spec.strategy(kind);
        let under = |strategy| {
            let loads = TableLoads::of(&minimal, strategy, &spec.widths).map_err(|error| error.reason())?;
            Ok::<_, String>(BusiestUnder::of(topology, loads.busiest()))
        };
        let algorithm = under(forwarding::Strategy { sharing: Sharing::Hash, ..strategy })?;
        let tables = if strategy.sharing == Sharing::Hash { algorithm.clone() } else { under(strategy)? };
        Ok(BusiestChannels { tables, algorithm })
    }
}

impl BusiestUnder {
    fn of(topology: &Topology, busiest: forwarding::Busiest) -> BusiestUnder {
        let [uniform, worst] = [busiest.uniform, busiest.worst].map(|busiest| BusiestChannel::of(topology, busiest));
        BusiestUnder { uniform, worst }
    }
}

impl BusiestChannel {
    fn of(topology: &Topology, busiest: forwarding::BusiestChannel) -> BusiestChannel {
        let channel = topology.channel(busiest.channel);
        let [from, to] = [channel.from.node, channel.to.node].map(|node| topology.name(node));
        let name = match channel.from.node {
            Node::Host(_) => format!("{from} to {to}"),
            Node::Switch(_) => format!("{from} port {} to {to}", channel.from.port.index()),
        };
        let switches_further = match busiest.pattern {
            LoadPattern::Uniform => None,
            LoadPattern::Shift(switches) => Some(switches as u64),
        };
        BusiestChannel { load: busiest.load, accepted: (1.0 / busiest.load).min(1.0), channel: name, switches_further }
    }
}
