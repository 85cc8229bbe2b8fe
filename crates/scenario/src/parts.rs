//! Parts of a scenario: tables of its file beside the parameters of other crates, and defaults that follow from several
//! of them.

pub(crate) mod classes;
pub(crate) mod connections;
pub(crate) mod control;
pub(crate) mod fast_forward;
pub(crate) mod faults;
pub(crate) mod flows;
pub(crate) mod host_ports;
pub(crate) mod hosts;
pub(crate) mod network;
pub(crate) mod nic_buffer;
pub(crate) mod nodes;
pub(crate) mod pattern_spec;
pub(crate) mod prototypes;
pub(crate) mod routing;
pub(crate) mod sampling;
pub(crate) mod sweep;
pub(crate) mod thresholds;
pub(crate) mod transports;
pub(crate) mod trimming;
pub(crate) mod warm_up;
