//! The engine: events, their queue, shards and the windows in which shards run side by side.
//!
//! An entity (a switch or a host) belongs to one shard. A shard serves its own events in order; what it does
//! to an entity elsewhere it puts in an outbox. The shortest delay between two entities of different shards is
//! the *lookahead*: all events of a window of that length can be served before any message is exchanged.
//!
//! ```text
//!   shard 0   ──serve──┐ exchange ┌──serve──┐ exchange ┌── …
//!   shard 1   ──serve──┘ outboxes └──serve──┘ outboxes └── …
//!              window k              window k+1
//! ```
//!
//! `etherweave-kernel` has the exchange, on threads and on processes.
//!
//! # Events per packet-hop
//! One when the output is idle: the arrival, scheduled by the sender's transmission start. A second, the freeing of
//! the transmitter, only while packets wait. Cache lines touched: the event, the packet (one line), the route entry,
//! the egress port; when it must wait, also the ingress counter of the switch.

mod capture;
mod credit_flow;
pub(crate) mod credits;
mod egress;
pub mod event;
mod fetch;
pub(crate) mod impaired;
pub(crate) mod impaired_link;
pub(crate) mod memory;
mod outbox;
mod pause;
pub mod paused;
pub mod port;
pub mod queue;
mod remote;
mod run;
pub mod schedule;
pub mod shaper;
mod shard;
pub mod sleep;
mod telemetry;
mod totals;
mod wires;

pub(crate) use remote::RunState;
pub use run::{Finish, Progress, Simulation};
pub(crate) use shard::Shard;
pub(crate) use totals::ShardTotals;
pub(crate) use wires::Wires;
