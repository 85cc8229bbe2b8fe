//! The NIC: the choice of the next sender, and pauses while the receive buffer is full.

use etherweave_engine::{Wires, event::Event, event::EventKey, event::Kind, packet::Handle};
use etherweave_kernel::indices::{EndpointIndex, HostIndex, PortIndex};
use etherweave_primitives::Duration;

use super::Endpoint;
use crate::Nics;

impl Nics {
    /// An endpoint has something to send.
    #[inline]
    pub fn activate(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let end = &mut self.endpoints[endpoint];
        if end.is_in_ring {
            return;
        }
        end.is_in_ring = true;
        if self.ports.are_several() {
            self.ports.choose(wires.now, endpoint, end);
        }
        let (host, class) = (end.host, wires.constants.scheduler.class(end.priority));
        self.join_ring(host, class, endpoint);
        self.kick(wires, self.hosts[host].port);
    }

    /// Puts an endpoint behind the last of its class.
    pub(super) fn join_ring(&mut self, host: HostIndex, class: usize, endpoint: EndpointIndex) {
        let host = &mut self.hosts[host];
        let (first, last) = &mut host.ring[class];
        let before = std::mem::replace(last, endpoint);
        if host.ready & 1 << class == 0 {
            *first = endpoint;
            host.ready |= 1 << class;
        } else {
            self.endpoints[before].behind = endpoint;
        }
    }

    /// Moves the first of a ring to its end, or removes it when it has nothing more to send.
    pub(super) fn pass_turn(&mut self, host: HostIndex, class: usize, first: EndpointIndex) {
        let Endpoint { behind, is_in_ring, .. } = self.endpoints[first];
        let ring = &mut self.hosts[host].ring[class];
        if first != ring.1 {
            ring.0 = behind;
            if is_in_ring {
                let before = std::mem::replace(&mut ring.1, first);
                self.endpoints[before].behind = first;
            }
        } else if !is_in_ring {
            self.hosts[host].ready &= !(1 << class);
        }
    }

    /// Sends the host's next packet, if one is eligible: control packets first, then endpoints in turn.
    #[inline(never)]
    pub fn transmit_from_host(&mut self, wires: &mut Wires, host_index: HostIndex) {
        let port_index = self.hosts[host_index].port;
        loop {
            let ready = self.hosts[host_index].ready;
            let port = &mut wires.ports[port_index];
            let mut eligible = (port.waiting | ready) & !port.paused_classes;
            if eligible == 0 {
                eligible = self.host_classes_with_credits(wires, host_index);
            }
            if eligible == 0 {
                return;
            }
            let class = wires.constants.scheduler.pick(&mut wires.ports[port_index], eligible);
            let Some(handle) = self.next_of_class(wires, host_index, class) else { continue };
            if !wires.credits.are_used() || self.take_credits(wires, host_index, class, handle) {
                return self.send_from_host(wires, host_index, class, handle);
            }
        }
    }

    fn send_from_host(&mut self, wires: &mut Wires, host_index: HostIndex, class: usize, handle: Handle) {
        let port_index = self.hosts[host_index].port;
        let ready = self.hosts[host_index].ready;
        let port = &mut wires.ports[port_index];
        let (waiting, queue) = (port.waiting | ready, port.queue_mut(class));
        wires.constants.scheduler.charge(queue, class, wires.packets[handle].wire, waiting & 1 << class != 0);
        if let Some(interface) = &self.times.interface {
            interface.send(wires.now, &mut self.hosts[host_index].nic.buffer, &wires.packets[handle]);
        }
        // A packet that is still at its host has been in by no port.
        let others = (waiting != 0).then(|| self.hosts[host_index].next_sender());
        wires.start_towards(port_index, handle, others, |_, packet| packet.ingress);
    }

    /// The next packet of a class that has any: control packets first, then the endpoint whose turn it is.
    fn next_of_class(&mut self, wires: &mut Wires, host_index: HostIndex, class: usize) -> Option<Handle> {
        let port = &mut wires.ports[self.hosts[host_index].port];
        if port.waiting & 1 << class != 0 {
            return Some(port.dequeue(class, &wires.packets));
        }
        let endpoint = self.hosts[host_index].ring[class].0;
        let packet = self.next_packet(wires, endpoint);
        if self.ports.are_several() {
            self.pass_turn_among_ports(wires, host_index, class, endpoint);
        } else {
            self.pass_turn(host_index, class, endpoint);
        }
        packet
    }

