//! Deadlock freedom at any size: the channel dependency graph of Dally and Seitz (1987, theorem 1), over pairs of a
//! channel and a priority, found by *implicit enumeration*.
//!
//! - Packets that are at the same switch, arrived alike and are for the same set of destinations are one state.
//!   A plan splits sets where a switch treats their members differently, so a regular fabric has a few states per
//!   channel where it has hundreds of thousands of destinations. Plans without sets are followed destination by
//!   destination.
//! - Every dependency that any state shows becomes a bit: for each channel and priority a row, as wide as the next
//!   switch has channels × priorities. The proof assumes nothing about the graph and uses no symmetry of the fabric.
//! - Rows are peeled in topological order (Kahn, 1962). What cannot be peeled holds a cycle, and the shortest one
//!   through one of its members is the counterexample.
//!
//! Parallel channels between two switches are offered side by side and so count as one. Channels from and to hosts are
//! no part of any cycle: nothing waits for the former, and a host takes in what arrives.

mod cycle;
mod matrix;
mod states;

use std::fmt;

use etherweave_primitives::{ChannelId, Priority, SwitchId};
use etherweave_topology::{LinkClass, Topology};

use crate::{ChannelHop, Legality, adjacencies::Adjacencies};
use matrix::Matrix;
use states::PacketStates;

/// The verdict, and how much was examined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockProof {
    /// Can it deadlock?
    pub verdict: Verdict,
    /// Pairs of channels between switches and priorities that packets use; parallel channels count as one.
    pub channels: u64,
    /// Pairs of those of which a packet may hold the first and ask for the second.
    pub dependencies: u64,
    /// States that packets can be in: switch, arrival, destinations.
    pub states: u64,
    /// Priorities that the routing uses.
    pub priorities: u8,
    /// Whether packets have all of these dependencies. Otherwise the proof followed turns that include all that
    /// packets make: free is free, but a cycle may be one that no packets make.
    pub is_exact: bool,
}

/// Whether a lossless fabric can deadlock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Free, because the dependencies are acyclic.
    Free,
    /// Each of these hops may wait for the next, and the last for the first.
    Cycle(Vec<ChannelHop>),
}

/// Follows every packet that the routing allows and looks for a cycle of dependencies.
///
/// Implicit routings take time linear in channels × radix; others, in channels × radix × switches with hosts.
/// Memory: a bit per dependency that the wiring would allow, channels × radix × priorities².
pub fn prove(topology: &Topology, legality: &Legality) -> DeadlockProof {
    debug_assert_eq!(legality.plan.adjacencies().switches(), topology.switches(), "the routing is of this fabric");
    let mut matrix = Matrix::new(legality);
    let states = PacketStates::new(legality, &matrix).fill(&mut matrix);
    let cycle = cycle::find(&matrix);
    DeadlockProof {
        verdict: cycle
            .map_or(Verdict::Free, |cycle| Verdict::Cycle(cycle.iter().map(|&row| matrix.hop(row)).collect())),
        channels: matrix.used(),
        dependencies: matrix.dependencies(),
        states,
        priorities: crate::Routing::priorities(legality),
        is_exact: legality.plan.is_exact(),
    }
}

impl DeadlockProof {
    /// How much memory a proof with so many priorities takes, about [B]: adjacencies as if no links were parallel, and
    /// a state of packets for each.
    pub fn memory_bytes(topology: &Topology, priorities: u8) -> u64 {
        let switches = (0..topology.switches()).map(SwitchId::from_index);
        let is_onward = |&&out: &&ChannelId| topology.channel(out).class != LinkClass::Host;
        let of_switch = |at| {
            let next = topology.out_channels(at).iter().filter(is_onward).count() as u64;
            next * (Matrix::memory_bytes(next, priorities) + PacketStates::memory_bytes(next, priorities))
        };
        let adjacencies = topology.channels().len() as u64 * Adjacencies::BYTES;
        switches.map(of_switch).fold(adjacencies, u64::saturating_add)
    }

    /// Whether the fabric cannot deadlock.
    pub fn is_free(&self) -> bool {
        self.verdict == Verdict::Free
    }
}

impl Verdict {
    /// The verdict in words: a cycle line by line, by the names of its switches and ports.
    pub fn describe(&self, topology: &Topology) -> String {
        match self {
            Verdict::Free => "free, because acyclic".to_owned(),
            Verdict::Cycle(hops) => {
                let lines: Vec<String> = hops.iter().map(|hop| HopText { topology, hop }.to_string()).collect();
                format!("may deadlock, each waits for the next:\n{}", lines.join("\n"))
            }
        }
    }
}

struct HopText<'a> {
    topology: &'a Topology,
    hop: &'a ChannelHop,
}

impl fmt::Display for HopText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChannelHop { channel, priority, stage: _ } = *self.hop;
        let channel = self.topology.channel(channel);
        let name = |node| self.topology.name(node);
        let (from, to) = (channel.from, channel.to);
        let priority: Priority = priority;
        write!(f, "{} {} -> {} {}, {priority}", name(from.node), from.port, name(to.node), to.port)
    }
}
