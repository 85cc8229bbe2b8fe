//! RoCE reliable connections as two pure state machines: the [`Requester`] and the [`Responder`] of one direction.
//!
//! ```text
//!  post ─► Requester ── DataPacket ──► network ── DataArrival ──► Responder ─► bytes in order
//!             ▲                                                      │
//!             └──── Acknowledgement ◄── network ◄── acknowledge ─────┘
//! ```
//!
//! They send nothing and own no clock: the host passes `now`, transmits the packets that [`Requester::next_packet`]
//! hands out, and answers when [`Responder::on_data`] asks for it. Offsets count the bytes of the stream; packet
//! sequence numbers run beside them for captures.
//!
//! - Go-back-N: the network keeps order, so a gap means loss: the responder reports it (NAK), and the requester goes
//!   back (InfiniBand Architecture vol. 1, 9.7.5); where its first packet is missing again, so once more.
//! - Selective repeat: packets may overtake each other. The responder places each where it belongs and reports what has
//!   arrived; the requester sends again what is missing.
//!
//! Requester and responder of a NIC take turns: a message goes between the packets of answers to READs that were posted
//! before it. Its bytes stand before theirs in the stream, so that the end of an answer is known once it has been sent.
//!
//! Guarantees: every posted byte is delivered once and in order as long as the path lets anything through.

mod answers;
mod congestion;
mod end;
mod frame;
pub mod header;
mod path_choice;
mod requester;
mod responder;
mod selective;

use etherweave_primitives::Time;

use super::{SackBlocks, duplicate};

pub use congestion::{Congestion, CongestionControl, Feedback, FreshConnection, SenderControl};
pub use end::RoceEnd;
pub use requester::{DataPacket, Requester};
pub use responder::{Answer, DataArrival, Reception, Responder};
pub use selective::Progress;

/// How a message goes over the wire.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Operation {
    /// RDMA WRITE: an address on the first packet.
    #[default]
    Write,
    /// RDMA READ request: an address and nothing else.
    ReadRequest,
    /// RDMA READ response: an acknowledgement on the first and last packet.
    ReadResponse,
    /// Packets of an RDMA READ response between which others go: its first ones.
    ReadResponseFirst,
    /// Neither its first nor its last ones.
    ReadResponseMiddle,
    /// Its last ones.
    ReadResponseLast,
    /// Request of an atomic operation: an address and operands, and nothing else.
    AtomicRequest,
    /// Result of an atomic operation: an acknowledgement and a word.
    AtomicResponse,
    /// A write up an aggregation tree that adds nothing: headers alone.
    SumListen,
    /// A write up an aggregation tree whose sum goes to others.
    SumGive,
}

impl Operation {
    /// Whether a responder answers a requester by it.
    #[inline]
    pub fn is_answer(self) -> bool {
        let is_read = matches!(self, Operation::ReadRequest | Operation::AtomicRequest);
        !is_read && !matches!(self, Operation::Write | Operation::SumListen | Operation::SumGive)
    }

    /// Whether its first packet begins a message.
    #[inline]
    fn begins(self) -> bool {
        !matches!(self, Operation::ReadResponseMiddle | Operation::ReadResponseLast)
    }

    /// Whether its last packet ends a message.
    #[inline]
    fn ends(self) -> bool {
        !matches!(self, Operation::ReadResponseFirst | Operation::ReadResponseMiddle)
    }

    /// Operations of its packets before others that go between them, and of those behind.
    fn parted(self) -> (Operation, Operation) {
        let first = if self.begins() { Operation::ReadResponseFirst } else { Operation::ReadResponseMiddle };
        (first, if self.ends() { Operation::ReadResponseLast } else { Operation::ReadResponseMiddle })
    }
}

/// Report of a responder.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Acknowledgement {
    /// All below has arrived [offset in the stream].
    pub cumulative: u64,
    /// Packet sequence number of the packet that begins there.
    pub sequence: u32,
    /// Whether a packet is missing (NAK).
    pub is_negative: bool,
    /// Selective repeat: what else has arrived.
    pub report: Option<SelectiveReport>,
}

/// Report of an acknowledgement of selective repeat, beside its number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SelectiveReport {
    /// Ranges that have arrived beyond the cumulative acknowledgement, and one that has arrived twice.
    pub blocks: SackBlocks,
    /// When the packet was sent that arrived last.
    pub sent: Time,
    /// Entropy value of that packet.
    pub entropy: u16,
    /// Whether that packet was marked.
    pub is_marked: bool,
}

impl SelectiveReport {
    /// Whether the first block names a packet that arrived twice (RFC 2883, section 4).
    fn has_duplicate(&self, cumulative: u64) -> bool {
        duplicate(&self.blocks, cumulative).is_some()
    }
}

/// The largest packet sequence number: they have 24 bits.
const SEQUENCES: u32 = 0xff_ffff;

/// The packet sequence number after `sequence`.
fn following(sequence: u32) -> u32 {
    (sequence + 1) & SEQUENCES
}
