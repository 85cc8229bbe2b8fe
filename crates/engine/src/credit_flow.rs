//! Credits on their way: what packets take, what comes back, and what travels.

use etherweave_kernel::{IndexVec, indices::PortIndex};
use etherweave_primitives::{Priority, Time};

use super::{credits::ReturnedCredits, event::Kind, wires::Wires};
use crate::{frame::pause::priorities, packet::Handle, packet::Packet};

impl Wires {
    /// The priority with which a packet leaves `port`: a switch may change it.
    #[inline]
    pub fn next_priority(&self, port: PortIndex, handle: Handle) -> u8 {
        match (&self.constants.packet_routing, self.host_of_port(port)) {
            (Some(_), None) => self.packets.route(handle).next_priority(),
            (None, _) | (Some(_), Some(_)) => self.packets[handle].priority,
        }
    }

    /// Classes with a packet in the queue of `port` whose first one has credits; blocks the others.
    #[inline]
    pub fn classes_with_credits(&mut self, port: PortIndex) -> u8 {
        let waiting = self.ports[port].waiting;
        let mut eligible = waiting & !self.credits.ports[port].blocked_classes;
        for class in priorities(eligible) {
            let first = self.ports[port].first(class);
            let (priority, wire) = (self.next_priority(port, first), self.next_wire(port, first));
            if !self.credits.suffice(port, priority, wire) {
                self.credits.block(port, class, priority, self.now);
                eligible &= !(1 << class);
            }
        }
        eligible
    }

    /// A packet of so many units leaves the buffer of a port at `time`, now or later: its credits travel back.
    #[inline(always)]
    pub fn free_credits(&mut self, port: PortIndex, priority: u8, units: u32, time: Time) {
        if units > 0 {
            let credits = &mut self.credits.ports[port];
            credits.channels[usize::from(priority)].held -= units;
            let arrival = time + credits.return_delay;
            self.return_credits(port, ReturnedCredits { priority, units }, arrival);
        }
    }

    /// A packet of so many units is in the buffer of a port until `time`, now or later, and its credits travel back by
    /// then: it holds none.
    #[inline(always)]
    pub fn pass_credits(&mut self, port: PortIndex, priority: u8, units: u32, time: Time) {
        if units > 0 {
            let credits = &self.credits.ports[port];
            let channel = &credits.channels[usize::from(priority)];
            debug_assert!(channel.held + units <= channel.buffer, "a packet with credits has room");
            let arrival = time + credits.return_delay;
            self.return_credits(port, ReturnedCredits { priority, units }, arrival);
        }
    }

    #[inline(always)]
    fn return_credits(&mut self, port: PortIndex, returned: ReturnedCredits, arrival: Time) {
        self.post_bits(self.ports[port].peer, Kind::CreditsArrive, returned.to_index(), arrival, 0);
    }

    /// Credits have come back to a port, as many as the index of their event says. Returns their priority, and whether
    /// the first packet of it lacked credits.
    #[inline(always)]
    pub fn take_back_credits(&mut self, port: PortIndex, index: u32) -> (u8, bool) {
        let ReturnedCredits { priority, units } = ReturnedCredits::from_index(index);
        let channel = self.credits.channel(port, priority);
        channel.available += units;
        debug_assert!(channel.available <= channel.limit, "no credits are made up");
        (priority, channel.is_awaited())
    }

    /// Whether credits of a priority that have come back let the first packet of its class go, which lacked them.
    #[inline]
    pub fn unblock_with_credits(&mut self, port: PortIndex, priority: u8) -> bool {
        let class = self.constants.scheduler.class(priority);
        let first = self.ports[port].first(class);
        let suffices = self.credits.suffice(port, priority, self.next_wire(port, first));
        if suffices {
            self.credits.unblock(port, class, priority, self.now);
        }
        suffices
    }

    /// A packet is lost as it comes in by a port: the room for it there is free at once.
    pub fn free_credits_of_lost(&mut self, port: PortIndex, packet: &Packet) {
        let units = self.credits.units(packet.priority, packet.wire);
        self.pass_credits(port, packet.priority, units, self.now);
    }
}

/// Units that travel to a port and have not arrived: as packets, and as credits.
#[derive(Clone, Copy, Default)]
pub struct Travelling {
    /// Units of packets on the wire.
    pub packets: u32,
    /// Units of credits on their way back.
    pub credits: u32,
}

impl Wires {
    /// Returns the units that travel to each port, by priority.
    pub fn travelling(&self) -> IndexVec<PortIndex, [Travelling; Priority::COUNT]> {
        let mut ports = IndexVec::from(vec![[Travelling::default(); Priority::COUNT]; self.credits.ports.len()]);
        // Other events may have no port as their place.
        for event in self.queue.pending() {
            match event.key.kind() {
                Kind::Arrive | Kind::Deliver | Kind::ArriveDamaged | Kind::Stored => {
                    let Packet { priority, wire, .. } = self.packets[event.packet()];
                    ports[event.key.place()][usize::from(priority)].packets += self.credits.units(priority, wire);
                }
                Kind::CreditsArrive => {
                    let returned = ReturnedCredits::from_index(event.key.index());
                    ports[event.key.place()][usize::from(returned.priority)].credits += returned.units;
                }
                _ => {}
            }
        }
        ports
    }
}
