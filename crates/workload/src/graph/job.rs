//! The graphs of a job, for formats of traces. In the graph of a program a wait for all is a computation of nothing
//! that waits for what it is for.

use std::borrow::Cow;
use std::sync::Arc;

use etherweave_primitives::InputError;

use crate::schedule::refuse_one_sided;
use crate::{Block, ExecutionStream, Graph, GraphBuilder, Program, Traffic};

/// Most operations of programs: some hundred megabytes of text.
const OPERATIONS_MAX: u64 = 10_000_000;

/// What a file of this format has of a job.
///
/// # Errors
/// When its programs have more operations than a file should; for streams.
pub(crate) fn graphs_of<'a>(traffic: &'a Traffic, format: &str) -> Result<Cow<'a, [Arc<Graph>]>, InputError> {
    match traffic {
        Traffic::Graphs { ranks, .. } => Ok(Cow::Borrowed(ranks)),
        Traffic::Ranks(programs) => {
            let count = |(block, times): (&Block, u64)| (block.ops.len() as u64).saturating_mul(times);
            let count = programs.iter().flat_map(Program::counted).map(count).fold(0, u64::saturating_add);
            if count > OPERATIONS_MAX {
                let expected =
                    format!("at most {OPERATIONS_MAX}: {format} has no repetitions, so ask for fewer iterations");
                return Err(InputError::new("iterations", format!("{count} operations"), expected));
            }
            refuse_one_sided(programs.iter(), format)?;
            Ok(programs.iter().map(graph).collect())
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
