//! Iterations and collectives of ranks, by time: to which each part of a path belongs.

use std::collections::BTreeMap;

use etherweave_host::{CallRecord, IterationRow};
use etherweave_primitives::Time;
use etherweave_workload::collective::kind_of;

use super::rank_log::{RankLog, RankLogs};

/// A call of a collective; what is none has a tag of no collective.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Call {
    /// Tag that its messages share.
    pub tag: u32,
    /// Number among the calls of this collective in its communicator, from 0.
    pub number: u32,
    /// Longest message of the call [B].
    pub bytes: u64,
}

/// Iteration and call in which a rank is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Occupation {
    /// Measured iteration; none outside.
    pub iteration: Option<u32>,
    pub call: Call,
}

/// See the module.
pub(super) struct Occupations<'s> {
    iterations: &'s [IterationRow],
    /// Calls of each rank, by job and rank, with when they begin.
    calls: Vec<Vec<(Time, Call)>>,
}

impl<'s> Occupations<'s> {
    /// Those that ranks have noted, and iterations by job, rank and number.
    pub fn new(logs: &RankLogs, iterations: &'s [IterationRow]) -> Occupations<'s> {
        let mut lengths: BTreeMap<(u32, u32, u32), u64> = BTreeMap::new();
        let mut calls: Vec<Vec<(Time, Call)>> = logs.ranks().iter().map(|rank| numbered(logs.calls(rank))).collect();
        let key = |job: u32, call: &Call| (job, call.tag, call.number);
        for (rank, own) in logs.ranks().iter().zip(&calls) {
            for (_, call) in own.iter().filter(|(_, call)| kind_of(call.tag).is_some()) {
                let longest = lengths.entry(key(rank.job, call)).or_default();
                *longest = call.bytes.max(*longest);
            }
        }
        for (rank, own) in logs.ranks().iter().zip(&mut calls) {
            own.iter_mut().for_each(|(_, call)| call.bytes = *lengths.get(&key(rank.job, call)).unwrap_or(&0));
        }
        Occupations { iterations, calls }
    }

    /// Occupation of a rank just before a time.
    pub fn until(&self, rank: &RankLog, time: Time) -> Occupation {
        let calls = &self.calls[rank.number as usize];
        let call =
            calls.partition_point(|&(at, _)| at < time).checked_sub(1).map_or(Call::default(), |own| calls[own].1);
        Occupation { iteration: self.iteration(rank, time), call }
    }

    fn iteration(&self, rank: &RankLog, time: Time) -> Option<u32> {
        let begun = |row: &IterationRow| ((row.job, row.rank), row.start) < ((rank.job, rank.rank), time);
        let row = &self.iterations[self.iterations.partition_point(begun).checked_sub(1)?];
        let is_own = (row.job, row.rank) == (rank.job, rank.rank);
        (is_own && time <= row.start + row.duration).then_some(row.iteration)
    }
}

/// Calls with their numbers, in order of time.
fn numbered<'r>(records: impl Iterator<Item = &'r CallRecord>) -> Vec<(Time, Call)> {
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    let mut call = |record: &CallRecord| {
        let next = counts.entry(record.tag).or_default();
        let number = *next;
        *next += 1;
        (record.at, Call { tag: record.tag, number, bytes: record.bytes })
    };
    records.map(&mut call).collect()
}
