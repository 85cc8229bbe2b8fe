//! Credits: a sender knows how much room is left at the far end, and sends nothing that does not fit.
//!
//! Every port has a buffer of its own for each priority under credits. The port at the other end counts what it may
//! still send into it, in whole units: a packet takes credits when its first bit is sent. They come back when the far
//! end has freed the packet's room, after the propagation time and the time that the far end needs to announce them.
//!
//! ```text
//!   sender   available ──packet──► on the wire ──► held by the receiver
//!                ▲                                    │ freed
//!                └───────────── returning ◄───────────┘
//! ```
//!
//! At any time the four add up to the buffer. A port under credits is never paused. Its classes are marked as paused
//! all the same, for good: so a run without credits does no more work for a packet, and with them each packet comes to
//! the functions here where a paused one would wait.

use etherweave_kernel::IndexVec;
use etherweave_primitives::{Duration, Priority, Time};

use crate::engine::Wires;
use crate::engine::event::Kind;
use crate::engine::{Shard, Simulation};
use crate::frame::pause::priorities;
use crate::frame::size::PREAMBLE_AND_GAP;
use crate::host::Nics;
use crate::indices::{HostIndex, PortIndex};
use crate::packet::{Handle, Packet};
use crate::params::MarkAt;
use crate::switch::Switches;
use crate::switch::buffer::Admission;

/// Credits of all ports of a shard; without ports, nothing is under credits.
#[derive(Default)]
pub(crate) struct CreditCounters {
    /// By port.
    pub ports: IndexVec<PortIndex, PortCredits>,
    /// Priorities under credits, a bit each.
    pub priorities: u8,
    /// Bytes that one credit stands for.
    pub unit: u32,
}

/// Credits of one port: for what it sends, and of its own buffers.
#[derive(Clone, Debug)]
pub(crate) struct PortCredits {
    /// From the moment when room here is free to the arrival of the credits at the peer.
    pub return_delay: Duration,
    /// Classes whose first packet lacks credits, a bit each.
    pub blocked_classes: u8,
    /// Of each priority.
    pub channels: [ChannelCredits; Priority::COUNT],
}

/// Credits of one virtual channel, at both of its ends. Counted in units.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ChannelCredits {
    /// What the port may still send.
    pub available: u32,
    /// The buffer at the far end.
    pub limit: u32,
    /// What the buffer of this port holds.
    pub held: u32,
    /// The buffer of this port.
    pub buffer: u32,
    /// When the first packet began to lack credits, if it does.
    pub waiting_since: Option<Time>,
    /// How long first packets have lacked credits so far.
    pub wait: Duration,
}

/// Credits that come back, as the index of an event: two packets of one buffer may leave by two outputs at the same
/// moment, and events of one index have no order among them.
struct ReturnedCredits {
    priority: u8,
    units: u32,
}

impl ReturnedCredits {
    fn to_index(&self) -> u32 {
        self.units << 3 | u32::from(self.priority)
    }

    fn from_index(index: u32) -> ReturnedCredits {
        ReturnedCredits { priority: (index & 7) as u8, units: index >> 3 }
    }
}

impl PortCredits {
    /// Buffers of `buffer` units here and of `limit` units at the far end for each of `priorities`, all empty.
    pub fn new(priorities: u8, limit: u32, buffer: u32, return_delay: Duration) -> PortCredits {
        let channel = |priority: usize| match priorities & 1 << priority {
            0 => ChannelCredits::default(),
            _ => ChannelCredits { available: limit, limit, buffer, ..ChannelCredits::default() },
        };
        PortCredits { return_delay, blocked_classes: 0, channels: std::array::from_fn(channel) }
    }
}

impl ChannelCredits {
    /// Credits of what is about to be sent, on the wire, at the far end, or not known to have left it.
    pub fn taken(&self) -> u32 {
        self.limit - self.available
    }
}

impl CreditCounters {
    /// Of `priorities`, a bit each; one credit stands for `unit` bytes. Without ports yet.
    pub fn new(priorities: u8, unit: u32) -> CreditCounters {
        CreditCounters { ports: IndexVec::default(), priorities, unit }
    }

    /// Whether anything is under credits.
    #[inline]
    pub fn are_used(&self) -> bool {
        !self.ports.is_empty()
    }

    /// Whether a priority is under credits.
    pub fn cover(&self, priority: u8) -> bool {
        self.priorities & 1 << priority != 0
    }

