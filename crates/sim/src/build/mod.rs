//! Construction of shards, ready to run, from an experiment.
//!
//! Everything that can be decided once is decided here: which shard an entity belongs to, the path of every
//! connection, how much headroom a port needs. The cost is linear in links and in connections times path length.

mod branches;
mod buffers;
mod codes;
mod connections;
mod crossbars;
mod degraded;
pub(crate) mod delays;
mod experiment;
mod fabric;
mod fluid;
mod group_traffic;
mod jobs;
pub(crate) mod late_flows;
mod layout;
mod learning;
mod memory;
mod neighbour_loads;
mod outages;
mod per_packet;
mod port_paths;
mod reduction;
mod routes;
mod sampling;
mod storms;

use std::borrow::Cow;
use std::sync::Arc;

use etherweave_kernel::{Division, Worker};
use etherweave_primitives::{Duration, HostId, InputError, InputErrors, Time};
use etherweave_topology::Node;

pub(crate) use buffers::credit_memory;
pub use buffers::{PortBuffer, nic_headroom, port_buffers};
pub use experiment::{CONNECTIONS_MAX, Experiment, Job, PairConnections, Paths};
pub use reduction::{TreeCost, tree_costs};
pub use storms::PauseStorm;

use crate::forward::FastForward;
use crate::report::ReportNames;
use crate::run::Simulation;
use crate::window_times::ShardTimes;
use connections::PlannedConnection;
use etherweave_engine::captured_port::{CapturedPeer, CapturedPort};
use etherweave_engine::constants::RunConstants;
use etherweave_engine::event::EventKey;
use etherweave_engine::fingerprint::Fingerprint;
use etherweave_engine::params::{self, SwitchModel};
use etherweave_host::{Endpoint, PortPaths, SendingPorts};
use late_flows::LateFlows;
use layout::Layout;

/// The error of a number that does not fit the bits of an event's index.
fn too_large(what: &str) -> InputError {
    InputError::new("", format!("too many {what} for one shard"), format!("fewer than {}", EventKey::INDICES))
}

impl Simulation {
    /// Builds an experiment for at most `threads` threads.
    ///
    /// # Errors
    /// When parameters are inconsistent, a job does not fit its hosts, or a host cannot be reached.
    pub fn build(experiment: &Experiment, threads: usize) -> Result<Simulation, InputErrors> {
        Simulation::build_for(Worker::ALONE, Cow::Borrowed(experiment), threads)
    }

    /// Builds what one of several processes serves, on one thread; for one process as [`Simulation::build`].
    ///
    /// # Errors
    /// Those of [`Simulation::build`], on every process.
    pub fn build_for(worker: Worker, lent: Cow<'_, Experiment>, threads: usize) -> Result<Simulation, InputErrors> {
        let experiment = &*lent;
        let Plan { layout, constants, connections, neighbours, starts, port_paths } =
            Plan::new(worker, experiment, threads)?;
        let topology = &experiment.topology;
        let (lookahead, constants) = (constants.lookahead, Arc::new(constants));
        let mut shards = fabric::shards(topology, &layout, &constants);
        fluid::add(experiment, connections.len(), &mut shards);
        degraded::add(experiment, &layout, &mut shards);
        outages::add(experiment, &layout, &mut shards);
        storms::add(experiment, &layout, &mut shards);
        neighbour_loads::add(experiment, &layout, &mut shards);
        group_traffic::add(experiment, &mut shards);
        learning::add(experiment, &mut shards);
        reduction::add(&mut shards);
        shards.iter_mut().for_each(|shard| shard.hosts.nics.ports = SendingPorts::of(&port_paths));
        let has_late_flows = late_flows::are_used(experiment, &layout, &connections);
        if !has_late_flows {
            jobs::populate(experiment, &layout, &connections, &neighbours, &starts, &mut shards)?;
        }
        if let Paths::PerPacket(prepared) = &experiment.paths {
            shards.iter_mut().for_each(|shard| shard.switches.routing = Some(prepared.clone()));
        }
        if let Some(sampling) = &experiment.sampling {
            sampling::add(experiment, sampling, &layout, &mut shards);
        }
        for &channel in &experiment.capture {
            let Node::Host(host) = topology.channel(channel).from.node else { panic!("a port of a host is captured") };
            let (shard, port) = layout.port(topology, channel);
            let own = shards[shard].hosts.nics.endpoints.iter().filter(|end| end.hosts.0 == host.get());
            let peer =
                |end: &Endpoint| CapturedPeer { host: HostId::new(end.hosts.1), transport: end.protocol.transport() };
            let captured = CapturedPort::new(host, port, own.map(|end| (end.number, peer(end))));
            shards[shard].wires.captures.push(captured);
        }
        for shard in &mut shards {
            shard.wires.observes_departures =
                shard.wires.constants.telemetry_switches > 0 || !shard.wires.captures.is_empty();
        }
        if experiment.fingerprint && experiment.fast_forward.is_none() {
            shards.iter_mut().for_each(|shard| shard.wires.fingerprint = Some(Fingerprint::default()));
        }
        let jobs = experiment.jobs.iter().map(|job| job.name.clone()).collect();
        let busiest_ports = experiment.sampling.as_ref().and_then(|sampling| sampling.busiest);
        let observes_ranks = experiment.observes_ranks;
        let names = ReportNames { topology: topology.clone(), jobs, busiest_ports, observes_ranks };
        let (seed, begun, stall_limit) = (experiment.params.seed, experiment.begun(), experiment.stall_limit);
        let has_faults = !experiment.outages.is_empty() || !experiment.storms.is_empty();
        let forward = experiment.fast_forward.map(|limits| Box::new(FastForward::new(limits, seed, begun, lookahead)));
        if has_late_flows {
            LateFlows::begin(lent.into_owned(), layout, connections, starts, &mut shards[0]);
        }
        let division = Division { shards: shards.len(), workers: worker.of };
        let own = division.shards_of(worker.number);
        shards.truncate(own.end);
        shards.drain(..own.start);
        let (end, deadlock) = (Time::ZERO, None);
        let (clock, packets) = (None, None);
        let window_times = vec![ShardTimes::NONE; shards.len()];
        Ok(Simulation {
            shards,
            division,
            lookahead,
            stall_limit,
            names,
            end,
            clock,
            window_times,
            packets,
            deadlock,
            has_faults,
            forward,
        })
    }

