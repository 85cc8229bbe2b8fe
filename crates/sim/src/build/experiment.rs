//! Experiment that is simulated: a fabric, the paths on it, its parameters and its jobs.

use etherweave_engine::degraded::DegradedLink;
use etherweave_engine::params::{Binding, Fidelity, SimParams};
use etherweave_primitives::{ChannelId, Duration, HostId, InputError, Priority, Time};
use etherweave_routing::{HashSelection, Outage, RoutingKind, RoutingTable, SelectionKind};
use etherweave_switch::per_packet::PreparedRouting;
use etherweave_topology::Topology;
use etherweave_workload::Traffic;

use super::PauseStorm;
use crate::forward::SkipLimits;
use crate::sampling::Sampling;

/// Programs or streams on hosts.
#[derive(Clone, Debug)]
pub struct Job {
    /// Name for reports.
    pub name: String,
    /// Host of each rank; of streams, no host twice.
    pub hosts: Vec<HostId>,
    /// Core of its host that each rank runs on, where ranks share cores.
    pub binding: Binding,
    /// Operations of the ranks.
    pub traffic: Traffic,
    /// 802.1Q priority of all its packets.
    pub priority: Priority,
    /// When it starts.
    pub start: Duration,
    /// Whether the run may end without it.
    pub is_background: bool,
    /// Number of the transport that its connections have: 0 is that of the run.
    pub transport: u8,
    /// How closely its messages between hosts are simulated. Absent: as the parameters say.
    pub fidelity: Option<Fidelity>,
    /// Connections of each pair of ranks on two hosts.
    pub connections: PairConnections,
}

impl Job {
    /// Traffic of the first hosts, a rank on each, from the start of the run.
    pub fn of_first_hosts(traffic: Traffic) -> Job {
        Job {
            name: "job".into(),
            hosts: (0..traffic.ranks()).map(HostId::new).collect(),
            binding: Binding::default(),
            traffic,
            priority: Priority::new(0),
            start: Duration::ZERO,
            is_background: false,
            transport: 0,
            fidelity: None,
            connections: PairConnections::InTurn(1),
        }
    }
}

/// Connections of a pair of ranks on two hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PairConnections {
    /// So many, from 1 to [`CONNECTIONS_MAX`], which messages take in turn.
    InTurn(u32),
    /// One for each communicator whose messages the pair exchanges.
    PerCommunicator,
}

/// Most connections of a pair of ranks.
pub const CONNECTIONS_MAX: u32 = 1024;

/// Choice of the paths of packets.
#[derive(Clone, Debug)]
pub enum Paths {
    /// Every flow keeps one path.
    PerFlow {
        /// Channels that lead to each host.
        routing: RoutingTable,
        /// Selection of the one that a flow uses.
        selection: HashSelection,
    },
    /// Every switch decides for every packet.
    PerPacket(PreparedRouting),
}

impl Paths {
    /// Paths of flows by a routing, among which hashes select.
    ///
    /// # Errors
    /// When the routing does not suit the topology.
    pub fn per_flow(routing: RoutingKind, topology: &Topology) -> Result<Paths, InputError> {
        let selection = SelectionKind::default().build(topology);
        Ok(Paths::PerFlow { routing: routing.build(topology)?, selection })
    }
}

/// Experiment that is simulated.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Connections of the fabric.
    pub topology: Topology,
    /// How packets find their way: which paths, and what chooses among them.
    pub paths: Paths,
    /// Switches, hosts, protocols.
    pub params: SimParams,
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Links that damage frames.
    pub degraded: Vec<DegradedLink>,
    /// Links that fail.
    pub outages: Vec<Outage>,
    /// Hosts that pause their switches without end.
    pub storms: Vec<PauseStorm>,
    /// Streams are measured from here on.
    pub warm_up: Duration,
    /// A run without progress for this long (simulated) is stuck.
    pub stall_limit: Duration,
    /// Channels from hosts whose ports are captured.
    pub capture: Vec<ChannelId>,
    /// Time series of ports and flows.
    pub sampling: Option<Sampling>,
    /// Whether ranks note what they do when.
    pub observes_ranks: bool,
    /// Whether to compute fingerprints.
    pub fingerprint: bool,
    /// Limits of skips. Absent: all is simulated.
    pub fast_forward: Option<SkipLimits>,
}

impl Experiment {
    /// Jobs without faults, skips and time series; a simulated second without progress ends them.
    pub fn new(topology: Topology, paths: Paths, params: SimParams, jobs: Vec<Job>) -> Experiment {
        Experiment {
            topology,
            paths,
            params,
            jobs,
            degraded: Vec::new(),
            outages: Vec::new(),
            storms: Vec::new(),
            warm_up: Duration::ZERO,
            stall_limit: Duration::from_ms(1_000),
            capture: Vec::new(),
            sampling: None,
            observes_ranks: false,
            fingerprint: true,
            fast_forward: None,
        }
    }

    /// How closely messages of a job are simulated.
    pub(crate) fn fidelity(&self, job: &Job) -> Fidelity {
        job.fidelity.unwrap_or(self.params.fidelity)
    }

    /// Time by which all jobs have begun and the warm-up is over.
    pub(super) fn begun(&self) -> Time {
        let last = self.jobs.iter().map(|job| job.start).max().unwrap_or(Duration::ZERO);
        Time::ZERO + (last + self.params.host.start_jitter).max(self.warm_up)
    }
}
