//! How threads run their tasks, and what each costs.

use etherweave_primitives::Duration;

use super::message::MessageKind;
use super::shared_memory::Neighbour;
use super::thread::{Role, Task};
use crate::engine::Shard;
use crate::engine::event::{Event, Kind, PrefetchHint};

impl Shard {
    /// The thread's job starts.
    pub(crate) fn thread_start(&mut self, thread: u32) {
        if let Role::Rank(rank) = &mut self.threads[thread as usize].role {
            rank.is_started = true;
        }
        self.thread_next(thread);
    }

    /// Gives a thread something to do.
    pub(crate) fn assign(&mut self, thread: u32, task: Task) {
        let state = &mut self.threads[thread as usize];
        state.inbox.push_back(task);
        if state.current.is_none() {
            self.thread_next(thread);
        }
    }

    /// Occupies a thread.
    pub(crate) fn begin(&mut self, thread: u32, task: Task, cost: Duration) {
        self.begin_with(thread, task, cost, PrefetchHint::default());
    }

    /// The same, with a hint at what the task will touch.
    pub(super) fn begin_with(&mut self, thread: u32, task: Task, cost: Duration, hint: PrefetchHint) {
        let state = &mut self.threads[thread as usize];
        debug_assert!(state.current.is_none(), "a thread does one thing at a time");
        state.current = Some(task);
        let place = self.hosts[state.host as usize].port;
        let key = self.key(place, Kind::ThreadDone, thread);
        self.queue.push(Event { time: self.now + cost, key, handle: 0, hint });
    }

    /// The present task is done.
    pub(crate) fn thread_done(&mut self, thread: u32) {
        self.totals.last_progress = self.now;
        let task = self.threads[thread as usize].current.take().expect("a task is in progress");
        match task {
            Task::Step(endpoint) => self.step_done(thread, endpoint),
            Task::Handle(endpoint, message) => self.handle_message(thread, endpoint, message),
            Task::Write(endpoint, bytes) => self.write_done(endpoint, bytes),
            Task::Read(endpoint, bytes) => self.read_done(endpoint, bytes),
            Task::Post => self.post_done(thread),
        }
        if self.threads[thread as usize].current.is_none() {
            self.thread_next(thread);
        }
    }

    /// Finds an idle thread its next task.
    pub(crate) fn thread_next(&mut self, thread: u32) {
        match self.threads[thread as usize].role {
            Role::Rank(_) => self.rank_next(thread),
            Role::Source(_) => self.source_next(thread),
            Role::Sink(_) => self.inbox_next(thread),
        }
    }

    /// Begins the first task of the inbox.
    pub(crate) fn inbox_next(&mut self, thread: u32) {
        let Some(task) = self.threads[thread as usize].inbox.pop_front() else { return };
        let (task, cost) = self.priced(thread, task);
        self.begin(thread, task, cost);
    }

    /// What a task costs now; reads and writes learn how many bytes they move.
    fn priced(&mut self, thread: u32, task: Task) -> (Task, Duration) {
        let costs = &self.constants.params.host.cpu;
        match task {
            Task::Write(endpoint, _) => {
                let (bytes, calls) = self.write_size(endpoint);
                let costs = &self.constants.params.host.cpu;
                (Task::Write(endpoint, bytes), costs.send_call * calls + per_kib(costs.send_per_kib, bytes))
            }
            Task::Read(endpoint, _) => {
                let (bytes, calls) = self.read_size(thread, endpoint);
                let costs = &self.constants.params.host.cpu;
                (Task::Read(endpoint, bytes), costs.receive_call * calls + per_kib(costs.receive_per_kib, bytes))
            }
            Task::Handle(endpoint, message) if Neighbour::of(endpoint).is_some() => {
                (task, self.constants.params.host.shared_memory.handling_cost(&message))
            }
            Task::Handle(_, message) => {
                let mpi = self.constants.mpi();
                let copied = if message.kind == MessageKind::Eager { message.bytes } else { 0 };
                (task, mpi.handling_overhead + per_kib(mpi.eager_receive_per_kib, copied))
            }
            Task::Step(_) | Task::Post => (task, costs.send_call),
        }
    }
}

/// `cost` for every 1,024 bytes, in proportion.
pub(crate) fn per_kib(cost: Duration, bytes: u64) -> Duration {
    Duration::from_ps((cost.as_ps() * bytes).div_ceil(1024))
}
