//! TCP as two pure state machines: the [`Sender`] and the [`Receiver`] of one direction of a connection.
//!
//! ```text
//!  write ─► Sender ── Segment ──► network ── SegmentArrival ──► Receiver ─► readable, read
//!             ▲                                                    │
//!             └───────────────── Ack ◄── network ◄── make_ack ─────┘
//! ```
//!
//! They do no input or output and own no clock: the host passes `now`, transmits the segments that
//! [`Sender::next_segment`] hands out, sends an [`Ack`] when [`Receiver::on_segment`] asks for one, and
//! calls `on_timer` when `timer` is due. The reference is Linux 3.10 where the standards leave a choice.
//!
//! Guarantees: every written byte is delivered once and in order as long as the path lets anything through;
//! the congestion window never falls below one segment; nothing allocates once the buffers of a
//! connection have grown to its worst loss episode; the same calls give the same answers on every machine.
//!
//! Left out: connection set-up and teardown, wrapping sequence numbers (they are 64-bit byte
//! offsets), urgent data, Nagle's algorithm. `docs/models/tcp.md` has the
//! equations, sources and the whole list.

// First: the parameters name its members, which it lists.
#[macro_use]
mod congestion;

mod acknowledge;
mod answers;
mod deadlines;
mod frame;
mod header;
mod limits;
mod params;
mod prr;
mod receiver;
mod recovery;
mod scoreboard;
mod sender;
mod time_based_loss;
mod timer;
mod undo;
mod window;

#[cfg(test)]
mod tests;

pub(super) use congestion::Dctcp;
pub use frame::port;
pub use header::TcpHeader;
pub use limits::Limits;
pub use params::{CongestionControl, SegmentLoss, TcpParams};
pub use receiver::{AckAction, Receiver, SegmentArrival};
pub use sender::{Segment, Sender, SenderCounters};

use etherweave_primitives::Time;

use super::SackBlocks;

/// An acknowledgement, alone or on a data segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ack {
    /// Next byte the receiver expects [offset in the stream].
    pub cumulative: u64,
    /// How much may follow `cumulative` [B].
    pub window: u64,
    /// Ranges that have arrived beyond `cumulative`, and one that has arrived twice.
    pub sack: SackBlocks,
    /// The receiver saw congestion marks (ECE, RFC 3168).
    pub ecn_echo: bool,
    /// When the segment was sent that this answers (TSecr, RFC 7323).
    pub timestamp_echo: Time,
    /// Whether it travels on a data segment: such an ACK never counts as a duplicate (RFC 5681, section 2).
    pub on_data: bool,
}
