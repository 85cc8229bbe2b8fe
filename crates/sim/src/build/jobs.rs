//! Endpoints, and the threads that own them.

use std::{collections::BTreeMap, ops::Range};

use etherweave_engine::{
    event::EventKey, event::Kind, frame::ethernet::ip, params::CoreParams, params::HostParams, port::Owner,
    port::PeerLink,
};
use etherweave_host::{
    Core, Endpoint, Follower, GraphState, Intake, MessageNumbers, Neighbour, OWN_CORE, RankState, ReceiveQueue, Role,
    SinkState, SourceState, Thread, rss, rss::Socket,
};
use etherweave_kernel::indices::{CoreIndex, EndpointIndex, HostIndex, PortIndex, ReceiveQueueIndex, ThreadIndex};
use etherweave_kernel::memory::{Room, prefer_huge_pages};
use etherweave_kernel::on_threads;
use etherweave_primitives::{BitRate, Duration, HostId, InputError, InputErrors, Purpose, Stream, Time};
use etherweave_transport::{ShortQueue, tcp::port};
use etherweave_workload::{ExecutionStream, Traffic};

use super::connections::{PlannedConnection, ranks};
use super::layout::Layout;
use super::{Experiment, Job, PairConnections, reduction, too_large};
use crate::shard::Shard;

pub(super) fn check(experiment: &Experiment) -> Result<(), InputErrors> {
    let mut errors = InputErrors::default();
    experiment.jobs.iter().for_each(|job| {
        errors.check(check_hosts(job, experiment));
    });
    errors.into_result()
}

fn check_hosts(job: &Job, experiment: &Experiment) -> Result<(), InputError> {
    let error =
        |mistake: String, expected: &str| Err(InputError::new("job", format!("{}: {mistake}", job.name), expected));
    if job.hosts.len() < ranks(job) {
        return error(format!("{} ranks on {} hosts", ranks(job), job.hosts.len()), "a host for every rank");
    }
    let mut hosts = job.hosts.clone();
    hosts.sort_unstable();
    let pair = hosts.windows(2).find(|pair| pair[0] == pair[1]);
    if let (Some(pair), Traffic::Streams(_)) = (pair, &job.traffic) {
        return error(format!("{} has two ends of streams", pair[0]), "a host for each end");
    }
    match hosts.iter().find(|host| host.index() >= experiment.topology.hosts()) {
        Some(host) => error(format!("{host} does not exist"), "hosts of the topology"),
        None => Ok(()),
    }
}

/// Puts all connections and threads into the shards, and schedules their start.
pub(super) fn populate(
    experiment: &Experiment,
    layout: &Layout,
    connections: &[PlannedConnection],
    neighbours: &[PlannedConnection],
    starts: &[[u32; 2]],
    shards: &mut [Shard],
) -> Result<(), InputError> {
    if let Some(cores) = &experiment.params.host.cores {
        let cores = cores.count() as usize;
        shards.iter_mut().for_each(|shard| {
            shard.hosts.processors.cores = vec![Core::default(); shard.hosts.nics.hosts.len() * cores].into()
        });
    }
    if experiment.params.host.memory_rate.is_some() {
        shards.iter_mut().for_each(|shard| {
            shard.hosts.processors.memory_free_at = vec![Time::ZERO; shard.hosts.nics.hosts.len()].into()
        });
    }
    for shard in &mut *shards {
        let processors = &mut shard.hosts.processors;
        (processors.observes_ranks, processors.notes_tasks) = (experiment.observes_ranks, experiment.observes_ranks);
    }
    let ends = add_endpoints(experiment, layout, 0..connections.len(), connections, starts, shards);
    if experiment.params.transports().any(|transport| transport.is_in_kernel()) {
        on_threads(shards, |_, shard| add_receive_queues(shard, &experiment.params.host));
    }
    let mut first = 0;
    for (number, job) in experiment.jobs.iter().enumerate() {
        let count = connections[first..].iter().take_while(|connection| connection.job == number).count();
        let own = first..first + count;
        match &job.traffic {
            Traffic::Ranks(_) | Traffic::Graphs { .. } => {
                let threads = add_ranks(experiment, number, layout, shards);
                connect(&threads, &connections[own.clone()], &ends[own], shards);
                let neighbours = neighbours.iter().filter(|pair| pair.job == number);
                neighbours.for_each(|pair| introduce(pair, &threads, shards));
            }
            Traffic::Streams(_) => {
                add_streams(experiment, &connections[own.clone()], &ends[own.clone()], shards);
                add_followers(job, &ends[own], shards);
            }
        }
        first += count;
    }
    if experiment.params.host.transmit.is_some() {
        shards.iter_mut().for_each(add_channels);
    }
    on_threads(shards, |_, shard| schedule_starts(shard, experiment, ThreadIndex::new(0)));
    let is_too_large =
        |shard: &Shard| shard.hosts.nics.endpoints.len().max(shard.hosts.processors.threads.len()) >= INDICES;
    if shards.iter().any(is_too_large) { Err(too_large("connections")) } else { Ok(()) }
}

