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
//!
//! Each return is an event, although two of three find nothing that waits for it: a list of each port, read when
//! something does, makes fewer events and takes longer, for its memory is not fetched ahead.

use etherweave_kernel::{IndexVec, indices::PortIndex};
use etherweave_primitives::{Duration, Priority, Time};

use crate::{frame::size::PREAMBLE_AND_GAP, packet::Packet};

/// Credits of all ports of a shard; without ports, nothing is under credits.
pub struct CreditCounters {
    /// Credits by port.
    pub ports: IndexVec<PortIndex, PortCredits>,
    /// Priorities under credits, a bit each.
    pub priorities: u8,
    /// Bytes that one credit stands for.
    pub unit: u32,
    /// Summand to the bytes of a packet on the wire, modulo 2^32, by which a division rounds its bytes in a buffer up.
    rounding: u32,
}

/// Credits of one port: for what it sends, and of its own buffers.
#[derive(Clone, Debug)]
pub struct PortCredits {
    /// Delay from the moment when room here is free to the arrival of the credits at the peer.
    pub return_delay: Duration,
    /// Classes whose first packet lacks credits, a bit each.
    pub blocked_classes: u8,
    /// Least units that a packet lacks which waits for this output of a crossbar, where all that wait were found to
    /// lack some; otherwise 0.
    pub lacking_min: u32,
    /// Credits of each priority.
    pub channels: [ChannelCredits; Priority::COUNT],
}

/// Credits of one virtual channel, at both of its ends. Counted in units.
#[derive(Clone, Copy, Debug)]
pub struct ChannelCredits {
    /// Units that the port may still send.
    pub available: u32,
    /// The buffer at the far end.
    pub limit: u32,
    /// Units that the buffer of this port holds.
    pub held: u32,
    /// The buffer of this port.
    pub buffer: u32,
    /// When the first packet began to lack credits; [`Time::MAX`] where it does not.
    waiting_since: Time,
    /// How long first packets have lacked credits so far.
    pub wait: Duration,
}

/// Credits that come back, as the index of an event: two packets of one buffer may leave by two outputs at the same
/// moment, and events of one index have no order among them.
pub(super) struct ReturnedCredits {
    pub priority: u8,
    pub units: u32,
}

impl ReturnedCredits {
    #[inline]
    pub fn to_index(&self) -> u32 {
        self.units << 3 | u32::from(self.priority)
    }

    #[inline]
    pub fn from_index(index: u32) -> ReturnedCredits {
        ReturnedCredits { priority: (index & 7) as u8, units: index >> 3 }
    }
}

impl PortCredits {
    /// Buffers of `buffer` units here and of `limit` units at the far end for each of `priorities`, all empty.
    pub fn new(priorities: u8, limit: u32, buffer: u32, return_delay: Duration) -> PortCredits {
        let channel = |priority: usize| match priorities & 1 << priority {
            0 => ChannelCredits::NONE,
            _ => ChannelCredits { available: limit, limit, buffer, ..ChannelCredits::NONE },
        };
        PortCredits { return_delay, blocked_classes: 0, lacking_min: 0, channels: std::array::from_fn(channel) }
    }
}

impl ChannelCredits {
    const NONE: ChannelCredits =
        ChannelCredits { available: 0, limit: 0, held: 0, buffer: 0, waiting_since: Time::MAX, wait: Duration::ZERO };

    /// Whether the first packet lacks credits.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        self.waiting_since != Time::MAX
    }

    /// How long the first packet has lacked credits.
    #[inline]
    fn present_wait(&self, now: Time) -> Duration {
        if self.is_awaited() { now.since(self.waiting_since) } else { Duration::ZERO }
    }

    /// Credits of what is about to be sent, on the wire, at the far end, or not known to have left it.
    #[inline]
    pub fn taken(&self) -> u32 {
        self.limit - self.available
    }
}

impl Default for CreditCounters {
    /// Counters that cover no priority.
    fn default() -> CreditCounters {
        CreditCounters::new(0, 1)
    }
}

impl CreditCounters {
    /// Creates counters of `priorities`, a bit each, without ports yet; one credit stands for `unit` bytes.
    pub fn new(priorities: u8, unit: u32) -> CreditCounters {
        let rounding = (unit - 1).wrapping_sub(PREAMBLE_AND_GAP);
        CreditCounters { ports: IndexVec::default(), priorities, unit, rounding }
    }

    /// Whether anything is under credits.
    #[inline]
    pub fn are_used(&self) -> bool {
        !self.ports.is_empty()
    }

    /// Whether a priority is under credits.
    #[inline]
    pub fn cover(&self, priority: u8) -> bool {
        self.priorities & 1 << priority != 0
    }

    /// Returns the units that a packet of `wire` bytes takes of the buffer of a priority: none of one that is not under
    /// credits.
    #[inline]
    pub fn units(&self, priority: u8, wire: u32) -> u32 {
        if self.cover(priority) { wire.wrapping_add(self.rounding) / self.unit } else { 0 }
    }

    /// Credits of a virtual channel at a port.
    #[inline]
    pub fn channel(&mut self, port: PortIndex, priority: u8) -> &mut ChannelCredits {
        &mut self.ports[port].channels[usize::from(priority)]
    }

    /// Whether the far end of `port` has room for a packet of `wire` bytes.
    #[inline]
    pub fn suffice(&self, port: PortIndex, priority: u8, wire: u32) -> bool {
        self.suffice_for(port, priority, self.units(priority, wire))
    }

