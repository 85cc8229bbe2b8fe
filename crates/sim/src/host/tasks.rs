//! How threads run their tasks, and what each costs.

use etherweave_primitives::{Bytes, Duration};

use super::OWN_CORE;
use super::message::MessageKind;
use super::shared_memory::Neighbour;
use super::task_cost::{TaskCost, per_kib};
use super::thread::{Role, Task, Thread};
use crate::engine::Shard;
use crate::engine::event::{Event, Kind, PrefetchHint};
use crate::indices::{EndpointIndex, HostIndex, ThreadIndex};

impl Shard {
    /// The thread's job starts.
    pub(crate) fn thread_start(&mut self, thread: ThreadIndex) {
        if let Role::Rank(rank) = &mut self.threads[thread].role {
            rank.is_started = true;
        }
        self.thread_next(thread);
    }

    /// Gives a thread something to do.
    pub(crate) fn assign(&mut self, thread: ThreadIndex, task: Task) {
        let state = &mut self.threads[thread];
        state.inbox.push_back(task);
        // Any stream of a graph can handle what has arrived.
        if state.current.is_none() || matches!(&state.role, Role::Rank(rank) if rank.graph.is_some()) {
            self.thread_next(thread);
        }
    }

    /// Occupies a thread.
    #[inline]
    pub(crate) fn begin(&mut self, thread: ThreadIndex, task: Task, cost: TaskCost) {
        self.begin_with(thread, task, cost, PrefetchHint::default());
    }

    /// The same, with a hint at what the task will touch. Inlined, so that the task is written in its place at once:
    /// read back from the stack in one piece, parts written just before wait for all earlier writes.
    #[inline(always)]
    pub(super) fn begin_with(&mut self, thread: ThreadIndex, task: Task, cost: TaskCost, hint: PrefetchHint) {
        let cost = self.time_with_memory(self.threads[thread].host, cost);
        let state = &mut self.threads[thread];
        debug_assert!(state.current.is_none(), "a thread does one thing at a time");
        state.current = Some(task);
        let place = self.hosts[state.host].port;
        let mut done = self.now + cost;
        if state.core != OWN_CORE {
            let core = &mut self.cores[state.core];
            state.interrupts = Some(core.interrupts());
            done = core.begin(self.now, cost);
        }
        let key = self.key(place, Kind::ThreadDone, thread.get());
        self.queue.push(Event { time: done, key, bits: 0, hint });
    }

    /// What is left of a read: in flow-level mode its thread has read as bytes came, if it had nothing else to do.
    fn left_of_read(&mut self, thread: ThreadIndex, endpoint: EndpointIndex, bytes: u64, whole: TaskCost) -> TaskCost {
        let costs = &self.constants.params.host.cpu;
        let Some(flow) = &mut self.endpoints[endpoint].tcp().flow else { return whole };
        let Thread { free_at, core, .. } = self.threads[thread];
        // A core that is shared has had something else to do.
        let from = if core == OWN_CORE { free_at.max(flow.readable_at) } else { self.now };
        let done = from + whole.time;
        let tail = costs.receive_call + per_kib(costs.receive_per_kib, bytes.min(flow.last_batch));
        flow.read_at = done;
        TaskCost { time: done.since(self.now).max(tail.min(whole.time)), ..whole }
    }

    /// How long a task takes with others: what threads of a host copy follows each other at the rate of its memory.
    fn time_with_memory(&mut self, host: HostIndex, cost: TaskCost) -> Duration {
        match self.constants.params.host.memory_rate {
            Some(rate) if cost.copied > 0 => {
                let free_at = &mut self.memory_free_at[host];
                *free_at = (*free_at).max(self.now) + rate.serialization_time(Bytes::new(cost.copied));
                cost.time.max(free_at.since(self.now))
            }
            _ => cost.time,
        }
    }

    /// Has a thread perform its present operation without a core: it sleeps.
    pub(super) fn sleep(&mut self, thread: ThreadIndex, duration: Duration) {
        let state = &mut self.threads[thread];
        (state.current, state.interrupts) = (Some(Task::Step(EndpointIndex::new(0))), None);
        let place = self.hosts[state.host].port;
        self.schedule(duration, place, Kind::ThreadDone, thread.get());
    }

