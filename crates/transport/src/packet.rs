//! Packets, as transports write and read them.

use etherweave_kernel::Wire;
use etherweave_primitives::{HostId, Time};

use crate::{SackBlocks, telemetry::PathTelemetry};

/// Purpose of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PacketKind {
    /// Bytes of a message stream: RoCE SEND, WRITE or READ response; TCP segment.
    Data,
    /// RoCE acknowledgement or pure TCP ACK.
    Ack,
    /// RoCE negative acknowledgement: packet sequence error.
    Nak,
    /// DCQCN congestion notification; grant of credits, request for them or for an acknowledgement.
    Cnp,
    /// Not on the wire: informs the receiver where a message will end.
    Announcement,
}

impl PacketKind {
    /// All, by number.
    pub const ALL: [PacketKind; 5] =
        [PacketKind::Data, PacketKind::Ack, PacketKind::Nak, PacketKind::Cnp, PacketKind::Announcement];
}

impl Wire for PacketKind {
    fn write(&self, words: &mut Vec<u32>) {
        words.push(*self as u32);
    }

    fn read(words: &mut &[u32]) -> PacketKind {
        PacketKind::ALL[u32::read(words) as usize]
    }
}

/// Bits of [`TransportPacket::flags`], which ports and hosts read whatever the transport.
pub mod flags {
    /// The packet may be marked.
    pub const ECN_CAPABLE: u8 = 1;
    /// The packet was marked.
    pub const CONGESTION: u8 = 2;
    /// Sent before.
    pub const RETRANSMISSION: u8 = 4;
    /// Kernels send and take it, not NICs by themselves.
    pub const KERNEL: u8 = 8;
    /// It has bit errors: its frame check sequence is wrong.
    pub const DAMAGED: u8 = 16;
    /// It has room for telemetry of switches.
    pub const TELEMETRY: u8 = 32;
    /// It is a copy that a switch has made of a frame whose address it does not know.
    pub const FLOODED: u8 = 64;
    /// A switch has cut its payload off.
    pub const TRIMMED: u8 = 128;
    /// That switch is the last before the receiver. What is trimmed has no telemetry.
    pub const LAST_HOP: u8 = TRIMMED | TELEMETRY;
}

/// Bits of [`TransportPacket::acknowledged`] of a data packet of an aggregation tree.
pub mod sums {
    /// Packet that travels without its payload.
    pub const BARE: u64 = 1;
    /// Packet that leaves the switch without its payload.
    pub const BARE_NEXT: u64 = 2;
    /// Nobody for whom it goes gets the sum.
    pub const GIVES: u64 = 4;
}

/// Fields of a packet that a transport writes and reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransportPacket {
    /// Kind of packet.
    pub kind: PacketKind,
    /// See [`flags`].
    pub flags: u8,
    /// Word and byte of the transport's header, which it alone reads.
    pub header: (u32, u8),
    /// First byte's place in the stream.
    pub offset: u64,
    /// ACK: everything below is there. Data of an aggregation tree: see [`sums`].
    pub acknowledged: u64,
    /// When it was first sent; an ACK echoes it.
    pub sent: Time,
    /// Bytes on the wire, with preamble and gap [B].
    pub wire: u32,
    /// Bytes of the stream that it carries [B].
    pub payload: u32,
}

impl TransportPacket {
    /// A packet of a size; the caller fills in the rest.
    #[inline]
    pub fn new(kind: PacketKind, wire: u32, payload: u32) -> TransportPacket {
        TransportPacket { kind, flags: 0, header: (0, 0), offset: 0, acknowledged: 0, sent: Time::ZERO, wire, payload }
    }

    /// Whether all bits of `flag` are set.
    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag == flag
    }

    /// Its two ECN bits (RFC 3168, section 5).
    pub fn ecn(&self) -> u8 {
        match (self.has(flags::ECN_CAPABLE), self.has(flags::CONGESTION)) {
            (_, true) => 3,
            (true, false) => 2,
            (false, false) => 0,
        }
    }
}

/// Fields that few packets carry.
#[derive(Clone, Copy, Default, Debug)]
pub struct SideContent {
    /// SACK blocks.
    pub blocks: SackBlocks,
    /// Telemetry of switches.
    pub path: PathTelemetry,
}

/// A frame's ends and its time, for its octets in a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameEnds {
    /// First bit of an outgoing frame; end of reception of an incoming one.
    pub time: Time,
    /// Sender.
    pub source: HostId,
    /// Receiver.
    pub destination: HostId,
    /// Number of the sending end of its connection; the other end's differs in the last bit.
    pub queue: u32,
}
