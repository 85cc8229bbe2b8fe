//! VAL on a flattened butterfly: to a random switch, and from there to the destination.

use super::butterfly::{ButterflyPlan, Home};
use super::choice::{any, drawn};
use super::{Hop, Place, Routing};
use crate::bounds::Oblivious;
use crate::load::Load;
use crate::packet::Packet;

/// The place in [`Packet::aim`] of the switch to visit first, [`ANYWHERE`] when there is none.
const VIA: usize = 0;
const ANYWHERE: u16 = u16::MAX;
/// On the way to the switch drawn, and from it.
const AWAY: u8 = 0;
const BACK: u8 = 1;
const CHANNELS: u8 = 2;

/// Valiant, "A scheme for fast parallel communication", SIAM J. Comput. 1982, section 2, as Kim, Dally and Abts, ISCA
/// 2007, section 3.1: by dimension order to any switch, each as likely, and by dimension order to the destination. Each
/// of the two parts has its channel.
pub struct Valiant {
    /// Where everything is.
    pub plan: ButterflyPlan,
}

impl Routing for Valiant {
    fn channels(&self) -> u8 {
        CHANNELS
    }

    fn oblivious(&self) -> Option<&dyn Oblivious> {
        Some(self)
    }

    fn start(&self, packet: &mut Packet) {
        packet.aim[VIA] = drawn(packet, self.plan.switches()) as u16;
        packet.is_detoured = true;
    }

    fn decide(&self, at: Place, packet: &mut Packet, _load: Load<'_>) -> Hop {
        self.plan.next(at, packet, self.plan.home(packet.dst))
    }
}

/// UGAL-L on a flattened butterfly: at its first switch a packet takes the way of [`Valiant`] when the queue of the
/// minimal way by dimension order, times its links, is above that of the other by more than a threshold (Singh,
/// "Load-balanced routing in interconnection networks", 2005; Kim, Dally and Abts, ISCA 2007, section 3.1).
pub struct ButterflyUgalLocal {
    /// Where everything is.
    pub plan: ButterflyPlan,
    /// What the minimal way is ahead [packets].
    pub threshold: u32,
}

impl Routing for ButterflyUgalLocal {
    fn channels(&self) -> u8 {
        CHANNELS
    }

    fn start(&self, packet: &mut Packet) {
        packet.aim[VIA] = drawn(packet, self.plan.switches()) as u16;
    }

    fn decide(&self, at: Place, packet: &mut Packet, load: Load<'_>) -> Hop {
        let home = self.plan.home(packet.dst);
        let is_fresh = packet.hops == 0 && packet.aim[VIA] != ANYWHERE;
        if is_fresh && !self.leaves(at, packet, home, load) {
            packet.aim[VIA] = ANYWHERE;
        }
        self.plan.next(at, packet, home)
    }
}

impl ButterflyUgalLocal {
    /// Decides whether a packet leaves the minimal way.
    fn leaves(&self, at: Place, packet: &mut Packet, home: Home, load: Load<'_>) -> bool {
        let via = u32::from(packet.aim[VIA]);
        let cost = |to: u32, links: usize| {
            let ports = self.plan.in_order(at.switch, to)?;
            Some(load.queued(any(ports, packet)) * links as u32)
        };
        let links = |from: u32, to: u32| self.plan.apart(from, to).count();
        let minimal = cost(home.switch, links(at.switch, home.switch));
        let detour = cost(via, links(at.switch, via) + links(via, home.switch));
        packet.is_detoured = match (minimal, detour) {
            (Some(minimal), Some(detour)) => minimal > detour + self.threshold,
            _ => false,
        };
        packet.is_detoured
    }
}

impl ButterflyPlan {
    /// The next hop by dimension order to the switch on the way, when there is one, and then home.
    fn next(&self, at: Place, packet: &mut Packet, home: Home) -> Hop {
        if u32::from(packet.aim[VIA]) == at.switch {
            packet.aim[VIA] = ANYWHERE;
        }
        let (target, channel) = match packet.aim[VIA] {
            ANYWHERE => (home.switch, BACK),
            via => (u32::from(via), AWAY),
        };
        let ports = self.in_order(at.switch, target);
        ports.map_or(home.hop, |ports| Hop { port: any(ports, packet), channel })
    }
}
