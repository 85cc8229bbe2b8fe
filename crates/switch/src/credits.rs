//! Switches under credits: what they admit, and what they send.

use etherweave_engine::Wires;
use etherweave_engine::packet::Handle;
use etherweave_engine::params::MarkAt;
use etherweave_kernel::indices::PortIndex;

use crate::Switches;
use crate::buffer::Admission;
use crate::forward::Held;

impl Switches {
    /// Under credits, takes a packet that arrives at a switch, sends it if nothing is in its way, or drops it if
    /// credits do not cover it and the shared pool is full. Whether it must be queued by its output.
    #[cold]
    #[inline(never)]
    pub(super) fn admit_by_credits(
        &mut self,
        wires: &mut Wires,
        ingress: PortIndex,
        egress: PortIndex,
        class: usize,
        handle: Handle,
    ) -> bool {
        if self.crossbars.are_used() {
            self.arrive_at_input(wires, ingress, handle, 0);
            return false;
        }
        let packet = wires.packets[handle];
        let port = &wires.ports[egress];
        let is_idle = port.busy_until <= wires.now && port.waiting == 0 && !port.free_scheduled;
        if is_idle
            && wires.credits.suffice(egress, wires.next_priority(egress, handle), wires.next_wire(egress, handle))
        {
            let units = wires.credits.units(packet.priority, packet.wire);
            wires.pass_credits(ingress, packet.priority, units, wires.now);
            self.start_with_credits(wires, egress, handle, false);
            return false;
        }
        wires.credits.hold(ingress, &packet);
        let is_taken =
            wires.credits.cover(packet.priority) || self.admit_beside_credits(wires, ingress, egress, class, handle);
        if is_taken {
            wires.mark(MarkAt::Enqueue, egress, class, handle);
        }
        is_taken
    }

    /// Takes a packet that credits do not cover into the shared pool, or drops it.
    fn admit_beside_credits(
        &mut self,
        wires: &mut Wires,
        ingress: PortIndex,
        egress: PortIndex,
        class: usize,
        handle: Handle,
    ) -> bool {
        let packet = &wires.packets[handle];
        let (priority, bytes) = (packet.priority, packet.stored());
        let switch = wires.switch_of_port(egress);
        let queued = wires.ports[egress].queue(class).bytes;
        let group = wires.constants.group(ingress, priority);
        let buffer = &mut self.switches[switch].buffer;
        let is_taken = buffer.queue_has_room(wires.proportionate(egress, queued + bytes))
            && buffer.admit(&mut self.groups[group], bytes) != Admission::Dropped;
        is_taken || self.compete(wires, ingress, egress, class, handle)
    }

    /// Sends the next packet of a switch port that has credits, if there is one; without credits, none waits.
    #[cold]
    #[inline(never)]
    pub(super) fn transmit_with_credits(&mut self, wires: &mut Wires, egress: PortIndex) {
        if !wires.credits.are_used() {
            return;
        }
        let eligible = wires.classes_with_credits(egress);
        if eligible == 0 {
            return;
        }
        let (handle, others_wait) = wires.take_next(egress, eligible);
        let held = wires.packets[handle];
        self.start_with_credits(wires, egress, handle, others_wait);
        if wires.credits.cover(held.priority) {
            let units = wires.credits.units(held.priority, held.wire);
            wires.free_credits(held.ingress, held.priority, units, wires.now);
        } else {
            self.release(wires, egress, Held::of(&held));
        }
    }

    /// Puts a packet of a switch on the wire, with the credits that it needs.
    fn start_with_credits(&mut self, wires: &mut Wires, egress: PortIndex, handle: Handle, others_wait: bool) {
        self.rewrite(wires, egress, handle);
        let packet = wires.packets[handle];
        wires.credits.take(egress, &packet);
        wires.start(egress, handle, others_wait);
    }
}
