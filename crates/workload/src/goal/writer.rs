//! Graphs as GOAL text.

use std::fmt::Write;
use std::sync::Arc;

use etherweave_primitives::{Duration, InputError};

use crate::{Graph, GraphOp};

/// A calculation in the unit of the format. The format has no time that depends on memory, so copies take none.
pub(super) fn nanoseconds(op: GraphOp) -> Result<u64, InputError> {
    let duration = if let GraphOp::Compute { duration } = op { duration } else { Duration::ZERO };
    let is_whole = duration.as_ps().is_multiple_of(1000);
    InputError::unless(is_whole, "sleep", duration, "whole nanoseconds, in which GOAL counts")?;
    Ok(duration.as_ps() / 1000)
}

/// Labels are numbers from 1, and an operation is followed by its dependencies on itself and on those before it, and by
/// those of operations before it on it.
pub(super) fn text(graphs: &[Arc<Graph>]) -> Result<String, InputError> {
    let mut text = format!("num_ranks {}\n", graphs.len());
    for (number, graph) in graphs.iter().enumerate() {
        let _ = write!(text, "\nrank {number} {{\n");
        let lines = dependencies(graph);
        let mut lines = lines.iter().peekable();
        for node in 0..graph.len() as u32 {
            operation(&mut text, graph, node)?;
            while let Some(&&(_, is_completion, of, on)) = lines.peek().filter(|line| line.0 == node) {
                let verb = if is_completion { "requires" } else { "irequires" };
                let _ = writeln!(text, "l{} {verb} l{}", of + 1, on + 1);
                lines.next();
            }
        }
        text.push_str("}\n");
    }
    Ok(text)
}

fn operation(text: &mut String, graph: &Graph, node: u32) -> Result<(), InputError> {
    let any = |number: Option<u32>| number.map_or_else(|| "-1".to_owned(), |number| number.to_string());
    let op = graph.op(node);
    let _ = write!(text, "l{}: ", node + 1);
    let _ = match op {
        GraphOp::Send { peer, tag, bytes } => write!(text, "send {bytes}b to {} tag {tag}", peer.get()),
        GraphOp::Receive { peer, tag, bytes } => {
            write!(text, "recv {bytes}b from {} tag {}", any(peer.map(|peer| peer.get())), any(tag))
        }
        GraphOp::Compute { .. } | GraphOp::Copy { .. } => write!(text, "calc {}", nanoseconds(op)?),
    };
    let _ = match graph.stream(node) {
        0 => writeln!(text),
        cpu => writeln!(text, " cpu {cpu}"),
    };
    Ok(())
}

/// After which operation each dependency is written, whether it is on completion, of which operation, and on which.
fn dependencies(graph: &Graph) -> Vec<(u32, bool, u32, u32)> {
    let mut lines = Vec::new();
    for on in 0..graph.len() as u32 {
        lines.extend(graph.after(on).iter().map(|&of| (of.max(on), true, of, on)));
        lines.extend(graph.after_start(on).iter().map(|&of| (of.max(on), false, of, on)));
    }
    lines.sort_unstable();
    lines
}
