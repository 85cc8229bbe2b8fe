//! Global load balancing on a tree: up by the queues of two links instead of one.

use crate::per_packet::choice::{WeightedPort, drawn, least};
use crate::per_packet::clos::ClosPlan;
use crate::per_packet::{
    FabricPlan, InputChannel, LoadView, Neighbourhood, NextHop, OutputChannel, PacketRouting, RoutedPacket,
};
use etherweave_primitives::{InputError, SwitchId};
use etherweave_topology::{Node, Topology};

/// A tree, with the switch at the far end of every port.
#[derive(Clone, Debug)]
pub struct ClosNeighbours {
    plan: ClosPlan,
    /// Ports of switch `s` are `starts[s]` and on.
    starts: Vec<u32>,
    /// Neighbour of each port; hosts are [`HOST`].
    far: Vec<u32>,
}

const HOST: u32 = u32::MAX;

impl FabricPlan for ClosNeighbours {
    const FABRIC: &'static str = ClosPlan::FABRIC;

    fn of(topology: &Topology) -> Result<ClosNeighbours, InputError> {
        let mut neighbours = ClosNeighbours { plan: ClosPlan::of(topology)?, starts: Vec::new(), far: Vec::new() };
        for at in (0..topology.switches()).map(SwitchId::from_index) {
            neighbours.starts.push(neighbours.far.len() as u32);
            let ends = topology.out_channels(at).iter().map(|&id| topology.channel(id).to.node);
            neighbours.far.extend(ends.map(|end| match end {
                Node::Switch(there) => there.get(),
                Node::Host(_) => HOST,
            }));
        }
        Ok(neighbours)
    }
}

/// The better of two ports that lead nearer to the destination, drawn by hash: the shorter queue together with the
/// shortest queue by which the switch behind it can send the packet on. A port up is so weighed with the one port down
/// that leads from there to the destination, which [`AdaptiveUp`](crate::AdaptiveUp) does not see. Data centre switches
/// call it global load balancing (Broadcom Tomahawk 5; Juniper, "Global load balancing", Junos OS 23.4R2 and later):
/// switches report the quality of their links to their neighbours.
///
/// Two ports, because reports are late: if all switches took the best of all, each would be overrun until it is
/// reported (Mitzenmacher, "How useful is old information?", IEEE TPDS 2000; two samples as in DRILL, Ghorbani et al.,
/// SIGCOMM 2017).
pub struct GlobalLoadBalancing {
    /// Places of switches and hosts.
    pub fabric: ClosNeighbours,
}

impl PacketRouting for GlobalLoadBalancing {
    fn channels(&self) -> u8 {
        1
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(self.fabric.plan.rank(out))
    }

    fn neighbourhood(&self) -> Neighbourhood {
        Neighbourhood::Adjacent
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let ClosNeighbours { plan, starts, far } = &self.fabric;
        let ports_towards = plan.ports_towards(at.switch, packet.dst);
        if ports_towards.len() == 1 {
            return NextHop { port: ports_towards.start, channel: 0 };
        }
        let (dst, count) = (packet.dst, ports_towards.len() as u32);
        let drawn = drawn(packet, count * (count - 1));
        let (first, further) = (drawn / (count - 1), 1 + drawn % (count - 1));
        let pair = [first, (first + further) % count].map(|number| ports_towards.start + number as u8);
        let weighed = pair.into_iter().map(|port| {
            let next = far[starts[at.switch as usize] as usize + usize::from(port)];
            let onward = plan.ports_towards(next, dst).map(|port| load.occupancy_at(next, port, 0));
            WeightedPort { port, weight: load.occupancy(port, 0) + onward.min().unwrap_or(0) }
        });
        let least = least(weighed, packet).expect("a port leads to every host");
        NextHop { port: least.port, channel: 0 }
    }
}
