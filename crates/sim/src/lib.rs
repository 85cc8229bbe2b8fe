//! Packet-level simulation of Ethernet fabrics, hosts and transports.
//!
//! - An [`Experiment`] defines what is simulated: a topology with its routes, parameters, jobs.
//! - [`Simulation::build`] divides it into shards, [`Simulation::run`] serves events until the jobs are done, and
//!   [`Simulation::report`] returns what was measured.
//!
//! The main loop is `Shard::serve` in `shard.rs`; a packet's path starts in `crates/host/src/nic.rs`, crosses
//! `crates/switch/src/forward.rs` and ends in `crates/host/src/protocol/by_nic.rs` or `crates/host/src/softirq.rs`.
//!
//! Guarantees: the same experiment gives the same report on any number of threads and processes; packets made are
//! packets delivered, dropped, discarded as damaged, lost on a failed link, or in flight.

mod build;
mod captures;
mod estimate;
mod fetch;
mod forward;
mod loop_watch;
mod remote;
mod report;
mod run;
mod sampling;
mod shard;
mod skipped_work;
#[cfg(test)]
mod tests;
mod window_times;

pub use build::{
    CONNECTIONS_MAX, Experiment, Job, PairConnections, Paths, PauseStorm, PortBuffer, TreeCost, nic_headroom,
    port_buffers, tree_costs,
};
pub use estimate::{ConnectionUse, RunMemory, path_latency};
pub use etherweave_engine::capture::{Capture, Captured, CapturedFrame};
pub use etherweave_engine::constants::{headroom, largest_packet, pause_quanta_min};
pub use etherweave_engine::degraded::DegradedLink;
pub use etherweave_engine::fec::{ClassCodes, ForwardErrorCorrection};
pub use etherweave_engine::fingerprint::Fingerprint;
pub use etherweave_engine::frame::pause::PauseFrame;
pub use etherweave_engine::link_retry::LinkRetry;
pub use etherweave_engine::packet::{Packet, PacketKind, flags};
pub use etherweave_engine::paused::PauseCounters;
pub use etherweave_engine::{frame, params};
pub use etherweave_host::{ActivityKind, IterationRow, RepetitionRow};
pub use etherweave_switch::per_packet::PreparedRouting;
pub use etherweave_transport as transport;
pub use forward::{SkipLevel, SkipLimits};
pub use report::{
    ActivityRow, FailureRow, FlowRow, FlowSampleRow, FlowWriter, HostSampleRow, LearningRow, LeftOut, LosslessDrop,
    Observed, PathMessage, PathPart, PathRow, PortRow, PortSampleRow, RateRow, ReplayRow, Report, SampledFlowName,
    SampledPortName, Samples, SkipRow, SleepRow, StormRow, StreamRow, Totals, TransferRow, WaitRow,
};
pub use run::{Finish, Progress, Simulation};
pub use sampling::{FlowSelection, Sampling};
pub use window_times::{Clock, ShardTimes};
