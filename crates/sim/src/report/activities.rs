//! Rows of what ranks did, and of messages from one to another.

use etherweave_host::{ActivityKind, EndRecord, PostRecord, StepKind, StepRecord};
use etherweave_kernel::{RowNames, rows};
use etherweave_primitives::Time;

use super::rank_log::{RankLog, RankThread, Steps};

rows! {
    /// A time that a rank spent on one kind of activity.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct ActivityRow in RowNames<'n>, "activities" {
        /// Number of its job.
        job: u32 ["job" = |row, names| names.job(row.job)];
        /// Rank in its job.
        rank: u32 ["rank"];
        /// Number of its host.
        host: u32 ["host" = |row, names| names.host(row.host)];
        /// Number of the stream in its rank.
        stream: u8 ["stream"];
        /// Kind of the activity.
        kind: ActivityKind ["activity" = |row, _| row.kind.name()];
        /// Start of the activity.
        start: Time ["start_ns"];
        /// Until when.
        end: Time ["end_ns"];
    }
}

rows! {
    /// A message, from its send to the end of its receive.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct TransferRow in RowNames<'n>, "transfers" {
        /// Number of its job.
        job: u32 ["job" = |row, names| names.job(row.job)];
        /// The sending rank.
        source: u32 ["source"];
        /// The receiving rank.
        destination: u32 ["destination"];
        /// MPI tag.
        tag: u32 ["tag"];
        /// MPI payload [B].
        bytes: u64 ["bytes"];
        /// When it was sent.
        start: Time ["start_ns"];
        /// When its receive was complete.
        end: Time ["end_ns"];
    }
}

/// One end of a message; equal messages in the order of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct EndRow {
    pub job: u32,
    pub source: u32,
    pub destination: u32,
    pub tag: u32,
    pub bytes: u64,
    pub at: Time,
}

/// A message is posted on both sides, waited for, and comes after some computation.
const ACTIVITIES_OF_MESSAGE: u64 = 4;

/// Steps of a rendezvous over RoCE: two at the sender, three at the receiver; every other one posts a message.
const STEPS_OF_MESSAGE: usize = 5;

impl ActivityRow {
    /// Most rows that ranks leave which send so many messages.
    pub fn most(messages: u64) -> u64 {
        messages.saturating_mul(ACTIVITIES_OF_MESSAGE)
    }

    /// Memory of what ranks note that send so many messages, until it is tables [B].
    pub fn memory(messages: u64) -> u64 {
        let message = 2 * (size_of::<EndRecord>() + size_of::<EndRow>()) + size_of::<TransferRow>();
        let place = size_of::<u32>();
        let steps = STEPS_OF_MESSAGE * (size_of::<StepRecord>() + (size_of::<PostRecord>() + place) / 2 + place);
        let activities = ActivityRow::most(messages).saturating_mul(size_of::<ActivityRow>() as u64);
        activities.saturating_add(messages.saturating_mul((message + steps) as u64))
    }
}

/// Last step of a stream of a rank.
#[derive(Clone, Copy)]
struct Present {
    kind: ActivityKind,
    start: Time,
    end: Time,
}

/// Activities of a rank, by their start: operations of each stream, of which equal ones that follow each other are one,
/// and waits before, between and after them, from the first step of the rank to its end.
pub(super) fn activities(rank: &RankLog, steps: Steps<'_>, ended: Option<Time>) -> Vec<ActivityRow> {
    let &RankLog { job, rank, host, .. } = rank;
    let mut rows: Vec<ActivityRow> = Vec::new();
    let mut add = |stream, kind, start, end| {
        if start < end {
            rows.push(ActivityRow { job, rank, host, stream, kind, start, end });
        }
    };
    let first = steps.first_start().unwrap_or(Time::ZERO);
    let mut streams: Vec<Option<Present>> = Vec::new();
    let mut operations: Vec<_> = steps.operations().collect();
    // Transfers in a node overlap: the one that begins first may end last.
    operations.sort_by_key(|&(stream, _, start, _)| (stream, start));
    for (stream, kind, start, end) in operations {
        let kind = match kind {
            StepKind::Operation(kind) => kind,
            StepKind::SocketSend => ActivityKind::Send,
            StepKind::Handle | StepKind::Write | StepKind::Read => continue,
        };
        let place = usize::from(stream);
        if place >= streams.len() {
            streams.resize(place + 1, None);
        }
        streams[place] = Some(match streams[place] {
            Some(present) if present.kind == kind && present.end >= start => {
                Present { end: end.max(present.end), ..present }
            }
            Some(present) => {
                add(stream, present.kind, present.start, present.end);
                add(stream, ActivityKind::Wait, present.end, start);
                Present { kind, start, end }
            }
            None => {
                add(stream, ActivityKind::Wait, first, start);
                Present { kind, start, end }
            }
        });
    }
    for (stream, present) in streams.into_iter().enumerate() {
        if let Some(Present { kind, start, end }) = present {
            add(stream as u8, kind, start, end);
            add(stream as u8, ActivityKind::Wait, end, ended.unwrap_or(end));
        }
    }
    rows.sort_by_key(|row| (row.start, row.stream));
    rows
}

impl EndRow {
    pub fn sent((rank, peer, end): (&RankThread, u32, &EndRecord)) -> EndRow {
        let &EndRecord { tag, bytes, at, .. } = end;
        EndRow { job: rank.job, source: rank.rank, destination: peer, tag, bytes, at }
    }

    pub fn received((rank, peer, end): (&RankThread, u32, &EndRecord)) -> EndRow {
        let &EndRecord { tag, bytes, at, .. } = end;
        EndRow { job: rank.job, source: peer, destination: rank.rank, tag, bytes, at }
    }

    fn is_other_end(&self, other: &EndRow) -> bool {
        EndRow { at: other.at, ..*self } == *other
    }
}

/// Both ends of every message that arrived: the nth of equal ones on one side is the nth on the other.
pub(super) fn transfers(mut sent: Vec<EndRow>, mut received: Vec<EndRow>) -> Vec<TransferRow> {
    sent.sort_unstable();
    received.sort_unstable();
    let mut ends = received.into_iter().peekable();
    let mut rows: Vec<TransferRow> = Vec::with_capacity(sent.len());
    for row in sent {
        if let Some(EndRow { at: end, .. }) = ends.next_if(|end| end.is_other_end(&row)) {
            let EndRow { job, source, destination, tag, bytes, at: start } = row;
            rows.push(TransferRow { job, source, destination, tag, bytes, start, end });
        }
    }
    rows.sort_unstable_by_key(|row| (row.job, row.start, row.source, row.destination, row.tag));
    rows
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Duration;

    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    #[test]
    fn the_nth_of_equal_messages_is_the_nth_on_the_other_side() {
        let end = |source, destination, bytes, at| EndRow { job: 0, source, destination, tag: 7, bytes, at };
        let sent = vec![end(1, 2, 8, at(5)), end(1, 2, 8, at(1)), end(1, 2, 9, at(2)), end(2, 1, 8, at(3))];
        let received = vec![end(1, 2, 8, at(9)), end(1, 2, 9, at(4)), end(2, 1, 8, at(6))];
        let rows = transfers(sent, received);
        let times: Vec<_> = rows.iter().map(|row| (row.source, row.bytes, row.start, row.end)).collect();
        // The message that was sent at 5 us has not arrived.
        assert_eq!(times, [(1, 8, at(1), at(9)), (1, 9, at(2), at(4)), (2, 8, at(3), at(6))]);
    }
}
