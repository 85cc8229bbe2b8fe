//! Flows of large experiments, whose connections exist only from shortly before a flow starts until nothing of it is
//! under way any more.
//!
//! Connections have the numbers that they have when all exist from the start, and one is removed only when no packet
//! and no event but a timer, which would do nothing, names it: so the tables are the same.

use std::slice;

use etherweave_engine::{event::Event, event::Kind, params::SimParams};
use etherweave_host::{Role, Thread};
use etherweave_kernel::indices::{EndpointIndex, ThreadIndex};
use etherweave_primitives::{Duration, HostId, Time};
use etherweave_topology::Topology;
use etherweave_workload::{FlowStart, IdealTime, StreamSpec, Traffic};

use super::{Experiment, Job, connections::PlannedConnection, jobs, layout::Layout};
use crate::report::{FlowRow, FlowWriter, StreamRow, add_ideals};
use crate::shard::{Shard, StartWatch};

/// Flows that are created together, at least.
const BLOCK: usize = 4096;
/// Flows whose connections exist all at once, on any number of shards, at most.
pub(crate) const EXISTING_MAX: usize = 1 << 19;

/// Flows that do not exist yet, and rows of those that exist no more.
pub(crate) struct LateFlows {
    experiment: Experiment,
    layout: Layout,
    connections: Vec<PlannedConnection>,
    starts: Vec<[u32; 2]>,
    /// Connections that exist or have existed.
    pub created: usize,
    /// First thread of the newest flows, whose start has the next created.
    newest: ThreadIndex,
    /// Definition of the ideal time of all flows.
    pub ideal: IdealTime,
    /// Most connections at once.
    pub existing_max: usize,
    /// Rows of flows that exist no more, with the number of their job.
    pub streams: Vec<(u32, StreamRow)>,
    /// Rows of their connections, with both hosts and the number of the sending end.
    pub flows: Vec<((u32, u32, u32), FlowRow)>,
    /// Where these rows go, if they do not stay here.
    pub writer: Option<FlowWriter>,
}

/// The first of the newest flows that starts has those that are over removed, and the next created.
impl StartWatch for LateFlows {
    fn are_due(&self, thread: u32) -> bool {
        thread >= self.newest.get() && self.newest != ThreadIndex::NONE
    }

    fn advance(&mut self, shard: &mut Shard) {
        self.remove(shard);
        self.hand_over(shard);
        self.create(shard);
    }
}

/// Whether the connections of an experiment are created late: on one shard, where flows are many.
pub(super) fn are_used(experiment: &Experiment, layout: &Layout, connections: &[PlannedConnection]) -> bool {
    layout.shards == 1 && connections.len() > 2 * BLOCK && are_possible(experiment)
}

/// Whether flows are so many that a run has one shard, where their connections need not exist all at once.
pub(super) fn are_crowds(experiment: &Experiment) -> bool {
    let count = |job: &Job| if let Traffic::Streams(streams) = &job.traffic { streams.len() } else { 0 };
    experiment.jobs.iter().any(|job| count(job) > EXISTING_MAX) && are_possible(experiment)
}

/// Whether connections can be created late: those of one job of flows, where NICs move packets and nothing but the
/// report looks at connections.
fn are_possible(experiment: &Experiment) -> bool {
    let [job] = &experiment.jobs[..] else { return false };
    let Traffic::Streams(streams) = &job.traffic else { return false };
    let is_independent = |start: Option<FlowStart>| start.is_some_and(|start| start.waits_for.is_none());
    let is_seen = experiment.sampling.is_some()
        || experiment.observes_ranks
        || experiment.fast_forward.is_some()
        || !experiment.capture.is_empty()
        || !experiment.outages.is_empty();
    !is_seen
        && experiment.fidelity(job).is_packet()
        && are_possible_by(&experiment.topology, &experiment.params)
        && streams.iter().all(|stream| is_independent(stream.flow_start))
}

/// The same, as far as hosts and transports say.
pub(crate) fn are_possible_by(topology: &Topology, params: &SimParams) -> bool {
    params.host.start_jitter.is_zero()
        && topology.is_single_homed()
        && !params.transports().any(|transport| transport.is_in_kernel())
}

impl LateFlows {
    /// Gives the only shard the first flows, and all others for later.
    pub(super) fn begin(
        experiment: Experiment,
        layout: Layout,
        connections: Vec<PlannedConnection>,
        starts: Vec<[u32; 2]>,
        shard: &mut Shard,
    ) {
        let (streams, flows) = (Vec::new(), Vec::new());
        let (created, newest, existing_max) = (0, ThreadIndex::NONE, 0);
        shard.wires.totals.unfinished = if experiment.jobs[0].is_background { 0 } else { connections.len() as u64 };
        let ideal = IdealTime::default();
        let writer = None;
        let mut late = LateFlows {
            experiment,
            layout,
            connections,
            starts,
            created,
            newest,
            ideal,
            existing_max,
            streams,
            flows,
            writer,
        };
        late.ideal = late.start(0).ideal;
        late.create(shard);
        shard.late_flows = Some(Box::new(late));
    }

