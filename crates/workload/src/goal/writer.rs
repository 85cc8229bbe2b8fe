//! Programs as GOAL text: operations start one after another, and those after a wait require a join of all before it.

use std::fmt::Write;

use etherweave_primitives::{Duration, InputError};

use crate::schedule::refuse_one_sided;
use crate::{Op, Program};

/// Most operations of a text: some hundred megabytes.
const OPERATIONS_MAX: u64 = 10_000_000;

/// What has been written of a rank.
#[derive(Default)]
struct Rank {
    text: String,
    /// Labels are numbers.
    label: u64,
    /// Messages since the last wait.
    open: Vec<u64>,
    /// What the next operation must come after.
    before: Option<Before>,
}

#[derive(Clone, Copy)]
enum Before {
    /// A message that has been posted.
    Started(u64),
    /// A calculation or a join that is complete.
    Complete(u64),
}

pub(super) fn write(programs: &[Program]) -> Result<String, InputError> {
    let blocks = programs.iter().flat_map(Program::counted);
    let count =
        blocks.map(|(block, times)| (block.ops.len() as u64).saturating_mul(times)).fold(0, u64::saturating_add);
    if count > OPERATIONS_MAX {
        let expected = format!("at most {OPERATIONS_MAX}: GOAL has no repetitions, so ask for fewer iterations");
        return Err(InputError::new("iterations", format!("{count} operations"), expected));
    }
    refuse_one_sided(programs.iter(), "GOAL")?;
    let mut text = format!("num_ranks {}\n", programs.len());
    for (number, program) in programs.iter().enumerate() {
        let mut rank = Rank::default();
        program.ops().try_for_each(|op| rank.put(op))?;
        let _ = write!(text, "\nrank {number} {{\n{}}}\n", rank.text);
    }
    Ok(text)
}

impl Rank {
    fn put(&mut self, op: &Op) -> Result<(), InputError> {
        match *op {
            Op::Isend { peer, tag, bytes } => self.message(format!("send {bytes}b to {} tag {tag}", peer.get())),
            Op::Irecv { peer, tag, bytes } => self.message(format!("recv {bytes}b from {} tag {tag}", peer.get())),
            Op::Compute { duration } | Op::Sleep { duration } => self.rest(duration)?,
            Op::WaitAll => self.join(),
            Op::OneSided { .. } => unreachable!("refused before anything is written"),
            // The format has no time that depends on memory.
            Op::Copy { .. } | Op::IterationStart | Op::IterationEnd => {}
        }
        Ok(())
    }

    fn message(&mut self, operation: String) {
        let label = self.operation(&operation);
        self.open.push(label);
        self.before = Some(Before::Started(label));
    }

    fn rest(&mut self, duration: Duration) -> Result<(), InputError> {
        if !duration.as_ps().is_multiple_of(1000) {
            return Err(InputError::new("sleep", duration.to_string(), "whole nanoseconds, in which GOAL counts"));
        }
        if !duration.is_zero() {
            let label = self.operation(&format!("calc {}", duration.as_ps() / 1000));
            self.before = Some(Before::Complete(label));
        }
        Ok(())
    }

    /// A wait for all: a calculation of nothing that requires them.
    fn join(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let label = self.operation("calc 0");
        for message in std::mem::take(&mut self.open) {
            let _ = writeln!(self.text, "l{label} requires l{message}");
        }
        self.before = Some(Before::Complete(label));
    }

    fn operation(&mut self, operation: &str) -> u64 {
        self.label += 1;
        let label = self.label;
        let _ = writeln!(self.text, "l{label}: {operation}");
        let _ = match self.before {
            Some(Before::Started(other)) => writeln!(self.text, "l{label} irequires l{other}"),
            Some(Before::Complete(other)) => writeln!(self.text, "l{label} requires l{other}"),
            None => Ok(()),
        };
        label
    }
}
