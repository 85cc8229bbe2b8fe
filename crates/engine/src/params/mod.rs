//! Parameters of switches, hosts and protocols in a scenario.
//!
//! Every struct reads from TOML with units, rejects unknown keys, and defaults to the hardware of the
//! 96-node testbed. The meaning of a value stands here; whether values are consistent is checked in [`check`].

mod cells;
mod check;
mod command_stall;
mod cores;
mod epoch_rates;
mod fidelity;
mod flow_control;
mod host;
mod learning;
mod low_power_idle;
mod noise;
mod outer_header;
mod pcie;
mod pfc_watchdog;
mod ports;
mod receive;
mod reduction;
mod shaper;
mod shared_memory;
mod switch;
mod trimming;

pub use cells::{Cells, PeerResponse, TableRate};
pub use check::check;
pub use command_stall::CommandStall;
pub use cores::{Binding, CoreParams};
pub use epoch_rates::EpochRates;
pub use etherweave_kernel::Arbiter;
pub use etherweave_transport::params::{
    AlphaUpdate, CONGESTION_CONTROLS, CompletionOrder, CongestionControlKey, Dcqcn, LossDetection, Reliability,
    RoceParams, RoceVersion,
};
pub use etherweave_transport::{
    ConnectionWindow, Dctcp, FlowWindow, Headers, Hpcc, InjectionDelay, Overtaken, ResentCounts, Swift, Transport,
    TransportParams,
};
pub use fidelity::Fidelity;
pub use flow_control::{Credits, Ets, FlowControl, GlobalPause, Pfc};
pub use host::{
    ContextCache, CpuCosts, DynamicConnections, HostParams, MpiParams, NicParams, UCX_COPY_PER_KIB,
    ucx_rendezvous_threshold, ucx_single_copy_threshold,
};
pub use learning::AddressLearning;
pub use low_power_idle::LowPowerIdleTimes;
pub use noise::Noise;
pub use outer_header::OuterHeader;
pub use pcie::Pcie;
pub use pfc_watchdog::{PfcWatchdog, WatchdogAction};
pub use ports::{PortChoice, PortKey, PortParams};
pub use receive::{
    AdaptiveParams, Moderation, ModerationProfile, ModerationTimer, PROFILES, ReceiveParams, ThrottleParams,
    TransmitParams,
};
pub use reduction::ReductionParams;
pub use shaper::TokenBucket;
pub use shared_memory::SharedMemoryParams;
pub use switch::{EcnMarking, Forwarding, MarkAt, SwitchModel, SwitchParams, Threshold};
pub use trimming::Trimming;

use etherweave_routing::MeasurementParams;

use crate::fec::ClassCodes;

/// All parameters of the simulator besides topology, routes and workload.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SimParams {
    /// Every switch.
    pub switch: SwitchParams,
    /// Flow control that stops senders before buffers overflow.
    pub flow_control: FlowControl,
    /// Shares of traffic classes in a port.
    pub ets: Ets,
    /// Forward error correction of links.
    pub fec: ClassCodes,
    /// NIC.
    pub nic: NicParams,
    /// Processor and operating system.
    pub host: HostParams,
    /// Ports of hosts that have several.
    pub ports: PortParams,
    /// Transport protocol of hosts.
    pub transport: Transport,
    /// Transports of jobs that have others, on the same hosts, numbered from 1. Empty: all jobs use the same.
    pub other_transports: Vec<Transport>,
    /// The controller of the routing "controller" or "elastic_tree".
    pub controller: MeasurementParams,
    /// Whether packets are simulated.
    pub fidelity: Fidelity,
    /// Seed of all random streams.
    pub seed: u64,
}

/// Whether a parameter has the value that it has if nothing is said, and a scenario need not repeat it.
fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl SimParams {
    /// All transports of hosts.
    pub fn transports(&self) -> impl Iterator<Item = &Transport> {
        std::iter::once(&self.transport).chain(&self.other_transports)
    }

    /// The transport of a number: 0 is that of the run.
    #[inline]
    pub fn transport_of(&self, number: u8) -> &Transport {
        match number.checked_sub(1) {
            None => &self.transport,
            Some(place) => &self.other_transports[usize::from(place)],
        }
    }
}
