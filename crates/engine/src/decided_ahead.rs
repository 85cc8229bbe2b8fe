//! Decisions of a routing by packet that are made when a packet leaves for a switch, not when it arrives: those that
//! depend on nothing but the packet. Then what the packet will touch at the switch is known while it is on its way.

use etherweave_kernel::indices::PortIndex;
use etherweave_routing::{InputChannel, NoLoad, PacketRouting};
use etherweave_topology::LinkClass;

use super::event::PrefetchHint;
use super::port::Peer;
use crate::packet::PacketRoute;

/// Decisions that a routing makes ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecisionsAhead {
    /// Most links between switches of a path.
    pub hops_max: u32,
    /// Whether that at the first switch of a path is among them.
    pub at_first_switch: bool,
    /// Whether packets keep their priority.
    pub keeps_priority: bool,
}

impl DecisionsAhead {
    /// Whether it is known, of a packet that leaves by a link to a switch, where it leaves that switch.
    #[inline(always)]
    pub(crate) fn cover(&self, peer: &Peer) -> bool {
        self.at_first_switch || peer.link_class != LinkClass::Host
    }

    /// Whether the egress port is all that a packet needs to know at each switch.
    pub(crate) fn are_all(&self) -> bool {
        self.at_first_switch && self.keeps_priority
    }
}

/// The switch at the far end of a port.
#[derive(Clone, Copy, Default, Debug)]
#[repr(align(8))]
pub struct FarEnd {
    /// Its number in its plane.
    pub switch: u32,
    /// The first of its ports, numbered in its shard.
    pub first_port: PortIndex,
}

/// Decides where a packet leaves the switch at the far end of a port, by whose link it goes there.
#[inline(always)]
pub(crate) fn decide_ahead(
    routing: &impl PacketRouting,
    far: &FarEnd,
    peer: &Peer,
    route: &mut PacketRoute,
    hops_max: u32,
) -> PrefetchHint {
    if peer.link_class != LinkClass::Host {
        route.routed.hops += 1;
        let hops = u32::from(route.routed.hops);
        assert!(hops <= hops_max, "a packet crosses {hops} links between switches; expected at most {hops_max}");
    }
    let (number, priority) = ((peer.port.get() - far.first_port.get()) as u8, route.next_priority());
    let at = InputChannel { switch: far.switch, port: number, channel: route.channel, class: peer.link_class };
    let hop = routing.decide(at, &mut route.routed, NoLoad);
    route.egress = PortIndex::new(far.first_port.get() + u32::from(hop.port));
    route.channel = hop.channel;
    PrefetchHint::egress(route.egress, priority)
}
