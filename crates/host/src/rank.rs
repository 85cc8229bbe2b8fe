//! A rank: its program, its requests, its measured iterations.

mod loops;

use std::collections::VecDeque;

use etherweave_engine::params::Noise;
use etherweave_kernel::indices::EndpointIndex;
use etherweave_kernel::memory::{prefetch, prefetch_value};
use etherweave_primitives::{Duration, Rank, Stream, Time};
use etherweave_workload::{GraphOp, Op, Program, ProgramCursor, Received, collective::communicator_of};

use super::{
    IterationRow, RepetitionRow, Thread, graph_state::GraphState, matching::Matching, message::Message,
    message::OpenPut, rounds::Repetition, shared_memory::Neighbour, windows::WindowedMessages,
};

/// The state of a rank.
pub struct RankState {
    /// Rank in its job.
    pub rank: u32,
    /// Whether its job has started.
    pub is_started: bool,
    /// Whether its program has ended.
    pub is_done: bool,
    /// Program that it runs, unless that is a graph.
    program: Program,
    cursor: ProgramCursor,
    pub(super) graph: Option<Box<GraphState>>,
    /// Requests not yet complete; of a graph, see there.
    pub outstanding: u32,
    /// WRITEs that are not acknowledged, in the order in which they were posted.
    pub(super) puts: VecDeque<OpenPut>,
    /// Bytes of the present message that have been sent in fragments [B].
    pub(super) fragments_sent: u64,
    /// Receives and messages.
    pub matching: Matching,
    /// Messages that have overtaken others of their connection, which match first.
    pub(super) early: Option<Box<EarlyMessages>>,
    /// Messages that come in windows.
    pub(super) windowed: WindowedMessages,
    /// Peer ranks and their endpoints, the first of each, in order of ranks.
    peers: Vec<(u32, EndpointIndex)>,
    connections: u64,
    /// Connections that messages to these peers take in turn, where pairs of ranks have several.
    pub turns: Option<Vec<Turn>>,
    /// Connections by which it sends up aggregation trees, in turn; they come back by that to its own number.
    pub trees: Turn,
    /// The place of the last of them that was asked for.
    peer: usize,
    /// Number of the next measured iteration.
    iteration: u32,
    iteration_start: Time,
    /// Start of the present block, or of the present repetition of it.
    block_start: Time,
    skipped: Duration,
    /// Part of that time before its present iteration.
    skipped_before: Duration,
    /// Measured iterations.
    pub rows: Vec<IterationRow>,
    /// Interruptions of its computation, where there are any.
    noise: Option<Box<(Noise, Stream)>>,
}

impl RankState {
    /// A rank before its start, without connections.
    pub fn new(rank: u32, program: Program) -> RankState {
        let iterations = program.iterations();
        RankState::performing(rank, program, None, iterations)
    }

    /// A rank that performs a graph.
    pub fn of_graph(rank: u32, graph: GraphState) -> RankState {
        let iterations = graph.iterations();
        RankState::performing(rank, Program::default(), Some(Box::new(graph)), iterations)
    }

    fn performing(rank: u32, program: Program, graph: Option<Box<GraphState>>, iterations: u64) -> RankState {
        let (rows, cursor) = (Vec::with_capacity(iterations as usize), ProgramCursor::new(&program));
        RankState {
            rank,
            is_started: false,
            is_done: false,
            program,
            cursor,
            graph,
            outstanding: 0,
            puts: VecDeque::new(),
            fragments_sent: 0,
            matching: Matching::default(),
            early: None,
            windowed: WindowedMessages::default(),
            peers: Vec::new(),
            connections: 0,
            turns: None,
            trees: Turn::default(),
            peer: 0,
            iteration: 0,
            iteration_start: Time::ZERO,
            block_start: Time::ZERO,
            skipped: Duration::ZERO,
            skipped_before: Duration::ZERO,
            rows,
            noise: None,
        }
    }

    /// The rounds that a repetition of its graph stands for, if it has one.
    pub fn repetition(&self, thread: &Thread) -> Option<RepetitionRow> {
        let Repetition { error, waited, left_out, compared } = self.graph.as_ref()?.rounds.repetition?;
        let &Thread { job, host_id: host, .. } = thread;
        Some(RepetitionRow { job, rank: self.rank, host, left_out, compared, error, waited })
    }

    /// Hands a message to the driver of its graph, if it has one.
    pub(super) fn take_received(&mut self, endpoint: EndpointIndex, tag: u32, bytes: u64) {
        if self.graph.as_ref().is_some_and(|graph| graph.run.graph().is_driven()) {
            let received = Received { peer: Rank::new(self.known_peer(endpoint)), tag, bytes };
            self.graph.as_mut().expect("it has one").received = Some(received);
        }
    }

