//! The path of a packet through a switch: arrival, admission, queue, transmission.

use etherweave_engine::Wires;
use etherweave_engine::packet::{Handle, Packet, flags};
use etherweave_engine::params::MarkAt;
use etherweave_kernel::indices::{PortIndex, SwitchIndex};

use crate::Switches;
use crate::buffer::Admission;

/// Part of a switch's buffer that a packet holds.
#[derive(Clone, Copy)]
pub(super) struct Held {
    ingress: PortIndex,
    priority: u8,
    /// Bytes, as buffers count.
    stored: u32,
}

impl Held {
    #[inline]
    pub(super) fn of(packet: &Packet) -> Held {
        Held { ingress: packet.ingress, priority: packet.priority, stored: packet.stored() }
    }
}

impl Switches {
    /// A packet has come in by `ingress` and will leave by `egress` with `priority`.
    #[inline(never)]
    pub fn arrive_at_switch(
        &mut self,
        wires: &mut Wires,
        ingress: PortIndex,
        egress: PortIndex,
        priority: u8,
        handle: Handle,
    ) {
        if wires.constants.packet_routing.is_some() {
            return match self.crossbars.are_used() {
                true => self.arrive_at_crossbar(wires, ingress, handle),
                false => self.arrive_routed(wires, ingress, handle),
            };
        }
        if self.aggregation.is_some() && self.must_be_summed(wires, ingress, handle) {
            return;
        }
        if wires.must_wait_for_tail(ingress, egress) {
            return wires.wait_for_tail(ingress, handle);
        }
        if self.learning.is_some() {
            return self.forward_by_address(wires, ingress, egress, priority, handle);
        }
        if self.crossbars.are_used() {
            return self.arrive_at_crossbar(wires, ingress, handle);
        }
        self.forward(wires, ingress, egress, priority, handle);
    }

    /// Forwards a packet of which as much is in as must be before it leaves by `egress`.
    #[inline(always)]
    pub fn forward(&mut self, wires: &mut Wires, ingress: PortIndex, egress: PortIndex, priority: u8, handle: Handle) {
        let class = wires.constants.scheduler.class(priority);
        let port = &wires.ports[egress];
        let is_idle = port.busy_until <= wires.now && port.waiting == 0 && !port.free_scheduled;
        let is_next = is_idle && port.paused_classes & 1 << class == 0;
        let enter = |packet: &mut Packet| {
            packet.route += 1;
            packet.ingress = ingress;
        };
        if is_next && !wires.constants.rewrites_headers() {
            // It joins no queue that would be reported.
            let change = |packet: &mut Packet| {
                enter(packet);
                packet.priority = priority;
            };
            return wires.start_changed(egress, handle, change);
        }
        enter(&mut wires.packets[handle]);
        if is_next {
            self.pass_rewritten(wires, egress, handle);
        } else if self.admit(wires, ingress, egress, class, handle) {
            let port = &mut wires.ports[egress];
            port.enqueue(class, &mut wires.packets, handle);
            if !port.free_scheduled {
                self.kick(wires, egress);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn pass_rewritten(&mut self, wires: &mut Wires, egress: PortIndex, handle: Handle) {
        self.rewrite(wires, egress, handle);
        wires.start(egress, handle, false);
    }

    /// All of a packet is in that had to wait for its tail: it is forwarded as it was decided when its head came.
    #[cold]
    #[inline(never)]
    pub fn stored(&mut self, wires: &mut Wires, ingress: PortIndex, handle: Handle) {
        let packet = &wires.packets[handle];
        if packet.has(flags::DAMAGED) {
            return wires.discard_damaged(ingress, handle);
        }
        if wires.constants.packet_routing.is_some() {
            let (egress, priority) = wires.packets.route(handle).link();
            return self.forward_routed(wires, ingress, egress, priority, handle);
        }
        let (egress, priority) = (wires.constants.routes[packet.route as usize], packet.priority);
        if self.aggregation.is_some() && self.joins_sum(wires, ingress, handle) {
            return;
        }
        self.forward(wires, ingress, egress, priority, handle);
    }

    #[inline(always)]
    pub(super) fn forward_routed(
        &mut self,
        wires: &mut Wires,
        ingress: PortIndex,
        egress: PortIndex,
        priority: u8,
        handle: Handle,
    ) {
        self.forward(wires, ingress, egress, priority, handle);
        self.report_queue(wires, egress, priority);
    }

    /// Takes a packet into the shared buffer, or drops it; pauses the sender when it must. Whether it must be queued.
    #[inline(always)]
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
            if !buffer.queue_has_room(wires.proportionate(egress, queued + bytes)) {
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
    #[inline(always)]
    pub(super) fn release(&mut self, wires: &mut Wires, egress: PortIndex, held: Held) {
        let Held { ingress, priority, stored } = held;
        let switch = wires.switch_of_port(egress);
        let group = &mut self.groups[wires.constants.group(ingress, priority)];
        if self.switches[switch].buffer.release(group, stored) {
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
    pub fn transmit_from_switch(&mut self, wires: &mut Wires, egress: PortIndex) {
        let port = &mut wires.ports[egress];
        let eligible = port.waiting & !port.paused_classes;
        if eligible == 0 {
            return match self.crossbars.are_used() {
                true => self.transmit_from_output(wires, egress),
                false => self.transmit_with_credits(wires, egress),
            };
        }
        let (handle, others_wait) = wires.take_next(egress, eligible);
        let held = Held::of(&wires.packets[handle]);
        self.rewrite(wires, egress, handle);
        wires.start(egress, handle, others_wait);
        // Only then: a packet may leave by the port that it came in by, which an XON must not take from it.
        self.release(wires, egress, held);
    }
}