    /// What a packet of `wire` bytes takes of a buffer.
    pub fn units(&self, wire: u32) -> u32 {
        (wire - PREAMBLE_AND_GAP).div_ceil(self.unit)
    }

    fn channel(&mut self, port: PortIndex, priority: u8) -> &mut ChannelCredits {
        &mut self.ports[port].channels[usize::from(priority)]
    }

    /// Whether the far end of `port` has room for a packet of `wire` bytes.
    pub fn suffice(&self, port: PortIndex, priority: u8, wire: u32) -> bool {
        let channel = &self.ports[port].channels[usize::from(priority)];
        !self.cover(priority) || channel.available >= self.units(wire)
    }

    /// A packet is sent by `port`: its room at the far end is taken.
    fn take(&mut self, port: PortIndex, packet: &Packet) {
        self.take_for(port, packet.priority, packet.wire);
    }

    /// `port` sends `wire` bytes with a priority: their room at the far end is taken.
    pub fn take_for(&mut self, port: PortIndex, priority: u8, wire: u32) {
        if self.cover(priority) {
            let units = self.units(wire);
            let channel = self.channel(port, priority);
            debug_assert!(channel.available >= units, "nothing is sent without credits");
            channel.available -= units;
        }
    }

    /// A packet that `port` has sent is lost on a link that fails: its credits are back at once.
    pub fn restore(&mut self, port: PortIndex, packet: &Packet) {
        if self.cover(packet.priority) {
            let units = self.units(packet.wire);
            self.channel(port, packet.priority).available += units;
        }
    }

    /// A packet is in the buffer of `port`.
    fn hold(&mut self, port: PortIndex, packet: &Packet) {
        let units = self.units(packet.wire);
        let channel = self.channel(port, packet.priority);
        channel.held += units;
        debug_assert!(channel.held <= channel.buffer, "a packet with credits has room");
    }

    /// The first packet of a class lacks credits.
    fn block(&mut self, port: PortIndex, class: usize, priority: u8, now: Time) {
        self.ports[port].blocked_classes |= 1 << class;
        self.begin_wait(port, priority, now);
    }

    /// The first packet of a priority lacks credits.
    pub fn begin_wait(&mut self, port: PortIndex, priority: u8, now: Time) {
        self.channel(port, priority).waiting_since.get_or_insert(now);
    }

    /// The first packet of a class has credits again.
    fn unblock(&mut self, port: PortIndex, class: usize, priority: u8, now: Time) {
        self.ports[port].blocked_classes &= !(1 << class);
        self.end_wait(port, priority, now);
    }

    /// The first packet of a priority has credits, or may have.
    pub fn end_wait(&mut self, port: PortIndex, priority: u8, now: Time) {
        let channel = self.channel(port, priority);
        let since = channel.waiting_since.take().unwrap_or(now);
        channel.wait += now.since(since);
    }

    /// Adds what still waits at the end of a run to the waits.
    pub fn settle(&mut self, end: Time) {
        for channel in self.ports.iter_mut().flat_map(|port| &mut port.channels) {
            if let Some(since) = &mut channel.waiting_since {
                channel.wait += end.since(*since);
                *since = end;
            }
        }
    }

    /// How long first packets of a port and priority lacked credits.
    pub fn wait(&self, port: PortIndex, priority: usize) -> Duration {
        self.ports.get(port).map_or(Duration::ZERO, |port| port.channels[priority].wait)
    }

    /// The same with what still waits at `now`.
    pub fn wait_until(&self, now: Time, port: PortIndex, priority: usize) -> Duration {
        let present = self.ports.get(port).and_then(|port| port.channels[priority].waiting_since);
        self.wait(port, priority) + present.map_or(Duration::ZERO, |since| now.since(since))
    }

