//! Open-loop simulation of input-buffered switches with virtual channels, packet by packet, at exascale.
//!
//! ```text
//!   host ──► queue ─┐                                      ┌─► input (port, channel) of the next switch
//!                   ├─► crossbar ──► output queue ──► link ┤
//!   link ──► input ─┘   speed-up     latency               └─► host
//!            ▲                              │
//!            └── credit, when it leaves ────┘
//! ```
//!
//! A packet costs one event per switch for its head's arrival and one for the credit it returns; others only where it
//! waits. State is flat vectors by shard; shards are parts of the fabric that fit a core's cache, and run side by side
//! for a *window*, no longer than from a grant to what it does in another shard: on threads or on the nodes of a
//! cluster (`etherweave-kernel`).
//!
//! Guarantees: the same report, byte by byte, on any number of threads and processes; no buffer overflows (asserted);
//! every packet is delivered, in flight at the end, or was lost on a link that was down (asserted).
//!
//! Left out: transports, MPI and hosts beyond a queue (`etherweave-sim` has them), packets of unequal length.

mod build;
mod cache;
mod constants;
mod crossbar;
mod deadlock;
mod estimate;
mod fairness;
mod histogram;
mod host;
mod links;
mod load_view;
mod measures;
mod notification;
mod open_loops;
mod outage;
mod packet;
mod params;
mod pause;
mod port;
mod reaction;
mod reordering;
mod report;
mod run_length;
mod simulation;
mod snooping;
mod sources;
mod steady;
mod switches;
mod tally;
mod traffic;
mod wheel;
mod wire;
mod wires;
mod workers;

pub use etherweave_kernel::Arbiter;
pub use etherweave_routing::ControllerParams;
pub use etherweave_workload::{Arrival, Pattern};

pub use deadlock::WaitingChannel;
pub use estimate::{PointLoad, PointMemory};
pub use fairness::Fairness;
pub use histogram::Histogram;
pub use links::{Links, check_links};
pub use packet::PACKET_BYTES;
pub use params::{ChannelScheduler, DELAY_MAX, FlowControl, SwitchParams};
pub use port::port_bytes;
pub use reaction::settled;
pub use reordering::Reordering;
pub use report::Report;
pub use run_length::{RunLength, RunParams, load_share};
pub use simulation::{Experiment, Prepared};
pub use tally::Batch;
pub use traffic::OfferedTraffic;
