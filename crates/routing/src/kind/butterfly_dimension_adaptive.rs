//! DAL: minimal or by any other switch of the row, at most once in each dimension.

use crate::per_packet::{InputChannel, LoadView, NextHop, OutputChannel, PacketRouting, RoutedPacket};
use crate::{per_packet::butterfly::ButterflyPlan, per_packet::choice::WeightedPort, per_packet::choice::least};

/// The place in [`RoutedPacket::route_state`] of the dimensions in which a packet was misrouted, a bit each.
const LEFT: usize = 0;

/// Dimensionally-adaptive, load-balanced routing: Ahn et al., "HyperX: topology, routing, and packaging of efficient
/// large-scale networks", SC 2009. In every dimension where it is not at its place, a packet may go there,
/// or once to any other place; of all these ports it takes the one whose queue, times the links to the destination by
/// it, is least, and a minimal one of equals.
///
/// The paper keeps packets that wait from deadlock by a channel of dimension order, to which they may change at any
/// time. Here a decision is taken once, so that channels rise with every hop instead: two for each dimension, one for
/// those of two places (as distance classes of McDonald et al., "Practical and efficient incremental adaptive routing
/// for HyperX networks", SC 2019).
pub struct ButterflyDimensionAdaptive {
    /// Where everything is.
    pub plan: ButterflyPlan,
}

impl PacketRouting for ButterflyDimensionAdaptive {
    fn channels(&self) -> u8 {
        (self.plan.dimensions_above(1) + self.plan.dimensions_above(2)).max(1)
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(u32::from(out.channel))
    }

    fn start(&self, packet: &mut RoutedPacket) {
        packet.route_state[LEFT] = 0;
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let home = self.plan.home(packet.dst);
        let links = self.plan.apart(at.switch, home.switch).count() as u32;
        let weigh = |port: u8, links: u32| WeightedPort { port, weight: load.queued(port) * links };
        let nearer = self.plan.minimal_ports(at.switch, home.switch).map(|port| weigh(port, links));
        let Some(nearer) = least(nearer, packet) else { return home.hop };
        let hop = |choice: WeightedPort| NextHop { port: choice.port, channel: packet.hops };
        if nearer.weight == 0 {
            return hop(nearer);
        }
        let aside = self.ports_aside(at.switch, home.switch, packet.route_state[LEFT]);
        let aside = aside.map(|port| weigh(port, links + 1));
        match least(aside, packet).filter(|aside| aside.weight < nearer.weight) {
            Some(aside) => {
                let hop = hop(aside);
                packet.route_state[LEFT] |= 1 << self.plan.dimension_of(aside.port);
                packet.is_misrouted = true;
                hop
            }
            None => hop(nearer),
        }
    }
}

impl ButterflyDimensionAdaptive {
    /// The ports to all other switches of the rows in which a packet is not at its place and was not misrouted.
    fn ports_aside(&self, at: u32, home: u32, left: u16) -> impl Iterator<Item = u8> {
        let plan = &self.plan;
        let rows = plan.apart(at, home).filter(move |dimension| left & 1 << dimension == 0);
        rows.flat_map(move |dimension| {
            let [own, there] = [at, home].map(|switch| plan.coordinate(switch, dimension));
            let others = (0..plan.size(dimension)).filter(move |&place| place != own && place != there);
            others.flat_map(move |place| plan.ports(at, dimension, place))
        })
    }
}
