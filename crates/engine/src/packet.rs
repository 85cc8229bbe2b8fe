//! Packets and the slab that holds them.
//!
//! A packet travels as one Ethernet frame. It fills one cache line; what only a few packets need (SACK
//! blocks, telemetry) lies in a side slab. A packet is in exactly one place: a queue, the wire, or a host.

use etherweave_kernel::memory::{prefer_huge_pages, prefetch};
use etherweave_kernel::{IndexVec, LocalIndex, indices::EndpointIndex, indices::PortIndex};
use etherweave_primitives::Time;
use etherweave_routing::RoutedPacket;
use etherweave_transport::{SackBlocks, packet::TransportPacket, telemetry::PathTelemetry};

use etherweave_transport::frame::size::PREAMBLE_AND_GAP;

pub use etherweave_transport::packet::{PacketKind, flags, sums};

etherweave_kernel::local_index! { Handle: "A packet." }

/// No packet.
pub const NO_PACKET: Handle = Handle::NONE;
/// No SACK blocks.
pub const NO_SIDE: u32 = u32::MAX;

/// One packet. 64 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Packet {
    /// The one behind it in a queue.
    pub next: Handle,
    /// Receiving endpoint, numbered in its shard.
    pub endpoint: EndpointIndex,
    /// Where in the route table the next egress port stands.
    pub route: u32,
    /// Local ingress port of the packet at this switch; at its host, the egress port at the first switch.
    pub ingress: PortIndex,
    /// First byte's place in the stream.
    pub offset: u64,
    /// ACK: everything below is there. Announcement: end of the message in the stream. Data of a tree: [`sums`].
    pub acknowledged: u64,
    /// When it was first sent; an ACK echoes it.
    pub sent: Time,
    /// Bytes on the wire, with preamble and gap [B].
    pub wire: u32,
    /// Bytes of the stream that it carries [B]. Announcement: number of the message.
    pub payload: u32,
    /// Word of the transport's header, which it alone reads; announcement: tag.
    pub word: u32,
    /// SACK blocks and telemetry in the side slab, or [`NO_SIDE`].
    pub side: u32,
    /// Number in the run of the connection end that sends it.
    pub sender: u32,
    /// Kind of the packet.
    pub kind: PacketKind,
    /// Priority that PFC pauses.
    pub priority: u8,
    /// See [`flags`].
    pub flags: u8,
    /// Byte of the transport's header, likewise; announcement: kind of the message.
    pub header_bits: u8,
}

impl Packet {
    /// Returns the memory that its frame takes: preamble and gap are on the wire only [B].
    #[inline]
    pub fn stored(&self) -> u32 {
        self.wire - PREAMBLE_AND_GAP
    }

    /// Fields of its transport.
    #[inline]
    pub fn content(&self) -> TransportPacket {
        let &Packet { kind, flags, offset, acknowledged, sent, wire, payload, .. } = self;
        TransportPacket { kind, flags, header: self.header(), offset, acknowledged, sent, wire, payload }
    }

    /// Word and byte of the transport's header.
    #[inline]
    pub fn header(&self) -> (u32, u8) {
        (self.word, self.header_bits)
    }

    /// Writes word and byte of the transport's header.
    #[inline]
    pub fn set_header(&mut self, (word, bits): (u32, u8)) {
        (self.word, self.header_bits) = (word, bits);
    }

    /// Whether all bits of `flag` are set.
    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag == flag
    }
}

/// Route state that a packet carries where switches decide packet by packet. It lies in one cache line.
#[derive(Clone, Copy, Default, Debug)]
#[repr(align(32))]
pub struct PacketRoute {
    /// State of the routing.
    pub routed: RoutedPacket,
    /// The port by which it leaves the switch where it is or goes to, numbered in the shard; none before it is decided.
    pub egress: PortIndex,
    /// The priority of channel 0.
    pub base: u8,
    /// The channel of the link that it takes next.
    pub channel: u8,
}

impl PacketRoute {
    /// Whether a switch has been decided about.
    #[inline]
    pub fn is_decided(&self) -> bool {
        self.egress != PortIndex::NONE
    }

    /// Egress port of the packet, and its priority there.
    #[inline]
    pub fn link(&self) -> (PortIndex, u8) {
        (self.egress, self.next_priority())
    }

    /// The priority with which the packet takes the next link.
    #[inline]
    pub fn next_priority(&self) -> u8 {
        self.base + self.channel
    }
}

/// All packets of a shard.
#[derive(Default)]
pub struct Packets {
    slots: IndexVec<Handle, Packet>,
    free: Vec<Handle>,
    /// Routes by handle, where packets are routed one by one; otherwise empty.
    routes: IndexVec<Handle, PacketRoute>,
    /// When the last byte of each packet is in the node where it is, by handle; empty where nothing is asserted.
    tails: IndexVec<Handle, Time>,
    sides: Vec<SackBlocks>,
    sides_free: Vec<u32>,
    /// Telemetry by place in the side slab, where switches write it; otherwise empty.
    paths: Vec<PathTelemetry>,
}

