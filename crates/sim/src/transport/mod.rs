//! Transports as pure state machines: RoCE with its congestion control, and TCP.
//!
//! They own no clock and send nothing; [`crate::host`] asks them what to do and does it.

pub mod dcqcn;
pub mod roce;
pub mod tcp;

/// The SACK blocks of an acknowledgement.
pub type SackBlocks = [tcp::ByteRange; tcp::SACK_BLOCKS];