    fn known_peer(&self, endpoint: EndpointIndex) -> u32 {
        self.peer_of(endpoint).expect("messages are of peers")
    }

    /// Has the operating system interrupt its computation.
    pub fn interrupt(&mut self, noise: Noise, draws: Stream) {
        self.noise = Some(Box::new((noise, draws)));
    }

    /// How long interruptions of a computation take together. Since gaps have no memory, each computation draws anew.
    #[inline]
    pub(super) fn interruptions(&mut self, computation: Duration) -> Duration {
        let Some((noise, draws)) = self.noise.as_deref_mut() else { return Duration::ZERO };
        let (mut computed, mut taken) = (exponential(noise.every, draws), Duration::ZERO);
        while computed < computation {
            taken += exponential(noise.duration, draws);
            computed += exponential(noise.every, draws);
        }
        taken
    }

    /// Measured iterations: done, and in all.
    pub fn iterations(&self) -> (u64, u64) {
        (self.rows.len() as u64, self.rows.capacity() as u64)
    }

    /// Adds a connection to a peer, or what stands for it, for messages of this communicator, or for all.
    pub fn connect(&mut self, peer: u32, communicator: Option<u8>, endpoint: EndpointIndex) {
        self.connections += u64::from(Neighbour::of(endpoint).is_none());
        let place = self.peers.partition_point(|&(other, _)| other < peer);
        let is_new = self.peers.get(place).is_none_or(|&(other, _)| other != peer);
        if is_new {
            self.peers.insert(place, (peer, endpoint));
        }
        match &mut self.turns {
            Some(turns) if is_new => turns.insert(place, Turn::default()),
            Some(_) => {}
            None => assert!(is_new, "a pair of ranks has one connection"),
        }
        if let Some(turns) = &mut self.turns {
            turns[place].connections.push(endpoint);
            turns[place].communicators |= communicator.map_or(0, |number| 1 << number);
        }
    }

    pub(super) fn connections(&self) -> u64 {
        self.connections
    }

    /// The endpoint to a peer. Who knows all others need not search.
    pub(super) fn endpoint_of(&mut self, peer: u32) -> EndpointIndex {
        let place = peer as usize - usize::from(peer > self.rank);
        self.peer = match self.peers.get(place) {
            Some(&(rank, _)) if rank == peer => place,
            _ => self.peers.binary_search_by_key(&peer, |&(rank, _)| rank).expect("every peer has a connection"),
        };
        self.peers[self.peer].1
    }

    /// The connection to a peer that the present message takes: that of its communicator, or the next in turn, unless
    /// the message goes on after its first fragment.
    pub(super) fn connection_to(&mut self, peer: u32, tag: u32, sent: u64) -> EndpointIndex {
        if peer == self.rank {
            return if sent == 0 { self.trees.take() } else { self.trees.present() };
        }
        let first = self.endpoint_of(peer);
        match &mut self.turns {
            None => first,
            Some(turns) if turns[self.peer].communicators != 0 => turns[self.peer].of_communicator(tag),
            Some(turns) if sent == 0 => turns[self.peer].take(),
            Some(turns) => turns[self.peer].present(),
        }
    }

    /// The rank at the other end of an endpoint, the first to that rank.
    pub fn peer_of(&self, endpoint: EndpointIndex) -> Option<u32> {
        self.peers.iter().find(|&&(_, own)| own == endpoint).map(|&(rank, _)| rank)
    }

    /// Whether it performs a graph.
    pub fn is_graph(&self) -> bool {
        self.graph.is_some()
    }

    /// Peer ranks and their endpoints, the first of each.
    pub fn peers(&self) -> &[(u32, EndpointIndex)] {
        &self.peers
    }

    /// The endpoint to a peer, if it has one.
    pub fn endpoint_to(&self, peer: u32) -> Option<EndpointIndex> {
        self.peers.iter().find(|&&(rank, _)| rank == peer).map(|&(_, endpoint)| endpoint)
    }

    /// Begins to fetch the present operation and the next, and the peer after the last: programs often go through
    /// their peers in order.
    #[inline]
    pub fn prefetch_op(&self) {
        if let Some(block) = self.cursor.block(&self.program) {
            prefetch(&block.ops, self.cursor.place(), 2 * size_of::<Op>());
        }
        prefetch(&self.peers, self.peer + 1, size_of::<(u32, EndpointIndex)>());
    }

