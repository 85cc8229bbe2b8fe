//! VAL on a flattened butterfly: to a random switch, and from there to the destination.

use crate::per_packet::butterfly::{ButterflyHost, ButterflyPlan};
use crate::per_packet::choice::{any, drawn};
use crate::per_packet::{
    InputChannel, LoadScope, LoadView, NextHop, Oblivious, OutputChannel, PacketRouting, RoutedPacket,
};

/// The place in [`RoutedPacket::route_state`] of the switch to visit first, [`ANYWHERE`] when there is none.
const VIA: usize = 0;
const ANYWHERE: u16 = u16::MAX;
/// Channels to the intermediate switch, and from it.
const OUTWARD: u8 = 0;
const HOMEWARD: u8 = 1;
const CHANNELS: u8 = 2;

/// Valiant, "A scheme for fast parallel communication", SIAM J. Comput. 1982, section 2, as Kim, Dally and Abts, ISCA
/// 2007, section 3.1: by dimension order to any switch, each as likely, and by dimension order to the destination. Each
/// of the two parts has its channel.
pub struct Valiant {
    /// Where everything is.
    pub plan: ButterflyPlan,
}

impl PacketRouting for Valiant {
    fn channels(&self) -> u8 {
        CHANNELS
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(self.plan.by_part(out))
    }

    fn oblivious(&self) -> Option<&dyn Oblivious> {
        Some(self)
    }

    fn start(&self, packet: &mut RoutedPacket) {
        packet.route_state[VIA] = drawn(packet, self.plan.switches()) as u16;
        packet.is_misrouted = true;
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, _load: L) -> NextHop {
        self.plan.next(at, packet, self.plan.home(packet.dst))
    }
}

/// UGAL-L on a flattened butterfly: at its first switch a packet takes the path of [`Valiant`] when the queue of the
/// minimal path by dimension order, times its links, is above that of the other by more than a threshold (Singh,
/// "Load-balanced routing in interconnection networks", 2005; Kim, Dally and Abts, ISCA 2007, section 3.1).
pub struct ButterflyUgalLocal {
    /// Where everything is.
    pub plan: ButterflyPlan,
    /// Lead of the minimal path [packets].
    pub threshold: u32,
}

impl PacketRouting for ButterflyUgalLocal {
    fn channels(&self) -> u8 {
        CHANNELS
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(self.plan.by_part(out))
    }

    fn load_scope(&self) -> LoadScope {
        LoadScope::FirstSwitch
    }

    fn start(&self, packet: &mut RoutedPacket) {
        packet.route_state[VIA] = drawn(packet, self.plan.switches()) as u16;
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let home = self.plan.home(packet.dst);
        let is_fresh = packet.hops == 0 && packet.route_state[VIA] != ANYWHERE;
        if is_fresh && !self.leaves(at, packet, home, load) {
            packet.route_state[VIA] = ANYWHERE;
        }
        self.plan.next(at, packet, home)
    }
}

impl ButterflyUgalLocal {
    /// Decides whether a packet leaves the minimal path.
    fn leaves<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, home: ButterflyHost, load: L) -> bool {
        let via = u32::from(packet.route_state[VIA]);
        let cost = |to: u32, links: usize| {
            let ports = self.plan.in_order(at.switch, to)?;
            Some(load.queued(any(ports, packet)) * links as u32)
        };
        let links = |from: u32, to: u32| self.plan.apart(from, to).count();
        let minimal = cost(home.switch, links(at.switch, home.switch));
        let nonminimal = cost(via, links(at.switch, via) + links(via, home.switch));
        packet.is_misrouted = match (minimal, nonminimal) {
            (Some(minimal), Some(nonminimal)) => minimal > nonminimal + self.threshold * load.packet_max(),
            _ => false,
        };
        packet.is_misrouted
    }
}

impl ButterflyPlan {
    /// A part of the path after the other, in each one dimension after the other.
    fn by_part(&self, out: OutputChannel) -> u32 {
        let dimensions = usize::from(u8::MAX);
        (usize::from(out.channel) * dimensions + self.dimension_of(out.port)) as u32
    }

    /// The next hop by dimension order to the intermediate switch, when there is one, and then home.
    fn next(&self, at: InputChannel, packet: &mut RoutedPacket, home: ButterflyHost) -> NextHop {
        if u32::from(packet.route_state[VIA]) == at.switch {
            packet.route_state[VIA] = ANYWHERE;
        }
        let (target, channel) = match packet.route_state[VIA] {
            ANYWHERE => (home.switch, HOMEWARD),
            via => (u32::from(via), OUTWARD),
        };
        let ports = self.in_order(at.switch, target);
        ports.map_or(home.hop, |ports| NextHop { port: any(ports, packet), channel })
    }
}
