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
    /// When it ends.
    pub end: Time,
    /// End of the handled message in its stream, or of what is acknowledged when a write begins [B]. An operation of a
    /// graph and a message within a host have their [tag](StepRecord::tag) here.
    pub message_end: u64,
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
    /// Times of those that waited for a core, or copied for long.
    times: Log<StepTimes>,
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
        match step.has_times {
            true => self.times[step.copied],
            false => {
                StepTimes { worked: step.end.since(step.start), copied: Duration::from_ps(u64::from(step.copied)) }
            }
        }
    }

    /// End of the message in the other direction that a NIC answers by that of a row in `posted` [B].
    pub fn answers(&self, row: u32) -> Option<u64> {
        let place = self.answers.binary_search_by_key(&row, |&(row, _)| row).ok()?;
        Some(self.answers[place].1)
    }

    /// Adds a step; interrupts may postpone its end.
    #[inline]
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
        let short = u32::try_from(times.copied.as_ps()).ok();
        let short = short.filter(|_| !may_be_postponed && times.worked == end.since(start));
        let has_times = short.is_none();
        let copied = short.unwrap_or_else(|| {
            self.times.push(times);
            self.times.len() - 1
        });
        self.steps.push(StepRecord { start, end, message_end, copied, thread, endpoint, kind, has_times });
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
            self.steps[place].end += span;
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
        start, end, message_end, copied, thread, endpoint, has_times;
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