/// One end of a connection: its shard and number there.
pub(super) type EndpointId = (usize, EndpointIndex);

/// Endpoints and threads of a shard that events can name.
const INDICES: usize = EventKey::INDICES as usize;

pub(super) fn add_endpoints(
    experiment: &Experiment,
    layout: &Layout,
    numbers: Range<usize>,
    connections: &[PlannedConnection],
    starts: &[[u32; 2]],
    shards: &mut [Shard],
) -> Vec<[EndpointId; 2]> {
    let mut counts: Vec<u32> = shards.iter().map(|shard| shard.hosts.nics.endpoints.next_index().get()).collect();
    let next = |connection: &PlannedConnection| {
        connection.hosts(experiment).map(|host| {
            let (shard, _) = layout.host_port(&experiment.topology, host);
            counts[shard] += 1;
            (shard, EndpointIndex::new(counts[shard] - 1))
        })
    };
    let ends: Vec<[EndpointId; 2]> = connections[numbers.clone()].iter().map(next).collect();
    let has_helpers = layout.threads >= 2 * shards.len();
    on_threads(shards, |own, shard| {
        let mut room = None;
        if numbers.start == 0 {
            // Room for all at once, in huge pages from the first touch on: to move them there later is a copy.
            let nics = &mut shard.hosts.nics;
            nics.states.expected = counts[own] as usize;
            nics.endpoints.reserve_exact(nics.states.expected);
            prefer_huge_pages(&nics.endpoints);
            room = Room::of(&nics.endpoints).filter(|_| has_helpers);
        }
        std::thread::scope(|scope| {
            room.map(|room| scope.spawn(move || room.populate()));
            for (number, end) in numbers.clone().zip(&ends) {
                for side in (0..2).filter(|&side| end[side].0 == own) {
                    let connection = (number, &connections[number]);
                    let endpoint = endpoint(experiment, layout, connection, (side, starts[number][side]), end, shard);
                    shard.hosts.nics.endpoints.push(endpoint);
                }
            }
        });
    });
    ends
}

