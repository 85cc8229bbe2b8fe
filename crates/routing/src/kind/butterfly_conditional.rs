//! Conditional rules on a flattened butterfly: minimal while a minimal output takes packets, otherwise by another place
//! of the row, the host's own.

use etherweave_topology::LinkClass;

use crate::per_packet::{InputChannel, LoadView, NextHop, OutputChannel, PacketRouting, RoutedPacket};
use crate::{per_packet::butterfly::ButterflyPlan, per_packet::choice::any, per_packet::tables::Trigger};

/// Benito et al. 2015, sections V-B to V-D, figure 10b: the last dimension first, an earlier one where that output is
/// paused or its queue is full; where all are, the packets of host port `i` go to the `i`-th other place of the last
/// dimension in which the destination is apart, and from there by a minimal path. Where a dimension has several links
/// to each place, switches share packets among them whatever is paused.
///
/// Channels rise with every hop (Günther 1981): one for each dimension, and one for the non-minimal hop.
pub struct ButterflyConditional {
    /// Places of switches and hosts.
    pub plan: ButterflyPlan,
}

impl PacketRouting for ButterflyConditional {
    fn channels(&self) -> u8 {
        let is_longer = self.plan.last_dimension().is_some_and(|last| self.plan.aside(last, 0).is_some());
        (self.plan.dimensions_above(1) + u8::from(is_longer)).max(1)
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(u32::from(out.channel))
    }

    fn trigger(&self) -> Option<Trigger> {
        Some(Trigger::Full)
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let home = self.plan.home(packet.dst);
        let channel = packet.hops;
        let mut default = None;
        for dimension in self.plan.apart(at.switch, home.switch).rev() {
            let ports = self.plan.ports(at.switch, dimension, self.plan.coordinate(home.switch, dimension));
            let hop = NextHop { port: any(ports.clone(), packet), channel };
            if ports.len() > 1 || !Trigger::Full.is_inactive(load, hop.port, channel, packet.dst) {
                packet.is_misrouted |= default.is_some();
                return hop;
            }
            default = default.or(Some((dimension, hop)));
        }
        let Some((dimension, hop)) = default else { return home.hop };
        match self.plan.aside(dimension, at.port).filter(|_| at.class == LinkClass::Host) {
            Some(port) => {
                packet.is_misrouted |= port != hop.port;
                NextHop { port, channel }
            }
            None => hop,
        }
    }
}
