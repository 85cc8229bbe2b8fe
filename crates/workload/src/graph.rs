//! What one rank does as a graph: operations that start when those they wait for have started or are complete.
//!
//! A [`Program`](crate::Program) is a sequence on one thread. A graph has several execution streams: those of a GPU, or
//! the threads of a process (`cpu` in GOAL). A stream performs one operation at a time, in the order in which they
//! become ready, and at once ready ones in the order of their numbers; streams run side by side. A message is posted by
//! its stream, which then is free again: a receive is complete when its message has arrived, a send when its buffer can
//! be used again.
//!
//! ```text
//!   accelerator  ── compute layer 2 ─┬─ compute layer 1 ─┬─
//!                                    ▼                   ▼
//!   core                            send of layer 2     send of layer 1
//! ```
//!
//! [`GraphBuilder`] makes one, [`check_graphs`] checks those of a job, which is [`Traffic::Graphs`](crate::Traffic).
//!
//! ```
//! use etherweave_primitives::{Duration, Rank};
//! use etherweave_workload::{ExecutionStream, GraphBuilder, GraphOp};
//! let mut step = GraphBuilder::default();
//! let (gpu, network) = (step.stream(ExecutionStream::Accelerator), step.stream(ExecutionStream::Core));
//! // Two layers one after another; what the first yields is sent while the second computes.
//! for tag in 0..2 {
//!     let layer = step.chain(gpu, GraphOp::Compute { duration: Duration::from_us(5) });
//!     step.add(network, GraphOp::Send { peer: Rank::new(1), tag, bytes: 1 << 20 }, &[layer]);
//! }
//! let any = GraphOp::Receive { peer: None, tag: None, bytes: 8 };
//! step.chain(network, any);
//! let graph = step.build().unwrap();
//! assert_eq!((graph.len(), graph.streams().len()), (5, 2));
//! ```

mod builder;
mod check;
mod job;
mod order;
mod progress;

use etherweave_primitives::{Duration, Rank};

pub use builder::{GraphBuilder, GraphCycle, NodeId};
pub use check::check_graphs;
pub(crate) use job::graphs_of;
pub use order::programs_of_graphs;
pub(crate) use order::topological;

/// Stands for any rank and any tag; no tag of an operation.
const ANY: u32 = u32::MAX;

/// An operation of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphOp {
    /// Sends a message.
    Send {
        /// The receiving rank, never the rank itself.
        peer: Rank,
        /// What the receive must name to match, below the highest number of 32 bits.
        tag: u32,
        /// Payload [B].
        bytes: u64,
    },
    /// Receives a message: the first to arrive that matches, and that no earlier receive takes.
    Receive {
        /// The sending rank, never the rank itself; `None` for any.
        peer: Option<Rank>,
        /// What the send must carry, below the highest number of 32 bits; `None` for any.
        tag: Option<u32>,
        /// Payload [B].
        bytes: u64,
    },
    /// Computes on the stream. None of it: a join of what it waits for.
    Compute {
        /// How long [ps].
        duration: Duration,
    },
    /// Copies what the rank sends to itself.
    Copy {
        /// Payload [B].
        bytes: u64,
    },
}

impl GraphOp {
    /// The tag of a message, where it has one.
    pub(crate) fn tag(self) -> Option<u32> {
        match self {
            GraphOp::Send { tag, .. } => Some(tag),
            GraphOp::Receive { tag, .. } => tag,
            GraphOp::Compute { .. } | GraphOp::Copy { .. } => None,
        }
    }
}

/// What performs the operations of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExecutionStream {
    /// A thread on a core of the host, which other ranks and interrupts may share.
    Core,
    /// A stream of an accelerator: what it does takes time of no core.
    Accelerator,
}

/// The operations of a rank, numbered from 0. Lists of all nodes one after another: a node takes 36 B, and 4 B for each
/// operation that waits for it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Graph {
    streams: Vec<ExecutionStream>,
    nodes: Vec<Node>,
    /// Of each node, where its dependants on completion and those on start end; they begin where those of the node
    /// before end.
    ends: Vec<[u32; 2]>,
    dependants: Vec<u32>,
    /// How many operations each node waits for.
    waits: Vec<u32>,
}

