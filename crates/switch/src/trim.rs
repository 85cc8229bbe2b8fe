//! Trimming: a data packet that finds no room loses its payload instead of its place (see
//! [`Trimming`](etherweave_engine::params::Trimming)).

use etherweave_engine::Wires;
use etherweave_engine::frame::size::PREAMBLE_AND_GAP;
use etherweave_engine::packet::{Handle, PacketKind, flags};
use etherweave_kernel::indices::PortIndex;

use crate::Switches;
use crate::buffer::Admission;

impl Switches {
    /// Trims a data packet that found no room in the queue of an output, and queues or drops what is left. Whether the
    /// packet was trimmed.
    pub(super) fn trim(&mut self, wires: &mut Wires, egress: PortIndex, handle: Handle) -> bool {
        let Some(trimming) = wires.constants.params.switch.trimming else { return false };
        let size = trimming.size.get() as u32 + PREAMBLE_AND_GAP + wires.outer_header(wires.packets[handle].ingress);
        let (priority, packet) = (trimming.priority.get(), &mut wires.packets[handle]);
        if packet.kind != PacketKind::Data || packet.has(flags::TRIMMED) || packet.priority == priority {
            return false;
        }
        let port = &mut wires.ports[egress];
        port.count_trim(usize::from(packet.priority));
        let trimmed = if port.peer.is_host { flags::LAST_HOP } else { flags::TRIMMED };
        packet.flags = packet.flags & !flags::ECN_CAPABLE | trimmed;
        packet.wire = packet.wire.min(size);
        (packet.payload, packet.priority) = (0, priority);
        if wires.constants.packet_routing.is_some() {
            wires.packets.route_mut(handle).base = priority;
        }
        if cfg!(debug_assertions) {
            // The rest of the frame is still to come, and is discarded.
            wires.packets.set_tail(handle, wires.now);
        }
        let class = trimming.class(&wires.constants.params.ets);
        self.queue_trimmed(wires, egress, handle, class);
        true
    }

    fn queue_trimmed(&mut self, wires: &mut Wires, egress: PortIndex, handle: Handle, class: usize) {
        let packet = &wires.packets[handle];
        let (bytes, group) = (packet.stored(), wires.constants.group(packet.ingress, packet.priority));
        let queued = wires.ports[egress].queue(class).bytes;
        let switch = wires.switch_of_port(egress);
        let buffer = &mut self.switches[switch].buffer;
        let has_room = buffer.queue_has_room(wires.proportionate(egress, queued + bytes));
        if !has_room || buffer.admit(&mut self.groups[group], bytes) != Admission::Stored {
            wires.drop_packet(egress, handle);
            return;
        }
        let port = &mut wires.ports[egress];
        port.enqueue(class, &mut wires.packets, handle);
        if !port.free_scheduled {
            self.kick(wires, egress);
        }
    }
}
