//! A real program's calls of MPI, as the recorder in `mpi` wrote them: read, and turned into a schedule to simulate.
//!
//! A [`Recording`] has a [`RankRecording`] for each rank. [`Recording::goal`] makes a graph of operations of each: what
//! a rank computed between its calls, messages with their dependencies, and collectives as a library performs them.
//! The file's layout, what is recorded and what is not: `docs/guide/record.md`.
//!
//! Guarantees: reading takes memory in proportion to the files, whatever stands in them; every call of a collective has
//! its counterpart on all members. Left out: which send meets which receive, which belongs to the simulator.

mod bytes;
mod collectives;
mod graph;
mod rank;
#[cfg(test)]
mod tests;
mod transfers;

use etherweave_primitives::InputError;

use crate::collective::Rule;
use collectives::Collectives;
pub use rank::{Call, CollectiveCall, Completion, Message, RankRecording, Record};
pub use transfers::Transfer;

/// A recorded program.
#[derive(Clone, PartialEq, Debug)]
pub struct Recording {
    ranks: Vec<RankRecording>,
}

/// How a recording is performed again.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReplayRules {
    /// Algorithms that carry out collectives.
    pub rule: Rule,
    /// Computation takes so much of the time that it took, 0 or more.
    pub compute_scale: f64,
}

impl Default for ReplayRules {
    fn default() -> ReplayRules {
        ReplayRules { rule: Rule::default(), compute_scale: 1.0 }
    }
}

impl Recording {
    /// Joins files, each with the name that errors call it by.
    ///
    /// # Errors
    /// When one is no recording, or a rank is missing or there twice.
    pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Result<Recording, InputError> {
        let mut named = Vec::new();
        for (name, bytes) in files {
            let rank = RankRecording::read(bytes).map_err(|error| InputError { key: name.to_owned(), ..error })?;
            named.push((name, rank));
        }
        named.sort_by_key(|(_, rank)| rank.rank);
        let Some(ranks) = named.first().map(|(_, first)| first.ranks) else {
            return Err(InputError::new("", "no files", "a file for each rank, ending in .ewr"));
        };
        for (expected, (name, rank)) in named.iter().enumerate() {
            let mistake = format_args!("rank {} of {}", rank.rank, rank.ranks);
            let is_next = rank.rank as usize == expected && rank.ranks == ranks;
            InputError::unless(is_next, *name, mistake, format_args!("rank {expected} of {ranks}"))?;
        }
        let mistake = format_args!("{} files", named.len());
        InputError::unless(named.len() == ranks as usize, "", mistake, format_args!("{ranks}, one for each rank"))?;
        Ok(Recording { ranks: named.into_iter().map(|(_, rank)| rank).collect() })
    }

    /// Returns the recordings of the ranks.
    pub fn ranks(&self) -> &[RankRecording] {
        &self.ranks
    }

    /// Returns the time from the first start to the last end of recording, by the clock of rank 0 [ns].
    pub fn span_ns(&self) -> u64 {
        let start_ns = self.start_ns();
        self.ranks.iter().map(|rank| rank.common_ns(start_ns, rank.length_ns())).max().unwrap_or(0)
    }

    /// When the first rank started, by the clock of rank 0 [ns].
    pub fn start_ns(&self) -> i64 {
        self.ranks.iter().map(|rank| rank.start_ns).min().unwrap_or(0)
    }

    /// Messages between two ranks, each from its send to the end of its receive.
    ///
    /// # Errors
    /// When members disagree on a collective.
    pub fn transfers(&self) -> Result<Vec<Transfer>, InputError> {
        transfers::transfers(self)
    }

    /// The program as GOAL text.
    ///
    /// # Errors
    /// When it called something that is not recorded, members disagree on a collective, or a rule does not fit one.
    pub fn goal(&self, rules: &ReplayRules) -> Result<String, InputError> {
        let scale = rules.compute_scale;
        let is_scale = scale.is_finite() && scale >= 0.0;
        InputError::unless(is_scale, "compute_scale", scale, "a number of 0 or more")?;
        graph::write(self, rules, &Collectives::of(&self.ranks)?)
    }
}

impl Call {
    /// Returns the name of the call in tables; none for what is no call.
    pub fn name(&self) -> Option<&str> {
        match self {
            Call::Pause => None,
            Call::Other => Some("other"),
            Call::Send(_) => Some("send"),
            Call::Receive(_) => Some("receive"),
            Call::SendReceive { .. } => Some("send_receive"),
            Call::Isend { .. } => Some("isend"),
            Call::Ireceive { .. } => Some("ireceive"),
            Call::Complete(_) => Some("wait"),
            Call::Free { .. } => Some("free"),
            Call::Collective(call, _) => Some(call.kind.name()),
            Call::Unsupported(name) => Some(name),
        }
    }

    /// Payload that the rank sends by it; of a collective, the sizes it was called with [B].
    pub fn bytes(&self) -> u64 {
        match self {
            Call::Send(message) | Call::Isend { message, .. } | Call::SendReceive { sent: message, .. } => {
                message.bytes
            }
            Call::Collective(call, _) => call.sizes.iter().sum(),
            Call::Pause
            | Call::Other
            | Call::Receive(_)
            | Call::Ireceive { .. }
            | Call::Complete(_)
            | Call::Free { .. }
            | Call::Unsupported(_) => 0,
        }
    }
}

impl RankRecording {
    /// How long was recorded, by the clock of the rank [ns].
    pub fn length_ns(&self) -> u64 {
        self.records.last().map_or(0, |record| record.end_ns)
    }

    /// An instant of the rank's clock, in nanoseconds of the clock of rank 0 after `start_ns`. A drift that is longer
    /// than the error of the clocks is spread over the recording.
    pub fn common_ns(&self, start_ns: i64, at_ns: u64) -> u64 {
        let (length_ns, is_drift) = (self.length_ns(), self.drift_ns.unsigned_abs() > 2 * self.clock_error_ns);
        let share = if length_ns == 0 || !is_drift { 0.0 } else { at_ns as f64 / length_ns as f64 };
        let ahead_ns = (self.drift_ns as f64 * share) as i64;
        let behind_ns = self.start_ns.saturating_sub(start_ns).saturating_sub(ahead_ns);
        at_ns.saturating_add_signed(behind_ns)
    }

    /// Computation between a call that ended at `before_ns` and one at `start_ns`, without what the recorder took [ns].
    pub fn computed_ns(&self, before_ns: u64, start_ns: u64) -> u64 {
        (start_ns - before_ns).saturating_sub(self.cost_ns)
    }

    /// Returns the time that the rank computed between its calls [ns].
    pub fn compute_ns(&self) -> u64 {
        let mut before_ns = 0;
        let mut sum_ns = 0;
        for record in &self.records {
            sum_ns += self.computed_ns(before_ns, record.start_ns);
            before_ns = record.end_ns;
        }
        sum_ns
    }
}
