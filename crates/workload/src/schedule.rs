//! A job's traffic as a file that a program in another language executes: little-endian, version 2.
//!
//! The layout, to the byte, is in `docs/guide/measure.md`; `mpi/schedule.c` reads it.
//!
//! ```
//! use etherweave_workload::{Fft, RankWorkload, Schedule, Traffic};
//! let programs = Fft { iterations: 5, ..Fft::default() }.programs(1).unwrap();
//! let schedule = Schedule::new("fft", Traffic::Ranks(programs)).with_warm_up(1).unwrap();
//! assert!(schedule.to_bytes().unwrap().starts_with(b"EWSCHED\n"));
//! ```

mod writer;

use etherweave_primitives::{Duration, InputError};

use crate::{Op, Program, Traffic, check};

const MAGIC: [u8; 8] = *b"EWSCHED\n";
const VERSION: u32 = 2;
const HEADER_BYTES: usize = 64;
const STREAM_BYTES: usize = 32;
const OP_BYTES: usize = 16;
const BACKGROUND: u32 = 1;
const MEASURED: u32 = 1;
const WARM_UP: u32 = 2;
/// Length of streams that send until the run ends.
const ENDLESS: u64 = u64::MAX;
/// Tags are written by their place in a list, beside the kind of the operation.
const TAGS_MAX: usize = 1 << 24;

/// Contents of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// Name of the job in tables.
    pub name: String,
    /// When it starts, after the run [ps].
    pub start: Duration,
    /// Whether the run may end without it.
    pub is_background: bool,
    /// When the run ends at the latest [ps]: endless streams end here.
    pub end: Option<Duration>,
    /// Start of the time in which the goodput of streams counts [ps].
    pub warm_up: Duration,
    /// Traffic of the job.
    pub traffic: Traffic,
    /// Programs of its ranks before the run, which do not count: connections open, memory is touched. A program per
    /// rank, or none.
    pub warm_up_programs: Vec<Program>,
}

impl Schedule {
    /// A job from the start of a run to its own end.
    pub fn new(name: &str, traffic: Traffic) -> Schedule {
        Schedule {
            name: name.to_owned(),
            start: Duration::ZERO,
            is_background: false,
            end: None,
            warm_up: Duration::ZERO,
            traffic,
            warm_up_programs: Vec::new(),
        }
    }

    /// The same with a warm-up: every program once, each of its blocks at most `passes` times. Streams have none.
    ///
    /// # Errors
    /// When what is left of the programs does not fit together.
    pub fn with_warm_up(mut self, passes: u32) -> Result<Schedule, InputError> {
        let Traffic::Ranks(programs) = &self.traffic else { return Ok(self) };
        if passes == 0 {
            return Ok(self);
        }
        self.warm_up_programs = programs.iter().map(|program| program.shortened(passes).unmeasured()).collect();
        check(&self.warm_up_programs).map_err(|error| {
            let expected = "none, for a schedule whose ranks differ in their repetitions";
            InputError::new("warm_up", format!("{passes} passes, so that {}", error.found), expected)
        })?;
        Ok(self)
    }
}

/// Refuses one-sided operations and sums of switches, for what has messages of two ranks only.
pub(crate) fn refuse_simulated(programs: &[Program], reader: &str) -> Result<(), InputError> {
    let has = |is_it: fn(usize, &Op) -> bool| {
        let mut ranks = programs.iter().enumerate();
        ranks.any(|(rank, program)| program.distinct_ops().any(|op| is_it(rank, op)))
    };
    let is_one_sided = has(|_, op| matches!(op, Op::OneSided { .. }));
    let expected = format!("sends and receives: {reader} has no windows of memory for put, get and accumulate");
    InputError::unless(!is_one_sided, "programs", "one-sided operations", expected)?;
    let is_summed = has(|rank, op| matches!(op, Op::Isend { peer, .. } if peer.index() == rank));
    let expected = format!("another algorithm: {reader} has no switches that add up");
    InputError::unless(!is_summed, "programs", "reduction in the network", expected)
}

#[cfg(test)]
mod tests;
