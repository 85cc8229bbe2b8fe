//! NICs under credits.

use etherweave_engine::{Wires, packet::Handle};
use etherweave_kernel::indices::HostIndex;
use etherweave_primitives::Time;

use super::Nics;

impl Nics {
    /// Classes of a host that may send, a bit each: those whose first packet has credits or is not built yet. None
    /// where no credits are used: then they are all paused.
    #[cold]
    #[inline(never)]
    pub fn host_classes_with_credits(&mut self, wires: &mut Wires, host: HostIndex) -> u8 {
        if !wires.credits.are_used() {
            return 0;
        }
        let port = self.hosts[host].port;
        let queued = wires.classes_with_credits(port);
        queued | self.hosts[host].ready & !wires.credits.ports[port].blocked_classes
    }

    /// Takes credits for a packet that a host is about to send. Without them, the packet waits in the port's queue, and
    /// the answer is false; its class has no other packet there, for then this one would have come from it.
    #[cold]
    #[inline(never)]
    pub fn take_credits(&mut self, wires: &mut Wires, host: HostIndex, class: usize, handle: Handle) -> bool {
        let (port, packet) = (self.hosts[host].port, &wires.packets[handle]);
        let (priority, units) = (packet.priority, wires.credits.units(packet.priority, packet.wire));
        let has_credits = wires.credits.suffice_for(port, priority, units);
        if has_credits {
            wires.credits.take_for(port, priority, units);
        } else {
            wires.ports[port].enqueue(class, &mut wires.packets, handle);
        }
        has_credits
    }

    /// A packet is in the buffer of a NIC until `time`: credits for it can be announced now.
    #[cold]
    #[inline(never)]
    pub fn hold_until(&mut self, wires: &mut Wires, time: Time, host: HostIndex, handle: Handle) {
        let (port, packet) = (self.hosts[host].port, &wires.packets[handle]);
        let (priority, units) = (packet.priority, wires.credits.units(packet.priority, packet.wire));
        wires.pass_credits(port, priority, units, time);
    }
}