/// The end at a side of a connection, which is in a shard.
fn endpoint(
    experiment: &Experiment,
    layout: &Layout,
    (number, connection): (usize, &PlannedConnection),
    (side, route): (usize, u32),
    ends: &[EndpointId; 2],
    shard: &mut Shard,
) -> Endpoint {
    let hosts = connection.hosts(experiment);
    let job = &experiment.jobs[connection.job];
    let [(_, port), (remote_shard, remote_port)] =
        [side, 1 - side].map(|side| layout.host_port(&experiment.topology, hosts[side]));
    let (nic, rate) = (host_at(shard, port), sending_rate(experiment, hosts[side]));
    let (constants, nics) = (&shard.wires.constants, &mut shard.hosts.nics);
    nics.hosts[nic].rate = rate;
    nics.ports.add(2 * number + side, nic);
    let transport = (reduction::transport(experiment, constants, connection), experiment.fidelity(job));
    let protocol = nics.states.begin(ends[side].1, &constants.params, transport, rate);
    let is_of_pair = !matches!(job.traffic, Traffic::Streams(_));
    // Both ends of a connection stand beside each other where they share a shard.
    let apart = 1 + u32::from(ends[0].0 == ends[1].0);
    Endpoint {
        host: nic,
        thread: ThreadIndex::NONE,
        remote: ends[1 - side].1,
        route,
        first_egress: constants.routes.get(route as usize).copied().unwrap_or_default(),
        behind: EndpointIndex::NONE,
        priority: job.priority.get(),
        is_in_ring: false,
        behind_first: if is_of_pair { (connection.number * apart) as u16 } else { 0 },
        owner_waits_for: u64::MAX,
        intake: Intake::default(),
        protocol,
        incoming: ShortQueue::default(),
        remote_link: PeerLink::to_shard(remote_shard as u32),
        remote_port,
        number: 2 * number as u32 + side as u32,
        hosts: (hosts[side].get(), hosts[1 - side].get()),
        warm_up_intake: 0,
        numbers: MessageNumbers::default(),
        resent_last: Time::ZERO,
    }
}

/// Hashes connections to the receive queues of their hosts; only those exist that a connection uses.
fn add_receive_queues(shard: &mut Shard, host: &HostParams) {
    let params = &host.receive;
    let mut numbers = BTreeMap::new();
    for endpoint in shard.hosts.nics.endpoints.indices() {
        let nics = &mut shard.hosts.nics;
        let end = &nics.endpoints[endpoint];
        if nics.states.socket(endpoint).is_none() {
            continue;
        }
        let nic = nics.ports.first_nic(endpoint, end);
        let [own, remote] = [end.number, end.number ^ 1].map(port);
        let [own_host, remote_host] = [end.hosts.0, end.hosts.1].map(|host| ip(HostId::new(host)));
        let remote = Socket { address: remote_host, port: remote };
        let queue = rss::queue(&remote, &Socket { address: own_host, port: own }, params.queues);
        let next = nics.receive_queues.next_index();
        let number = *numbers.entry((nic, queue)).or_insert(next);
        if number == next {
            let core = core_number(nic, host.cores.as_ref(), |cores| queue % cores.count());
            nics.receive_queues.push(ReceiveQueue::new(nic, core, host));
        }
        nics.states.socket(endpoint).expect("it has one, as asked above").queue = number;
    }
}

/// Gives connections the transmit queues that share an interrupt with a receive queue.
fn add_channels(shard: &mut Shard) {
    let mut of_cores = BTreeMap::new();
    for (queue, number) in shard.hosts.nics.receive_queues.iter().zip(0..) {
        of_cores.entry(queue.core).or_insert(ReceiveQueueIndex::new(number));
    }
    of_cores.remove(&OWN_CORE);
    let nics = &mut shard.hosts.nics;
    for (endpoint, end) in nics.endpoints.entries() {
        let core = shard.hosts.processors.threads[end.thread].core;
        let Some(state) = nics.states.socket(endpoint) else { continue };
        state.channels.of_softirq = state.queue;
        state.channels.of_thread = of_cores.get(&core).copied().unwrap_or(ReceiveQueueIndex::NONE);
    }
}

/// The number of a core in its host's shard.
fn core_number(host: HostIndex, cores: Option<&CoreParams>, core: impl Fn(&CoreParams) -> u32) -> CoreIndex {
    cores.map_or(OWN_CORE, |cores| CoreIndex::new(host.get() * cores.count() + core(cores)))
}

