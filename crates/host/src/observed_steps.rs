//! What hosts note of the steps of ranks and of their messages, where a run observes its ranks.

use etherweave_engine::Wires;
use etherweave_kernel::indices::{EndpointIndex, ThreadIndex};
use etherweave_primitives::{Duration, Time};

use super::OWN_CORE;
use super::activity_kind::ActivityKind;
use super::rank_records::{ArrivalRecord, EndRecord, StepTimes};
use super::step_kind::StepKind;
use super::thread::Task;
use crate::Processors;

impl Processors {
    /// Notes the present step of a rank, which begins now, and ends then unless its core is interrupted.
    #[cold]
    #[inline(never)]
    pub(super) fn observe_step(&mut self, wires: &Wires, thread: ThreadIndex, end: Time, times: StepTimes) {
        let state = &self.threads[thread];
        let (true, Some(task)) = (state.is_of_rank(), state.current) else { return };
        let may_be_postponed = state.core != OWN_CORE;
        let next = self.records.next;
        let none = (EndpointIndex::NONE, 0);
        let (kind, message) = match task {
            Task::Handle(endpoint, message) => (StepKind::Handle, (endpoint, message.end)),
            Task::Write(..) => (StepKind::Write, none),
            Task::Read(..) => (StepKind::Read, none),
            Task::Step(endpoint) if next == Some(ActivityKind::Send) && self.is_socket(wires, thread, endpoint) => {
                (StepKind::SocketSend, none)
            }
            Task::Step(_) | Task::Post => (StepKind::Operation(next.unwrap_or(ActivityKind::Wait)), none),
        };
        self.records.add_step((thread, kind), (wires.now, end), times, message, may_be_postponed);
    }

    /// Notes what a thread of a rank begins next.
    #[inline]
    pub(super) fn observe_next(&mut self, kind: Option<ActivityKind>) {
        if self.observes_ranks {
            self.records.next = kind;
        }
    }

    /// Notes that a thread's step ends later: interrupts have had its core.
    #[cold]
    #[inline(never)]
    pub(super) fn observe_postponed(&mut self, thread: ThreadIndex, span: Duration) {
        self.records.postpone(thread, span);
    }

    /// Notes that a message of the rank of a thread begins its way.
    #[cold]
    #[inline(never)]
    pub(super) fn observe_posted(&mut self, thread: ThreadIndex, endpoint: EndpointIndex, end: u64, now: Time) {
        if self.threads[thread].is_of_rank() {
            self.records.post(endpoint, end, now);
        }
    }

    /// Notes that messages to the rank of a thread, which end there, are at its NIC.
    pub(super) fn observe_arrived(
        &mut self,
        thread: ThreadIndex,
        endpoint: EndpointIndex,
        ends: impl Iterator<Item = u64>,
        at: Time,
    ) {
        if self.threads[thread].is_of_rank() {
            ends.for_each(|end| self.records.arrived.push(ArrivalRecord { at, end, endpoint }));
        }
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
