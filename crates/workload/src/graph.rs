//! Graph of the operations of one rank, which start when those they wait for have started or are complete.
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
mod driver;
mod facts;
mod job;
mod nodes;
mod order;
mod own_messages;
mod progress;
mod run;
mod window;

use std::{collections::BTreeSet, sync::Arc};

use etherweave_primitives::{Duration, InputError, Rank};

pub use builder::{GraphBuilder, GraphCycle, NodeId};
pub use check::check_graphs;
pub use driver::{Driver, DriverEvent, NextOperations, Received};
pub use facts::{GraphFacts, MessageSum};
pub(crate) use job::graphs_of;
pub use nodes::NodeLists;
pub use order::programs_of_graphs;
pub(crate) use order::topological;
pub(crate) use own_messages::{OwnMessage, OwnMessages};
pub use run::GraphRun;
pub(crate) use window::{BLOCK_BYTES, BLOCK_NODES, ReadNodes};

/// Share of a transfer that takes all links of its accelerator [ppm].
pub const ALL_LINKS: u32 = 1_000_000;

/// An operation of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphOp {
    /// Sends a message.
    Send {
        /// The receiving rank, never the rank itself.
        peer: Rank,
        /// Tag that the receive must name to match, below the highest number of 32 bits.
        tag: u32,
        /// Payload [B].
        bytes: u64,
    },
    /// Receives a message: the first to arrive that matches, and that no earlier receive takes.
    Receive {
        /// The sending rank, never the rank itself; `None` for any.
        peer: Option<Rank>,
        /// Tag that the send must carry, below the highest number of 32 bits; `None` for any.
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
    /// Passes the links of an accelerator to others of its node, beside all other transfers of the rank, which share
    /// them. It is posted by its stream, as a message is.
    Transfer {
        /// How long it takes alone [ps].
        duration: Duration,
        /// Part of the links that it takes meanwhile, at most [`ALL_LINKS`] [ppm].
        share: u32,
    },
    /// Stands for repetitions of what the rank has done since a mark: takes `times` the mean of the last rounds.
    Repeat {
        /// Repetitions; none in a mark, which only ends a round.
        times: u32,
        /// Rounds whose mean counts, 1 or more, each since the mark before; as many marks are before it, or more.
        per: u32,
    },
}

impl GraphOp {
    /// The computation that a repetition is so long after its mark; any other operation is itself.
    pub fn repeated(self, since: Duration) -> GraphOp {
        let GraphOp::Repeat { times, per } = self else { return self };
        let ps = u128::from(since.as_ps()) * u128::from(times) / u128::from(per.max(1));
        GraphOp::Compute { duration: Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX)) }
    }

    /// The operation whose peer stands at a place among these.
    #[inline]
    fn with_peer(self, peers: &[Rank]) -> GraphOp {
        match self {
            GraphOp::Send { peer, tag, bytes } => GraphOp::Send { peer: peers[peer.index()], tag, bytes },
            GraphOp::Receive { peer, tag, bytes } => {
                GraphOp::Receive { peer: peer.map(|peer| peers[peer.index()]), tag, bytes }
            }
            GraphOp::Compute { .. } | GraphOp::Copy { .. } | GraphOp::Transfer { .. } | GraphOp::Repeat { .. } => self,
        }
    }

    /// Tag of the message that it sends, or receives.
    pub fn tag(self) -> Option<u32> {
        match self {
            GraphOp::Send { tag, .. } => Some(tag),
            GraphOp::Receive { tag, .. } => tag,
            GraphOp::Compute { .. } | GraphOp::Copy { .. } | GraphOp::Transfer { .. } | GraphOp::Repeat { .. } => None,
        }
    }
}

/// Resource that performs the operations of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExecutionStream {
    /// A thread on a core of the host, which other ranks and interrupts may share.
    Core,
    /// A stream of an accelerator: what it does takes time of no core.
    Accelerator,
}

/// The operations of a rank, numbered from 0: in memory, or in a file whose nodes are read while they are performed
/// ([`GraphRun`]).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Graph {
    streams: Vec<ExecutionStream>,
    facts: GraphFacts,
    nodes: Nodes,
}

#[derive(Clone, Debug)]
enum Nodes {
    /// Peers are places among those of the facts, so that ranks that do the same with different peers share nodes.
    Memory(Arc<NodeLists>),
    File(Arc<dyn ReadNodes>, u32),
    /// Decided on by a driver, which records so many rows itself, if it does.
    Driven(Arc<dyn driver::MakeDriver>, Option<u64>),
}

impl Default for Nodes {
    fn default() -> Nodes {
        Nodes::Memory(Arc::default())
    }
}

