//! Packets, in a slab with intrusive lists.

use etherweave_routing::RoutedPacket;

use crate::cache::every_line;

pub(crate) const NONE: u32 = u32::MAX;

/// Memory of a packet in flight [bytes].
pub const PACKET_BYTES: usize = size_of::<Packet>();

/// A packet in flight: 32 bytes, two to a cache line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// When it was made [ticks].
    pub(crate) born: u32,
    /// When its head arrived at its input [ticks].
    pub(crate) entered: u32,
    pub(crate) next: u32,
    /// The input channel where it is or goes, counted within its shard.
    pub(crate) place: u32,
    pub(crate) route: RoutedPacket,
}

/// All packets of a shard; freed places are used again, the last one first, while it is still in the cache.
pub(crate) struct Slab {
    packets: Vec<Packet>,
    free: u32,
    held: u64,
}

impl Slab {
    pub fn new() -> Slab {
        Slab { packets: Vec::new(), free: NONE, held: 0 }
    }

    #[inline]
    pub fn insert(&mut self, packet: Packet) -> u32 {
        self.held += 1;
        let id = self.free;
        if id == NONE {
            self.packets.push(packet);
            return self.packets.len() as u32 - 1;
        }
        self.free = self.packets[id as usize].next;
        self.packets[id as usize] = packet;
        id
    }

    #[inline]
    pub fn remove(&mut self, id: u32) -> Packet {
        self.held -= 1;
        let packet = self.packets[id as usize];
        self.packets[id as usize].next = self.free;
        self.free = id;
        packet
    }

    #[inline]
    pub fn peek(&self, id: u32) -> &Packet {
        &self.packets[id as usize]
    }

    #[inline]
    pub fn get(&mut self, id: u32) -> &mut Packet {
        &mut self.packets[id as usize]
    }

    /// Reads a word of every cache line.
    pub fn touch(&self) -> u32 {
        every_line(&self.packets).fold(0, |sum, packet| sum ^ packet.next)
    }

    /// Packets that are there now.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// The most packets that ever were at once.
    pub fn most(&self) -> usize {
        self.packets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_packets_share_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 32);
    }
}
