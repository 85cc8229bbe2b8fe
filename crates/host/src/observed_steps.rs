//! Notes of the tasks of threads and of the messages of ranks, where a run observes its ranks or samples its hosts.

use etherweave_engine::Wires;
use etherweave_kernel::indices::{EndpointIndex, ReceiveQueueIndex, ThreadIndex};
use etherweave_primitives::{Duration, Time};
use etherweave_workload::{GraphOp, Op};

use super::rank_records::{EndRecord, StepRecord, StepTimes};
use super::{
    Neighbour, OWN_CORE, activity_kind::ActivityKind, busy_time::ProcessorTimes, step_kind::StepKind, thread::Role,
    thread::Task,
};
use crate::Processors;

impl Processors {
    /// Notes the present task of a thread, which begins now, and ends then unless its core is interrupted.
    #[cold]
    #[inline(never)]
    pub(super) fn note_task(&mut self, wires: &Wires, thread: ThreadIndex, end: Time, times: StepTimes) {
        let state = &self.threads[thread];
        let Some(task) = &state.current else { return };
        let (is_of_rank, may_be_postponed) = (state.is_of_rank(), state.core != OWN_CORE);
        let next = self.records.next;
        let own = (EndpointIndex::NONE, StepRecord::of_tag(self.records.next_tag));
        let (kind, message) = match task {
            &Task::Handle(endpoint, ref message) if Neighbour::of(endpoint).is_some() => {
                (StepKind::Handle, (endpoint, StepRecord::of_tag(Some(message.tag))))
            }
            &Task::Handle(endpoint, ref message) => (StepKind::Handle, (endpoint, message.end)),
            &Task::Write(endpoint, _) => (StepKind::Write, (endpoint, self.records.acknowledged)),
            Task::Read(..) => (StepKind::Read, (EndpointIndex::NONE, 0)),
            &Task::Step(endpoint) if next == Some(ActivityKind::Send) && self.is_socket(wires, thread, endpoint) => {
                (StepKind::SocketSend, own)
            }
            Task::Step(_) | Task::Post => (StepKind::Operation(next.unwrap_or(ActivityKind::Wait)), own),
        };
        if !self.busy.threads.is_empty() {
            self.count_task(wires, thread, end, (kind, times.worked));
        }
        if self.observes_ranks && is_of_rank {
            self.records.add_step((thread, kind), (wires.now, end), times, message, may_be_postponed);
        }
    }

    /// Counts a task for samples of hosts: calls of sockets are the kernel's, a send less what its library takes.
    fn count_task(&mut self, wires: &Wires, thread: ThreadIndex, end: Time, (kind, worked): (StepKind, Duration)) {
        let state = &self.threads[thread];
        let system = match kind {
            StepKind::Write | StepKind::Read => worked,
            StepKind::SocketSend => worked - wires.constants.mpi(state.job).send_overhead.min(worked),
            StepKind::Operation(_) | StepKind::Handle => Duration::ZERO,
        };
        let is_asleep = kind == StepKind::Operation(ActivityKind::Sleep);
        let user = if is_asleep { Duration::ZERO } else { worked - system };
        let (waits, waiting) = (self.waits(thread), Duration::ZERO);
        self.busy.threads[thread].add((wires.now, end), ProcessorTimes { user, system, waiting }, waits);
    }

    /// Whether a thread that does nothing waits inside a library: one of a rank whose program has not ended.
    pub fn waits(&self, thread: ThreadIndex) -> bool {
        matches!(&self.threads[thread].role, Role::Rank(rank) if !rank.is_done)
    }

    /// Counts a batch of a receive queue for samples of hosts.
    #[cold]
    #[inline(never)]
    pub(super) fn note_batch(&mut self, now: Time, queue: ReceiveQueueIndex, end: Time, cost: Duration) {
        if !self.busy.queues.is_empty() {
            let times = ProcessorTimes { system: cost, ..ProcessorTimes::default() };
            self.busy.queues[queue].add((now, end), times, false);
        }
    }

    /// Notes a transfer in the node that a thread of a rank has posted, from its start to its end.
    pub(super) fn observe_transfer(&mut self, thread: ThreadIndex, span: (Time, Time)) {
        if self.observes_ranks {
            self.records.add_transfer(thread, span);
        }
    }

    /// Notes what a thread of a rank begins next.
    #[inline]
    pub(super) fn observe_next(&mut self, kind: Option<ActivityKind>) {
        if self.notes_tasks {
            (self.records.next, self.records.next_tag) = (kind, None);
        }
    }

    /// Notes what a thread of a graph begins next.
    #[inline]
    pub(super) fn observe_next_of_graph(&mut self, op: GraphOp) {
        if self.notes_tasks {
            (self.records.next, self.records.next_tag) = (Some(ActivityKind::of_graph(op)), op.tag());
        }
    }

    /// Notes an operation that a rank of a program begins, or a mark in it.
    #[inline]
    pub(super) fn observe_operation(&mut self, thread: ThreadIndex, op: Op, now: Time) {
        if self.observes_ranks {
            self.records.calls.note(thread, op, now);
        }
    }

    /// Notes that a thread's task ends later: interrupts have had its core.
    #[cold]
    #[inline(never)]
    pub(super) fn note_postponed(&mut self, thread: ThreadIndex, span: Duration) {
        self.records.postpone(thread, span);
        if !self.busy.threads.is_empty() {
            self.busy.threads[thread].postpone(span);
        }
    }

    /// Notes where ranks are observed that a message of a thread's rank begins its way: its end in the stream, its
    /// length, and its tag. Gives its row.
    #[inline]
    pub(super) fn observe_posted(
        &mut self,
        thread: ThreadIndex,
        endpoint: EndpointIndex,
        message: (u64, u64, u32),
        now: Time,
    ) -> Option<u32> {
        let is_noted = self.observes_ranks && self.threads[thread].is_of_rank();
        is_noted.then(|| self.records.post(endpoint, message, now))
    }

    /// Notes a message that a rank sends.
    pub(super) fn observe_sent(&mut self, end: EndRecord) {
        if self.observes_ranks {
            self.records.sent.push(end);
        }
    }

    /// Notes a message whose receive is complete.
    pub(super) fn observe_received(&mut self, end: EndRecord) {
        let EndRecord { thread, endpoint, tag, bytes, .. } = end;
        self.rank(thread).take_received(endpoint, tag, bytes);
        if self.observes_ranks {
            self.records.received.push(end);
        }
    }
}
