//! Any next hop on a shortest path, counted in switches.

use std::collections::VecDeque;

use etherweave_primitives::{ChannelId, InputError, SwitchId};
use etherweave_topology::{Node, Topology, reverse};

use crate::{RoutingTable, plan::RoutingPlan, table::TabulatedPlan, table::onward};

const UNREACHED: u32 = u32::MAX;

pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn RoutingPlan>, InputError> {
    Ok(Box::new(TabulatedPlan::new(topology, table(topology)?)))
}

/// The table of shortest paths: one breadth-first search per switch with hosts.
pub(crate) fn table(topology: &Topology) -> Result<RoutingTable, InputError> {
    RoutingTable::fill(
        topology,
        |dst| distances(topology, dst),
        |distances, channel| is_closer(topology, distances, channel),
    )
}

/// Hops from every switch to `dst`.
pub(crate) fn distances(topology: &Topology, dst: SwitchId) -> Vec<u32> {
    let mut distances = vec![UNREACHED; topology.switches()];
    distances[dst.index()] = 0;
    let mut frontier = VecDeque::from([dst]);
    while let Some(at) = frontier.pop_front() {
        for before in onward(topology, at).map(|channel| switch_after(topology, channel)) {
            if distances[before.index()] == UNREACHED {
                distances[before.index()] = distances[at.index()] + 1;
                frontier.push_back(before);
            }
        }
    }
    distances
}

fn is_closer(topology: &Topology, distances: &[u32], channel: ChannelId) -> bool {
    let (from, to) = (switch_after(topology, reverse(channel)), switch_after(topology, channel));
    distances[to.index()] < distances[from.index()]
}

pub(crate) fn switch_after(topology: &Topology, channel: ChannelId) -> SwitchId {
    match topology.channel(channel).to.node {
        Node::Switch(switch) => switch,
        Node::Host(_) => unreachable!("only channels between switches are searched"),
    }
}
