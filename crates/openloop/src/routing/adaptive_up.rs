//! Adaptive routing on a tree: up by the shortest queue, and down the only way.

use super::choice::{Weighed, least};
use super::clos::ClosPlan;
use super::{Hop, Place, Routing};
use crate::load::Load;
use crate::packet::Packet;

/// Of the ports that lead up the one with the shortest queue, of several one by lot: Kim, Dally and Abts, "Adaptive
/// routing in high-radix Clos network", SC 2006. Where several ports lead down the same way, one of them likewise.
pub struct AdaptiveUp {
    /// Where everything is.
    pub plan: ClosPlan,
}

impl Routing for AdaptiveUp {
    fn channels(&self) -> u8 {
        1
    }

    fn decide(&self, at: Place, packet: &mut Packet, load: Load<'_>) -> Hop {
        let ways = self.plan.ways(at.switch, packet.dst);
        if ways.len() == 1 {
            return Hop { port: ways.start, channel: 0 };
        }
        let weighed = ways.map(|port| Weighed { port, weight: load.queued(port) });
        let least = least(weighed, packet).expect("a way leads to every host");
        Hop { port: least.port, channel: 0 }
    }
}
