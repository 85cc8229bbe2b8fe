//! Decisions of a routing by packet that are made when a packet leaves for a switch, not when it arrives: those that
//! depend on nothing but the packet. Then what the packet will touch at the switch is known while it is on its way.

use etherweave_kernel::indices::PortIndex;
use etherweave_routing::{FullPorts, InputChannel, PacketRouting};
use etherweave_topology::LinkClass;

use super::event::PrefetchHint;
use super::port::Peer;
use crate::packet::PacketRoute;

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
    let number = (peer.port.get() - far.first_port.get()) as u8;
    let at = InputChannel { switch: far.switch, port: number, channel: 0, class: peer.link_class };
    let hop = routing.decide(at, &mut route.routed, FullPorts { switch: far.switch, full: &[] });
    route.egress = PortIndex::new(far.first_port.get() + u32::from(hop.port));
    PrefetchHint::egress(route.egress, route.base)
}
