//! Conditional rules: minimal while the minimal output takes packets, otherwise the host's own global port.
//!
//! An output takes none while its far end pauses it, and while its own queue is full. The second half is needed: a port
//! that is paused for a share of the time gets what its switch's hosts send for the rest of it, `p · load` of its rate
//! for `p` hosts, so that its queue grows without end where `p · load > 1`, whatever the thresholds of pauses are.

use etherweave_topology::LinkClass;

use crate::per_packet::{DragonflyPlan, InputChannel, LoadView, NextHop, OutputChannel, PacketRouting, RoutedPacket};
use crate::{per_packet::dragonfly::ANYWHERE, per_packet::dragonfly::VIA, per_packet::tables::Trigger};

/// Benito et al. 2015, sections V-B to V-D: rules to other groups are inactive while their output is paused or its
/// queue is full ("default paths are used until their queues become completely full"); then the packets of host port
/// `i` take global port `i` of their switch, and from there the minimal path.
///
/// Channels rise in the order global 0 of the non-minimal path, local 0, global 1, local 1 in the destination's group:
/// two of them, as section V-E says.
pub struct Conditional {
    /// Where everything is.
    pub plan: DragonflyPlan,
    /// Global ports of every switch that non-minimal paths take. Without any, packets wait for their minimal output.
    pub h: u8,
}

impl PacketRouting for Conditional {
    fn channels(&self) -> u8 {
        2
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        // Global before local.
        Some(2 * u32::from(out.channel) + u32::from(out.class == LinkClass::Local))
    }

    fn trigger(&self) -> Option<Trigger> {
        Some(Trigger::Full)
    }

    fn start(&self, packet: &mut RoutedPacket) {
        packet.route_state[VIA] = ANYWHERE;
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let is_home = self.plan.is_in(at.switch, self.plan.group_of_host(packet.dst));
        let NextHop { port, .. } = self.plan.minimal(at, packet);
        let is_last = is_home || self.plan.is_global(port);
        let hop = NextHop { port, channel: u8::from(is_last && !self.plan.is_host(port)) };
        let may_leave = at.class == LinkClass::Host && !is_home && self.h > 0;
        if !may_leave || !Trigger::Full.is_inactive(load, hop.port, hop.channel, packet.dst) {
            return hop;
        }
        packet.is_misrouted = true;
        NextHop { port: self.plan.first_global() + at.port % self.h, channel: 0 }
    }
}
