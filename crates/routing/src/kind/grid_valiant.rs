//! VAL on tori and meshes: to a random switch, and from there to the destination.

use super::grid_dimension_order::hops;
use crate::per_packet::{
    InputChannel, LoadView, NextHop, Oblivious, OutputChannel, PacketRouting, RoutedPacket, WalkTarget,
};
use crate::{per_packet::choice::any, per_packet::choice::drawn, per_packet::grid::GridPlan};

/// The place in [`RoutedPacket::route_state`] of the switch to visit first, [`ANYWHERE`] when there is none.
const VIA: usize = 0;
/// The place of the switch where the present part of its path started.
const START: usize = 1;
const ANYWHERE: u16 = u16::MAX;

/// Valiant, "A scheme for fast parallel communication", SIAM J. Comput. 1982, section 2, as Dally and Towles,
/// "Principles and Practices of Interconnection Networks", 2004, section 9.1: by dimension order to any switch, each as
/// likely, and by dimension order to the destination. Each of the two parts has its channels. Opposite places of rings
/// are reached in either direction, by hash.
pub struct GridValiant {
    /// Places of switches and hosts.
    pub plan: GridPlan,
}

impl PacketRouting for GridValiant {
    fn channels(&self) -> u8 {
        2 * self.plan.channels()
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        let (of_part, part) = (self.plan.channels(), out.channel / self.plan.channels());
        let within = OutputChannel { channel: out.channel % of_part, ..out };
        Some(u32::from(part) * self.plan.rank_end() + self.plan.rank(within))
    }

    fn links_max(&self) -> Option<u32> {
        Some(2 * self.plan.diameter())
    }

    fn oblivious(&self) -> Option<&dyn Oblivious> {
        Some(self)
    }

    fn start(&self, packet: &mut RoutedPacket) {
        packet.route_state[VIA] = drawn(packet, self.plan.switches()) as u16;
        packet.route_state[START] = self.plan.home(packet.src).0 as u16;
        packet.is_misrouted = true;
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, _load: L) -> NextHop {
        if u32::from(packet.route_state[VIA]) == at.switch {
            packet.route_state = [ANYWHERE, at.switch as u16];
        }
        let (home, to_host) = self.plan.home(packet.dst);
        let (target, part) = match packet.route_state[VIA] {
            ANYWHERE => (home, self.plan.channels()),
            via => (u32::from(via), 0),
        };
        let Some(step) = self.plan.in_order(packet.route_state[START].into(), at.switch, target) else {
            return to_host;
        };
        let other = step.other.filter(|_| drawn(packet, 2) == 1);
        let hop = other.unwrap_or(step.hop);
        NextHop { port: any(hop.ports(), packet), channel: part + hop.channel }
    }
}

impl Oblivious for GridValiant {
    /// Every switch alike, the own one and that of the destination included.
    fn vias(&self, _from: u32, each: &mut dyn FnMut(u32, f64)) {
        let switches = self.plan.switches();
        (0..switches).for_each(|switch| each(switch, 1.0 / f64::from(switches)));
    }

    fn hops(&self, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
        hops(&self.plan, at, target, each);
    }
}
