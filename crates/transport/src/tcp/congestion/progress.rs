//! Progress of the connection, as an ACK reports it.

use etherweave_primitives::{Duration, Time};

/// Progress by an ACK, as congestion control needs it.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct AckProgress {
    pub(in crate::tcp) now: Time,
    /// Newly acknowledged [B].
    pub(in crate::tcp) acked: u64,
    /// Acknowledged up to here [offset].
    pub(in crate::tcp) una: u64,
    /// Sent up to here [offset].
    pub(in crate::tcp) sent_to: u64,
    /// This ACK's round trip.
    pub(in crate::tcp) round_trip: Duration,
    /// Smoothed round trip.
    pub(in crate::tcp) smoothed: Duration,
}