/// Returns the rate at which a connection of a host can send: by one port, or by all in turn.
fn sending_rate(experiment: &Experiment, host: HostId) -> BitRate {
    let topology = &experiment.topology;
    let rates = topology.host_channels(host).iter().map(|&channel| topology.channel(channel).rate.as_bps());
    match experiment.params.ports.choice.is_per_packet() {
        true => BitRate::from_bps(rates.sum()),
        false => BitRate::from_bps(rates.max().expect("a host has a port")),
    }
}

fn host_at(shard: &Shard, port: PortIndex) -> HostIndex {
    match shard.wires.ports[port].owner {
        Owner::Host(host) => host,
        Owner::Switch(_) => unreachable!("the port of a host belongs to it"),
    }
}

/// A thread: its shard and number there.
type ThreadId = (usize, ThreadIndex);

fn add_ranks(experiment: &Experiment, number: usize, layout: &Layout, shards: &mut [Shard]) -> Vec<ThreadId> {
    let job = &experiment.jobs[number];
    let cores = experiment.params.host.cores.as_ref();
    let mut threads = Vec::with_capacity(ranks(job));
    let mut ranks_on_host = vec![0; experiment.topology.hosts()];
    for rank in 0..ranks(job) {
        let (shard, port) = layout.host_port(&experiment.topology, job.hosts[rank]);
        let (mut state, streams) = rank_state(job, rank);
        if let Some(noise) = experiment.params.host.noise {
            let entity = (number as u64) << 32 | rank as u64;
            state.interrupt(noise, Stream::new(experiment.params.seed, Purpose::HostNoise, entity));
        }
        state.turns = (job.connections != PairConnections::InTurn(1)).then(Default::default);
        let role = Role::Rank(Box::new(state));
        let place = ranks_on_host[job.hosts[rank].index()];
        ranks_on_host[job.hosts[rank].index()] += 1;
        // Further streams of a rank run on the cores behind its own.
        let host = host_at(&shards[shard], port);
        let core = |stream| core_number(host, cores, |cores| (job.binding.core(place, cores) + stream) % cores.count());
        let thread = add_thread(&mut shards[shard], port, number, stream_core(streams.first(), || core(0)), role);
        let memory = &experiment.params.host.shared_memory;
        let bound = cores.map_or(place, |cores| job.binding.core(place, cores));
        shards[shard].hosts.processors.threads[thread].complex = memory.complex_of(bound);
        threads.push((shard, thread));
        for (stream, kind) in streams.iter().enumerate().skip(1) {
            let core = stream_core(Some(kind), || core(stream as u32));
            add_thread(&mut shards[shard], port, number, core, Role::GraphStream(thread));
        }
        shards[shard].wires.totals.unfinished += u64::from(!job.is_background);
    }
    threads
}

/// The state of a rank, and the streams of its graph, if it performs one.
fn rank_state(job: &Job, rank: usize) -> (RankState, &[ExecutionStream]) {
    match &job.traffic {
        Traffic::Ranks(programs) => (RankState::new(rank as u32, programs[rank].clone()), &[]),
        Traffic::Graphs { ranks, iterations } => {
            let graph = GraphState::new(ranks[rank].clone(), *iterations, Time::ZERO + job.start);
            (RankState::of_graph(rank as u32, graph), ranks[rank].streams())
        }
        Traffic::Streams(_) => unreachable!("streams have no ranks"),
    }
}

/// The core of an execution stream; that of an accelerator needs none.
fn stream_core(stream: Option<&ExecutionStream>, core: impl FnOnce() -> CoreIndex) -> CoreIndex {
    if stream == Some(&ExecutionStream::Accelerator) { OWN_CORE } else { core() }
}

fn connect(threads: &[ThreadId], connections: &[PlannedConnection], ends: &[[EndpointId; 2]], shards: &mut [Shard]) {
    on_threads(shards, |own, shard| {
        for (connection, end) in connections.iter().zip(ends) {
            for side in (0..2).filter(|&side| end[side].0 == own) {
                let ((_, thread), (_, endpoint)) = (threads[connection.ranks[side] as usize], end[side]);
                shard.hosts.nics.endpoints[endpoint].thread = thread;
                if connection.is_tree() && side == 0 {
                    give_tree(shard, thread, endpoint);
                } else {
                    connect_rank(shard, thread, (connection.ranks[1 - side], connection.communicator), endpoint);
                }
            }
        }
    });
}

