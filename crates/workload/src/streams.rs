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
    /// Start of a flow, and its ideal time. `None` for a stream, which starts with its job.
    pub flow_start: Option<FlowStart>,
}

/// Start of a flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FlowStart {
    /// After the start of its job, or after the end of the flow that it waits for.
    pub after: Duration,
    /// Ideal time of the flow.
    pub ideal: IdealTime,
    /// The flow whose end it waits for, by its place in the job. Its source is where that flow ends: its receiver,
    /// which has the last byte, or its sender, which has the last acknowledgement.
    pub waits_for: Option<u32>,
}

/// Ideal time of a flow, by which its completion time is divided.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IdealTime {
    /// Delays of a shortest path once, and all frames over its slowest link, or link by link where switches store them.
    #[default]
    Fabric,
    /// Delays of the path both ways, a full packet on each of its links, and all payload and headers over its slowest
    /// link, as the simulator of HPCC counts (`third.cc`).
    Hpcc,
    /// Delays of the path both ways, and the payload at the rate of the sender's link, as the simulations of ABM count
    /// (`abm-evaluation-multi.cc`).
    Abm,
}
