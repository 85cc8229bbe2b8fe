//! The path of one flow.

use etherweave_primitives::{ChannelId, InputError, Priority, SwitchId};
use etherweave_topology::{Node, Topology};

use crate::{ChannelHop, FlowKey, HashSelection, Routing};

/// The channels of a flow from its host to its destination, both host links included.
///
/// # Errors
/// When the path ends before the destination or returns to a switch.
pub fn path<R: Routing + ?Sized>(
    topology: &Topology,
    routing: &R,
    selection: &HashSelection,
    key: &FlowKey,
) -> Result<Vec<ChannelId>, InputError> {
    let mut finder = PathFinder::default();
    finder.path(topology, routing, selection, key)?;
    Ok(finder.channels)
}

/// Lists that the paths of many flows are found with, one after another.
#[derive(Default)]
pub struct PathFinder {
    channels: Vec<ChannelId>,
    /// Switches of the path. A packet that changed its priority may visit one again, in a later stage.
    visited: Vec<(SwitchId, Option<Priority>)>,
    hops: Vec<ChannelHop>,
    candidates: Vec<ChannelId>,
}

impl PathFinder {
    /// The channels of a flow, as [`path`] gives them.
    ///
    /// # Errors
    /// Those of [`path`].
    pub fn path<R: Routing + ?Sized>(
        &mut self,
        topology: &Topology,
        routing: &R,
        selection: &HashSelection,
        key: &FlowKey,
    ) -> Result<&[ChannelId], InputError> {
        let PathFinder { channels, visited, hops, candidates } = self;
        channels.clear();
        visited.clear();
        channels.push(topology.host_channel(key.src));
        let mut arrival: Option<ChannelHop> = None;
        while let Node::Switch(at) = topology.channel(channels[channels.len() - 1]).to.node {
            let here = (at, arrival.map(|hop| hop.priority).filter(|priority| priority.get() > 0));
            if let Some(first) = visited.iter().position(|&other| other == here) {
                return Err(loop_error(topology, key, &visited[first..]));
            }
            visited.push(here);
            hops.clear();
            candidates.clear();
            routing.hops(at, arrival, key.dst, hops);
            candidates.extend(hops.iter().map(|hop| hop.channel));
            candidates.dedup();
            if candidates.is_empty() {
                return Err(dead_end(topology.switch_name(at), topology.host_name(key.dst)));
            }
            let chosen = selection.pick(at, key, candidates);
            arrival = hops.iter().copied().find(|hop| hop.channel == chosen);
            channels.push(chosen);
        }
        Ok(channels)
    }
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
