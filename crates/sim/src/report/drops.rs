//! Losses in lossless priorities.

use etherweave_kernel::{indices::PortIndex, wire};
use etherweave_primitives::{ChannelId, Priority};
use etherweave_switch::buffer::Group;
use etherweave_topology::Node;

use super::{far::FarEnds, ports::out_of_buffer};
use crate::{run::Simulation, shard::Shard};

/// Packets lost in a priority that flow control protects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LosslessDrop {
    /// The node that lost them.
    pub node: String,
    /// Their ingress port.
    pub port: u16,
    /// The node that sent them.
    pub peer: String,
    /// Priorities of the group, a bit each.
    pub priorities: u8,
    /// How many.
    pub packets: u64,
    /// How much [B].
    pub bytes: u64,
    /// Pause frames from here that a degraded link has damaged.
    pub pauses_damaged: u64,
    /// Packets among these that found no buffer in the ring of their receive queue.
    pub out_of_ring: u64,
}

wire! {
    LosslessDrop { node, port, peer, priorities, packets, bytes, pauses_damaged, out_of_ring }
}

impl Simulation {
    pub(super) fn switch_drops(&self, far: &FarEnds) -> Vec<(ChannelId, LosslessDrop)> {
        let drops = |(shard, port): (&Shard, PortIndex)| {
            let (node, number, peer) = self.port_names(shard.wires.channels[port]);
            let pauses_damaged = far.port(self, shard.wires.id, port).pauses_damaged;
            let groups = shard.switches.groups[shard.wires.constants.groups(port)].iter();
            let lost = groups
                .zip(shard.wires.constants.pause_mask_of_group)
                .filter(|(group, mask)| *mask != 0 && group.lost > 0);
            let row = move |(group, priorities): (&Group, u8)| LosslessDrop {
                node: node.clone(),
                port: number,
                peer: peer.clone(),
                priorities,
                packets: u64::from(group.lost),
                bytes: group.lost_bytes,
                pauses_damaged,
                out_of_ring: 0,
            };
            lost.map(|lost| (shard.wires.channels[port], row(lost))).collect::<Vec<_>>()
        };
        self.all_ports().into_iter().flat_map(drops).collect()
    }

    pub(super) fn nic_drops(&self, far: &FarEnds) -> Vec<(ChannelId, LosslessDrop)> {
        let mut drops = Vec::new();
        for (shard, port) in self.all_ports() {
            let is_host = matches!(self.names.topology.channel(shard.wires.channels[port]).from.node, Node::Host(_));
            for priority in
                Priority::all().filter(|priority| shard.wires.constants.nic_pause_mask & 1 << priority.get() != 0)
            {
                let counters = shard.wires.ports[port].counters(priority.index());
                if is_host && counters.drops > 0 {
                    let (node, number, peer) = self.port_names(shard.wires.channels[port]);
                    let (packets, bytes) = (counters.drops, counters.drop_bytes);
                    let row = LosslessDrop {
                        node,
                        port: number,
                        peer,
                        priorities: 1 << priority.get(),
                        packets,
                        bytes,
                        pauses_damaged: far.port(self, shard.wires.id, port).pauses_damaged,
                        out_of_ring: out_of_buffer(shard, port, priority),
                    };
                    drops.push((shard.wires.channels[port], row));
                }
            }
        }
        drops
    }
}