impl Packets {
    /// Puts a packet in.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> Handle {
        let handle = match self.free.pop() {
            Some(handle) => {
                self.slots[handle] = packet;
                handle
            }
            None => self.grow(packet),
        };
        if cfg!(debug_assertions) {
            self.set_tail(handle, Time::ZERO);
        }
        handle
    }

    /// Notes when the last byte of a packet is in the node where it is: of one that is made there, from the start.
    pub fn set_tail(&mut self, handle: Handle, time: Time) {
        self.tails.resize(self.slots.len(), Time::ZERO);
        self.tails[handle] = time;
    }

    /// When the last byte of a packet is in the node where it is; counted where debug assertions are on.
    pub fn tail(&self, handle: Handle) -> Time {
        self.tails.get(handle).copied().unwrap_or_default()
    }

    /// Makes room for so many packets.
    pub fn reserve(&mut self, packets: usize) {
        self.slots.reserve_exact(packets.saturating_sub(self.slots.len()));
        prefer_huge_pages(&self.slots);
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, packet: Packet) -> Handle {
        let is_full = self.slots.len() == self.slots.capacity();
        let handle = self.slots.push(packet);
        if is_full {
            prefer_huge_pages(&self.slots);
        }
        handle
    }

    /// All packets that were put in and not taken out.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        let mut is_free = vec![false; self.slots.len()];
        self.free.iter().for_each(|handle| is_free[handle.place()] = true);
        self.slots.iter().zip(is_free).filter(|(_, is_free)| !is_free).map(|(packet, _)| packet)
    }

    /// Takes a packet out. Its side entry, if any, is the caller's.
    #[inline]
    pub fn remove(&mut self, handle: Handle) -> Packet {
        self.free.push(handle);
        self.slots[handle]
    }

    /// Exchanges two packets, with what they carry for their routing.
    pub fn swap(&mut self, handle: Handle, other: Handle) {
        (self.slots[handle], self.slots[other]) = (self.slots[other], self.slots[handle]);
        let routes = [handle, other].map(|handle| self.routes.get(handle).copied());
        if let [Some(route), Some(other_route)] = routes {
            (self.routes[handle], self.routes[other]) = (other_route, route);
        }
    }

    /// Returns the state that a packet carries for its routing.
    #[inline]
    pub fn route(&self, handle: Handle) -> &PacketRoute {
        &self.routes[handle]
    }

    /// The same; an announcement, which no switch sees, may have none.
    pub fn route_if_any(&self, handle: Handle) -> PacketRoute {
        self.routes.get(handle).copied().unwrap_or_default()
    }

    /// The same, to be changed.
    #[inline]
    pub fn route_mut(&mut self, handle: Handle) -> &mut PacketRoute {
        &mut self.routes[handle]
    }

    /// Gives a packet what its routing needs.
    pub fn set_route(&mut self, handle: Handle, route: PacketRoute) {
        if self.routes.len() < self.slots.len() {
            self.routes.resize(self.slots.len(), PacketRoute::default());
        }
        self.routes[handle] = route;
    }

    /// Begins to fetch a packet, if there is one of that name.
    #[inline]
    pub fn prefetch(&self, handle: Handle) {
        prefetch(&self.slots, handle.place(), size_of::<Packet>());
    }

    /// Begins to fetch what a packet carries for its routing.
    #[inline]
    pub fn prefetch_route(&self, handle: Handle) {
        prefetch(&self.routes, handle.place(), size_of::<PacketRoute>());
    }

    /// A packet, if there is one of that name.
    #[inline]
    pub fn get(&self, handle: Handle) -> Option<&Packet> {
        self.slots.get(handle)
    }

    /// Puts SACK blocks in the side slab.
    pub fn insert_side(&mut self, blocks: SackBlocks) -> u32 {
        match self.sides_free.pop() {
            Some(side) => {
                self.sides[side as usize] = blocks;
                side
            }
            None => {
                self.sides.push(blocks);
                (self.sides.len() - 1) as u32
            }
        }
    }

    /// Returns the telemetry that switches have written into a packet with this side entry.
    pub fn path(&self, side: u32) -> Option<&PathTelemetry> {
        self.paths.get(side as usize)
    }

    /// Gives a side entry telemetry.
    pub fn set_path(&mut self, side: u32, path: PathTelemetry) {
        if self.paths.len() < self.sides.len() {
            self.paths.resize(self.sides.len(), PathTelemetry::default());
        }
        self.paths[side as usize] = path;
    }

    /// Returns the telemetry that switches have written into a packet, to be changed. The first call makes a side
    /// entry.
    pub fn path_mut(&mut self, handle: Handle) -> &mut PathTelemetry {
        if self.slots[handle].side == NO_SIDE {
            let side = self.insert_side(SackBlocks::default());
            self.set_path(side, PathTelemetry::default());
            self.slots[handle].side = side;
        }
        &mut self.paths[self.slots[handle].side as usize]
    }

    /// SACK blocks in the side slab, to be changed.
    pub fn side_mut(&mut self, side: u32) -> &mut SackBlocks {
        &mut self.sides[side as usize]
    }

    /// SACK blocks in the side slab.
    pub fn side(&self, side: u32) -> Option<SackBlocks> {
        (side != NO_SIDE).then(|| self.sides[side as usize])
    }

    /// Takes SACK blocks out of the side slab.
    pub fn remove_side(&mut self, side: u32) -> Option<SackBlocks> {
        (side != NO_SIDE).then(|| {
            self.sides_free.push(side);
            self.sides[side as usize]
        })
    }

    /// The largest number of packets that ever existed at once.
    pub fn capacity_used(&self) -> usize {
        self.slots.len()
    }
}

impl std::ops::Index<Handle> for Packets {
    type Output = Packet;
    #[inline]
    fn index(&self, handle: Handle) -> &Packet {
        &self.slots[handle]
    }
}

impl std::ops::IndexMut<Handle> for Packets {
    #[inline]
    fn index_mut(&mut self, handle: Handle) -> &mut Packet {
        &mut self.slots[handle]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_one_cache_line() {
        assert_eq!(size_of::<Packet>(), 64);
    }
}
