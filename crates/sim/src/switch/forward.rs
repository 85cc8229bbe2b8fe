//! The path of a packet through a switch: arrival, admission, queue, transmission.

use etherweave_primitives::{Time, mix};

use crate::engine::Shard;
use crate::engine::Wires;
use crate::engine::event::Kind;
use crate::indices::{PortIndex, SwitchIndex};
use crate::packet::{Handle, Packet, flags};
use crate::params::{EcnMarking, MarkAt};
use crate::switch::Switches;
use crate::switch::buffer::Admission;

impl Switches {
    /// A packet has come in by `ingress` and will leave by `egress` with `priority`.
    #[inline(always)]
    pub(crate) fn arrive_at_switch(
        &mut self,
        wires: &mut Wires,
        ingress: PortIndex,
        egress: PortIndex,
        priority: u8,
        handle: Handle,
    ) {
        if wires.must_wait_for_tail(ingress, egress) {
            return wires.wait_for_tail(ingress, handle);
        }
        self.forward(wires, ingress, egress, priority, handle);
    }

    /// As much of a packet is in as must be before it leaves by `egress`.
    #[inline(always)]
    fn forward(&mut self, wires: &mut Wires, ingress: PortIndex, egress: PortIndex, priority: u8, handle: Handle) {
        let class = wires.constants.scheduler.class(priority);
        let packet = &mut wires.packets[handle];
        packet.route += 1;
        packet.ingress = ingress;
        let port = &wires.ports[egress];
        let is_idle = port.busy_until <= wires.now && port.waiting == 0 && !port.free_scheduled;
        if is_idle && port.paused_classes & 1 << class == 0 {
            self.change_priority(wires, handle);
            wires.start(egress, handle, false);
        } else if self.admit(wires, ingress, egress, class, handle) {
            wires.ports[egress].enqueue(class, &mut wires.packets, handle);
            self.kick(wires, egress);
        }
    }

    /// All of a packet is in that had to wait for its tail: it is forwarded as it was decided when its head came.
    #[cold]
    #[inline(never)]
    pub(crate) fn stored(&mut self, wires: &mut Wires, ingress: PortIndex, handle: Handle) {
        let packet = &wires.packets[handle];
        if packet.is_damaged {
            return wires.discard_damaged(ingress, handle);
        }
        if wires.constants.packet_routing.is_some() {
            return self.forward_decided(wires, ingress, handle);
        }
        let (egress, priority) = (wires.constants.routes[packet.route as usize], packet.priority);
        self.forward(wires, ingress, egress, priority, handle);
    }

    /// Forwards a packet by the port for which its routing has decided.
    pub(super) fn forward_decided(&mut self, wires: &mut Wires, ingress: PortIndex, handle: Handle) {
        let route = *wires.packets.route(handle);
        self.forward(wires, ingress, route.egress, route.next_priority(), handle);
        self.report_load(wires, &route);
    }

    /// Takes a packet into the shared buffer, or drops it; pauses the sender when it must. Whether it must be queued.
    fn admit(
        &mut self,
        wires: &mut Wires,
        ingress: PortIndex,
        egress: PortIndex,
        class: usize,
        handle: Handle,
    ) -> bool {
        let packet = &wires.packets[handle];
        let (priority, bytes) = (packet.priority, packet.stored());
        let group_index = wires.constants.group_of_priority[usize::from(priority)];
        let is_lossless = wires.constants.pause_mask_of_group[group_index] != 0;
        let switch = wires.switch_of_port(egress);
        let queued = wires.ports[egress].queue(class).bytes;
        let buffer = &mut self.switches[switch].buffer;
        if !is_lossless {
            if wires.credits.are_used() {
                return self.admit_by_credits(wires, ingress, egress, class, handle);
            }
            if !buffer.queue_has_room(queued, bytes) {
                return self.compete(wires, ingress, egress, class, handle);
            }
        }
        match buffer.admit(&mut self.groups[wires.constants.group(ingress, priority)], bytes) {
            Admission::Stored => {}
            Admission::StoredPause => self.pause_group(wires, ingress, group_index),
            Admission::Dropped if is_lossless => return wires.drop_packet(egress, handle),
            Admission::Dropped => return self.compete(wires, ingress, egress, class, handle),
        }
        wires.mark(MarkAt::Enqueue, egress, class, handle);
        true
    }

    #[cold]
    #[inline(never)]
    fn pause_group(&mut self, wires: &mut Wires, ingress: PortIndex, group_index: usize) {
        let first = wires.constants.groups(ingress).start;
        let partners = wires.constants.coupled_groups(group_index);
        let mut mask = 0;
        for partner in partners {
            let group = &mut self.groups[first + partner];
            if !group.is_paused {
                group.is_paused = true;
                mask |= wires.constants.pause_mask_of_group[partner];
            }
        }
        wires.pause_peer(ingress, mask);
    }

    /// Frees the buffer of a packet that leaves by `egress`, and resumes the sender when the group allows it.
    #[inline]
    pub(super) fn release(&mut self, wires: &mut Wires, egress: PortIndex, held: &Packet) {
        let Packet { ingress, priority, .. } = *held;
        let switch = wires.switch_of_port(egress);
        let group = &mut self.groups[wires.constants.group(ingress, priority)];
        if self.switches[switch].buffer.release(group, held.stored()) {
            self.resume_group(wires, switch, ingress, wires.constants.group_of_priority[usize::from(priority)]);
        }
    }