    /// Rows of the next flows after the first `created`, none of which exists at the `end` of the run.
    pub fn rows_to_come(&self, created: usize, warm_up: Time, end: Time) -> Vec<(u32, StreamRow)> {
        let row = |connection: &PlannedConnection| {
            let (spec, job) = (self.spec(connection), &self.experiment.jobs[0]);
            let [source, destination] = connection.hosts(&self.experiment).map(HostId::get);
            let start = Time::ZERO + job.start + start_of(spec).after;
            StreamRow {
                job: 0,
                source,
                destination,
                stream: connection.number,
                messages: 0,
                bytes: 0,
                start,
                measured: start.max(warm_up),
                end: end.max(start),
                total: spec.bytes_per_message,
                is_whole: false,
                is_flow: true,
                ideal: Duration::ZERO,
            }
        };
        self.connections.iter().skip(created).take(BLOCK).map(|connection| (0, row(connection))).collect()
    }

    fn spec(&self, connection: &PlannedConnection) -> &StreamSpec {
        let Traffic::Streams(streams) = &self.experiment.jobs[0].traffic else { unreachable!("the job has flows") };
        &streams[connection.number as usize]
    }

    fn start(&self, number: usize) -> FlowStart {
        start_of(self.spec(&self.connections[number]))
    }

    /// Creates the next flows: so many that those behind them start later than the first of them, whose start comes
    /// before theirs in time.
    fn create(&mut self, shard: &mut Shard) {
        let (first, all) = (self.created, self.connections.len());
        let mut end = (first + BLOCK).min(all);
        while end < all && self.start(end).after == self.start(first).after {
            end += 1;
        }
        let LateFlows { experiment, layout, connections, starts, .. } = self;
        let (unfinished, shards) = (shard.wires.totals.unfinished, slice::from_mut(shard));
        let ends = jobs::add_endpoints(experiment, layout, first..end, connections, starts, shards);
        let newest = shards[0].hosts.processors.threads.next_index();
        jobs::add_streams(experiment, &connections[first..end], &ends, shards);
        jobs::schedule_starts(&mut shards[0], experiment, newest);
        shards[0].wires.totals.unfinished = unfinished;
        self.created = end;
        self.newest = newest;
        if end == all {
            // Nothing is left to create.
            self.newest = ThreadIndex::NONE;
            (self.connections, self.starts) = (Vec::new(), Vec::new());
            self.experiment.jobs[0].traffic = Traffic::Streams(Vec::new());
        }
        self.existing_max = self.existing_max.max(shards[0].hosts.nics.endpoints.len() / 2);
    }

    /// Removes the first flows up to one that is not over, after noting their rows.
    fn remove(&mut self, shard: &mut Shard) {
        let first = self.created - shard.hosts.nics.endpoints.len() / 2;
        let named = shard
            .wires
            .queue
            .pending()
            .filter_map(named)
            .chain(shard.wires.packets.iter().map(|packet| packet.endpoint.get()));
        let end = named.min().map_or(self.created, |index| index as usize / 2);
        let count = (first..end).take_while(|&number| is_over(shard, number)).count();
        for number in first..first + count {
            let [source, sink] = ends(number).map(EndpointIndex::new);
            let thread = &shard.hosts.processors.threads[ThreadIndex::new(sink.get())];
            let Role::Sink(state) = &thread.role else { unreachable!("a flow ends at a sink") };
            self.streams.push((thread.job, StreamRow::of(shard, thread.job, state, shard.wires.now)));
            let nics = &shard.hosts.nics;
            self.flows.push(FlowRow::of(nics, source, nics.received(sink)));
        }
        shard.hosts.nics.endpoints.remove_first(2 * count);
        shard.hosts.nics.states.remove_first(2 * count);
        shard.hosts.processors.threads.remove_first(2 * count);
    }

    /// Hands rows to the writer, if there is any.
    fn hand_over(&mut self, shard: &Shard) {
        let Some(writer) = &mut self.writer else { return };
        let flows = (0..self.streams.len()).map(|place| (place, self.ideal)).collect();
        add_ideals(&self.experiment.topology, &shard.wires.constants, &mut self.streams, flows);
        let streams = self.streams.drain(..).map(|(_, row)| row).collect();
        writer(streams, self.flows.drain(..).map(|(_, row)| row).collect());
    }
}

fn start_of(spec: &StreamSpec) -> FlowStart {
    spec.flow_start.expect("a flow has a start")
}

/// Numbers of both ends of a connection on the only shard, and of their threads: source and sink.
fn ends(number: usize) -> [u32; 2] {
    [2 * number as u32, 2 * number as u32 + 1]
}

/// The end of a connection or the thread that an event needs. A timer of a connection that is over does nothing.
fn named(event: &Event) -> Option<u32> {
    match event.key.kind() {
        Kind::Pacing | Kind::Start | Kind::ThreadDone | Kind::Handover | Kind::Wake => Some(event.key.index()),
        _ => None,
    }
}

/// Whether a flow is over at both ends, which have nothing to do or to send.
fn is_over(shard: &Shard, number: usize) -> bool {
    let is_idle = |number: u32| {
        let thread = &shard.hosts.processors.threads[ThreadIndex::new(number)];
        let end = &shard.hosts.nics.endpoints[EndpointIndex::new(number)];
        !end.is_in_ring && thread.current.is_none() && thread.inbox.is_empty() && is_done(thread, end.intake.bytes)
    };
    ends(number).into_iter().all(is_idle)
}

/// Whether a thread has sent a flow, or received all of its bytes.
fn is_done(thread: &Thread, received: u64) -> bool {
    match &thread.role {
        Role::Source(source) => source.done_at.is_some(),
        Role::Sink(sink) => sink.total == Some(received),
        Role::Rank(_) | Role::GraphStream(_) => unreachable!("the job has flows alone"),
    }
}
