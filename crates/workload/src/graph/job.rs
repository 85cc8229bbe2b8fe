//! The graphs of a job, for formats of traces. In the graph of a program a wait for all is a computation of nothing
//! that waits for what it is for.

use std::sync::Arc;

use etherweave_primitives::InputError;

use crate::{Block, ExecutionStream, Graph, GraphBuilder, Program, Traffic, schedule::refuse_simulated};

/// Most operations of the program of a rank: one is in memory at a time.
const OPERATIONS_MAX: u64 = 10_000_000;

type Graphs<'a> = Box<dyn Iterator<Item = Arc<Graph>> + 'a>;

/// Returns the graphs of a job for a file of this format.
///
/// # Errors
/// When a program has more operations than a graph in memory should; for streams.
pub(crate) fn graphs_of<'a>(traffic: &'a Traffic, format: &str) -> Result<Graphs<'a>, InputError> {
    match traffic {
        Traffic::Graphs { ranks, .. } => {
            let expected = format_args!("none: {format} has operations, so every one of them must be simulated");
            let is_complete = ranks.iter().all(|graph| !graph.facts().has_repetitions);
            InputError::unless(is_complete, "", "a time that stands for repetitions of operations", expected)?;
            Ok(Box::new(ranks.iter().cloned()))
        }
        Traffic::Ranks(programs) => {
            let count = |(block, times): (&Block, u64)| (block.ops.len() as u64).saturating_mul(times);
            let operations = |program: &Program| program.counted().map(count).fold(0, u64::saturating_add);
            let most = programs.iter().map(operations).max().unwrap_or(0);
            if most > OPERATIONS_MAX {
                let expected =
                    format!("at most {OPERATIONS_MAX}: {format} has no repetitions, so ask for fewer iterations");
                return Err(InputError::new("iterations", format!("{most} operations of a rank"), expected));
            }
            refuse_simulated(programs, format)?;
            Ok(Box::new(programs.iter().map(graph)))
        }
        Traffic::Streams(_) => {
            Err(InputError::new("", "streams", format_args!("programs of ranks, which {format} is about")))
        }
    }
}

fn graph(program: &Program) -> Arc<Graph> {
    let mut builder = GraphBuilder::default();
    let stream = builder.stream(ExecutionStream::Core);
    builder.sequence(stream, program.ops(), &[]);
    Arc::new(builder.build().expect("a sequence has no cycle"))
}