/// Makes two ranks of a host known to each other.
fn introduce(pair: &PlannedConnection, threads: &[ThreadId], shards: &mut [Shard]) {
    for side in 0..2 {
        let [(shard, own), (_, other)] = [side, 1 - side].map(|side| threads[pair.ranks[side] as usize]);
        connect_rank(&mut shards[shard], own, (pair.ranks[1 - side], None), Neighbour(other).as_endpoint());
    }
}

/// Gives a rank the end by which it sends up an aggregation tree.
fn give_tree(shard: &mut Shard, thread: ThreadIndex, endpoint: EndpointIndex) {
    if let Role::Rank(rank) = &mut shard.hosts.processors.threads[thread].role {
        rank.trees.connections.push(endpoint);
    }
}

fn connect_rank(shard: &mut Shard, thread: ThreadIndex, to: (u32, Option<u8>), endpoint: EndpointIndex) {
    let (peer, communicator) = to;
    if let Role::Rank(rank) = &mut shard.hosts.processors.threads[thread].role {
        rank.connect(peer, communicator, endpoint);
    }
}

pub(super) fn add_streams(
    experiment: &Experiment,
    connections: &[PlannedConnection],
    ends: &[[EndpointId; 2]],
    shards: &mut [Shard],
) {
    for (connection, end) in connections.iter().zip(ends) {
        add_stream(&experiment.jobs[connection.job], connection, end, shards);
    }
}

fn add_stream(job: &Job, connection: &PlannedConnection, end: &[EndpointId; 2], shards: &mut [Shard]) {
    let Traffic::Streams(streams) = &job.traffic else { unreachable!("only streams have a number") };
    let spec = &streams[connection.number as usize];
    let start = Time::ZERO + job.start + spec.flow_start.map_or(Duration::ZERO, |start| start.after);
    let follows = spec.flow_start.and_then(|start| start.waits_for).map(|_| connection.number);
    let source = SourceState {
        endpoint: end[0].1,
        bytes: spec.bytes_per_message,
        outstanding: spec.outstanding,
        left: spec.messages,
        posted: 0,
        completed: 0,
        done_at: None,
        start: if follows.is_some() { Time::MAX } else { start },
        is_flow: spec.flow_start.is_some(),
        follows,
        skipped: 0,
    };
    let sink = SinkState {
        endpoint: end[1].1,
        bytes: spec.bytes_per_message,
        stream: connection.number,
        start,
        total: spec.messages.map(|messages| messages * spec.bytes_per_message),
        skipped: 0,
        ideal: spec.flow_start.map(|start| start.ideal),
    };
    for ((shard, endpoint), role) in end.iter().zip([Role::Source(source), Role::Sink(sink)]) {
        let shard = &mut shards[*shard];
        let nics = &shard.hosts.nics;
        let port = nics.hosts[nics.ports.first_nic(*endpoint, &nics.endpoints[*endpoint])].port;
        let thread = add_thread(shard, port, connection.job, OWN_CORE, role);
        shard.hosts.nics.endpoints[*endpoint].thread = thread;
    }
    let shard = &mut shards[end[0].0];
    shard.hosts.nics.wait_for(end[0].1, spec.bytes_per_message);
    shard.wires.totals.unfinished += u64::from(!job.is_background);
    // Kernels acknowledge what programs have yet to read, so that a finite stream ends at both ends.
    let shard = &mut shards[end[1].0];
    let is_read = spec.messages.is_some() && shard.wires.constants.is_in_kernel(connection.job as u32);
    shard.wires.totals.unfinished += u64::from(is_read && !job.is_background);
}

