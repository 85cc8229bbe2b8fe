//! Events: small, addressed to a place, ordered by a key that does not know about shards.

use etherweave_kernel::indices::{EndpointIndex, PortIndex};
use etherweave_primitives::Time;

use crate::packet::Handle;

/// Kind of an event. The number is part of the order of simultaneous events at one place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A packet is in a switch (or, cut-through, its header is). Handle: the packet.
    Arrive,
    /// A packet is in the NIC of its host. Index: of a control packet of flow-level mode, its number. Handle: the
    /// packet.
    Deliver,
    /// A pause frame takes effect at the sender that it stops or resumes. Handle: the frame as [`crate::frame::pause`]
    /// packs it.
    PauseArrive,
    /// A pause of one priority may have run out. Index: priority.
    PauseExpire,
    /// A pause frame must be renewed if the pause still holds.
    PauseRefresh,
    /// The transmitter is free.
    TransmitterFree,
    /// The NIC's receive buffer has drained to XON.
    NicResume,
    /// Where a message of a stream ends, ahead of its bytes. Handle: the packet that carries it.
    Announce,
    /// A transport timer. Index: endpoint.
    TransportTimer,
    /// Interrupt-side work of a receive queue is done, or may begin. Index: queue.
    Softirq,
    /// The thread of a rank has finished what it was doing.
    ThreadDone,
    /// A rate-limited connection may send its next packet; or, with a handle, the tail of one that goes back may be
    /// lost. Handle: how often it had gone back.
    Pacing,
    /// A job or stream starts. Index: which.
    Start,
    /// A damaged packet is in a switch (or, cut-through, its header is) or in a host. Handle: the packet.
    ArriveDamaged,
    /// A damaged pause frame arrives. Handle: as it was sent.
    PauseArriveDamaged,
    /// Credits are back at the sender. Index: priority. Handle: how many.
    CreditsArrive,
    /// The crossbar of a switch is free for a port. Index: its input or its output.
    CrossbarFree,
    /// A message is in the queue of a rank of the same host. Index: the sender's thread. Handle: the packet that
    /// carries it.
    Handover,
    /// A received packet has been written to memory by a NIC that holds packets whole. Index: its number among those
    /// of the NIC. Handle: the packet.
    Written,
    /// Flow-level mode: messages have been sent, or rates change.
    FluidDue,
    /// Flow-level mode: a message has arrived at the other end. Index: endpoint of its sender.
    FluidArrive,
    /// Flow-level mode: the sender learns what has arrived. Index: its endpoint. Handle: the lower bits of the offset.
    FluidAcknowledged,
    /// The tail of a packet is in a cut-through switch, which it leaves by a faster link than it came by. Handle: the
    /// packet.
    Stored,
    /// A wait of a driver ends. Index: the thread of its rank.
    Wake,
    /// A watchdog looks at a port.
    WatchdogPoll,
    /// A host begins to pause its switch without end, or ceases to. Index: priorities. Handle: whether it begins.
    PauseStorm,
}

impl Kind {
    /// Whether the handle names a packet.
    pub fn has_packet(self) -> bool {
        matches!(
            self,
            Kind::Arrive
                | Kind::Deliver
                | Kind::Announce
                | Kind::ArriveDamaged
                | Kind::Handover
                | Kind::Written
                | Kind::Stored
        )
    }

    const ALL: [Kind; 26] = [
        Kind::Arrive,
        Kind::Deliver,
        Kind::PauseArrive,
        Kind::PauseExpire,
        Kind::PauseRefresh,
        Kind::TransmitterFree,
        Kind::NicResume,
        Kind::Announce,
        Kind::TransportTimer,
        Kind::Softirq,
        Kind::ThreadDone,
        Kind::Pacing,
        Kind::Start,
        Kind::ArriveDamaged,
        Kind::PauseArriveDamaged,
        Kind::CreditsArrive,
        Kind::CrossbarFree,
        Kind::Handover,
        Kind::Written,
        Kind::FluidDue,
        Kind::FluidArrive,
        Kind::FluidAcknowledged,
        Kind::Stored,
        Kind::Wake,
        Kind::WatchdogPoll,
        Kind::PauseStorm,
    ];
}

/// Where and what, as one number: `place` (32 bits), kind (5 bits), index (27 bits).
///
/// Only events at one place compete for order, and places of one entity are numbered alike in every
/// shard layout, so simultaneous events of an entity are always served in the same order. So that there is one, no two
/// of them that differ have one key: the index distinguishes what place and kind do not (decision 0012).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct EventKey(u64);

impl EventKey {
    /// How many different indices there are.
    pub const INDICES: u32 = 1 << EventKey::INDEX_BITS;
    /// Bits of place and kind.
    pub(crate) const ORDER_BITS: u32 = u64::BITS - EventKey::INDEX_BITS;
    /// Bits of an index.
    const INDEX_BITS: u32 = 27;
    /// Bits of a kind.
    const KINDS: u64 = 0x1f;

