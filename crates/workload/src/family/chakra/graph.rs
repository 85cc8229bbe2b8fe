//! A rank's nodes as a graph of operations.

use std::collections::BTreeMap;

use etherweave_primitives::{Duration, InputError, Rank};

use super::node::{Activity, RankTrace, StreamName, TraceNode};
use super::{OPERATIONS_MAX, collectives::Collectives};
use crate::collective::Rule;
use crate::graph::{OwnMessage, OwnMessages};
use crate::{ExecutionStream, Graph, GraphBuilder, GraphOp, NodeId};

/// Most streams of a rank that a trace names; with one more, numbers have 8 bits.
const STREAMS_MAX: usize = 255;

pub(super) struct RankGraph<'a> {
    trace: &'a RankTrace,
    rank: u32,
    graph: GraphBuilder,
    streams: BTreeMap<StreamName, u8>,
    own: OwnMessages,
    /// Where each node begins, and where it is complete.
    nodes: Vec<[NodeId; 2]>,
}

impl<'a> RankGraph<'a> {
    pub fn new(trace: &'a RankTrace, rank: u32) -> RankGraph<'a> {
        let (graph, nodes) = (GraphBuilder::default(), Vec::with_capacity(trace.nodes.len()));
        RankGraph { trace, rank, graph, streams: BTreeMap::new(), own: OwnMessages::default(), nodes }
    }

    /// The graph, of at most `operations_max` operations; of each pair of places in `order` the first node waits for
    /// the second, too.
    ///
    /// # Errors
    /// When there are more, a node waits for one that does not exist or for itself, or a collective is too long.
    pub fn build(
        mut self,
        order: &[[u32; 2]],
        collectives: &mut Collectives,
        rule: &Rule,
        operations_max: usize,
    ) -> Result<Graph, InputError> {
        self.add_streams()?;
        for node in &self.trace.nodes {
            self.add(node, collectives, rule)?;
            if self.graph.operations() > operations_max {
                let mistake = format_args!("more than {OPERATIONS_MAX} operations of all ranks");
                return Err(node.error(mistake, "fewer ranks, or fewer collectives"));
            }
        }
        for (node, &[begin, _]) in self.trace.nodes.iter().zip(&self.nodes) {
            for other in self.trace.dependencies(node) {
                self.graph.after(begin, &[self.nodes[other?][1]]);
            }
        }
        for &[node, other] in order {
            self.graph.after(self.nodes[node as usize][0], &[self.nodes[other as usize][1]]);
        }
        let (trace, nodes) = (self.trace, self.nodes);
        let of_operation =
            |operation: u32| &trace.nodes[nodes.partition_point(|[begin, _]| begin.get() <= operation) - 1];
        if let Some((operation, error)) = self.own.unmatched() {
            return Err(of_operation(operation.get()).error(error.found, error.expected));
        }
        self.graph.build().map_err(|cycle| {
            of_operation(cycle.node).error("waits for itself through others", "dependencies without a cycle")
        })
    }

    /// Adds an operation; a message to the rank itself is a copy.
    fn add_operation(&mut self, node: &TraceNode, stream: u8, op: GraphOp) -> Result<NodeId, InputError> {
        let own = Rank::new(self.rank);
        let message = match op {
            GraphOp::Send { peer, tag, bytes } if peer == own => OwnMessage { is_send: true, tag, bytes },
            GraphOp::Receive { peer: Some(peer), tag: Some(tag), bytes } if peer == own => {
                OwnMessage { is_send: false, tag, bytes }
            }
            _ => return Ok(self.graph.add(stream, op, &[])),
        };
        let added = self.own.add(&mut self.graph, stream, message);
        added.map_err(|error| node.error(error.found, error.expected))
    }

    fn add(&mut self, node: &TraceNode, collectives: &mut Collectives, rule: &Rule) -> Result<(), InputError> {
        let stream = self.streams[&node.stream];
        let ends = match &node.does {
            Activity::Operation(op) => [self.add_operation(node, stream, *op)?; 2],
            Activity::Collective(collective) => {
                let ops = collectives.lower(self.rank, node, collective, rule)?;
                let begin = self.graph.add(stream, GraphOp::Compute { duration: Duration::ZERO }, &[]);
                [begin, self.graph.sequence(stream, &ops, &[begin]).unwrap_or(begin)]
            }
        };
        self.nodes.push(ends);
        Ok(())
    }

    /// The streams of all nodes, threads first. Where threads may be busy while the accelerator communicates, a thread
    /// with nothing else to do handles its messages, as that of NCCL does.
    fn add_streams(&mut self) -> Result<(), InputError> {
        for node in &self.trace.nodes {
            self.streams.insert(node.stream, 0);
            if self.streams.len() > STREAMS_MAX {
                return Err(node.error("one thread or stream more", format_args!("at most {STREAMS_MAX} of a rank")));
            }
        }
        for (name, number) in &mut self.streams {
            *number = self.graph.stream(match name {
                StreamName::Thread(_) => ExecutionStream::Core,
                StreamName::Accelerator { .. } | StreamName::Computation | StreamName::Communication => {
                    ExecutionStream::Accelerator
                }
            });
        }
        let is_thread = |name: &StreamName| matches!(name, StreamName::Thread(_));
        let communicates = |node: &TraceNode| !is_thread(&node.stream) && node.does.is_communication();
        if self.streams.keys().any(is_thread) && self.trace.nodes.iter().any(communicates) {
            self.graph.stream(ExecutionStream::Core);
        }
        Ok(())
    }
}
