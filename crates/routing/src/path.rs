//! The way of one flow.

use etherweave_primitives::{ChannelId, SwitchId};
use etherweave_topology::{Node, Topology};

use crate::{FlowKey, Routing, RoutingError, Selection};

/// The channels of a flow from its host to its destination, both host links included.
///
/// # Errors
/// When the way ends before the destination or comes back to a switch.
pub fn path<R: Routing + ?Sized, S: Selection + ?Sized>(
    topology: &Topology,
    routing: &R,
    selection: &S,
    key: &FlowKey,
) -> Result<Vec<ChannelId>, RoutingError> {
    let mut channels = vec![topology.host_channel(key.src)];
    let mut visited: Vec<SwitchId> = Vec::new();
    let mut candidates = Vec::new();
    while let Node::Switch(at) = topology.channel(channels[channels.len() - 1]).to.node {
        if let Some(first) = visited.iter().position(|&switch| switch == at) {
            return Err(loop_error(topology, key, &visited[first..]));
        }
        visited.push(at);
        candidates.clear();
        routing.candidates(at, key.dst, &mut candidates);
        if candidates.is_empty() {
            let (at, dst) = (topology.switch_name(at).to_owned(), topology.host_name(key.dst).to_owned());
            return Err(RoutingError::DeadEnd { at, dst });
        }
        channels.push(selection.pick(at, key, &candidates));
    }
    Ok(channels)
}

fn loop_error(topology: &Topology, key: &FlowKey, ring: &[SwitchId]) -> RoutingError {
    let around = ring.iter().chain(&ring[..1]);
    let switches = around.map(|&switch| topology.switch_name(switch).to_owned()).collect();
    RoutingError::Loop { dst: topology.host_name(key.dst).to_owned(), switches }
}