    /// The key of `kind` at `place`.
    pub fn new(place: PortIndex, kind: Kind, index: u32) -> EventKey {
        debug_assert!(index < EventKey::INDICES, "an index of an event has 27 bits");
        EventKey(u64::from(place.get()) << 32 | (kind as u64) << EventKey::INDEX_BITS | u64::from(index))
    }

    /// All of it.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The key of these bits.
    pub fn from_bits(bits: u64) -> EventKey {
        EventKey(bits)
    }

    /// Place and kind: its order among events of different kinds at one place, and of different places.
    pub(crate) fn place_and_kind(self) -> u64 {
        self.0 >> EventKey::INDEX_BITS
    }

    /// Local port (of a switch) or the port of the host concerned.
    pub fn place(self) -> PortIndex {
        PortIndex::new((self.0 >> 32) as u32)
    }

    /// Returns the kind of the event.
    pub fn kind(self) -> Kind {
        /// Kinds, as many as five bits count, so that no bound is checked.
        const ALL: [Kind; 32] = {
            let mut kinds = [Kind::Start; 32];
            let mut next = 0;
            while next < Kind::ALL.len() {
                kinds[next] = Kind::ALL[next];
                next += 1;
            }
            kinds
        };
        ALL[(self.0 >> EventKey::INDEX_BITS & EventKey::KINDS) as usize]
    }

    /// Whether it is of a kind: a comparison of five bits, where [`EventKey::kind`] reads a table.
    #[inline(always)]
    pub fn is(self, kind: Kind) -> bool {
        self.0 >> EventKey::INDEX_BITS & EventKey::KINDS == kind as u64
    }

    /// Returns the index among several.
    pub fn index(self) -> u32 {
        self.0 as u32 & (EventKey::INDICES - 1)
    }
}

/// One event: 24 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When.
    pub time: Time,
    /// Where and what.
    pub key: EventKey,
    /// Kind-specific: the packet, or what is packed in bits.
    pub bits: u32,
    /// Memory that it will touch, as far as it is known beforehand; see [`PrefetchHint`]. Not part of the order.
    pub hint: PrefetchHint,
}

/// Memory that an arriving packet will touch, and that can be fetched before the packet itself is read.
#[derive(Clone, Copy, Default, Debug)]
pub struct PrefetchHint(u32);

impl PrefetchHint {
    /// Hint of a packet whose egress port its switch decides.
    pub const NO_EGRESS: PrefetchHint = PrefetchHint(u32::MAX);

    /// A packet of `priority` that will leave a switch by `egress`.
    #[inline]
    pub fn egress(egress: PortIndex, priority: u8) -> PrefetchHint {
        debug_assert!(egress.get() < 1 << 29, "a shard has fewer ports");
        PrefetchHint(egress.get() << 3 | u32::from(priority))
    }

    /// A packet for `endpoint` with or without data.
    #[inline]
    pub fn endpoint(endpoint: EndpointIndex, is_data: bool) -> PrefetchHint {
        debug_assert!(endpoint.get() < EventKey::INDICES, "a shard has fewer endpoints");
        PrefetchHint(endpoint.get() << 1 | u32::from(is_data))
    }

    /// Whether the egress port is known, of a packet that arrives at a switch.
    #[inline]
    pub fn has_egress(self) -> bool {
        self.0 != PrefetchHint::NO_EGRESS.0
    }

    /// The egress port and the priority, of a packet that arrives at a switch.
    #[inline]
    pub fn as_egress(self) -> (PortIndex, u8) {
        (PortIndex::new(self.0 >> 3), (self.0 & 7) as u8)
    }

    /// The endpoint, and whether it is for data: of a packet that is delivered, or of a message that will be sent.
    #[inline]
    pub fn as_endpoint(self) -> (EndpointIndex, bool) {
        (EndpointIndex::new(self.0 >> 1), self.0 & 1 != 0)
    }
}

impl Event {
    /// An event without a hint.
    #[inline]
    pub fn new(time: Time, key: EventKey, bits: u32) -> Event {
        Event { time, key, bits, hint: PrefetchHint::default() }
    }

    /// The packet, of a kind that has one.
    #[inline(always)]
    pub fn packet(&self) -> Handle {
        Handle::new(self.bits)
    }

    /// Whether it makes no difference which of two events of one time and key is served first: they are equal, or sort
    /// themselves where they arrive.
    pub fn is_exchangeable(&self, other: &Event) -> bool {
        self.bits == other.bits || self.key.kind() == Kind::Announce
    }

    /// The order of service: time, then key.
    #[inline]
    pub fn order(&self) -> u128 {
        u128::from(self.time.as_ps()) << 64 | u128::from(self.key.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gives_back_what_it_was_made_of() {
        let key = EventKey::new(PortIndex::new(70_000), Kind::Start, 0x7abcdef);
        assert_eq!((key.place().get(), key.kind(), key.index()), (70_000, Kind::Start, 0x7abcdef));
        assert!(
            EventKey::new(PortIndex::new(3), Kind::Arrive, 9) < EventKey::new(PortIndex::new(3), Kind::PauseArrive, 0)
        );
        assert_eq!(size_of::<Event>(), 24);
    }
}
