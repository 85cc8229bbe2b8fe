//! Makes graphs, operation by operation.

use etherweave_primitives::Duration;

use super::{ExecutionStream, Graph, GraphOp, NodeLists, nodes::ANY};
use crate::Op;

/// A node of the graph that is being built.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NodeId(u32);

impl NodeId {
    /// Its number.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// An operation waits for itself through others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GraphCycle {
    /// One of them.
    pub node: u32,
}

impl std::fmt::Display for GraphCycle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "operation {} waits for itself through others; expected dependencies without a cycle", self.node)
    }
}

impl std::error::Error for GraphCycle {}

#[derive(Clone, Copy)]
struct Edge {
    on: u32,
    node: u32,
    is_start: bool,
}

/// A graph that grows. Its streams come first, see [`GraphBuilder::stream`].
#[derive(Default)]
pub struct GraphBuilder {
    streams: Vec<ExecutionStream>,
    /// The last node of each stream that was chained.
    chained: Vec<Option<NodeId>>,
    nodes: Vec<(GraphOp, u8)>,
    edges: Vec<Edge>,
}

impl GraphBuilder {
    /// A graph without operations, with room for so many and as many dependencies.
    pub(crate) fn with_capacity(operations: usize) -> GraphBuilder {
        let (nodes, edges) = (Vec::with_capacity(operations), Vec::with_capacity(operations));
        GraphBuilder { nodes, edges, ..GraphBuilder::default() }
    }

    /// Adds an execution stream; gives its number.
    ///
    /// # Panics
    /// When there are 256 already.
    pub fn stream(&mut self, stream: ExecutionStream) -> u8 {
        let number = u8::try_from(self.streams.len()).expect("at most 256 streams");
        self.streams.push(stream);
        self.chained.push(None);
        number
    }

    pub(crate) fn operations(&self) -> usize {
        self.nodes.len()
    }

    /// How many streams it has.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Adds an operation that starts when those of `after` are complete.
    ///
    /// # Panics
    /// When the stream does not exist, or a tag is the highest number of 32 bits.
    pub fn add(&mut self, stream: u8, op: GraphOp, after: &[NodeId]) -> NodeId {
        assert!(usize::from(stream) < self.streams.len(), "stream {stream} of {}", self.streams.len());
        if let GraphOp::Send { tag, .. } | GraphOp::Receive { tag: Some(tag), .. } = op {
            assert!(tag != ANY, "the highest number of 32 bits means any tag");
        }
        let node = NodeId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 operations"));
        self.nodes.push((op, stream));
        self.after(node, after);
        node
    }

    /// Adds an operation that starts when the one that was chained to this stream before it is complete.
    ///
    /// # Panics
    /// As [`GraphBuilder::add`].
    pub fn chain(&mut self, stream: u8, op: GraphOp) -> NodeId {
        let before = self.chained[usize::from(stream)];
        let node = self.add(stream, op, before.as_slice());
        self.chained[usize::from(stream)] = Some(node);
        node
    }

    /// Has a node wait for the completion of others.
    pub fn after(&mut self, node: NodeId, others: &[NodeId]) {
        self.edges.extend(others.iter().map(|on| Edge { on: on.0, node: node.0, is_start: false }));
    }

    /// Has a node wait for the start of others.
    pub fn after_start(&mut self, node: NodeId, others: &[NodeId]) {
        self.edges.extend(others.iter().map(|on| Edge { on: on.0, node: node.0, is_start: true }));
    }