    /// Priorities of a port whose first packets lack credits.
    pub fn waiting(&self, port: PortIndex) -> impl Iterator<Item = usize> {
        let channels = self.ports.get(port).map_or(&[][..], |port| &port.channels);
        (0..channels.len()).filter(|&priority| channels[priority].waiting_since.is_some())
    }
}

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
            self.arrive_at_input(wires, ingress, handle);
            return false;
        }
        let packet = wires.packets[handle];
        wires.hold_by_credits(ingress, &packet);
        let port = &wires.ports[egress];
        let is_idle = port.busy_until <= wires.now && port.waiting == 0 && !port.free_scheduled;
        if is_idle && wires.credits.suffice(egress, wires.next_priority(egress, handle), packet.wire) {
            wires.free_credits(ingress, &packet, wires.now);
            self.start_with_credits(wires, egress, handle, false);
            return false;
        }
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
        let is_taken =
            buffer.queue_has_room(queued, bytes) && buffer.admit(&mut self.groups[group], bytes) != Admission::Dropped;
        is_taken || self.compete(wires, ingress, egress, class, handle)
    }

    /// Sends the next packet of a switch port that has credits, if there is one; without credits, none waits.
    #[cold]
    #[inline(never)]
    pub(super) fn transmit_with_credits(&mut self, wires: &mut Wires, egress: PortIndex) {
        if !wires.credits.are_used() {
            return;
        }
        if self.crossbars.are_used() {
            return self.transmit_from_output(wires, egress);
        }
        let eligible = wires.classes_with_credits(egress);
        if eligible == 0 {
            return;
        }
        let (handle, others_wait) = wires.take_next(egress, eligible);
        let held = wires.packets[handle];
        self.start_with_credits(wires, egress, handle, others_wait);
        if wires.credits.cover(held.priority) {
            wires.free_credits(held.ingress, &held, wires.now);
        } else {
            self.release(wires, egress, &held);
        }
    }

    /// Puts a packet of a switch on the wire, with the credits that it needs.
    fn start_with_credits(&mut self, wires: &mut Wires, egress: PortIndex, handle: Handle, others_wait: bool) {
        self.change_priority(wires, handle);
        let packet = wires.packets[handle];
        wires.credits.take(egress, &packet);
        wires.start(egress, handle, others_wait);
    }
}

impl Wires {
    /// The priority with which a packet leaves `port`: a switch may change it.
    pub(crate) fn next_priority(&self, port: PortIndex, handle: Handle) -> u8 {
        match (&self.constants.packet_routing, self.host_of_port(port)) {
            (Some(_), None) => self.packets.route(handle).next_priority(),
            (None, _) | (Some(_), Some(_)) => self.packets[handle].priority,
        }
    }

    /// Classes with a packet in the queue of `port` whose first one has credits; blocks the others.
    fn classes_with_credits(&mut self, port: PortIndex) -> u8 {
        let waiting = self.ports[port].waiting;
        let mut eligible = waiting & !self.credits.ports[port].blocked_classes;
        for class in priorities(eligible) {
            let first = self.ports[port].first(class);
            let (priority, wire) = (self.next_priority(port, first), self.packets[first].wire);
            if !self.credits.suffice(port, priority, wire) {
                self.credits.block(port, class, priority, self.now);
                eligible &= !(1 << class);
            }
        }
        eligible
    }

    /// A packet is in the buffer of a port.
    pub(crate) fn hold_by_credits(&mut self, port: PortIndex, packet: &Packet) {
        if self.credits.cover(packet.priority) {
            self.credits.hold(port, packet);
        }
    }

    /// A packet leaves the buffer of a port at `time`, now or later: its credits travel back.
    pub(crate) fn free_credits(&mut self, port: PortIndex, packet: &Packet, time: Time) {
        if !self.credits.cover(packet.priority) {
            return;
        }
        let units = self.credits.units(packet.wire);
        self.credits.channel(port, packet.priority).held -= units;
        let arrival = time + self.credits.ports[port].return_delay;
        let returned = ReturnedCredits { priority: packet.priority, units };
        self.post_bits(self.ports[port].peer, Kind::CreditsArrive, returned.to_index(), arrival, 0);
    }

    /// A packet is lost as it comes in by a port: the room for it there is free at once.
    pub(crate) fn free_credits_of_lost(&mut self, port: PortIndex, packet: &Packet) {
        self.hold_by_credits(port, packet);
        self.free_credits(port, packet, self.now);
    }
}