    /// Whether the far end of `port` has room for so many units.
    #[inline]
    pub fn suffice_for(&self, port: PortIndex, priority: u8, units: u32) -> bool {
        self.ports[port].channels[usize::from(priority)].available >= units
    }

    /// A packet is sent by `port`: its room at the far end is taken.
    #[inline]
    pub fn take(&mut self, port: PortIndex, packet: &Packet) {
        self.take_for(port, packet.priority, self.units(packet.priority, packet.wire));
    }

    /// `port` sends so many units with a priority: their room at the far end is taken.
    #[inline]
    pub fn take_for(&mut self, port: PortIndex, priority: u8, units: u32) {
        let channel = self.channel(port, priority);
        debug_assert!(channel.available >= units, "nothing is sent without credits");
        channel.available -= units;
    }

    /// The same if there is room for so many. Whether there was.
    #[inline]
    pub fn take_if_available(&mut self, port: PortIndex, priority: u8, units: u32) -> bool {
        let channel = self.channel(port, priority);
        let suffices = channel.available >= units;
        channel.available -= if suffices { units } else { 0 };
        suffices
    }

    /// A packet that `port` has sent is lost on a link that fails: its credits are back at once.
    #[inline]
    pub fn restore(&mut self, port: PortIndex, packet: &Packet) {
        let units = self.units(packet.priority, packet.wire);
        if units > 0 {
            self.ports[port].lacking_min = 0;
            self.channel(port, packet.priority).available += units;
        }
    }

    /// A packet that was held is about to be held anew.
    pub fn unhold(&mut self, port: PortIndex, packet: &Packet) {
        let units = self.units(packet.priority, packet.wire);
        if units > 0 {
            self.channel(port, packet.priority).held -= units;
        }
    }

    /// A packet is in the buffer of `port`.
    #[inline]
    pub fn hold(&mut self, port: PortIndex, packet: &Packet) {
        let units = self.units(packet.priority, packet.wire);
        if units > 0 {
            self.hold_for(port, packet.priority, units);
        }
    }

    /// So many units of a priority are in the buffer of `port`.
    #[inline]
    pub fn hold_for(&mut self, port: PortIndex, priority: u8, units: u32) {
        let channel = self.channel(port, priority);
        channel.held += units;
        debug_assert!(channel.held <= channel.buffer, "a packet with credits has room");
    }

    /// The first packet of a class lacks credits.
    #[inline]
    pub fn block(&mut self, port: PortIndex, class: usize, priority: u8, now: Time) {
        self.ports[port].blocked_classes |= 1 << class;
        self.begin_wait(port, priority, now);
    }

    /// The first packet of a priority lacks credits.
    #[inline]
    pub fn begin_wait(&mut self, port: PortIndex, priority: u8, now: Time) {
        let channel = self.channel(port, priority);
        channel.waiting_since = channel.waiting_since.min(now);
    }

    /// The first packet of a class has credits again.
    #[inline]
    pub fn unblock(&mut self, port: PortIndex, class: usize, priority: u8, now: Time) {
        self.ports[port].blocked_classes &= !(1 << class);
        self.end_wait(port, priority, now);
    }

    /// The first packet of a priority has credits, or may have.
    #[inline]
    pub fn end_wait(&mut self, port: PortIndex, priority: u8, now: Time) {
        let channel = self.channel(port, priority);
        channel.wait += channel.present_wait(now);
        channel.waiting_since = Time::MAX;
    }

    /// Adds what still waits at the end of a run to the waits.
    pub fn settle(&mut self, end: Time) {
        for channel in self.ports.iter_mut().flat_map(|port| &mut port.channels) {
            if channel.is_awaited() {
                channel.wait += channel.present_wait(end);
                channel.waiting_since = end;
            }
        }
    }

    /// How long first packets of a port and priority lacked credits.
    #[inline]
    pub fn wait(&self, port: PortIndex, priority: usize) -> Duration {
        self.ports.get(port).map_or(Duration::ZERO, |port| port.channels[priority].wait)
    }

    /// The same with what still waits at `now`.
    #[inline]
    pub fn wait_until(&self, now: Time, port: PortIndex, priority: usize) -> Duration {
        let present = |port: &PortCredits| port.channels[priority].present_wait(now);
        self.wait(port, priority) + self.ports.get(port).map_or(Duration::ZERO, present)
    }

    /// Priorities of a port whose first packets lack credits.
    #[inline]
    pub fn waiting(&self, port: PortIndex) -> impl Iterator<Item = usize> {
        let channels = self.ports.get(port).map_or(&[][..], |port| &port.channels);
        (0..channels.len()).filter(|&priority| channels[priority].is_awaited())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EventKey, Kind};

    fn key(priority: u8, units: u32) -> EventKey {
        EventKey::new(PortIndex::new(7), Kind::CreditsArrive, ReturnedCredits { priority, units }.to_index())
    }

    #[test]
    fn a_packet_takes_whole_units_of_what_a_buffer_holds_of_it() {
        for (unit, stored, expected) in
            [(1, 64, 64), (8, 64, 8), (8, 65, 9), (64, 1, 1), (64, 4_096, 64), (64, 4_097, 65)]
        {
            let counters = CreditCounters::new(1, unit);
            assert_eq!(counters.units(0, stored + PREAMBLE_AND_GAP), expected, "{stored} B in units of {unit}");
        }
        assert_eq!(CreditCounters::new(1, 64).units(1, 4_096), 0, "a priority that is not under credits");
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
