//! Schedules in the text format GOAL, the group operation assembly language of LogGOPSim, in and out.
//!
//! A GOAL file has a graph of sends, receives and calculations for each rank; a [`Program`] is a sequence that posts
//! messages and waits for all of them at once. Every program is a graph ([`Goal::write`]), but not every graph is a
//! program: a file that asks for less waiting than a sequence can do is refused, unless `added_waits` allows it. What
//! is read and what is not: `docs/models/workload.md`.
//!
//! ```
//! use etherweave_workload::Goal;
//! let text = "num_ranks 2\nrank 0 {\na: send 8b to 1\n}\nrank 1 {\na: recv 8b from 0\nb: calc 500\nb requires a\n}\n";
//! let goal = Goal { text: text.into(), ..Goal::default() };
//! assert_eq!(goal.programs().unwrap()[1].blocks[0].ops.len(), 5); // start, receive, wait, compute, end
//! ```

mod graph;
mod lines;
mod order;
mod writer;

use crate::limits::at_least;
use crate::program::iteration;
use crate::{Block, Program, check, check_progress};
use etherweave_primitives::InputError;

/// A schedule in a GOAL file (`goal`).
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Goal {
    /// The file's content; `file = "NAME"` reads it from beside the scenario.
    pub text: String,
    /// How often all of it is performed, each time an iteration, 1 or more.
    pub iterations: u32,
    /// Whether ranks may wait for more than the file asks for, as a sequence of operations must.
    pub added_waits: bool,
}

/// Two ranks that exchange a message.
const PAIR: &str = "num_ranks 2

rank 0 {
s: send 8b to 1 tag 0
r: recv 8b from 1 tag 0
}

rank 1 {
r: recv 8b from 0 tag 0
s: send 8b to 0 tag 0
}
";

impl Default for Goal {
    fn default() -> Goal {
        Goal { text: PAIR.to_owned(), iterations: 1, added_waits: false }
    }
}

impl Goal {
    /// How many ranks it has, before anything is built; 0 when the text does not begin by saying so.
    pub(crate) fn ranks(&self) -> u64 {
        graph::announced_ranks(&self.text).unwrap_or(0)
    }

    /// The schedule of every rank.
    ///
    /// # Errors
    /// When the text is no GOAL, is more than a program can say, or never ends; with the line.
    pub fn programs(&self) -> Result<Vec<Program>, InputError> {
        at_least("iterations", self.iterations, 1)?;
        let graphs = graph::read(&self.text)?;
        let program = |graph| {
            let ops = order::sequence(graph, self.added_waits)?;
            Ok(Program::new([Block::measured(iteration(ops), self.iterations)]))
        };
        let programs: Vec<Program> = graphs.iter().map(program).collect::<Result<_, InputError>>()?;
        let of_text = |error: InputError| InputError { key: "text".to_owned(), ..error };
        check(&programs).map_err(of_text)?;
        check_progress(&programs).map_err(of_text)?;
        Ok(programs)
    }

    /// Programs as GOAL text: repetitions one after another, without marks of iterations.
    ///
    /// # Errors
    /// When they have more operations than such a text should, or a rest that is no whole number of nanoseconds.
    pub fn write(programs: &[Program]) -> Result<String, InputError> {
        writer::write(programs)
    }
}

/// The error about a line of the text.
fn line_error(line: usize, found: impl std::fmt::Display, expected: impl std::fmt::Display) -> InputError {
    InputError::new("text", found, expected).at_line(line)
}

#[cfg(test)]
mod tests;
