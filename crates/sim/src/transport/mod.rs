//! Transports: TCP and the congestion control of RoCE, as pure state machines.
//!
//! They own no clock and send nothing; [`crate::host`] asks them what to do and does it.

pub mod dcqcn;
pub mod tcp;

/// The SACK blocks of an acknowledgement.
pub type SackBlocks = [tcp::ByteRange; tcp::SACK_BLOCKS];