    /// Whether interrupts have taken the core from the present task: it is done later by so much.
    fn is_postponed(&mut self, thread: ThreadIndex) -> bool {
        let state = &mut self.threads[thread];
        let Some(before) = state.interrupts else { return false };
        let interrupts = self.cores[state.core].interrupts();
        state.interrupts = Some(interrupts);
        let place = self.hosts[state.host].port;
        if interrupts > before {
            self.schedule(interrupts - before, place, Kind::ThreadDone, thread.get());
        }
        interrupts > before
    }

    /// The present task is done.
    pub(crate) fn thread_done(&mut self, thread: ThreadIndex) {
        if self.is_postponed(thread) {
            return;
        }
        self.progress_of(thread);
        let task = self.threads[thread].current.take().expect("a task is in progress");
        self.threads[thread].free_at = self.now;
        match task {
            Task::Step(endpoint) => self.step_done(thread, endpoint),
            Task::Handle(endpoint, message) => self.handle_message(self.rank_thread(thread), endpoint, message),
            Task::Write(endpoint, bytes) => self.write_done(endpoint, bytes),
            Task::Read(endpoint, bytes) => self.read_done(endpoint, bytes),
            Task::Post => self.post_done(thread),
        }
        if self.threads[thread].current.is_none() {
            self.thread_next(thread);
        }
    }

    /// Finds an idle thread its next task.
    pub(crate) fn thread_next(&mut self, thread: ThreadIndex) {
        match self.threads[thread].role {
            Role::Rank(_) => self.rank_next(thread),
            Role::GraphStream(rank) => self.graph_next(rank),
            Role::Source(_) => self.source_next(thread),
            Role::Sink(_) => self.inbox_next(thread),
        }
    }

    /// Begins the first task of the inbox.
    pub(crate) fn inbox_next(&mut self, thread: ThreadIndex) {
        let Some(task) = self.threads[thread].inbox.pop_front() else { return };
        self.begin_task(thread, task);
    }

    /// Begins a task of an inbox.
    pub(super) fn begin_task(&mut self, thread: ThreadIndex, task: Task) {
        let (task, cost) = self.priced(thread, task);
        self.begin(thread, task, cost);
    }

    /// What a task costs now; reads and writes learn how many bytes they move.
    fn priced(&mut self, thread: ThreadIndex, task: Task) -> (Task, TaskCost) {
        let costs = &self.constants.params.host.cpu;
        match task {
            Task::Write(endpoint, _) => {
                let (bytes, calls) = self.write_size(endpoint);
                let costs = &self.constants.params.host.cpu;
                let cost = TaskCost::of(costs.send_call * calls).and_copy(costs.send_per_kib, bytes);
                if bytes > costs.offload.get() {
                    self.begin_write(endpoint, bytes, cost.time);
                }
                (Task::Write(endpoint, bytes), cost)
            }
            Task::Read(endpoint, _) => {
                let (bytes, calls) = self.read_size(thread, endpoint);
                let costs = &self.constants.params.host.cpu;
                let call = TaskCost::of(costs.receive_call * calls);
                let whole = call.and_copy(costs.receive_per_kib, bytes);
                (Task::Read(endpoint, bytes), self.left_of_read(thread, endpoint, bytes, whole))
            }
            Task::Handle(endpoint, message) if Neighbour::of(endpoint).is_some() => {
                (task, self.constants.params.host.shared_memory.handling_cost(&message))
            }
            Task::Handle(_, message) => {
                let mpi = self.constants.mpi();
                let copied = match message.kind {
                    MessageKind::Eager => mpi.last_piece(message.bytes),
                    MessageKind::Fragment | MessageKind::Put => message.bytes,
                    _ => 0,
                };
                (task, TaskCost::of(mpi.handling_overhead).and_copy(mpi.eager_receive_per_kib, copied))
            }
            Task::Step(_) | Task::Post => (task, TaskCost::of(costs.send_call)),
        }
    }
}
