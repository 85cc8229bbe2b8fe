//! What hosts note of the steps of ranks and of their messages, where a run observes its ranks.

use etherweave_kernel::indices::ThreadIndex;
use etherweave_primitives::{Duration, Time};

use super::activity_kind::ActivityKind;
use super::shared_memory::Neighbour;
use super::steps::{Arrived, MessageName, Step, StepKind, StepLog};
use super::thread::{Role, Task};
use crate::{Hosts, Processors};

impl Hosts {
    /// Notes the present step of a rank, which begins now, and ends then unless its core is interrupted.
    #[cold]
    #[inline(never)]
    pub(super) fn observe_step(
        &mut self,
        start: Time,
        thread: ThreadIndex,
        (worked, copied): (Duration, Duration),
        end: Time,
    ) {
        let rank = self.processors.rank_thread(thread);
        let Some(task) = self.processors.threads[thread].current else { return };
        let stream = (thread.get() - rank.get()) as u8;
        let handled = match task {
            Task::Handle(endpoint, message) => Some((self.nics.first_to_peer(endpoint), endpoint, message)),
            _ => None,
        };
        let message = handled.map_or(MessageName::NONE, |(_, endpoint, message)| match Neighbour::of(endpoint) {
            Some(_) => MessageName::NONE,
            None => MessageName { connection: self.nics.endpoints[endpoint].number ^ 1, end: message.end },
        });
        let sends_by_socket = match task {
            Task::Step(endpoint) => self.nics.endpoints.get(endpoint).is_some_and(|end| end.protocol.is_socket()),
            _ => false,
        };
        let Role::Rank(state) = &mut self.processors.threads[rank].role else { return };
        let peer = handled.and_then(|(first, ..)| state.peer_of(first)).unwrap_or(StepLog::NO_PEER);
        let Some(log) = state.log.as_deref_mut() else { return };
        let kind = match task {
            Task::Handle(..) => StepKind::Handle,
            Task::Write(..) => StepKind::Write,
            Task::Read(..) => StepKind::Read,
            Task::Step(_) if sends_by_socket && log.present(stream) == Some(ActivityKind::Send) => StepKind::SocketSend,
            Task::Step(_) | Task::Post => StepKind::Operation(log.present(stream).unwrap_or(ActivityKind::Wait)),
        };
        log.steps.steps.push(Step { stream, kind, start, end, worked, copied, peer, message });
    }
}

impl Processors {
    /// The steps of the rank of a thread, if it notes any.
    fn steps_of(&mut self, thread: ThreadIndex) -> Option<&mut StepLog> {
        let rank = self.rank_thread(thread);
        match &mut self.threads[rank].role {
            Role::Rank(state) => state.log.as_deref_mut().map(|log| &mut log.steps),
            Role::GraphStream(_) | Role::Source(_) | Role::Sink(_) => None,
        }
    }

    /// Notes that a thread's step ends later: interrupts have had its core.
    #[cold]
    #[inline(never)]
    pub(super) fn observe_postponed(&mut self, thread: ThreadIndex, span: Duration) {
        let stream = (thread.get() - self.rank_thread(thread).get()) as u8;
        if let Some(steps) = self.steps_of(thread) {
            steps.postpone(stream, span);
        }
    }

    /// Notes that a message of the rank of a thread begins its way.
    #[cold]
    #[inline(never)]
    pub(super) fn observe_posted(&mut self, thread: ThreadIndex, connection: u32, end: u64, now: Time) {
        if let Some(steps) = self.steps_of(thread) {
            steps.post(connection, end, now);
        }
    }

    /// Notes that messages to the rank of a thread, which end there, are at its NIC.
    pub(super) fn observe_arrived(
        &mut self,
        thread: ThreadIndex,
        connection: u32,
        ends: impl Iterator<Item = u64>,
        at: Time,
    ) {
        if let Some(steps) = self.steps_of(thread) {
            let arrived = |end| Arrived { message: MessageName { connection, end }, at };
            steps.arrived.extend(ends.map(arrived));
        }
    }

    /// Notes what the NIC of a thread's rank answers from now on by itself.
    #[cold]
    #[inline(never)]
    pub(super) fn observe_answered(&mut self, thread: ThreadIndex, message: Option<MessageName>) {
        if let Some(steps) = self.steps_of(thread) {
            steps.answered = message;
        }
    }
}
