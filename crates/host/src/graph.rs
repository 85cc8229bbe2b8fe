//! A rank that performs a graph: a thread for each of its execution streams.
//!
//! ```text
//!   started, complete ──► dependants ──► ready queue of their stream ──► thread of the stream
//!   message arrives ──► inbox of the rank ──► an idle thread, one at a time
//! ```
//!
//! A stream performs its ready operations one after another, and waits inside MPI when it has none: then it handles
//! what has arrived. That is work for a core, so an accelerator's stream does it only where the rank has no other. One
//! stream at a time does, as MPI libraries let one thread progress at a time: messages match in the order of their
//! arrival. Transfers within a node are posted, and take no time of a stream.

use etherweave_engine::{Wires, event::Kind, event::PrefetchHint};
use etherweave_kernel::indices::{EndpointIndex, ThreadIndex};
use etherweave_workload::{ExecutionStream, GraphOp};

use super::graph_state::{FIRST, GraphState, MessageId, Request, RequestPart};
use super::matching::{ANY_SOURCE, ANY_TAG, Envelope};
use super::thread::{Role, Task, Thread};
use super::{costs::copy_cost, costs::send_cost, shared_memory::Neighbour, task_cost::TaskCost};
use crate::{Hosts, Processors};

impl Processors {
    /// The thread of the rank to which a thread belongs, which has its state and its inbox.
    #[inline]
    pub(super) fn rank_thread(&self, thread: ThreadIndex) -> ThreadIndex {
        match self.threads[thread].role {
            Role::GraphStream(rank) => rank,
            Role::Rank(_) | Role::Source(_) | Role::Sink(_) => thread,
        }
    }

    fn graph(&mut self, rank: ThreadIndex) -> &mut GraphState {
        self.rank(rank).graph.as_mut().expect("the rank performs a graph")
    }

    fn stream_thread(rank: ThreadIndex, stream: u8) -> ThreadIndex {
        ThreadIndex::new(rank.get() + u32::from(stream - FIRST))
    }

    fn is_stream_idle(&self, rank: ThreadIndex, stream: u8) -> bool {
        self.threads[Processors::stream_thread(rank, stream)].current.is_none()
    }

    /// The stream that handled something goes on with its operations.
    fn handler_done(&mut self, rank: ThreadIndex) {
        if let Some(stream) = self.graph(rank).handler
            && self.is_stream_idle(rank, stream)
        {
            let graph = self.graph(rank);
            graph.handler = None;
            graph.streams.woken.push_back(stream);
        }
    }

    /// Sees to it that an event comes when the next wait of a driver or transfer in the node ends: now, of a wait that
    /// ended while the rank, which starts later than its job, had not started.
    fn expect_wake(&mut self, wires: &mut Wires, rank: ThreadIndex) {
        let graph = self.graph(rank);
        if let Some(next) = graph.next_wake()
            && next < graph.wakes_at
        {
            graph.wakes_at = next;
            let place = self.threads[rank].place;
            wires.schedule_at(next.max(wires.now), place, Kind::Wake, rank.get());
        }
    }

    /// Has an idle stream begin its next operation.
    fn run_stream(&mut self, wires: &mut Wires, rank: ThreadIndex, stream: u8) {
        while self.is_stream_idle(rank, stream) {
            if !self.graph(rank).has_operation(stream) {
                return;
            }
            if self.graph(rank).is_wait_of_only_stream(stream) && self.has_read(wires, rank) {
                return; // The stream handles it first, as a rank of a program does before its wait returns.
            }
            self.begin_node(wires, rank, stream);
        }
    }

    /// Begins the present operation of a stream, or the next fragment of its message. A join takes no time.
    fn begin_node(&mut self, wires: &mut Wires, rank: ThreadIndex, stream: u8) {
        let (job, time) = (self.threads[rank].job, self.rank(rank).present_time(wires.now));
        let graph = self.graph(rank);
        let state = &mut graph.streams.states[usize::from(stream)];
        let (node, sent, connection) = (state.node.expect("the stream has an operation"), state.sent, state.connection);
        let op = graph.run.op(node);
        let timed = graph.rounds.timed(op, time);
        if let GraphOp::Compute { duration } = timed
            && duration.is_zero()
        {
            state.node = None;
            return graph.complete(node, wires.now);
        }
        if let GraphOp::Transfer { duration, share } = timed {
            state.node = None;
            return graph.links.begin(wires.now, (node, stream), (duration, share));
        }
        let is_core = graph.run.graph().streams()[usize::from(stream)] == ExecutionStream::Core;
        self.observe_next_of_graph(op);
        let (endpoint, cost) = match timed {
            GraphOp::Send { peer, tag, bytes } => {
                let endpoint = match sent {
                    0 => self.rank(rank).connection_to(peer.get(), tag, 0),
                    _ => connection,
                };
                self.graph(rank).streams.states[usize::from(stream)].connection = endpoint;
                (endpoint, send_cost(&wires.constants, job, endpoint, tag, bytes, sent))
            }
            GraphOp::Receive { peer, .. } => {
                let endpoint = peer.map(|peer| self.rank(rank).endpoint_of(peer.get()));
                (endpoint.unwrap_or(ANY_SOURCE), TaskCost::of(wires.constants.mpi(job).receive_overhead))
            }
            GraphOp::Compute { duration } if is_core => {
                (ANY_SOURCE, TaskCost::of(duration + self.rank(rank).interruptions(duration)))
            }
            GraphOp::Compute { duration } => (ANY_SOURCE, TaskCost::of(duration)),
            GraphOp::Copy { bytes } => (ANY_SOURCE, copy_cost(&wires.constants, job, bytes)),
            GraphOp::Transfer { .. } => unreachable!("a transfer takes no time of its stream"),
            GraphOp::Repeat { .. } => unreachable!("a repetition is a computation"),
        };
        let hint = if endpoint == ANY_SOURCE || Neighbour::of(endpoint).is_some() {
            PrefetchHint::default()
        } else {
            PrefetchHint::endpoint(endpoint, matches!(op, GraphOp::Send { .. }))
        };
        self.begin(wires, Processors::stream_thread(rank, stream), Task::Step(endpoint), cost, hint);
    }

