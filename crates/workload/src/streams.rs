//! Streams: endless or counted messages from one host to another, without a schedule.

use etherweave_primitives::{Duration, Rank};

/// A stream of equal messages over its own connection. Whenever fewer than `outstanding` messages
/// are incomplete, the next is posted, until `messages` are sent or the run ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamSpec {
    /// Who sends.
    pub src_rank: Rank,
    /// Who receives.
    pub dst_rank: Rank,
    /// Number among the streams of this source, from 0.
    pub stream: u32,
    /// One message [B], 1 or more.
    pub bytes_per_message: u64,
    /// Window of incomplete messages, 1 or more. `ib_write_bw` keeps 128 (its transmit depth),
    /// `iperf3` performs one blocking write at a time.
    pub outstanding: u32,
    /// How many messages; `None` until the run ends.
    pub messages: Option<u64>,
    /// When a flow starts, after its job: one whose completion time is compared with that on an idle fabric. `None` for
    /// a stream, which starts with its job.
    pub flow_start: Option<Duration>,
}
