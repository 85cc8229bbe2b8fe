//! Hosts as sources: when they have packets, and for which destinations.

use etherweave_primitives::{HostId, Time, mix};

use crate::host::{FLOWLETS, Flowlet, Host};
use crate::{
    constants::RunConstants, packet::NONE, packet::Packet, switches::Switches, wires::HOST, wires::KIND_SHIFT,
};
use etherweave_routing::{HashScope, PacketRouting, RoutedPacket};

/// Length of a tick [ps].
const TICK_PS: u64 = 1_000;

pub(crate) struct Sources {
    pub first_host: u32,
    pub hosts: Vec<Host>,
    /// Flowlets by host; empty where the routing does not ask.
    pub flowlets: Vec<Flowlet>,
}

impl Sources {
    /// The first packet of every host.
    pub fn start<R: PacketRouting>(&mut self, switches: &mut Switches, constants: &RunConstants<'_, R>) {
        self.flowlets = Flowlet::tables(self.hosts.len(), constants.routing.hash_scope());
        for index in 0..self.hosts.len() as u32 {
            let host = &mut self.hosts[index as usize];
            let link = switches.ports[host.port as usize].link;
            let first = constants.arrivals(link).next(&mut host.arrivals).as_ps();
            host.next = u64::from(constants.link(link).injection) * TICK_PS + first;
            self.await_host(switches, index);
        }
    }

    fn await_host(&self, switches: &mut Switches, index: u32) {
        let wires = &mut switches.wires;
        let next = self.hosts[index as usize].next.div_ceil(TICK_PS);
        if next < u64::from(wires.span.end) {
            wires.wheel.put((next as u32).min(wires.now + wires.wheel.horizon()), HOST << KIND_SHIFT | index);
        }
    }

    /// A host's packets of this tick come to the queue at its switch.
    pub fn host<R: PacketRouting>(&mut self, switches: &mut Switches, constants: &RunConstants<'_, R>, index: u32) {
        while self.hosts[index as usize].next <= u64::from(switches.wires.now) * TICK_PS {
            self.offer(switches, constants, index);
        }
        self.await_host(switches, index);
    }

    /// Makes a packet if the queue has room, and draws when the next one comes.
    fn offer<R: PacketRouting>(&mut self, switches: &mut Switches, constants: &RunConstants<'_, R>, index: u32) {
        let host = &mut self.hosts[index as usize];
        let link = switches.ports[host.port as usize].link;
        host.next += constants.arrivals(link).next(&mut host.arrivals).as_ps();
        let src = HostId::new(self.first_host + index);
        let now = Time::from_ps(u64::from(switches.wires.now) * TICK_PS);
        let Some(dst) = constants.destinations.destination(src, now, &mut host.destinations) else { return };
        let is_measured = switches.wires.span.contains(&switches.wires.now);
        host.wanted += u32::from(is_measured);
        switches.wires.offer();
        let port = host.port as usize;
        if u32::from(switches.ports[port].held) < constants.params.injection_queue {
            host.made += u32::from(is_measured);
            let id = self.make(switches, constants, src, dst, port);
            switches.arrive(constants, id);
        } else {
            switches.wires.tally.source_blocked += 1;
        }
    }

    fn make<R: PacketRouting>(
        &mut self,
        switches: &mut Switches,
        constants: &RunConstants<'_, R>,
        src: HostId,
        dst: HostId,
        port: usize,
    ) -> u32 {
        let (src, dst) = (src.get(), dst.get());
        let born = switches.wires.now - constants.link(switches.ports[port].link).injection;
        let hash = self.hash(constants, src, dst, born);
        let queues = u64::from(constants.params.injection_channels);
        let queue = (u64::from(dst) * queues / u64::from(constants.hosts)) as u32;
        let place = ((port as u32) << switches.shift) + queue;
        let mut packet = Packet {
            born,
            entered: 0,
            next: NONE,
            place,
            route: RoutedPacket { dst, src, hash, ..RoutedPacket::default() },
        };
        constants.routing.start(&mut packet.route);
        switches.wires.tally.made += 1;
        switches.wires.slab.insert(packet)
    }

    /// Random bits for a packet: its own, those of its flow, or those of its flowlet.
    fn hash<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, src: u32, dst: u32, born: u32) -> u16 {
        let pair = |with: u32| u64::from(src) << 32 | u64::from(with);
        match constants.routing.hash_scope() {
            HashScope::PerPacket => mix(constants.seed ^ pair(born)) as u16,
            HashScope::PerFlow => mix(constants.seed ^ !pair(dst)) as u16,
            HashScope::PerFlowlet { gap_ns } => {
                let flowlets = &mut self.flowlets[((src - self.first_host) as usize * FLOWLETS)..][..FLOWLETS];
                let flowlet = &mut flowlets[mix(u64::from(dst)) as usize % FLOWLETS];
                if flowlet.dst != dst || born - flowlet.last > gap_ns {
                    flowlet.count += 1;
                }
                (flowlet.dst, flowlet.last) = (dst, born);
                mix(constants.seed ^ !pair(dst) ^ u64::from(flowlet.count) << 32) as u16
            }
        }
    }
}
