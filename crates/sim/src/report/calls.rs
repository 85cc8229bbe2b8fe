//! Iterations and collectives of ranks: to which each part of a path belongs. Ranks of programs are in one call at a
//! time; those of graphs have several under way at once, and their parts belong to those of their messages.

use std::collections::BTreeMap;

use etherweave_host::{CallRecord, IterationRow};
use etherweave_primitives::Time;
use etherweave_workload::collective::{call_of, kind_of};

use super::rank_log::{RankLog, RankLogs};

/// A call of a collective, or what messages of a graph with the same tag are for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Call {
    /// Tag that its messages share; none where there is no call.
    pub tag: Option<u32>,
    /// Number among the calls of this collective in its communicator, from 0; none in graphs.
    pub number: Option<u32>,
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

/// An iteration of a rank. Those of requests overlap, and begin in another order than that of their numbers.
#[derive(Clone, Copy)]
struct Begun {
    start: Time,
    end: Time,
    /// Latest end of this one and those that began before.
    end_max: Time,
    number: u32,
}

/// See the module.
pub(super) struct Occupations {
    /// Iterations of each rank, by job and rank, in the order in which they begin.
    iterations: Vec<Vec<Begun>>,
    /// Calls of each rank, by job and rank, with when they begin.
    calls: Vec<Vec<(Time, Call)>>,
    /// Longest message of graphs [B], by job and tag.
    lengths: BTreeMap<(u32, u32), u64>,
}

impl Occupations {
    /// Those that ranks have noted, and iterations by job and rank.
    pub fn new(logs: &RankLogs, iterations: &[IterationRow]) -> Occupations {
        let mut lengths = CallLengths::new();
        let mut calls: Vec<Vec<(Time, Call)>> = logs.ranks().iter().map(|rank| numbered(logs.calls(rank))).collect();
        for (rank, own) in logs.ranks().iter().zip(&calls) {
            own.iter().for_each(|(_, call)| lengthen(&mut lengths, rank.job, call));
        }
        for (rank, own) in logs.ranks().iter().zip(&mut calls) {
            own.iter_mut().for_each(|(_, call)| call.bytes = length(&lengths, rank.job, call).unwrap_or(0));
        }
        let iterations = logs.ranks().iter().map(|rank| begun(of_rank(iterations, rank))).collect();
        Occupations { iterations, calls, lengths: of_graphs(logs) }
    }

    /// Call of a rank of a graph to which a message with a tag belongs.
    pub fn call_of_message(&self, rank: &RankLog, tag: Option<u32>) -> Call {
        let tag = tag.map(shared);
        let bytes = tag.and_then(|tag| self.lengths.get(&(rank.job, tag)).copied()).unwrap_or(0);
        Call { tag, number: None, bytes }
    }

    /// Whether a rank measures any iteration: the far end of a pair and servers do not.
    pub fn has_iterations(&self, rank: &RankLog) -> bool {
        !self.iterations[rank.number as usize].is_empty()
    }

    /// Occupation of a rank just before a time, as its program says, in the iterations of the rank that measures.
    pub fn until(&self, rank: &RankLog, measuring: &RankLog, time: Time) -> Occupation {
        let calls = &self.calls[rank.number as usize];
        let call =
            calls.partition_point(|&(at, _)| at < time).checked_sub(1).map_or(Call::default(), |own| calls[own].1);
        Occupation { iteration: lasting(&self.iterations[measuring.number as usize], time), call }
    }
}

/// Longest message of calls [B]: by job and tag, then by number.
type CallLengths = BTreeMap<(u32, u32), Vec<u64>>;

fn lengthen(lengths: &mut CallLengths, job: u32, call: &Call) {
    if let (Some(tag), Some(number)) = (call.tag, call.number) {
        let longest = lengths.entry((job, tag)).or_default();
        longest.resize(longest.len().max(number as usize + 1), 0);
        longest[number as usize] = longest[number as usize].max(call.bytes);
    }
}

fn length(lengths: &CallLengths, job: u32, call: &Call) -> Option<u64> {
    lengths.get(&(job, call.tag?))?.get(call.number? as usize).copied()
}

/// Number of the iteration that began last of those of a rank that last just before a time.
fn lasting(own: &[Begun], time: Time) -> Option<u32> {
    let begun = own[..own.partition_point(|row| row.start < time)].iter().rev();
    let mut lasting = begun.take_while(|row| time <= row.end_max).filter(|row| time <= row.end);
    lasting.next().map(|row| row.number)
}

fn of_rank<'r>(rows: &'r [IterationRow], rank: &RankLog) -> &'r [IterationRow] {
    let own = (rank.job, rank.rank);
    let first = rows.partition_point(|row| (row.job, row.rank) < own);
    let count = rows[first..].partition_point(|row| (row.job, row.rank) == own);
    &rows[first..first + count]
}

fn begun(rows: &[IterationRow]) -> Vec<Begun> {
    let end = |row: &IterationRow| row.start + row.duration;
    let begun =
        |row: &IterationRow| Begun { start: row.start, end: end(row), end_max: end(row), number: row.iteration };
    let mut own: Vec<Begun> = rows.iter().map(begun).collect();
    own.sort_by_key(|row| row.start);
    let mut end_max = Time::ZERO;
    for row in &mut own {
        end_max = end_max.max(row.end);
        row.end_max = end_max;
    }
    own
}

/// Longest messages of graphs, by job and tag.
fn of_graphs(logs: &RankLogs) -> BTreeMap<(u32, u32), u64> {
    let mut lengths = BTreeMap::new();
    for log in logs.shards().filter(|log| log.has_graphs()) {
        for (rank, _, sent) in log.message_ends(&log.records.sent).filter(|(rank, ..)| rank.is_graph) {
            let longest = lengths.entry((rank.job, shared(sent.tag))).or_default();
            *longest = sent.bytes.max(*longest);
        }
    }
    lengths
}

/// Tag that messages of a collective in a communicator share; that of the message where it is of none.
fn shared(tag: u32) -> u32 {
    kind_of(tag).map_or(tag, |_| call_of(tag))
}

/// Calls with their numbers, in order of time.
fn numbered<'r>(records: impl Iterator<Item = &'r CallRecord>) -> Vec<(Time, Call)> {
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    let mut call = |record: &CallRecord| {
        let Some(_) = kind_of(record.tag) else { return (record.at, Call::default()) };
        let next = counts.entry(record.tag).or_default();
        let number = Some(*next);
        *next += 1;
        (record.at, Call { tag: Some(record.tag), number, bytes: record.bytes })
    };
    records.map(&mut call).collect()
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Duration;

    use super::*;

    /// Requests 0, 1 and 2 last from 5 to 9, 1 to 12 and 6 to 7 us.
    #[test]
    fn of_iterations_that_overlap_the_last_to_begin_of_those_that_last_is_named() {
        let us = |us| Time::ZERO + Duration::from_us(us);
        let row = |(iteration, start, end)| {
            let (start, duration) = (us(start), Duration::from_us(end - start));
            IterationRow { job: 0, rank: 0, host: 0, iteration, start, duration }
        };
        let own = begun(&[(0, 5, 9), (1, 1, 12), (2, 6, 7)].map(row));
        let times = [1, 4, 6, 7, 8, 10, 12, 13];
        let numbers = times.map(|time| lasting(&own, us(time)));
        assert_eq!(numbers, [None, Some(1), Some(0), Some(2), Some(0), Some(1), Some(1), None]);
    }
}
