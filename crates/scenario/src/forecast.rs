//! Forecast of a run before it is built: memory, disk, packet-hops and time, and the refusal of what does not fit.

pub(crate) mod estimate;
pub(crate) mod memory;
pub(crate) mod run_time;
pub(crate) mod simulated;
