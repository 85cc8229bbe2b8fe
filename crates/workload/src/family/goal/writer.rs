//! Graphs as GOAL text.

use std::io::{self, Write};

use etherweave_primitives::{Duration, InputError};

use crate::{GraphOp, NodeLists, Traffic, graph::graphs_of};

pub(super) fn written<T>(result: io::Result<T>) -> Result<T, InputError> {
    result.map_err(|error| InputError::new("file", format!("cannot be written ({error})"), "room for the schedule"))
}

/// A calculation in the unit of the format, rounded. It has no time that depends on memory, so copies take none.
pub(super) fn nanoseconds(op: GraphOp) -> u64 {
    let duration = match op {
        GraphOp::Compute { duration } | GraphOp::Transfer { duration, .. } => duration,
        GraphOp::Send { .. } | GraphOp::Receive { .. } | GraphOp::Copy { .. } | GraphOp::Repeat { .. } => {
            Duration::ZERO
        }
    };
    (duration.as_ps() + 500) / 1000
}

/// Labels are numbers from 1, and an operation is followed by its dependencies on itself and on those before it, and by
/// those of operations before it on it.
pub(super) fn text(traffic: &Traffic, out: &mut impl Write) -> Result<(), InputError> {
    let graphs = graphs_of(traffic, "GOAL")?;
    written(writeln!(out, "num_ranks {}", traffic.ranks()))?;
    for (rank, graph) in graphs.enumerate() {
        written(write!(out, "\nrank {rank} {{\n"))?;
        rank_text(&graph.nodes()?, out)?;
        written(writeln!(out, "}}"))?;
    }
    Ok(())
}

fn rank_text(graph: &NodeLists, out: &mut impl Write) -> Result<(), InputError> {
    let lines = dependencies(graph);
    let mut lines = lines.iter().peekable();
    for node in 0..graph.len() as u32 {
        written(writeln!(out, "l{}: {}", node + 1, operation(graph, node)))?;
        while let Some(&(_, is_completion, of, on)) = lines.next_if(|line| line.0 == node) {
            let verb = if is_completion { "requires" } else { "irequires" };
            written(writeln!(out, "l{} {verb} l{}", of + 1, on + 1))?;
        }
    }
    Ok(())
}

fn operation(graph: &NodeLists, node: u32) -> String {
    let any = |number: Option<u32>| number.map_or_else(|| "-1".to_owned(), |number| number.to_string());
    let op = graph.op(node);
    let text = match op {
        GraphOp::Send { peer, tag, bytes } => format!("send {bytes}b to {} tag {tag}", peer.get()),
        GraphOp::Receive { peer, tag, bytes } => {
            format!("recv {bytes}b from {} tag {}", any(peer.map(|peer| peer.get())), any(tag))
        }
        GraphOp::Compute { .. } | GraphOp::Copy { .. } | GraphOp::Transfer { .. } | GraphOp::Repeat { .. } => {
            format!("calc {}", nanoseconds(op))
        }
    };
    match graph.stream(node) {
        0 => text,
        cpu => format!("{text} cpu {cpu}"),
    }
}

/// After which operation each dependency is written, whether it is on completion, of which operation, and on which.
fn dependencies(graph: &NodeLists) -> Vec<(u32, bool, u32, u32)> {
    let mut lines = Vec::new();
    for on in 0..graph.len() as u32 {
        lines.extend(graph.after(on).iter().map(|&of| (of.max(on), true, of, on)));
        lines.extend(graph.after_start(on).iter().map(|&of| (of.max(on), false, of, on)));
    }
    lines.sort_unstable();
    lines
}
