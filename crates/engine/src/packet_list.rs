//! A first-in first-out list of packets, by the links that they have themselves.

use crate::packet::{Handle, NO_PACKET, Packets};

/// Packets one behind the other.
#[derive(Clone, Copy, Debug)]
pub struct PacketList {
    head: Handle,
    tail: Handle,
    /// Waiting, as buffers count: frames without preamble and gap [B].
    pub bytes: u32,
    /// Most that ever waited [B].
    pub bytes_max: u32,
}

impl PacketList {
    /// A list without packets.
    pub const EMPTY: PacketList = PacketList { head: NO_PACKET, tail: NO_PACKET, bytes: 0, bytes_max: 0 };

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NO_PACKET
    }

    /// The packet that leads; [`NO_PACKET`] where none does.
    #[inline]
    pub fn first(&self) -> Handle {
        self.head
    }

    /// The packet that came last, if any waits.
    pub fn last(&self) -> Option<Handle> {
        (!self.is_empty()).then_some(self.tail)
    }

    /// The packet that leads and the one that came last; what they were where none waits.
    #[inline]
    pub fn ends(&self) -> (Handle, Handle) {
        (self.head, self.tail)
    }

    /// Counts `bytes` more.
    #[inline]
    pub fn grow(&mut self, bytes: u32) {
        self.bytes += bytes;
        self.bytes_max = self.bytes_max.max(self.bytes);
    }

    /// Counts a packet that passes the empty list.
    #[inline]
    pub fn pass(&mut self, bytes: u32) {
        self.bytes_max = self.bytes_max.max(bytes);
    }

    /// Puts a packet behind the others.
    #[inline]
    pub fn enqueue(&mut self, packets: &mut Packets, handle: Handle) {
        let packet = &mut packets[handle];
        packet.next = NO_PACKET;
        let stored = packet.stored();
        if self.is_empty() {
            self.head = handle;
        } else {
            packets[self.tail].next = handle;
        }
        self.tail = handle;
        self.grow(stored);
    }

    /// Takes the first packet out; returns its bytes on the wire, too.
    #[inline]
    pub fn dequeue(&mut self, packets: &Packets) -> (Handle, u32) {
        let handle = self.head;
        let packet = &packets[handle];
        let (next, stored, wire) = (packet.next, packet.stored(), packet.wire);
        self.head = next;
        self.bytes -= stored;
        (handle, wire)
    }
}
