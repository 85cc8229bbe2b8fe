//! VAL by a switch: minimal to a switch of another group drawn at random, then minimal.

use etherweave_primitives::InputError;
use etherweave_topology::{LinkClass, Topology};

use super::dragonfly_valiant::DragonflyValiantPlan;
use crate::per_packet::{
    DragonflyPlan, InputChannel, LoadView, NextHop, Oblivious, OutputChannel, PacketRouting, RoutedPacket,
};
use crate::{
    per_packet::choice::drawn, per_packet::dragonfly::ANYWHERE, per_packet::dragonfly::VIA, plan::RoutingPlan,
};

/// The place in [`RoutedPacket::route_state`] of the switch to visit in the intermediate group.
const TURN: usize = 1;

/// Valiant, "A scheme for fast parallel communication", SIAM J. Comput. 1982, section 2, applied to switches of a
/// dragonfly: unlike by [group](crate::ValiantGroup), the local channels of the intermediate group are shared out too.
///
/// Channels rise in the order local 0, global 0, local 1 to the switch drawn, local 2, global 1, local 3.
pub struct ValiantSwitch {
    /// Where everything is.
    pub plan: DragonflyPlan,
}

/// Legal hops: to any switch of any other group, and from there minimally to the destination, on four priorities.
pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn RoutingPlan>, InputError> {
    DragonflyValiantPlan::boxed(topology, 1)
}

impl PacketRouting for ValiantSwitch {
    fn channels(&self) -> u8 {
        4
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        let stages: &[u32] = if out.class == LinkClass::Global { &[1, 4] } else { &[0, 2, 3, 5] };
        stages.get(usize::from(out.channel)).copied()
    }

    fn oblivious(&self) -> Option<&dyn Oblivious> {
        Some(self)
    }

    fn start(&self, packet: &mut RoutedPacket) {
        self.plan.draw_via(packet);
        packet.is_misrouted = packet.route_state[VIA] != ANYWHERE;
        packet.route_state[TURN] = drawn(packet, self.plan.switches_per_group()) as u16;
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, _load: L) -> NextHop {
        if self.plan.is_in(at.switch, packet.route_state[VIA]) {
            match self.plan.to_neighbour(at.switch, packet.route_state[TURN]) {
                Some(port) => return NextHop { port, channel: 1 },
                None => packet.route_state[VIA] = ANYWHERE,
            }
        }
        let is_away = packet.route_state[VIA] != ANYWHERE;
        let hop = self.plan.minimal(at, packet);
        let is_home = self.plan.is_in(at.switch, self.plan.group_of_host(packet.dst));
        let channel = match (is_away, self.plan.is_global(hop.port), self.plan.is_host(hop.port)) {
            (_, _, true) | (true, _, _) => 0,
            (false, true, _) => 1,
            (false, false, _) if is_home => 3,
            (false, false, _) => 2,
        };
        NextHop { channel, ..hop }
    }
}
