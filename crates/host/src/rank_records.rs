//! Rows that the ranks of a shard leave where a run observes them: their steps, where their messages were posted, and
//! both ends of these. All ranks append to the same rows, in the order of time; by rank and connection they are sorted
//! after the run.

use etherweave_kernel::{Log, indices::EndpointIndex, indices::ThreadIndex, wire};
use etherweave_primitives::{Duration, Time};

use super::{Neighbour, activity_kind::ActivityKind, call_records::CallRecords, step_kind::StepKind};

/// One task of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepRecord {
    /// When the task began.
    pub start: Time,
    /// End of the handled message in its stream, or of what is acknowledged when a write begins [B]. An operation of a
    /// graph and a message within a host have their [tag](StepRecord::tag) here.
    pub message_end: u64,
    /// Time of work [ps].
    worked: u32,
    /// How much later it ends, because it waits for a core [ps].
    waited: u32,
    /// Time of copies [ps], or the place of its times in [`RankRecords::times`].
    copied: u32,
    /// Thread that performs it.
    pub thread: ThreadIndex,
    /// Endpoint of the handled message, or of the socket that is written to.
    pub endpoint: EndpointIndex,
    /// Kind of work.
    pub kind: StepKind,
    /// Whether its times stand elsewhere.
    has_times: bool,
}

impl StepRecord {
    /// Tag of the operation of a graph, or of the message within a host, that this step is of.
    pub fn tag(&self) -> Option<u32> {
        let is_own = match self.kind {
            StepKind::Operation(_) | StepKind::SocketSend => true,
            StepKind::Handle => Neighbour::of(self.endpoint).is_some(),
            StepKind::Write | StepKind::Read => false,
        };
        self.message_end.checked_sub(1).filter(|_| is_own).map(|tag| tag as u32)
    }

    /// The tag, as it stands in place of the end of a message.
    pub(super) fn of_tag(tag: Option<u32>) -> u64 {
        tag.map_or(0, |tag| u64::from(tag) + 1)
    }
}

/// How long the processor works on a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepTimes {
    /// Time on a core that does nothing else.
    pub worked: Duration,
    /// How much of that is copying, and waiting for memory.
    pub copied: Duration,
}

/// Where a message began its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PostRecord {
    /// When it was posted, or its last byte copied into a socket.
    pub at: Time,
    /// Its end in its stream [B].
    pub end: u64,
    /// Its length there [B].
    pub bytes: u64,
    /// The sending end of its connection.
    pub endpoint: EndpointIndex,
    /// MPI tag.
    pub tag: u32,
}

/// When the last byte of a message was at the NIC of its receiver. A byte that is sent again may come later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrivalRecord {
    /// When.
    pub at: Time,
    /// Its end in its stream [B].
    pub end: u64,
    /// The receiving end of its connection.
    pub endpoint: EndpointIndex,
}

/// One end of a message between ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndRecord {
    /// When it was sent, or its receive complete.
    pub at: Time,
    /// MPI payload [B].
    pub bytes: u64,
    /// MPI tag.
    pub tag: u32,
    /// The rank.
    pub thread: ThreadIndex,
    /// End of a connection to the other rank.
    pub endpoint: EndpointIndex,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RankRecords {
    /// Steps, in the order in which they began; a transfer within a node when it ended.
    pub steps: Log<StepRecord>,
    /// Ends and times of long ones.
    times: Log<(Time, StepTimes)>,
    /// Messages that were posted.
    pub posted: Log<PostRecord>,
    /// Rows of those by which a NIC answers a message in the other direction, with the end of that [B].
    answers: Vec<(u32, u64)>,
    /// Messages that a kernel takes from there whose last byte has come to the NIC.
    pub arrived: Log<ArrivalRecord>,
    /// Messages that were sent.
    pub sent: Log<EndRecord>,
    /// Messages whose receive is complete.
    pub received: Log<EndRecord>,
    /// Collectives that ranks call.
    pub calls: CallRecords,
    /// Ranks that have ended, and when.
    pub ended: Log<(ThreadIndex, Time)>,
    /// Whether steps are transfers in a node, which overlap others of their thread.
    pub has_transfers: bool,
    /// Kind of the operation that begins next.
    pub(super) next: Option<ActivityKind>,
    /// Tag of the message that it sends or receives, of a graph.
    pub(super) next_tag: Option<u32>,
    /// End of the message that a NIC answers at the moment [B].
    pub(super) answered: Option<u64>,
    /// End of what is acknowledged in the stream of the socket that is written to next [B].
    pub(super) acknowledged: u64,
    /// Last step of each thread that interrupts may postpone.
    postponable: Vec<u32>,
}

impl RankRecords {
    /// How long the processor works on a step.
    pub fn times(&self, step: &StepRecord) -> StepTimes {
        let [worked, copied] = [step.worked, step.copied].map(|time| Duration::from_ps(u64::from(time)));
        if step.has_times { self.times[step.copied].1 } else { StepTimes { worked, copied } }
    }