    /// The next packet of an endpoint in the ring; takes it off the ring when it has no more.
    fn next_packet(&mut self, wires: &mut Wires, endpoint: EndpointIndex) -> Option<Handle> {
        let now = wires.now;
        let (packet, has_more) = self.cut_packet(endpoint, now, &wires.constants);
        self.endpoints[endpoint].is_in_ring = has_more;
        self.after_sending(wires, endpoint);
        let packet = packet?;
        wires.totals.created += 1;
        let handle = wires.packets.insert(packet);
        self.start_route(wires, endpoint, handle);
        Some(handle)
    }

    /// The receive buffer is above XOFF: pauses the switch, if flow control is on.
    pub fn nic_pause(&mut self, wires: &mut Wires, host_index: HostIndex) {
        let mask = wires.constants.nic_pause_mask;
        let host = &mut self.hosts[host_index];
        if mask == 0 || host.nic.is_pausing {
            return;
        }
        host.nic.is_pausing = true;
        let (port, mask) = (host.port, mask & !host.nic.storming);
        if mask != 0 {
            wires.pause_peer(port, mask);
        }
        self.expect_nic_resume(wires, host_index);
    }

    /// The buffer drains at a known rate, so the moment of XON is known.
    fn expect_nic_resume(&mut self, wires: &mut Wires, host_index: HostIndex) {
        let host = &self.hosts[host_index];
        let port = host.port;
        if let Some(delay) = self.time_to_xon(wires, host_index) {
            wires.schedule(delay, port, Kind::NicResume, 0);
        }
    }

    /// How long the buffer still needs until XON; `None` when it is there.
    fn time_to_xon(&self, wires: &Wires, host_index: HostIndex) -> Option<Duration> {
        let left = self.times.xon;
        let buffer = &self.hosts[host_index].nic.buffer;
        (buffer.backlog(wires.now) > left).then(|| buffer.wait(wires.now) - left)
    }

    /// The buffer may have fallen to XON.
    pub fn nic_resume(&mut self, wires: &mut Wires, port: PortIndex) {
        let host_index = wires.host_of_port(port).expect("only hosts have NICs");
        let nic = &self.hosts[host_index].nic;
        if !nic.is_pausing {
            return;
        }
        if self.time_to_xon(wires, host_index).is_some() {
            return self.expect_nic_resume(wires, host_index);
        }
        let nic = &mut self.hosts[host_index].nic;
        nic.is_pausing = false;
        let mask = wires.constants.nic_pause_mask & !nic.storming;
        if mask != 0 {
            wires.resume_peer(port, mask);
        }
    }

    /// A host sends an 802.3x frame to its switch, which ignores it beside PFC, and so many in all.
    pub fn send_ignored_pauses(&mut self, wires: &mut Wires, port: PortIndex, count: u32) {
        let next = wires.now + wires.send_ignored_pause(port);
        if count > 1 {
            wires.queue.push(Event::new(next, EventKey::new(port, Kind::PauseStorm, 0), count - 1));
        }
    }

    /// A host begins to pause priorities at its switch without end, or ceases to.
    pub fn pause_storm(&mut self, wires: &mut Wires, port: PortIndex, mask: u8, begins: bool) {
        let host_index = wires.host_of_port(port).expect("only hosts have NICs");
        let nic_mask = wires.constants.nic_pause_mask;
        let host = &mut self.hosts[host_index];
        let before = host.held_pauses(nic_mask);
        host.nic.storming = if begins { host.nic.storming | mask } else { host.nic.storming & !mask };
        let changed = before ^ host.held_pauses(nic_mask);
        match (changed, begins) {
            (0, _) => {}
            (_, true) => wires.pause_peer(port, changed),
            (_, false) => wires.resume_peer(port, changed),
        }
    }
}
