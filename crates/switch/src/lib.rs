//! Switches behind their ports: shared buffers, crossbars, decisions per packet.
//!
//! A packet that arrives is admitted to the shared buffer ([`buffer`]), joins the queue of its egress port and
//! traffic class, and leaves when the scheduler picks it. Buffer is freed when the first bit
//! leaves. A packet whose output is idle passes without touching the buffer. Priorities under credits have buffers of
//! their own ([`credits`]). Switches without a shared buffer queue at their inputs ([`input_queued`]).

pub mod aggregation;
pub mod buffer;
pub mod contention;
pub mod credits;
pub mod forward;
pub mod group_traffic;
pub mod input_queued;
pub mod learning;
pub mod neighbour_loads;
pub mod per_packet;
mod switches;
mod trim;
pub mod watchdog;

pub use switches::{Switch, Switches};
