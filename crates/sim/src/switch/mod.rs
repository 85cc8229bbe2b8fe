//! Switches: ports, queues, shared buffer, pause, credits.
//!
//! A packet that arrives is admitted to the shared buffer ([`buffer`]), joins the queue of its egress port and
//! traffic class ([`port`]), and leaves when the scheduler ([`schedule`]) picks it. Buffer is freed when the first bit
//! leaves. A packet whose output is idle passes without touching the buffer. Priorities under credits have buffers of
//! their own ([`credits`]). Switches without a shared buffer queue at their inputs ([`input_queued`]).

pub mod buffer;
pub(crate) mod contention;
pub(crate) mod credits;
pub(crate) mod forward;
pub(crate) mod group_traffic;
pub(crate) mod input_queued;
pub(crate) mod neighbour_loads;
pub(crate) mod per_packet;
mod switches;

pub(crate) use switches::{Switch, Switches};