    /// Begins to fetch what it performs: in the first step its graph, in the second the lists of that, in the third the
    /// present operation; of a program the block, then the operation.
    #[inline]
    pub fn prefetch_work(&self, step: usize) {
        match (&self.graph, step) {
            (Some(graph), 0) => prefetch_value(&**graph),
            (Some(graph), 1) => graph.prefetch_lists(),
            (Some(graph), _) => graph.prefetch_node(),
            (None, 0) => self.cursor.block(&self.program).into_iter().for_each(prefetch_value),
            (None, 1) => self.prefetch_op(),
            (None, _) => {}
        }
    }

    /// The present operation.
    pub fn op(&self) -> Option<Op> {
        self.cursor.op(&self.program).copied()
    }

    /// Whether the present block is measured.
    fn is_measured(&self) -> bool {
        self.cursor.block(&self.program).is_some_and(|block| block.measured)
    }

    pub(super) fn begin_iteration(&mut self, now: Time) {
        self.iteration_start = now;
        self.begin_skipped();
        self.advance(now);
    }

    /// Takes what has been skipped so far for time before its present iteration.
    pub(super) fn begin_skipped(&mut self) {
        self.skipped_before = self.skipped;
    }

    /// Ends an iteration, which is recorded if its block is measured, of a job on a host.
    pub(super) fn end_iteration(&mut self, now: Time, job: u32, host: u32) {
        if self.is_measured() {
            self.record_iteration(self.iteration_start, now, job, host);
        }
        self.advance(now);
    }

    pub(super) fn record_iteration(&mut self, start: Time, now: Time, job: u32, host: u32) {
        let (rank, iteration) = (self.rank, self.iteration);
        let duration = self.present_time(now).since(start);
        self.rows.push(IterationRow { job, rank, host, iteration, start: start + self.skipped_before, duration });
        self.iteration += 1;
    }

    /// One outstanding request less, of a sequence.
    #[inline]
    pub(super) fn request_complete(&mut self) {
        assert!(self.outstanding > 0, "a request completes once");
        self.outstanding -= 1;
    }

    /// Whether it performs a graph, of which operations have numbers.
    pub fn performs_graph(&self) -> bool {
        self.graph.is_some()
    }

    /// Why its graph does not go on, if its file cannot be read.
    pub fn graph_failure(&self) -> Option<String> {
        self.graph.as_ref()?.failure()
    }

    /// Operations of its graph whose requests are open, without receives that no message matches.
    pub fn matched_operations(&self) -> impl Iterator<Item = (u32, GraphOp)> {
        self.graph.iter().flat_map(|graph| graph.open_operations())
    }

    /// Requests that are not complete.
    pub fn open_requests(&self) -> u32 {
        match &self.graph {
            Some(graph) => (graph.requests() + self.matching.posted().len()) as u32,
            None => self.outstanding,
        }
    }

    /// Goes to the next operation, which begins now.
    pub(super) fn advance(&mut self, now: Time) {
        if self.cursor.advance(&self.program) {
            self.block_start = now;
        }
    }
}

#[derive(Default)]
pub(super) struct EarlyMessages {
    messages: Vec<(EndpointIndex, Message)>,
}

impl EarlyMessages {
    pub(super) fn keep(&mut self, endpoint: EndpointIndex, message: Message) {
        self.messages.push((endpoint, message));
    }

    pub(super) fn take(&mut self, endpoint: EndpointIndex, number: u16) -> Option<Message> {
        let place = self.messages.iter().position(|(own, message)| (*own, message.number) == (endpoint, number))?;
        Some(self.messages.swap_remove(place).1)
    }
}

/// Connections to a peer, and which of them the next message takes.
#[derive(Default)]
pub struct Turn {
    /// Connections, in order.
    pub connections: Vec<EndpointIndex>,
    /// Communicators that have a connection each, in order, as bits; none where messages take them in turn.
    communicators: u32,
    next: usize,
}

impl Turn {
    fn take(&mut self) -> EndpointIndex {
        let connection = self.connections[self.next];
        self.next = (self.next + 1) % self.connections.len();
        connection
    }

    /// The connection of a message with this tag; the last where its communicator was not known before the run.
    fn of_communicator(&self, tag: u32) -> EndpointIndex {
        let below = self.communicators & ((1 << communicator_of(tag)) - 1);
        self.connections[(below.count_ones() as usize).min(self.connections.len() - 1)]
    }

    fn present(&self) -> EndpointIndex {
        self.connections[(self.next + self.connections.len() - 1) % self.connections.len()]
    }
}

/// An exponential time of this mean.
fn exponential(mean: Duration, draws: &mut Stream) -> Duration {
    Duration::from_ps(((u128::from(mean.as_ps()) * u128::from(draws.exponential())) >> 32) as u64)
}
