//! Progress of the connection, as an ACK reports it.

use etherweave_primitives::{Duration, Time};

/// What congestion control needs of an ACK.
#[derive(Clone, Copy, Debug)]
pub(in crate::transport::tcp) struct AckProgress {
    pub(in crate::transport::tcp) now: Time,
    /// Newly acknowledged [B].
    pub(in crate::transport::tcp) acked: u64,
    /// Acknowledged up to here [offset].
    pub(in crate::transport::tcp) una: u64,
    /// Sent up to here [offset].
    pub(in crate::transport::tcp) sent_to: u64,
    /// This ACK's round trip.
    pub(in crate::transport::tcp) round_trip: Duration,
    /// Smoothed round trip.
    pub(in crate::transport::tcp) smoothed: Duration,
}
