//! Packet-level simulation of Ethernet fabrics, hosts and transports.
//!
//! - An [`Experiment`] defines what is simulated: a topology with its routes, parameters, jobs.
//! - [`Simulation::build`] divides it into shards, [`Simulation::run`] serves events until the jobs are done, and
//!   [`Simulation::report`] returns what was measured.
//!
//! The main loop is `Shard::serve` in `engine/shard.rs`; a packet's path starts in `host/nic.rs`, crosses
//! `switch/forward.rs` and ends in `host/roce.rs` or `host/softirq.rs`.
//!
//! Guarantees: the same experiment gives the same report on any number of threads and processes; packets made are
//! packets delivered, dropped, discarded as damaged, lost on a failed link, or in flight.

#[cfg(test)]
mod alone;
mod build;
mod capture;
mod captured_port;
mod constants;
mod degraded;
pub mod engine;
mod estimate;
mod fingerprint;
pub mod frame;
mod host;
mod losses;
mod packet;
pub mod params;
mod report;
mod sampling;
mod switch;
#[cfg(test)]
mod tests;

use etherweave_fluid as fluid;
use etherweave_kernel::indices;
pub use etherweave_transport as transport;

pub use build::{CONNECTIONS_MAX, Experiment, Job, Paths, PortBuffer, port_buffers};
pub use capture::{Capture, Captured, CapturedFrame};
pub use constants::{headroom, largest_packet, pause_quanta_min};
pub use degraded::DegradedLink;
pub use engine::paused::PauseCounters;
pub use engine::{Finish, Progress, Simulation};
pub use estimate::RunMemory;
pub use fingerprint::Fingerprint;
pub use frame::pause::PauseFrame;
pub use host::{ActivityKind, IterationRow};
pub use packet::{Packet, PacketKind, flags};
pub use report::{
    ActivityRow, FailureRow, FlowRow, FlowSampleRow, LeftOut, LosslessDrop, PortRow, PortSampleRow, Report,
    SampledFlowName, SampledPortName, Samples, SleepRow, StreamRow, Totals, TransferRow,
};
pub use sampling::{FlowSelection, Sampling};
pub use switch::per_packet::PreparedRouting;
