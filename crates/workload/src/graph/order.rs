//! A graph as a sequence, for who performs nothing else: posts in order, and a wait for all where an operation requires
//! one of them.
//!
//! A wait begins a new *phase*. The sequence says what the graph says if every operation may start only when all of the
//! earlier phase is complete, and all calculations of its own phase that come before it. If not, the sequence would
//! wait for more than the graph does, and there is none.

use etherweave_primitives::{InputError, Rank};
use std::{cmp::Reverse, collections::BTreeSet, collections::BinaryHeap, sync::Arc};

use super::{Graph, GraphOp, NodeLists};
use crate::{Block, Op, Program, program::iteration};

/// An operation and what it waits for.
struct OrderedNode {
    op: Op,
    /// Nodes that must be complete before it starts.
    requires: Vec<usize>,
    /// Nodes that must have started before it starts.
    start_requires: Vec<usize>,
}

/// Nodes between two waits.
#[derive(Default)]
struct OrderedPhase {
    messages: BTreeSet<usize>,
    calculation: Option<usize>,
}

/// Nodes that are known to be complete when a node starts.
#[derive(Clone, Copy, Default)]
struct KnownOrder {
    phase: usize,
    /// Whether everything of earlier phases is.
    earlier: bool,
    /// The last calculation of its phase that is.
    calculation: Option<usize>,
}

struct Sequence<'a> {
    nodes: &'a [OrderedNode],
    ops: Vec<Op>,
    number: usize,
    last: OrderedPhase,
    phase: OrderedPhase,
    known: Vec<KnownOrder>,
}

/// Programs that are performed as these graphs would be, so often.
///
/// # Errors
/// When an operation may start before what a sequence would wait for there; for streams that run side by side, and
/// receives that leave their source or tag open.
pub fn programs_of_graphs(graphs: &[Arc<Graph>], iterations: u32) -> Result<Vec<Program>, InputError> {
    let program = |(rank, graph): (usize, &Arc<Graph>)| {
        let error = |mistake| {
            let mistake = format!("{} has {mistake}", Rank::from_index(rank));
            InputError::new("", mistake, "a graph that is a sequence of posts and waits for all")
        };
        if graph.streams().len() > 1 {
            return Err(error(format!("{} streams", graph.streams().len())));
        }
        let ops = sequence(&graph.nodes()?).map_err(error)?;
        Ok(Program::new([Block::measured(iteration(ops), iterations)]))
    };
    graphs.iter().enumerate().map(program).collect()
}

/// The operations of a rank, one after another; or what is in their place.
fn sequence(graph: &NodeLists) -> Result<Vec<Op>, String> {
    let nodes = nodes(graph)?;
    let mut sequence = Sequence {
        nodes: &nodes,
        ops: Vec::new(),
        number: 0,
        last: OrderedPhase::default(),
        phase: OrderedPhase::default(),
        known: vec![KnownOrder::default(); nodes.len()],
    };
    for node in topological(graph) {
        sequence.put(node)?;
    }
    if !sequence.phase.messages.is_empty() {
        sequence.ops.push(Op::WaitAll);
    }
    Ok(sequence.ops)
}

fn nodes(graph: &NodeLists) -> Result<Vec<OrderedNode>, String> {
    let node = |op| {
        let op = match op {
            GraphOp::Send { peer, tag, bytes } => Op::Isend { peer, tag, bytes },
            GraphOp::Receive { peer: Some(peer), tag: Some(tag), bytes } => Op::Irecv { peer, tag, bytes },
            GraphOp::Receive { .. } => return Err("a receive from any rank or with any tag".to_owned()),
            GraphOp::Compute { duration } => Op::Compute { duration },
            GraphOp::Copy { bytes } => Op::Copy { bytes },
            GraphOp::Transfer { .. } => return Err("a transfer within a node".to_owned()),
            GraphOp::Repeat { .. } => return Err("a repetition of what a rank has done".to_owned()),
        };
        Ok(OrderedNode { op, requires: Vec::new(), start_requires: Vec::new() })
    };
    let mut nodes = graph.ops().map(node).collect::<Result<Vec<_>, _>>()?;
    for on in 0..graph.len() as u32 {
        graph.after(on).iter().for_each(|&of| nodes[of as usize].requires.push(on as usize));
        graph.after_start(on).iter().for_each(|&of| nodes[of as usize].start_requires.push(on as usize));
    }
    Ok(nodes)
}

/// Nodes in an order in which each comes after what it waits for, and else by number.
pub(crate) fn topological(graph: &NodeLists) -> Vec<usize> {
    let mut open = graph.waits().to_vec();
    let mut ready: BinaryHeap<_> = (0..open.len()).filter(|&node| open[node] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(open.len());
    while let Some(Reverse(node)) = ready.pop() {
        order.push(node);
        for &next in graph.after(node as u32).iter().chain(graph.after_start(node as u32)) {
            open[next as usize] -= 1;
            if open[next as usize] == 0 {
                ready.push(Reverse(next as usize));
            }
        }
    }
    order
}

impl Sequence<'_> {
    fn put(&mut self, index: usize) -> Result<(), String> {
        let node = &self.nodes[index];
        if node.requires.iter().any(|on| self.phase.messages.contains(on)) {
            self.ops.push(Op::WaitAll);
            self.last = std::mem::take(&mut self.phase);
            self.number += 1;
        }
        self.known[index] = self.knows(node);
        let known = self.known[index];
        if !known.earlier || known.calculation < self.phase.calculation {
            return Err(format!("an operation, number {index}, that may start before what a sequence would wait for"));
        }
        match node.op {
            // A join: nothing is calculated.
            Op::Compute { duration } if duration.is_zero() => self.phase.calculation = Some(index),
            Op::Compute { .. } | Op::Copy { .. } => {
                self.phase.calculation = Some(index);
                self.ops.push(node.op);
            }
            op => {
                self.phase.messages.insert(index);
                self.ops.push(op);
            }
        }
        Ok(())
    }

    /// Returns the nodes that are complete when this node starts, by what it waits for.
    fn knows(&self, node: &OrderedNode) -> KnownOrder {
        let mut known = KnownOrder { phase: self.number, earlier: self.number == 0, calculation: None };
        let dependencies = node.requires.iter().map(|&on| (on, true));
        for (on, is_complete) in dependencies.chain(node.start_requires.iter().map(|&on| (on, false))) {
            let theirs = self.known[on];
            if theirs.phase != self.number {
                continue;
            }
            let is_calculation = matches!(self.nodes[on].op, Op::Compute { .. } | Op::Copy { .. });
            known.earlier |= theirs.earlier;
            known.calculation = known.calculation.max(theirs.calculation);
            if is_complete && is_calculation {
                known.calculation = known.calculation.max(Some(on));
            }
        }
        known.earlier |= self.requires_all_of_last(node);
        known
    }

    /// Whether a node requires all messages of the phase before, and its last calculation.
    fn requires_all_of_last(&self, node: &OrderedNode) -> bool {
        let required: BTreeSet<usize> = node.requires.iter().copied().collect();
        let calculated = |on: &usize| self.known[*on].calculation.max(Some(*on));
        let of_last = required.iter().filter(|on| self.known[**on].phase + 1 == self.number);
        let calculation = of_last.filter_map(calculated).max();
        self.last.messages.is_subset(&required) && self.last.calculation.is_none_or(|last| calculation >= Some(last))
    }
}