/// An operation without what it does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Node {
    /// Payload [B] or time [ps].
    amount: u64,
    peer: u32,
    tag: u32,
    kind: NodeKind,
    stream: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NodeKind {
    Send,
    Receive,
    Compute,
    Copy,
}

impl Node {
    fn new(op: GraphOp, stream: u8) -> Node {
        let (kind, amount, peer, tag) = match op {
            GraphOp::Send { peer, tag, bytes } => (NodeKind::Send, bytes, peer.get(), tag),
            GraphOp::Receive { peer, tag, bytes } => {
                (NodeKind::Receive, bytes, peer.map_or(ANY, Rank::get), tag.unwrap_or(ANY))
            }
            GraphOp::Compute { duration } => (NodeKind::Compute, duration.as_ps(), 0, 0),
            GraphOp::Copy { bytes } => (NodeKind::Copy, bytes, 0, 0),
        };
        Node { amount, peer, tag, kind, stream }
    }

    fn op(self) -> GraphOp {
        let named = |number: u32| Some(number).filter(|&number| number != ANY);
        let bytes = self.amount;
        match self.kind {
            NodeKind::Send => GraphOp::Send { peer: Rank::new(self.peer), tag: self.tag, bytes },
            NodeKind::Receive => {
                GraphOp::Receive { peer: named(self.peer).map(Rank::new), tag: named(self.tag), bytes }
            }
            NodeKind::Compute => GraphOp::Compute { duration: Duration::from_ps(bytes) },
            NodeKind::Copy => GraphOp::Copy { bytes },
        }
    }
}

impl Graph {
    /// Number of operations.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Its execution streams, by number.
    pub fn streams(&self) -> &[ExecutionStream] {
        &self.streams
    }

    /// The operation of a node.
    #[inline]
    pub fn op(&self, node: u32) -> GraphOp {
        self.nodes[node as usize].op()
    }

    /// The stream that performs a node.
    #[inline]
    pub fn stream(&self, node: u32) -> u8 {
        self.nodes[node as usize].stream
    }

    /// All operations, by number.
    pub fn ops(&self) -> impl Iterator<Item = GraphOp> {
        self.nodes.iter().map(|node| node.op())
    }

    /// How many operations each node waits for, by number.
    pub fn waits(&self) -> &[u32] {
        &self.waits
    }

    /// Nodes that wait for the completion of `node`, lowest first.
    #[inline]
    pub fn after(&self, node: u32) -> &[u32] {
        let begin = node.checked_sub(1).map_or(0, |before| self.ends[before as usize][1]);
        &self.dependants[begin as usize..self.ends[node as usize][0] as usize]
    }

    /// Nodes that wait for the start of `node`, lowest first.
    #[inline]
    pub fn after_start(&self, node: u32) -> &[u32] {
        let [begin, end] = self.ends[node as usize];
        &self.dependants[begin as usize..end as usize]
    }

    /// What it takes in memory [B].
    pub fn memory(&self) -> u64 {
        let lists = self.nodes.len() * (size_of::<Node>() + size_of::<[u32; 2]>()) + 4 * self.waits.len();
        (size_of::<Graph>() + lists + 4 * self.dependants.len() + self.streams.len()) as u64
    }

    /// Ranks that it names.
    pub fn peers(&self) -> impl Iterator<Item = Rank> {
        self.ops().filter_map(|op| match op {
            GraphOp::Send { peer, .. } => Some(peer),
            GraphOp::Receive { peer, .. } => peer,
            GraphOp::Compute { .. } | GraphOp::Copy { .. } => None,
        })
    }

    /// Messages that it sends, and their payload [B].
    pub fn sent(&self) -> (u64, u64) {
        self.nodes
            .iter()
            .filter(|node| node.kind == NodeKind::Send)
            .fold((0, 0), |(messages, bytes): (u64, u64), node| (messages + 1, bytes.saturating_add(node.amount)))
    }
}

#[cfg(test)]
mod tests;