impl Nics {
    /// Classes of a host that may send, a bit each: those whose first packet has credits or is not built yet. None
    /// where
    /// no credits are used: then they are all paused.
    #[cold]
    #[inline(never)]
    pub(crate) fn host_classes_with_credits(&mut self, wires: &mut Wires, host: HostIndex) -> u8 {
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
    pub(crate) fn take_credits(&mut self, wires: &mut Wires, host: HostIndex, class: usize, handle: Handle) -> bool {
        let (port, packet) = (self.hosts[host].port, wires.packets[handle]);
        let has_credits = wires.credits.suffice(port, packet.priority, packet.wire);
        if has_credits {
            wires.credits.take(port, &packet);
        } else {
            wires.ports[port].enqueue(class, &mut wires.packets, handle);
        }
        has_credits
    }

    /// A packet is in the buffer of a NIC until `time`: credits for it can be announced now.
    #[cold]
    #[inline(never)]
    pub(crate) fn hold_until(&mut self, wires: &mut Wires, time: Time, host: HostIndex, handle: Handle) {
        let (port, packet) = (self.hosts[host].port, wires.packets[handle]);
        wires.hold_by_credits(port, &packet);
        wires.free_credits(port, &packet, time);
    }
}

impl Shard {
    /// Credits have come back; the event's index says how many.
    pub(crate) fn credits_arrive(&mut self, port: PortIndex, index: u32) {
        let ReturnedCredits { priority, units } = ReturnedCredits::from_index(index);
        let channel = self.wires.credits.channel(port, priority);
        channel.available += units;
        debug_assert!(channel.available <= channel.limit, "no credits are made up");
        let is_waiting = channel.waiting_since.is_some();
        if self.switches.crossbars.are_used() && self.wires.host_of_port(port).is_none() {
            return self.switches.credits_at_output(&mut self.wires, port, priority);
        }
        if !is_waiting {
            return;
        }
        let class = self.wires.constants.scheduler.class(priority);
        let first = self.wires.ports[port].first(class);
        if self.wires.credits.suffice(port, priority, self.wires.packets[first].wire) {
            self.wires.credits.unblock(port, class, priority, self.wires.now);
            self.kick(port);
        }
    }
}

/// Units that travel to a port and have not arrived: as packets, and as credits.
#[derive(Clone, Copy, Default)]
struct Travelling {
    packets: u32,
    credits: u32,
}

impl Wires {
    /// What travels to each port, by priority.
    fn travelling(&self) -> IndexVec<PortIndex, [Travelling; Priority::COUNT]> {
        let mut ports = IndexVec::from(vec![[Travelling::default(); Priority::COUNT]; self.credits.ports.len()]);
        // Other events may have no port as their place.
        for event in self.queue.pending() {
            match event.key.kind() {
                Kind::Arrive | Kind::Deliver | Kind::ArriveDamaged | Kind::Stored => {
                    let Packet { priority, wire, .. } = self.packets[event.packet()];
                    ports[event.key.place()][usize::from(priority)].packets += self.credits.units(wire);
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

impl Simulation {
    /// Credits are neither lost nor made up: what a sender may send, what it has granted and not sent, what is on the
    /// wire, what the receiver holds and what is on its way back are the receiver's buffer.
    ///
    /// # Panics
    /// When they are not.
    pub(crate) fn assert_credits_are_conserved(&self) {
        if self.shards.iter().all(|shard| !shard.wires.credits.are_used()) {
            return;
        }
        let travelling: Vec<_> = self.shards.iter().map(|shard| shard.wires.travelling()).collect();
        for (shard, here) in self.shards.iter().zip(&travelling) {
            for (index, port) in shard.wires.credits.ports.entries() {
                let peer = shard.wires.ports[index].peer;
                let (Some(far), far_port) = (self.shard(shard.wires.impaired_links.shard_at(peer.link)), peer.port)
                else {
                    continue;
                };
                let arriving = &travelling[(far.wires.id - self.shards[0].wires.id) as usize][far_port];
                for priority in priorities(shard.wires.credits.priorities) {
                    let channel = &port.channels[priority];
                    let held = far.wires.credits.ports[far_port].channels[priority].held;
                    let on_wire = arriving[priority].packets;
                    let granted = shard.switches.granted(&shard.wires, index)[priority];
                    let sum = channel.available + granted + on_wire + held + here[index][priority].credits;
                    assert_eq!(sum, channel.limit, "credits of priority {priority} of port {index:?}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::EventKey;

    fn key(priority: u8, units: u32) -> EventKey {
        EventKey::new(PortIndex::new(7), Kind::CreditsArrive, ReturnedCredits { priority, units }.to_index())
    }

    #[test]
    fn credits_that_return_at_one_moment_have_an_order() {
        assert!(key(5, 3) < key(5, 4));
        assert_ne!(key(4, 3), key(5, 3));
    }

    #[test]
    fn an_index_gives_back_its_credits() {
        // A credit a byte, for the longest packet that a length field of 16 bits allows.
        let returned = ReturnedCredits::from_index(key(7, u32::from(u16::MAX)).index());
        assert_eq!((returned.priority, returned.units), (7, u32::from(u16::MAX)));
    }
}
