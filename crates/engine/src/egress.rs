//! Treatment of a packet at a port of a switch: it waits for its tail, is marked, dropped, or sent on.

use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{Duration, Time, mix};

use super::event::Kind;
use super::wires::Wires;
use crate::packet::{Handle, Packet, flags};
use crate::params::{EcnMarking, MarkAt};

impl Wires {
    /// A cut-through packet bound for a faster output would underrun: it must be stored first.
    #[inline(always)]
    pub fn must_wait_for_tail(&self, ingress: PortIndex, egress: PortIndex) -> bool {
        self.constants.may_underrun && self.ports[egress].is_faster_than(&self.ports[ingress])
    }

    /// Keeps a packet until its tail is in.
    #[cold]
    #[inline(never)]
    pub fn wait_for_tail(&mut self, ingress: PortIndex, handle: Handle) {
        let time = self.tail_time(ingress, handle);
        self.expect_packet(time, self.key(ingress, Kind::Stored, 0), handle);
    }

    /// Keeps a packet of an aggregation tree until its tail is in and, `latency` later, added up.
    pub fn wait_for_sum(&mut self, ingress: PortIndex, handle: Handle, latency: Duration) {
        let time = self.tail_time(ingress, handle) + latency;
        self.expect_packet(time, self.key(ingress, Kind::Stored, 1), handle);
    }

    /// When the tail of a packet is in whose head has come in by `ingress` now.
    #[inline]
    pub fn tail_time(&self, ingress: PortIndex, handle: Handle) -> Time {
        self.tail_time_of(ingress, self.packets[handle].wire)
    }

    /// When the tail of a packet of `wire` bytes is in whose head has come in by `ingress` now.
    #[inline]
    pub fn tail_time_of(&self, ingress: PortIndex, wire: u32) -> Time {
        let behind_head = match self.constants.is_cut_through {
            true => wire.saturating_sub(self.constants.header_bytes + self.outer_header(ingress)),
            false => 0,
        };
        self.now + self.ports[ingress].serialization_time(behind_head)
    }

    /// Bytes of the outer header of frames on the link of a port of a switch [B].
    #[inline]
    pub fn outer_header(&self, port: PortIndex) -> u32 {
        if self.ports[port].peer.is_host { 0 } else { self.constants.outer_header }
    }

    /// Bytes that a packet has on the link behind `port`, as switches add and remove outer headers, and payloads of
    /// sums [B on the wire].
    #[inline]
    pub fn next_wire(&self, port: PortIndex, handle: Handle) -> u32 {
        let packet = &self.packets[handle];
        let (ingress, trees) = (packet.ingress, self.constants.trees.as_ref());
        let wire = trees.map_or(packet.wire, |trees| trees.next_wire(packet));
        if self.constants.outer_header == 0 || self.host_of_port(port).is_some() {
            return wire;
        }
        wire - self.outer_header(ingress) + self.outer_header(port)
    }

    /// Drops a packet for which a buffer has no room, and counts it. Always false: it was not taken.
    #[cold]
    #[inline(never)]
    pub fn drop_packet(&mut self, egress: PortIndex, handle: Handle) -> bool {
        let packet = self.packets.remove(handle);
        self.trace_loss(egress, &packet);
        self.packets.remove_side(packet.side);
        let counters = self.ports[egress].counters_mut(usize::from(packet.priority));
        counters.drops += 1;
        counters.drop_bytes += u64::from(packet.wire);
        self.totals.dropped += 1;
        false
    }

    /// Takes a copy of a flooded frame away, where its address is not.
    pub fn discard_copy(&mut self, handle: Handle) {
        let packet = self.packets.remove(handle);
        self.packets.remove_side(packet.side);
        self.totals.delivered += 1;
    }

    /// Bytes at a port as thresholds count them, which may be those of ports of another rate.
    #[inline(always)]
    pub fn proportionate(&self, egress: PortIndex, bytes: u32) -> u32 {
        let rate = self.constants.threshold_rate;
        rate.map_or(bytes, |rate| rate.bytes_in(self.ports[egress].serialization_time(bytes)).get() as u32)
    }

    /// ECN: marks by the queue that the packet joins, or by what it leaves behind.
    #[inline(always)]
    pub fn mark(&mut self, at: MarkAt, egress: PortIndex, class: usize, handle: Handle) {
        let Some(ecn) = self.constants.ecn.as_ref().filter(|ecn| ecn.mark_at == at) else { return };
        let port = &self.ports[egress];
        let queued = u64::from(self.proportionate(egress, port.queue(class).bytes));
        let is_short = queued <= ecn.queue_min.get() && queued < ecn.queue_max.get();
        if is_short || (!ecn.last_hop && port.peer.is_host) || !self.packets[handle].has(flags::ECN_CAPABLE) {
            return;
        }
        self.mark_by_queue(egress, queued, handle);
    }

    #[inline(never)]
    fn mark_by_queue(&mut self, egress: PortIndex, queued: u64, handle: Handle) {
        let (Some(ecn), packet) = (&self.constants.ecn, &mut self.packets[handle]) else { return };
        let (low, high) = (ecn.queue_min.get(), ecn.queue_max.get());
        let is_on_ramp = low < queued && queued < high;
        self.marking_draws += u64::from(is_on_ramp);
        let identity = || mix(self.constants.params.seed) ^ packet.offset ^ self.now.as_ps();
        if queued >= high || is_on_ramp && is_drawn(ecn, queued, identity()) {
            packet.flags |= flags::CONGESTION;
            let priority = usize::from(packet.priority);
            self.ports[egress].counters_mut(priority).marks += 1;
        }
    }

    /// Takes the packet of a switch port whose turn it is among eligible classes, and says whether others wait.
    #[inline(always)]
    pub fn take_next(&mut self, egress: PortIndex, eligible: u8) -> (Handle, bool) {
        let port = &mut self.ports[egress];
        let class = self.constants.scheduler.pick(port, eligible);
        let queue = port.queue_mut(class);
        let (handle, wire) = queue.dequeue(&self.packets);
        let still_waits = !queue.is_empty();
        self.constants.scheduler.charge(queue, class, wire, still_waits);
        port.waiting &= !(u8::from(!still_waits) << class);
        let others_wait = port.waiting != 0;
        self.mark(MarkAt::Dequeue, egress, class, handle);
        (handle, others_wait)
    }

    /// Whether no flow control protects a packet.
    pub fn is_lossy(&self, packet: &Packet) -> bool {
        let group = self.constants.group_of_priority[usize::from(packet.priority)];
        self.constants.pause_mask_of_group[group] == 0 && !self.credits.cover(packet.priority)
    }
}

/// The marking decision between both thresholds, by a hash of the packet and the seed.
fn is_drawn(ecn: &EcnMarking, queued: u64, identity: u64) -> bool {
    let (low, high) = (ecn.queue_min.get(), ecn.queue_max.get());
    let share = ecn.share_max * (queued - low) as f64 / (high - low) as f64;
    (mix(identity) >> 11) as f64 / (1u64 << 53) as f64 <= share
}