    fn record_rows(&mut self, rank: ThreadIndex) {
        let &Thread { job, host_id, .. } = &self.threads[rank];
        for (start, end) in self.graph(rank).run.take_records() {
            self.rank(rank).record_iteration(start, end, job, host_id);
        }
    }

    fn graph_iteration_end(&mut self, wires: &mut Wires, rank: ThreadIndex) {
        let (now, &Thread { job, host_id, .. }) = (wires.now, &self.threads[rank]);
        self.record_rows(rank);
        if !self.graph(rank).run.graph().records_rows() {
            let start = self.graph(rank).start;
            self.rank(rank).record_iteration(start, now, job, host_id);
        }
        self.rank(rank).begin_skipped();
        let graph = self.graph(rank);
        graph.iterations -= 1;
        if graph.iterations > 0 {
            graph.begin(now);
        } else {
            self.rank_done(wires, rank);
        }
    }
}

impl Hosts {
    pub(super) fn graph_next(&mut self, wires: &mut Wires, rank: ThreadIndex) {
        if !self.processors.rank(rank).is_started {
            return;
        }
        self.processors.handler_done(rank);
        loop {
            while let Some(stream) = self.processors.graph(rank).streams.woken.pop_front() {
                self.processors.run_stream(wires, rank, stream);
            }
            if self.processors.graph(rank).run.left() > 0 || self.processors.rank(rank).is_done {
                break;
            }
            self.processors.graph_iteration_end(wires, rank);
        }
        self.processors.record_rows(rank);
        self.processors.expect_wake(wires, rank);
        self.handle_next(wires, rank);
    }

    /// A wait of a driver or a transfer in the node ends.
    pub fn wake(&mut self, wires: &mut Wires, rank: ThreadIndex) {
        self.processors.progress_of(wires, rank);
        for transfer in self.processors.graph(rank).wake(wires.now) {
            let thread = Processors::stream_thread(rank, transfer.stream);
            self.processors.observe_transfer(thread, (transfer.start, wires.now));
        }
        self.graph_next(wires, rank);
    }

    /// The present operation of a stream has taken its time: its effect.
    pub(super) fn graph_step_done(
        &mut self,
        wires: &mut Wires,
        rank: ThreadIndex,
        thread: ThreadIndex,
        endpoint: EndpointIndex,
    ) {
        let stream = (thread.get() - rank.get()) as u8;
        let graph = self.processors.graph(rank);
        graph.streams.woken.push_back(stream);
        let state = &mut graph.streams.states[usize::from(stream)];
        let (node, sent) = (state.node.expect("a step has an operation"), state.sent);
        let op = graph.run.op(node);
        if let GraphOp::Send { tag, bytes, .. } = op
            && let Some(piece) = self.send_fragment(wires, endpoint, tag, bytes, sent)
        {
            self.processors.graph(rank).streams.states[usize::from(stream)].sent += piece;
            return;
        }
        let state = &mut self.processors.graph(rank).streams.states[usize::from(stream)];
        (state.node, state.sent) = (None, 0);
        match op {
            GraphOp::Send { tag, bytes, .. } => match self.isend(wires, rank, endpoint, tag, bytes, sent) {
                Some(number) => {
                    let part = RequestPart::Send(MessageId { tag, number });
                    self.processors.graph(rank).open(Request { endpoint, part }, node);
                }
                None => self.processors.graph(rank).complete(node, wires.now),
            },
            GraphOp::Receive { tag, .. } => {
                self.irecv(wires, rank, Envelope { endpoint, tag: tag.unwrap_or(ANY_TAG) }, node);
            }
            GraphOp::Compute { .. } | GraphOp::Copy { .. } | GraphOp::Transfer { .. } | GraphOp::Repeat { .. } => {
                self.processors.graph(rank).complete(node, wires.now);
            }
        }
    }

    /// Has an idle stream handle what has arrived.
    fn handle_next(&mut self, wires: &mut Wires, rank: ThreadIndex) {
        if self.processors.graph(rank).handler.is_some() || self.processors.threads[rank].inbox.is_empty() {
            return;
        }
        let Role::Rank(state) = &self.processors.threads[rank].role else {
            unreachable!("a rank has a thread of its own")
        };
        let states = &state.graph.as_ref().expect("the rank performs a graph").streams.states;
        let is_free = |stream: usize| states[stream].is_handler && self.processors.is_stream_idle(rank, stream as u8);
        let Some(stream) = (0..states.len()).find(|&stream| is_free(stream)) else { return };
        self.processors.graph(rank).handler = Some(stream as u8);
        let task = self.processors.threads[rank].inbox.pop_front().expect("the inbox is not empty");
        self.begin_task(wires, Processors::stream_thread(rank, stream as u8), task);
    }
}