    /// When a step ends.
    #[inline]
    pub fn end(&self, step: &StepRecord) -> Time {
        let lasts = Duration::from_ps(u64::from(step.worked) + u64::from(step.waited));
        if step.has_times { self.times[step.copied].0 } else { step.start + lasts }
    }

    /// End of the message in the other direction that a NIC answers by that of a row in `posted` [B].
    pub fn answers(&self, row: u32) -> Option<u64> {
        let place = self.answers.binary_search_by_key(&row, |&(row, _)| row).ok()?;
        Some(self.answers[place].1)
    }

    /// Adds a step; interrupts may postpone its end.
    #[inline(always)]
    pub(super) fn add_step(
        &mut self,
        (thread, kind): (ThreadIndex, StepKind),
        (start, end): (Time, Time),
        times: StepTimes,
        (endpoint, message_end): (EndpointIndex, u64),
        may_be_postponed: bool,
    ) {
        if may_be_postponed {
            self.note_postponable(thread);
        }
        let spans = [times.worked, end.since(start + times.worked), times.copied];
        let has_times = start + times.worked > end || spans.iter().any(|span| span.as_ps() > u64::from(u32::MAX));
        let [worked, waited, mut copied] = spans.map(|span| span.as_ps() as u32);
        if has_times {
            copied = self.times.len();
            self.times.push((end, times));
        }
        let step = StepRecord { start, message_end, worked, waited, copied, thread, endpoint, kind, has_times };
        self.steps.push(step);
    }

    /// Adds a transfer in the node, which no processor works on.
    pub(super) fn add_transfer(&mut self, thread: ThreadIndex, (start, end): (Time, Time)) {
        self.has_transfers = true;
        let times = StepTimes { worked: end.since(start), copied: Duration::ZERO };
        let kind = StepKind::Operation(ActivityKind::NodeTransfer);
        self.add_step((thread, kind), (start, end), times, (EndpointIndex::NONE, 0), false);
    }

    fn note_postponable(&mut self, thread: ThreadIndex) {
        let place = thread.get() as usize;
        if place >= self.postponable.len() {
            self.postponable.resize(place + 1, u32::MAX);
        }
        self.postponable[place] = self.steps.len();
    }

    /// Has the present step of a thread end later.
    pub(super) fn postpone(&mut self, thread: ThreadIndex, span: Duration) {
        if let Some(&place) = self.postponable.get(thread.get() as usize).filter(|&&place| place != u32::MAX) {
            let end = self.end(&self.steps[place]) + span;
            let times = self.times(&self.steps[place]);
            let step = &mut self.steps[place];
            let waited = u32::try_from(end.since(step.start + times.worked).as_ps());
            if step.has_times {
                self.times[step.copied].0 = end;
            } else if let Ok(waited) = waited {
                step.waited = waited;
            } else {
                (step.has_times, step.copied) = (true, self.times.len());
                self.times.push((end, times));
            }
        }
    }

    /// Adds a message that begins its way, with its end, length and tag. Gives its row.
    #[cold]
    #[inline(never)]
    pub(super) fn post(&mut self, endpoint: EndpointIndex, (end, bytes, tag): (u64, u64, u32), at: Time) -> u32 {
        let row = self.posted.len();
        self.answers.extend(self.answered.map(|end| (row, end)));
        self.posted.push(PostRecord { at, end, bytes, endpoint, tag });
        row
    }
}

wire! {
    StepRecord {
        start, message_end, worked, waited, copied, thread, endpoint, has_times;
        kind: StepKind::number => StepKind::of_number
    }
    StepTimes { worked, copied }
    PostRecord { at, end, bytes, endpoint, tag }
    ArrivalRecord { at, end, endpoint }
    EndRecord { at, bytes, tag, thread, endpoint }
    RankRecords {
        steps, times, posted, answers, arrived, sent, received, calls, ended, has_transfers, next, next_tag, answered,
        acknowledged, postponable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_keeps_its_times_however_long_it_lasts_and_is_postponed() {
        let (thread, kind, start) = (ThreadIndex::new(0), StepKind::Read, Time::from_ps(7));
        let spans = [0, 1_000, u64::from(u32::MAX), 9_000_000_000].map(Duration::from_ps);
        for (worked, waited) in spans.iter().flat_map(|&worked| spans.map(|waited| (worked, waited))) {
            let mut records = RankRecords::default();
            let (mut end, times) = (start + worked + waited, StepTimes { worked, copied: worked });
            records.add_step((thread, kind), (start, end), times, (EndpointIndex::NONE, 0), true);
            for span in spans {
                records.postpone(thread, span);
                end += span;
                assert_eq!((records.end(&records.steps[0]), records.times(&records.steps[0])), (end, times));
            }
        }
    }
}
