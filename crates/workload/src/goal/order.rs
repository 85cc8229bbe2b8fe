//! A graph as a sequence: posts in the order of the text, and a wait for all where an operation requires one of them.
//!
//! A wait begins a new *phase*. The sequence says what the graph says if every operation may start only when all of the
//! earlier phase is complete, and all calculations of its own phase that come before it. If not, the sequence waits for
//! more than the graph does.

use etherweave_primitives::InputError;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::graph::{GoalGraph, GoalNode};
use super::line_error;
use crate::Op;

/// Nodes between two waits.
#[derive(Default)]
struct GoalPhase {
    /// Messages posted.
    messages: BTreeSet<usize>,
    /// The last calculation.
    calculation: Option<usize>,
}

/// What is known to be complete when a node starts.
#[derive(Clone, Copy, Default)]
struct KnownOrder {
    phase: usize,
    /// Whether everything of earlier phases is.
    earlier: bool,
    /// The last calculation of its phase that is.
    calculation: Option<usize>,
}

struct Sequence<'a> {
    nodes: &'a [GoalNode],
    ops: Vec<Op>,
    number: usize,
    last: GoalPhase,
    phase: GoalPhase,
    known: Vec<KnownOrder>,
}

/// The operations of a rank, one after another.
///
/// # Errors
/// When operations require each other, or when the sequence would wait for more and may not.
pub(super) fn sequence(graph: &GoalGraph, added_waits: bool) -> Result<Vec<Op>, InputError> {
    let nodes = &graph.nodes;
    let mut sequence = Sequence {
        nodes,
        ops: Vec::new(),
        number: 0,
        last: GoalPhase::default(),
        phase: GoalPhase::default(),
        known: vec![KnownOrder::default(); nodes.len()],
    };
    for node in topological(nodes)? {
        sequence.put(node, added_waits)?;
    }
    if !sequence.phase.messages.is_empty() {
        sequence.ops.push(Op::WaitAll);
    }
    Ok(sequence.ops)
}

/// Nodes in an order in which each comes after what it waits for, and else in that of the text.
fn topological(nodes: &[GoalNode]) -> Result<Vec<usize>, InputError> {
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut open: Vec<usize> = vec![0; nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        for &on in node.requires.iter().chain(&node.start_requires) {
            after[on].push(index);
            open[index] += 1;
        }
    }
    let mut ready: BinaryHeap<_> = (0..nodes.len()).filter(|&node| open[node] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse(node)) = ready.pop() {
        order.push(node);
        for &next in &after[node] {
            open[next] -= 1;
            if open[next] == 0 {
                ready.push(Reverse(next));
            }
        }
    }
    match open.iter().position(|&open| open > 0) {
        Some(node) => Err(line_error(
            nodes[node].line,
            "an operation that waits for itself through others",
            "dependencies without a cycle",
        )),
        None => Ok(order),
    }
}

impl Sequence<'_> {
    fn put(&mut self, index: usize, added_waits: bool) -> Result<(), InputError> {
        let node = &self.nodes[index];
        if node.requires.iter().any(|on| self.phase.messages.contains(on)) {
            self.ops.push(Op::WaitAll);
            self.last = std::mem::take(&mut self.phase);
            self.number += 1;
        }
        self.known[index] = self.knows(node);
        let known = self.known[index];
        let is_exact = known.earlier && known.calculation >= self.phase.calculation;
        if !is_exact && !added_waits {
            let found = "an operation that may start before what a sequence would wait for there";
            let expected = "a graph that is a sequence of posts and waits for all, or `added_waits = true`";
            return Err(line_error(node.line, found, expected));
        }
        match node.op {
            // A join: nothing is calculated.
            Op::Compute { duration } if duration.is_zero() => self.phase.calculation = Some(index),
            Op::Compute { .. } => {
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

    /// What is complete when this node starts, by what it waits for.
    fn knows(&self, node: &GoalNode) -> KnownOrder {
        let mut known = KnownOrder { phase: self.number, earlier: self.number == 0, calculation: None };
        let dependencies = node.requires.iter().map(|&on| (on, true));
        for (on, is_complete) in dependencies.chain(node.start_requires.iter().map(|&on| (on, false))) {
            let theirs = self.known[on];
            if theirs.phase != self.number {
                continue;
            }
            let is_calculation = matches!(self.nodes[on].op, Op::Compute { .. });
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
    fn requires_all_of_last(&self, node: &GoalNode) -> bool {
        let required: BTreeSet<usize> = node.requires.iter().copied().collect();
        let calculated = |on: &usize| self.known[*on].calculation.max(Some(*on));
        let of_last = required.iter().filter(|on| self.known[**on].phase + 1 == self.number);
        let calculation = of_last.filter_map(calculated).max();
        self.last.messages.is_subset(&required) && self.last.calculation.is_none_or(|last| calculation >= Some(last))
    }
}