/// A file and a driver are equal to themselves only.
impl PartialEq for Nodes {
    fn eq(&self, other: &Nodes) -> bool {
        match (self, other) {
            (Nodes::Memory(own), Nodes::Memory(other)) => own == other,
            (Nodes::File(own, _), Nodes::File(other, _)) => Arc::ptr_eq(own, other),
            (Nodes::Driven(own, _), Nodes::Driven(other, _)) => Arc::ptr_eq(own, other),
            (Nodes::Memory(_) | Nodes::File(..) | Nodes::Driven(..), _) => false,
        }
    }
}

impl Eq for Nodes {}

impl Graph {
    fn in_memory(streams: Vec<ExecutionStream>, nodes: NodeLists) -> Graph {
        let facts = GraphFacts::of(nodes.ops());
        let place = |peer| facts.peers().binary_search(&Rank::new(peer)).expect("the facts have all peers") as u32;
        let nodes = Nodes::Memory(Arc::new(nodes.with_peers(place)));
        Graph { streams, facts, nodes }
    }

    /// Takes the nodes of a graph among `others` that has the same, which then are in memory and in caches once, or
    /// joins them.
    pub(crate) fn share(&mut self, others: &mut BTreeSet<Arc<NodeLists>>) {
        let Nodes::Memory(nodes) = &mut self.nodes else { return };
        match others.get(nodes) {
            Some(shared) => *nodes = Arc::clone(shared),
            None => {
                others.insert(Arc::clone(nodes));
            }
        }
    }

    /// A graph of `count` nodes in a file, with what they are in all.
    pub(crate) fn in_file(
        streams: Vec<ExecutionStream>,
        facts: GraphFacts,
        source: Arc<dyn ReadNodes>,
        count: u32,
    ) -> Graph {
        Graph { streams, facts, nodes: Nodes::File(source, count) }
    }

    /// Number of operations; 0 of a driver, which has none before a run.
    pub fn len(&self) -> usize {
        match &self.nodes {
            Nodes::Memory(nodes) => nodes.len(),
            Nodes::File(_, count) => *count as usize,
            Nodes::Driven(..) => 0,
        }
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether its nodes stay in a file.
    pub fn is_in_file(&self) -> bool {
        matches!(self.nodes, Nodes::File(..))
    }

    /// Whether a driver decides on its operations.
    pub fn is_driven(&self) -> bool {
        matches!(self.nodes, Nodes::Driven(..))
    }

    /// Whether its driver records rows itself, instead of one for all that it does.
    pub fn records_rows(&self) -> bool {
        matches!(self.nodes, Nodes::Driven(_, Some(_)))
    }

    /// Rows that are recorded each time that it is performed.
    pub fn rows(&self) -> u64 {
        match self.nodes {
            Nodes::Driven(_, Some(rows)) => rows,
            Nodes::Memory(_) | Nodes::File(..) | Nodes::Driven(_, None) => 1,
        }
    }

    /// Its execution streams, by number.
    pub fn streams(&self) -> &[ExecutionStream] {
        &self.streams
    }

    /// Its operations in all.
    pub fn facts(&self) -> &GraphFacts {
        &self.facts
    }

    /// All its nodes, in memory.
    ///
    /// # Errors
    /// When they are in a file that cannot be read; of a driver.
    pub fn nodes(&self) -> Result<NodeLists, InputError> {
        let (source, count) = match &self.nodes {
            Nodes::Memory(nodes) => {
                let peers = self.facts.peers();
                return Ok(NodeLists::clone(nodes).with_peers(|place| peers[place as usize].get()));
            }
            Nodes::File(source, count) => (source, *count),
            Nodes::Driven(..) => {
                let expected = "a workload whose operations are known before a run, as those of MPI programs";
                return Err(InputError::new(
                    "",
                    "each rank decides by the messages that arrive what comes next",
                    expected,
                ));
            }
        };
        let (mut nodes, mut block) = (NodeLists::default(), NodeLists::default());
        for first in (0..count).step_by(BLOCK_NODES as usize) {
            source.read(first, BLOCK_NODES.min(count - first), &mut block)?;
            nodes.append(&block);
        }
        Ok(nodes)
    }

    /// Returns its size in memory before it runs [B].
    pub fn memory(&self) -> u64 {
        let lists = match &self.nodes {
            Nodes::Memory(nodes) => nodes.memory(),
            Nodes::File(..) | Nodes::Driven(..) => 0,
        };
        size_of::<Graph>() as u64 + lists + self.streams.len() as u64 + 8 * self.facts.peers().len() as u64
    }
}

#[cfg(test)]
mod tests;