    /// Checks all that [`Simulation::build`] checks, and builds nothing.
    ///
    /// # Errors
    /// Those of [`Simulation::build`].
    pub fn check(experiment: &Experiment) -> Result<(), InputErrors> {
        Plan::new(Worker::ALONE, experiment, 1).map(drop)
    }

    /// How many shards run side by side.
    pub fn threads(&self) -> usize {
        self.division.shards
    }
}

/// Decisions that precede the building of shards.
struct Plan {
    layout: Layout,
    constants: RunConstants,
    connections: Vec<PlannedConnection>,
    /// Pairs of ranks that share a host.
    neighbours: Vec<PlannedConnection>,
    /// Beginnings of the routes of both ends of each connection.
    starts: Vec<[u32; 2]>,
    /// Paths by each port, where hosts have several.
    port_paths: Arc<PortPaths>,
}

impl Plan {
    /// Checks an experiment, and plans its connections and their paths.
    fn new(worker: Worker, experiment: &Experiment, threads: usize) -> Result<Plan, InputErrors> {
        let mut errors = InputErrors::default();
        errors.check(params::check(&experiment.params));
        errors.check(jobs::check(experiment));
        errors.check(degraded::check(experiment));
        errors.check(codes::check(experiment));
        errors.check(outages::check(experiment));
        errors.check(storms::check(experiment));
        errors.check(per_packet::check(experiment));
        errors.check(port_paths::check(experiment));
        errors.check(crossbars::check(experiment));
        errors.check(fluid::check(experiment, worker.of));
        errors.into_result()?;
        let topology = &experiment.topology;
        // Rates of all connections are solved together; connections that exist briefly have both ends on one shard.
        let is_one = fluid::is_used(experiment) || worker.of == 1 && late_flows::are_crowds(experiment);
        let shards = if is_one { 1 } else { threads };
        let mut layout = Layout::new(topology, if worker.of > 1 { worker.of } else { shards });
        // What prepares a run of one shard may take all threads.
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        layout.threads = if worker.of > 1 { layout.shards } else { threads.min(processors).max(layout.shards) };
        let mut constants = RunConstants::new(&experiment.params, Duration::ZERO);
        constants.has_packets = fluid::has_packets(experiment);
        constants.params.host.memory_rate =
            experiment.params.host.memory_rate.filter(|_| memory::is_a_limit(experiment));
        let memory = &experiment.params.host.shared_memory;
        constants.vector_cached_max = memory.vector_cached_max(memory::threads_max(experiment));
        constants.lookahead = fabric::lookahead(topology, &constants)?;
        // Input-queued switches wait for a tail when the packet leads its queue.
        let is_shared = experiment.params.switch.model == SwitchModel::SharedBuffer;
        constants.rates_differ = !fabric::has_one_rate(topology);
        constants.may_underrun &= is_shared && constants.is_cut_through && constants.rates_differ;
        learning::check(experiment, constants.may_underrun)?;
        constants.warm_up = Time::ZERO + experiment.warm_up;
        constants.is_background = experiment.jobs.iter().map(|job| job.is_background).collect();
        constants.is_fluid = experiment.jobs.iter().map(|job| !experiment.fidelity(job).is_packet()).collect();
        constants.has_background = constants.is_background.contains(&true);
        if !experiment.params.other_transports.is_empty() {
            constants.transports = experiment.jobs.iter().map(|job| job.transport).collect();
        }
        constants.notes_losses = !experiment.outages.is_empty();
        fabric::check(topology, &constants)?;
        group_traffic::check(experiment, constants.lookahead)?;
        let (connections, neighbours) = connections::plan(experiment)?;
        reduction::check(experiment, &connections)?;
        sampling::check(experiment, &connections)?;
        let mut port_paths = PortPaths::default();
        let mut starts = routes::plan(experiment, &layout, &connections, &mut constants, &mut port_paths)?;
        reduction::plan(experiment, &layout, &connections, &mut constants, (&mut starts, &mut port_paths))?;
        learning::plan(experiment, &connections, &mut constants)?;
        if let Paths::PerPacket(prepared) = &experiment.paths {
            constants.packet_routing = Some(prepared.start());
            constants.decisions_ahead = prepared.decisions_ahead().filter(|_| is_shared);
            constants.rewrites_packets |= prepared.changes_packets();
        }
        let port_paths = Arc::new(port_paths);
        Ok(Plan { layout, constants, connections, neighbours, starts, port_paths })
    }
}
