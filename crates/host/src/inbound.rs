//! The way of a packet into a host, from its arrival to its connection.
//!
//! ```text
//!   arrive_at_host ─► take_packet ─┬─ kernel bypass: take_by_nic ─► drain ─► hand_over ─► receive
//!                                  └─ kernel: take_by_kernel ─► softirq ─► take_frame
//! ```
//!
//! The kernel's part is in `softirq.rs`; what a connection does with a packet in `protocol`.

use etherweave_engine::packet::{Handle, Packet, PacketKind, flags};
use etherweave_engine::{Wires, event::EventKey, event::Kind, losses::ResentData};
use etherweave_kernel::indices::HostIndex;

use super::{bus::HostInterface, rank_records::ArrivalRecord};
use crate::{Hosts, Nics};

impl Hosts {
    /// A packet is in the NIC's receive buffer.
    #[inline]
    pub fn arrive_at_host(&mut self, wires: &mut Wires, host: HostIndex, handle: Handle) {
        if wires.packets[handle].flags & (flags::DAMAGED | flags::FLOODED) != 0 {
            return wires.reject(self.nics.hosts[host].port, handle);
        }
        debug_assert!(self.nics.is_destination(wires, host, handle), "a packet arrives at the host that it is for");
        if !wires.captures.is_empty() {
            wires.capture_packet(self.nics.hosts[host].port, handle, false);
        }
        self.take_packet(wires, host, handle);
    }

    /// A whole packet is at the NIC: kernel bypass, or the kernel's interrupt side.
    #[inline]
    pub(super) fn take_packet(&mut self, wires: &mut Wires, host: HostIndex, handle: Handle) {
        let packet = &wires.packets[handle];
        let endpoint = packet.endpoint;
        let end = &mut self.nics.endpoints[endpoint];
        if packet.has(flags::RETRANSMISSION) {
            end.resent_last = wires.now;
            if wires.constants.notes_losses {
                wires.resent.push(ResentData::of(packet, wires.now));
            }
        }
        self.take_for(wires, endpoint, host, handle);
    }

    /// Notes which messages a packet for the kernel completes, or may complete because it was sent again.
    #[cold]
    #[inline(never)]
    pub(super) fn observe_arrival(&mut self, wires: &Wires, packet: &Packet) {
        let (from, until) = (packet.offset, packet.offset + u64::from(packet.payload));
        let (endpoint, is_resent) = (packet.endpoint, packet.has(flags::RETRANSMISSION));
        let receiver = &self.nics.endpoints[endpoint];
        let ends = (0..).map_while(|place| receiver.incoming.get(place)).map(|message| message.end);
        for end in ends.take_while(|&end| end <= until || is_resent) {
            if end > from && self.processors.threads[receiver.thread].is_of_rank() {
                self.processors.records.arrived.push(ArrivalRecord { at: wires.now, end, endpoint });
            }
        }
    }

    /// Kernel bypass: the NIC works on the packet by itself, when its buffer has room.
    #[inline]
    pub(super) fn take_by_nic(&mut self, wires: &mut Wires, host: HostIndex, handle: Handle) {
        if !self.nics.drain(wires, host, handle) {
            return self.nics.drop_at_nic(wires, host, handle);
        }
        if self.nics.times.interface.as_ref().is_some_and(HostInterface::holds_packets) {
            return self.nics.expect_written(wires, host, handle);
        }
        self.hand_over(wires, handle);
    }

    /// A packet is where the NIC works on it.
    #[inline]
    pub fn hand_over(&mut self, wires: &mut Wires, handle: Handle) {
        let packet = wires.packets.remove(handle);
        wires.totals.delivered += 1;
        self.receive(wires, packet.endpoint, &packet);
    }
}

impl Nics {
    /// Whether a packet is for a host.
    fn is_destination(&self, wires: &Wires, host: HostIndex, handle: Handle) -> bool {
        let endpoint = wires.packets[handle].endpoint;
        self.endpoints.get(endpoint).is_some_and(|end| self.hosts[end.host].id == self.hosts[host].id)
    }

    /// The NIC writes the packet to memory by itself. False when the buffer is full.
    #[inline]
    pub(super) fn drain(&mut self, wires: &mut Wires, host_index: HostIndex, handle: Handle) -> bool {
        let Packet { kind, endpoint, wire, priority, flags: bits, .. } = wires.packets[handle];
        let has_room = wires.credits.cover(priority);
        let times = &self.times;
        let nic = &mut self.hosts[host_index].nic;
        let is_of_nic = kind == PacketKind::Data && bits & flags::KERNEL == 0;
        let is_switch = is_of_nic && endpoint != nic.last_endpoint;
        let (start, moved) = match &times.interface {
            None => (wires.now, times.byte.of(wire)),
            Some(interface) => interface.receive(wires.now, &mut nic.buffer, &wires.packets[handle]),
        };
        let mut service = moved;
        if is_switch {
            service += times.context_switch;
            if self.contexts.misses(host_index, self.endpoints[endpoint].number) {
                service += times.context_miss;
            }
        }
        let drained_at = nic.buffer.after(start, service);
        let backlog = drained_at.since(start);
        if backlog > times.buffer && !has_room {
            return false;
        }
        if is_of_nic {
            nic.last_endpoint = endpoint;
        }
        nic.buffer.fill(drained_at);
        nic.backlog_max = nic.backlog_max.max(backlog);
        if backlog > times.xoff {
            self.nic_pause(wires, host_index);
        }
        if has_room {
            self.hold_until(wires, drained_at, host_index, handle);
        }
        true
    }

    /// A packet is being written to memory. One without payload is written at the same time as the one before it: they
    /// keep their order.
    fn expect_written(&mut self, wires: &mut Wires, host: HostIndex, handle: Handle) {
        let host = &mut self.hosts[host];
        let number = host.nic.writes;
        host.nic.writes = (number + 1) % EventKey::INDICES;
        let (port, written_at) = (host.port, wires.now + host.nic.buffer.wait(wires.now));
        wires.expect_packet(written_at, wires.key(port, Kind::Written, number), handle);
    }

    /// Drops a packet for which a NIC has no room, and counts it.
    pub fn drop_at_nic(&mut self, wires: &mut Wires, host: HostIndex, handle: Handle) {
        let packet = wires.packets.remove(handle);
        wires.packets.remove_side(packet.side);
        let port = self.hosts[host].port;
        wires.trace_loss(wires.ports[port].peer.port, &packet);
        wires.free_credits_of_lost(port, &packet);
        let counters = wires.ports[port].counters_mut(usize::from(packet.priority));
        counters.drops += 1;
        counters.drop_bytes += u64::from(packet.wire);
        wires.totals.dropped += 1;
    }
}