/// Lets flows wait for others at the host that sees these end.
fn add_followers(job: &Job, ends: &[[EndpointId; 2]], shards: &mut [Shard]) {
    let Traffic::Streams(streams) = &job.traffic else { unreachable!("only streams wait for others") };
    let thread = |(shard, endpoint): EndpointId, shards: &[Shard]| shards[shard].hosts.nics.endpoints[endpoint].thread;
    for (spec, end) in streams.iter().zip(ends) {
        let Some((start, other)) = spec.flow_start.and_then(|start| Some((start, start.waits_for?))) else { continue };
        let side = usize::from(streams[other as usize].src_rank != spec.src_rank);
        let at = ends[other as usize][side];
        assert_eq!(at.0, end[0].0, "ends of a host lie in its shard");
        let follower = Follower { before: thread(at, shards), thread: thread(end[0], shards), after: start.after };
        shards[at.0].hosts.processors.followers.push(follower);
    }
    shards.iter_mut().for_each(|shard| shard.hosts.processors.followers.sort_by_key(|follower| follower.before));
}

fn add_thread(shard: &mut Shard, port: PortIndex, number: usize, core: CoreIndex, role: Role) -> ThreadIndex {
    let host = host_at(shard, port);
    shard.hosts.processors.threads.push(Thread::new(host, &shard.hosts.nics.hosts[host], number as u32, core, role))
}

/// Schedules the start of threads from `first` on, the last first: the queue keeps simultaneous events in reverse
/// order, so each is appended; in order, ten thousand streams would each move all before them.
pub(super) fn schedule_starts(shard: &mut Shard, experiment: &Experiment, first: ThreadIndex) {
    let start = |(index, thread): (ThreadIndex, &Thread)| {
        let of_job = Time::ZERO + experiment.jobs[thread.job as usize].start;
        let start = match &thread.role {
            Role::Rank(_) | Role::GraphStream(_) => of_job,
            Role::Source(source) => source.start,
            Role::Sink(sink) => sink.start,
        };
        let time = start + start_jitter(shard, thread, experiment);
        (time, shard.hosts.nics.hosts[thread.host].port, index)
    };
    let follows = |thread: &Thread| matches!(&thread.role, Role::Source(source) if source.follows.is_some());
    let threads =
        shard.hosts.processors.threads.entries().filter(|(index, thread)| *index >= first && !follows(thread));
    let mut starts: Vec<(Time, PortIndex, ThreadIndex)> = threads.map(start).collect();
    starts.sort_unstable();
    starts
        .into_iter()
        .rev()
        .for_each(|(time, port, thread)| shard.wires.schedule_at(time, port, Kind::Start, thread.get()));
}

/// How much later than its job a thread starts: drawn for each rank, and for each end of a stream.
fn start_jitter(shard: &Shard, thread: &Thread, experiment: &Experiment) -> Duration {
    /// Ranks and streams of this purpose stand above those that draw noise.
    const STARTS: u64 = 1 << 40;
    let span = experiment.params.host.start_jitter;
    if span.is_zero() {
        return Duration::ZERO;
    }
    let number = |endpoint| shard.hosts.nics.endpoints[endpoint].number;
    let entity = match &thread.role {
        Role::Rank(rank) => rank.rank,
        Role::GraphStream(rank) => match &shard.hosts.processors.threads[*rank].role {
            Role::Rank(rank) => rank.rank,
            Role::GraphStream(_) | Role::Source(_) | Role::Sink(_) => unreachable!("a stream is of a rank"),
        },
        Role::Source(source) => number(source.endpoint),
        Role::Sink(sink) => number(sink.endpoint),
    };
    let entity = STARTS | u64::from(thread.job) << 32 | u64::from(entity);
    let mut random = Stream::new(experiment.params.seed, Purpose::HostNoise, entity);
    Duration::from_ps(random.below(span.as_ps() + 1))
}
