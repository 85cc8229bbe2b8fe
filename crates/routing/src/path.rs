//! The path of one flow.

use etherweave_primitives::{ChannelId, InputError, Priority, SwitchId};
use etherweave_topology::{Node, Topology};

use crate::{ChannelHop, FlowKey, Routing, Selection};

/// Channels of most paths.
const HOPS: usize = 8;
/// Most candidates of most hops.
const CHOICES: usize = 64;

/// The channels of a flow from its host to its destination, both host links included.
///
/// # Errors
/// When the path ends before the destination or returns to a switch.
pub fn path<R: Routing + ?Sized, S: Selection + ?Sized>(
    topology: &Topology,
    routing: &R,
    selection: &S,
    key: &FlowKey,
) -> Result<Vec<ChannelId>, InputError> {
    let mut channels = Vec::with_capacity(HOPS);
    channels.push(topology.host_channel(key.src));
    // A packet that changed its priority may visit a switch again, in a later stage.
    let mut visited: Vec<(SwitchId, Option<Priority>)> = Vec::with_capacity(HOPS);
    let mut arrival: Option<ChannelHop> = None;
    let (mut hops, mut candidates) = (Vec::with_capacity(CHOICES), Vec::with_capacity(CHOICES));
    while let Node::Switch(at) = topology.channel(channels[channels.len() - 1]).to.node {
        let here = (at, arrival.map(|hop| hop.priority).filter(|priority| priority.get() > 0));
        if let Some(first) = visited.iter().position(|&other| other == here) {
            return Err(loop_error(topology, key, &visited[first..]));
        }
        visited.push(here);
        hops.clear();
        candidates.clear();
        routing.hops(at, arrival, key.dst, &mut hops);
        candidates.extend(hops.iter().map(|hop| hop.channel));
        candidates.dedup();
        if candidates.is_empty() {
            return Err(dead_end(topology.switch_name(at), topology.host_name(key.dst)));
        }
        let chosen = selection.pick(at, key, &candidates);
        arrival = hops.iter().copied().find(|hop| hop.channel == chosen);
        channels.push(chosen);
    }
    Ok(channels)
}

fn loop_error(topology: &Topology, key: &FlowKey, ring: &[(SwitchId, Option<Priority>)]) -> InputError {
    let around = ring.iter().chain(&ring[..1]);
    let switches: Vec<&str> = around.map(|&(switch, _)| topology.switch_name(switch)).collect();
    let mistake = format!("packets for {} loop through {}", topology.host_name(key.dst), switches.join(" - "));
    InputError::new("", mistake, "a path without repetition")
}

/// The error of a packet that no legal channel takes on.
pub(crate) fn dead_end(at: &str, dst: &str) -> InputError {
    InputError::new("", format!("no legal channel leads from {at} to {dst}"), "at least one")
}