    /// Adds operations of a sequence, of a collective for instance, when those of `after` are complete: messages start
    /// one after another, and what follows a [`Op::WaitAll`] waits for all before it. A sleep is a computation; marks
    /// of iterations are left out. Gives a node that is complete when all of them are, if there is any.
    pub fn sequence<'a>(
        &mut self,
        stream: u8,
        ops: impl IntoIterator<Item = &'a Op>,
        after: &[NodeId],
    ) -> Option<NodeId> {
        let mut sequence = Sequence { stream, first: after, started: None, complete: None, open: Vec::new() };
        ops.into_iter().for_each(|op| sequence.put(self, op));
        sequence.wait(self);
        sequence.complete
    }

    /// The graph.
    ///
    /// # Errors
    /// When an operation waits for itself through others.
    pub fn build(mut self) -> Result<Graph, GraphCycle> {
        // By what is waited for, completion first, and by number: each list is in its place.
        // Most come in this order, of which a stable sort makes use.
        self.edges.sort_by_key(|edge| (edge.on, edge.is_start, edge.node));
        let is_ordered = self.edges.iter().all(|edge| edge.on < edge.node);
        let mut waits = vec![0; self.nodes.len()];
        self.edges.iter().for_each(|edge| waits[edge.node as usize] += 1);
        let mut edges = self.edges.iter().peekable();
        let mut nodes = NodeLists::with_capacity(self.nodes.len(), self.edges.len());
        for (node, (&(op, stream), waits)) in self.nodes.iter().zip(waits).enumerate() {
            nodes.push(op, stream, waits);
            for is_start in [false, true] {
                let of_node = |edge: &&Edge| edge.on == node as u32 && edge.is_start == is_start;
                nodes.extend(is_start, std::iter::from_fn(|| edges.next_if(of_node).map(|edge| edge.node)));
            }
        }
        // Operations that wait for earlier ones alone have no cycle.
        match if is_ordered { None } else { cycle(&nodes) } {
            Some(node) => Err(GraphCycle { node }),
            None => Ok(Graph::in_memory(self.streams, nodes)),
        }
    }
}

fn cycle(graph: &NodeLists) -> Option<u32> {
    let mut waits = graph.waits().to_vec();
    let nodes = 0..graph.len() as u32;
    let mut ready: Vec<u32> = nodes.clone().filter(|&node| waits[node as usize] == 0).collect();
    while let Some(node) = ready.pop() {
        for &next in graph.after(node).iter().chain(graph.after_start(node)) {
            waits[next as usize] -= 1;
            if waits[next as usize] == 0 {
                ready.push(next);
            }
        }
    }
    nodes.into_iter().find(|&node| waits[node as usize] > 0)
}

struct Sequence<'a> {
    stream: u8,
    /// Nodes that the first operation waits for.
    first: &'a [NodeId],
    /// The message that was posted last, since the last wait.
    started: Option<NodeId>,
    /// The last operation, if it is no message.
    complete: Option<NodeId>,
    /// Messages since the last wait.
    open: Vec<NodeId>,
}

impl Sequence<'_> {
    fn put(&mut self, builder: &mut GraphBuilder, op: &Op) {
        match *op {
            Op::Isend { peer, tag, bytes } => self.message(builder, GraphOp::Send { peer, tag, bytes }),
            Op::Irecv { peer, tag, bytes } => {
                self.message(builder, GraphOp::Receive { peer: Some(peer), tag: Some(tag), bytes })
            }
            Op::WaitAll => self.wait(builder),
            Op::Copy { bytes } => self.work(builder, GraphOp::Copy { bytes }),
            Op::Compute { duration } | Op::Sleep { duration } => {
                if !duration.is_zero() {
                    self.work(builder, GraphOp::Compute { duration });
                }
            }
            // Buffers and reductions of a graph take no time, and nobody looks for messages but in waits.
            Op::Prepare { .. } | Op::Reduce { .. } | Op::Poll { .. } | Op::IterationStart | Op::IterationEnd => {}
            Op::OneSided { .. } => unreachable!("graphs have messages with two ends"),
        }
    }

    /// The next node, after the one before.
    fn next(&mut self, builder: &mut GraphBuilder, op: GraphOp) -> NodeId {
        match (self.started, self.complete) {
            (Some(started), _) => {
                let node = builder.add(self.stream, op, &[]);
                builder.after_start(node, &[started]);
                node
            }
            (None, Some(complete)) => builder.add(self.stream, op, &[complete]),
            (None, None) => builder.add(self.stream, op, self.first),
        }
    }

    fn message(&mut self, builder: &mut GraphBuilder, op: GraphOp) {
        let node = self.next(builder, op);
        self.open.push(node);
        (self.started, self.complete) = (Some(node), None);
    }

    fn work(&mut self, builder: &mut GraphBuilder, op: GraphOp) {
        let node = self.next(builder, op);
        (self.started, self.complete) = (None, Some(node));
    }

    /// A join of all messages since the last.
    fn wait(&mut self, builder: &mut GraphBuilder) {
        if !self.open.is_empty() {
            self.work(builder, GraphOp::Compute { duration: Duration::ZERO });
            builder.after(self.complete.expect("work is complete"), &self.open);
            self.open.clear();
        }
    }
}
