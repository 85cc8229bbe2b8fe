//! Packets that switches route one by one: what their host gives them.

use etherweave_engine::{Wires, packet::Handle, packet::PacketRoute};
use etherweave_kernel::{LocalIndex, indices::EndpointIndex, indices::PortIndex};
use etherweave_primitives::{Time, mix};
use etherweave_routing::{HashScope, RoutedPacket};

use super::Nics;

/// The last packet of a connection end, and how many flowlets there were.
#[derive(Clone, Copy, Default)]
pub struct Flowlet {
    last: Time,
    count: u32,
}

impl Nics {
    /// Gives a packet that `endpoint` sends what its routing needs.
    pub fn start_route(&mut self, wires: &mut Wires, endpoint: EndpointIndex, handle: Handle) {
        let Some(routing) = wires.constants.packet_routing.as_deref() else { return };
        let end = &self.endpoints[endpoint];
        let packet = &wires.packets[handle];
        let ((src, dst), base, number) = match self.ports.are_several() {
            false => (end.hosts, packet.priority, end.number),
            true => (self.ports.ends_of(packet), packet.priority, end.number),
        };
        let seed = wires.constants.params.seed;
        let hash = match routing.hash_scope() {
            HashScope::PerPacket => mix(seed ^ u64::from(number) << 32 ^ mix(wires.now.as_ps())),
            HashScope::PerFlow => mix(seed ^ !u64::from(number) ^ u64::from(end.entropy(packet)) << 32),
            HashScope::PerFlowlet { gap_ns } => {
                mix(seed ^ !u64::from(number) ^ u64::from(self.flowlet(wires, endpoint, gap_ns)) << 32)
            }
        };
        let mut routed = RoutedPacket { src, dst, hash: hash as u16, ..RoutedPacket::default() };
        routing.start(&mut routed);
        wires.packets.set_route(handle, PacketRoute { routed, base, egress: PortIndex::NONE, channel: 0 });
    }

    /// The number of the flowlet of a packet that is sent now.
    fn flowlet(&mut self, wires: &Wires, endpoint: EndpointIndex, gap_ns: u32) -> u32 {
        if self.flowlets.next_index() < self.endpoints.next_index() {
            self.flowlets.resize(self.endpoints.next_index().place(), Flowlet::default());
        }
        let flowlet = &mut self.flowlets[endpoint];
        flowlet.count += u32::from(wires.now.since(flowlet.last).as_ps() > u64::from(gap_ns) * 1_000);
        flowlet.last = wires.now;
        flowlet.count
    }
}
