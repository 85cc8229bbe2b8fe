//! The graph of a rank: its operations, which of them are ready, and requests that are open.

use std::{collections::VecDeque, sync::Arc};

use etherweave_kernel::indices::EndpointIndex;
use etherweave_kernel::memory::{prefetch, prefetch_value};
use etherweave_primitives::Time;
use etherweave_workload::{ExecutionStream, Graph, GraphOp, GraphRun, Received};

use super::{node_links::NodeLinks, node_links::NodeTransfer, rounds::Rounds};

/// The first stream, whose thread is that of the rank. The others' threads follow it.
pub(super) const FIRST: u8 = 0;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RequestPart {
    Send(MessageId),
    /// A send by rendezvous whose payload is being written into a socket.
    Written,
    Receive(MessageId),
}

/// A message by its tag and its number on the connection. Those within a host have no numbers and keep their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MessageId {
    pub tag: u32,
    pub number: u16,
}

/// An open request: of several equal ones the first completes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Request {
    /// The other rank.
    pub endpoint: EndpointIndex,
    pub part: RequestPart,
}

/// The present operation of a stream and those that are ready.
#[derive(Default)]
pub(super) struct StreamState {
    pub(super) ready: VecDeque<u32>,
    pub(super) node: Option<u32>,
    /// Bytes of its message that have been sent, in fragments [B].
    pub(super) sent: u64,
    pub(super) connection: EndpointIndex,
    /// Whether it handles what arrives: not a stream of an accelerator, but where the rank has no other.
    pub(super) is_handler: bool,
}

/// The streams of a rank, and which of them may have something to do.
pub(super) struct Streams {
    pub(super) states: Vec<StreamState>,
    pub(super) woken: VecDeque<u8>,
}

impl Streams {
    #[inline]
    fn ready(&mut self, node: u32, stream: u8) {
        let ready = &mut self.states[usize::from(stream)].ready;
        if ready.is_empty() {
            self.woken.push_back(stream);
        }
        ready.push_back(node);
    }
}

/// See the module.
pub struct GraphState {
    pub(super) run: GraphRun,
    /// Result of the receive that is about to complete, for a driver.
    pub(super) received: Option<Received>,
    /// When an event ends the next wait of a driver or transfer in the node.
    pub(super) wakes_at: Time,
    pub(super) links: NodeLinks,
    /// Iterations left, the present one included.
    pub(super) iterations: u32,
    pub(super) start: Time,
    /// Rounds of the present iteration that a repetition stands for more of.
    pub(super) rounds: Rounds,
    pub(super) streams: Streams,
    /// The stream that handles what has arrived.
    pub(super) handler: Option<u8>,
    requests: VecDeque<(Request, u32)>,
}

impl GraphState {
    /// A graph that is performed so often from `start` on.
    pub fn new(graph: Arc<Graph>, iterations: u32, start: Time) -> GraphState {
        let streams = graph.streams();
        let is_handler = |stream: usize| {
            streams.get(stream) != Some(&ExecutionStream::Accelerator) || !streams.contains(&ExecutionStream::Core)
        };
        let state = |stream| StreamState { is_handler: is_handler(stream), ..StreamState::default() };
        let states = (0..streams.len().max(1)).map(state).collect();
        let mut state = GraphState {
            run: GraphRun::new(graph),
            received: None,
            wakes_at: Time::MAX,
            links: NodeLinks::default(),
            iterations,
            start,
            rounds: Rounds::default(),
            streams: Streams { states, woken: VecDeque::new() },
            handler: None,
            requests: VecDeque::new(),
        };
        state.begin(start);
        state
    }

    /// Begins to fetch its lists.
    #[inline]
    pub(super) fn prefetch_lists(&self) {
        prefetch_value(self.run.graph());
        prefetch(&self.streams.states, 0, size_of::<StreamState>());
    }

