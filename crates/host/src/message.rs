//! Messages: what a stretch of a connection's byte stream means to its receiver.
//!
//! A message is complete when all its bytes are there. Those of a connection follow each other without gaps, so that
//! one is there once all of the stream below its end is; a transport that completes messages in any order also gives
//! what is there beyond the first byte that is missing.

use etherweave_engine::packet::{NO_PACKET, NO_SIDE, Packet, PacketKind};
use etherweave_kernel::indices::{EndpointIndex, PortIndex};
use etherweave_primitives::Time;
use etherweave_transport::ByteRange;

/// Purpose of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum MessageKind {
    /// An MPI message with its payload, or the last fragment of one.
    Eager,
    /// A fragment of an eager message; others follow.
    Fragment,
    /// Rendezvous: request to send.
    RequestToSend,
    /// Rendezvous over RoCE: the receiver's NIC asks the sender's NIC for the payload.
    ReadRequest,
    /// Rendezvous over RoCE: the payload.
    ReadResponse,
    /// Rendezvous over RoCE: the sender may reuse its buffer.
    Finished,
    /// Rendezvous over TCP, or in windows: the receiver is ready.
    ClearToSend,
    /// Rendezvous over TCP: the payload; in windows a piece of it.
    Payload,
    /// One-sided: the payload of a put.
    Put,
    /// One-sided: asks for what is in memory.
    GetRequest,
    /// One-sided: what was in memory.
    GetResponse,
    /// One-sided: an operation on a word.
    AtomicRequest,
    /// One-sided: what the word was.
    AtomicResponse,
    /// One-sided: a put is in memory.
    Done,
}

impl MessageKind {
    const ALL: [MessageKind; 14] = [
        MessageKind::Eager,
        MessageKind::Fragment,
        MessageKind::RequestToSend,
        MessageKind::ReadRequest,
        MessageKind::ReadResponse,
        MessageKind::Finished,
        MessageKind::ClearToSend,
        MessageKind::Payload,
        MessageKind::Put,
        MessageKind::GetRequest,
        MessageKind::GetResponse,
        MessageKind::AtomicRequest,
        MessageKind::AtomicResponse,
        MessageKind::Done,
    ];
}

impl MessageKind {
    /// Whether a NIC may answer it by itself.
    pub(super) fn is_request(self) -> bool {
        matches!(
            self,
            MessageKind::ReadRequest | MessageKind::Put | MessageKind::GetRequest | MessageKind::AtomicRequest
        )
    }
}

/// A message, as its receiver knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Purpose of the message.
    pub kind: MessageKind,
    /// Whether its receiver has it already, from beyond bytes that are missing.
    pub is_taken: bool,
    /// Place among the messages of a connection that receives take, modulo 2^16; of an answer that of the request.
    pub number: u16,
    /// MPI tag; of one-sided operations, what follows.
    pub tag: u32,
    /// MPI payload that it carries or announces [B].
    pub bytes: u64,
    /// Where it ends in the stream [B].
    pub end: u64,
}

/// A WRITE that is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct OpenPut {
    /// Its connection.
    pub endpoint: EndpointIndex,
    /// The message that completes it.
    pub message: Message,
}

impl Message {
    /// A message that is not posted yet.
    pub fn new(kind: MessageKind, tag: u32, bytes: u64) -> Message {
        Message { kind, is_taken: false, number: 0, tag, bytes, end: 0 }
    }

    /// Answer of a kind to this message, with its tag, payload and number.
    pub fn answer(&self, kind: MessageKind) -> Message {
        Message { kind, is_taken: false, end: 0, ..*self }
    }

    /// Place of a WRITE in the stream, which is payload alone.
    pub fn write(&self) -> ByteRange {
        ByteRange::new(self.end - self.bytes, self.end)
    }

    /// Returns the announcement of the message to `endpoint`.
    pub fn announcement(&self, endpoint: EndpointIndex) -> Packet {
        Packet {
            next: NO_PACKET,
            endpoint,
            route: 0,
            ingress: PortIndex::new(0),
            offset: self.bytes,
            acknowledged: self.end,
            sent: Time::ZERO,
            wire: 0,
            payload: self.number.into(),
            word: self.tag,
            side: NO_SIDE,
            sender: 0,
            kind: PacketKind::Announcement,
            priority: 0,
            flags: 0,
            header_bits: self.kind as u8,
        }
    }

    /// Returns the message of an announcement.
    pub fn announced(packet: &Packet) -> Message {
        Message {
            kind: MessageKind::ALL[usize::from(packet.header_bits)],
            is_taken: false,
            number: packet.payload as u16,
            tag: packet.word,
            bytes: packet.offset,
            end: packet.acknowledged,
        }
    }
}
