//! Transports as pure state machines: RoCE with its congestion control, and TCP.
//!
//! They own no clock and send nothing; [`crate::host`] asks them what to do and does it.

pub mod dcqcn;
#[cfg(test)]
mod every_transport;
mod ranges;
mod reassembly;
pub mod roce;
mod rtt;
mod short_queue;
pub mod tcp;

pub use ranges::ByteRange;
pub(crate) use short_queue::ShortQueue;

/// SACK blocks that fit beside timestamps in the 40 bytes of TCP options (RFC 2018, section 3).
pub const SACK_BLOCKS: usize = 3;

/// The SACK blocks of an acknowledgement: received out of order, most recent first; a leading block that lies below the
/// cumulative acknowledgement or in another block reports a duplicate (RFC 2883). Empty ranges fill up.
pub type SackBlocks = [ByteRange; SACK_BLOCKS];