    #[cold]
    #[inline(never)]
    fn resume_group(&mut self, wires: &mut Wires, switch: SwitchIndex, ingress: PortIndex, group_index: usize) {
        let first = wires.constants.groups(ingress).start;
        let partners = wires.constants.coupled_groups(group_index);
        let all_may =
            partners.clone().all(|partner| self.switches[switch].buffer.may_resume(&self.groups[first + partner]));
        if !all_may {
            return;
        }
        let mut mask = 0;
        for partner in partners {
            self.groups[first + partner].is_paused = false;
            mask |= wires.constants.pause_mask_of_group[partner];
        }
        wires.resume_peer(ingress, mask);
    }

    /// Sends the next packet of a switch port, if one is eligible.
    #[inline(always)]
    pub(crate) fn transmit_from_switch(&mut self, wires: &mut Wires, egress: PortIndex) {
        let port = &mut wires.ports[egress];
        let eligible = port.waiting & !port.paused_classes;
        if eligible == 0 {
            return self.transmit_with_credits(wires, egress);
        }
        let (handle, others_wait) = wires.take_next(egress, eligible);
        let held = wires.packets[handle];
        self.change_priority(wires, handle);
        wires.start(egress, handle, others_wait);
        // Only then: a packet may leave by the port that it came in by, which an XON must not take from it.
        self.release(wires, egress, &held);
    }
}

impl Wires {
    /// A cut-through packet bound for a faster output would underrun: it must be stored first.
    #[inline(always)]
    pub(super) fn must_wait_for_tail(&self, ingress: PortIndex, egress: PortIndex) -> bool {
        self.constants.may_underrun && self.ports[egress].is_faster_than(&self.ports[ingress])
    }

    #[cold]
    #[inline(never)]
    pub(super) fn wait_for_tail(&mut self, ingress: PortIndex, handle: Handle) {
        let time = self.tail_time(ingress, handle);
        self.expect_packet(time, self.key(ingress, Kind::Stored, 0), handle);
    }

    /// When the tail of a packet is in whose head has come in by `ingress` now.
    pub(crate) fn tail_time(&self, ingress: PortIndex, handle: Handle) -> Time {
        let behind_head = match self.constants.is_cut_through {
            true => self.packets[handle].wire.saturating_sub(self.constants.header_bytes),
            false => 0,
        };
        self.now + self.ports[ingress].serialization_time(behind_head)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn drop_packet(&mut self, egress: PortIndex, handle: Handle) -> bool {
        let packet = self.packets.remove(handle);
        self.packets.remove_side(packet.side);
        let counters = self.ports[egress].counters_mut(usize::from(packet.priority));
        counters.drops += 1;
        counters.drop_bytes += u64::from(packet.wire);
        self.totals.dropped += 1;
        false
    }

    /// ECN: marks by the queue that the packet joins, or by what it leaves behind.
    #[inline(always)]
    pub(super) fn mark(&mut self, at: MarkAt, egress: PortIndex, class: usize, handle: Handle) {
        let Some(ecn) = self.constants.ecn.filter(|ecn| ecn.mark_at == at) else { return };
        let queued = self.ports[egress].queue(class).bytes;
        let packet = &mut self.packets[handle];
        if packet.has(flags::ECN_CAPABLE)
            && is_marked(&ecn, queued, mix(self.constants.params.seed) ^ packet.offset ^ self.now.as_ps())
        {
            packet.flags |= flags::CONGESTION;
            let priority = usize::from(packet.priority);
            self.ports[egress].counters_mut(priority).marks += 1;
        }
    }

    /// Takes the packet of a switch port whose turn it is among eligible classes, and says whether others wait.
    #[inline(always)]
    pub(super) fn take_next(&mut self, egress: PortIndex, eligible: u8) -> (Handle, bool) {
        let port = &mut self.ports[egress];
        let class = self.constants.scheduler.pick(port, eligible);
        let handle = port.dequeue(class, &self.packets);
        self.mark(MarkAt::Dequeue, egress, class, handle);
        let port = &mut self.ports[egress];
        let still_waits = port.waiting & 1 << class != 0;
        self.constants.scheduler.charge(port, class, self.packets[handle].wire, still_waits);
        (handle, port.waiting != 0)
    }
}

impl Shard {
    /// Priorities that this port holds paused at its peer.
    pub(crate) fn held_pauses(&self, port: PortIndex) -> u8 {
        if let Some(host) = self.wires.host_of_port(port) {
            return if self.hosts.nics.hosts[host].nic.is_pausing { self.wires.constants.nic_pause_mask } else { 0 };
        }
        let first = self.wires.constants.groups(port).start;
        (0..self.wires.constants.group_count)
            .filter(|&group| self.switches.groups[first + group].is_paused)
            .fold(0, |mask, group| mask | self.wires.constants.pause_mask_of_group[group])
    }
}

/// The marking decision: deterministic below and above the ramp, by a hash of the packet and the seed on it.
fn is_marked(ecn: &EcnMarking, queued: u32, identity: u64) -> bool {
    let (low, high) = (ecn.queue_min.get(), ecn.queue_max.get());
    let queued = u64::from(queued);
    if queued >= high {
        return true;
    }
    if queued <= low {
        return false;
    }
    let share = ecn.share_max * (queued - low) as f64 / (high - low) as f64;
    (mix(identity) >> 11) as f64 / (1u64 << 53) as f64 <= share
}