    /// Begins to fetch the operation that its first stream performs or performs next.
    #[inline]
    pub(super) fn prefetch_node(&self) {
        let first = &self.streams.states[usize::from(FIRST)];
        let node = first.node.or_else(|| first.ready.front().copied());
        if let (Some(node), Some((nodes, waits))) = (node, self.run.in_memory()) {
            nodes.node(node).into_iter().for_each(prefetch_value);
            prefetch(waits, node as usize, size_of::<u32>());
        }
    }

    /// How many rows it will record.
    pub fn iterations(&self) -> u64 {
        u64::from(self.iterations) * self.run.graph().rows()
    }

    /// Requests that are open, without receives that wait for a message.
    pub fn requests(&self) -> usize {
        self.requests.len()
    }

    /// The operations of these requests.
    pub fn open_operations(&self) -> impl Iterator<Item = (u32, GraphOp)> {
        self.requests.iter().map(|&(_, node)| (node, self.run.op(node)))
    }

    /// Why it does not go on, if it cannot be read any more.
    pub fn failure(&self) -> Option<String> {
        self.run.failure().map(ToString::to_string)
    }

    /// Begins an iteration: what waits for nothing is ready.
    pub(super) fn begin(&mut self, now: Time) {
        self.start = now;
        self.rounds.begin();
        let streams = &mut self.streams;
        self.run.begin(now, |node, stream| streams.ready(node, stream));
    }

    /// Whether the present operation of a stream, the only one of the rank, is a join, which waits for all before it.
    pub(super) fn is_wait_of_only_stream(&self, stream: u8) -> bool {
        let node = self.streams.states[usize::from(stream)].node;
        let is_join = |node| matches!(self.run.op(node), GraphOp::Compute { duration } if duration.is_zero());
        self.streams.states.len() == 1 && node.is_some_and(is_join)
    }

    /// Whether a stream has an operation, the next one if it has none in progress: that starts, and what waits for its
    /// start is released.
    pub(super) fn has_operation(&mut self, stream: u8) -> bool {
        let state = &mut self.streams.states[usize::from(stream)];
        if state.node.is_some() {
            return true;
        }
        let Some(node) = state.ready.pop_front() else { return false };
        state.node = Some(node);
        let streams = &mut self.streams;
        let starts = self.run.start(node, |node, stream| streams.ready(node, stream));
        if !starts {
            self.streams.states[usize::from(stream)].node = None;
        }
        starts
    }

    pub(super) fn complete(&mut self, node: u32, now: Time) {
        let (streams, received) = (&mut self.streams, self.received.take());
        self.run.complete(node, now, received, |node, stream| streams.ready(node, stream));
    }

    /// When the next wait of a driver or transfer in the node ends.
    pub(super) fn next_wake(&self) -> Option<Time> {
        self.run.next_wait().into_iter().chain(self.links.next_end()).min()
    }

    /// Ends what lasts until now, and gives transfers that do. An event comes too early when links have another
    /// transfer since: then nothing ends.
    pub(super) fn wake(&mut self, now: Time) -> Vec<NodeTransfer> {
        if now < self.wakes_at {
            return Vec::new();
        }
        self.wakes_at = Time::MAX;
        let transfers = self.links.take_complete(now);
        transfers.iter().for_each(|transfer| self.complete(transfer.node, now));
        let streams = &mut self.streams;
        self.run.wake(now, |node, stream| streams.ready(node, stream));
        transfers
    }

    pub(super) fn open(&mut self, request: Request, node: u32) {
        self.requests.push_back((request, node));
    }

    /// Takes the earliest of equal requests.
    fn take(&mut self, request: Request) -> u32 {
        let place = self.requests.iter().position(|&(open, _)| open == request).expect("a request completes once");
        self.requests.remove(place).expect("it was found").1
    }

    pub(super) fn request_complete(&mut self, request: Request, now: Time) {
        let node = self.take(request);
        self.complete(node, now);
    }

    /// The receiver is ready for the payload of a send over TCP.
    pub(super) fn granted(&mut self, endpoint: EndpointIndex, message: MessageId) {
        let node = self.take(Request { endpoint, part: RequestPart::Send(message) });
        self.open(Request { endpoint, part: RequestPart::Written }, node);
    }
}
