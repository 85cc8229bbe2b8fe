//! How threads run their tasks, and what each costs.

use etherweave_engine::Wires;
use etherweave_engine::event::{Event, Kind, PrefetchHint};
use etherweave_kernel::indices::{EndpointIndex, HostIndex, ThreadIndex};
use etherweave_primitives::{Bytes, Duration};

use super::OWN_CORE;
use super::message::MessageKind;
use super::rank_records::StepTimes;
use super::shared_memory::{Neighbour, handling_cost};
use super::task_cost::{TaskCost, per_kib};
use super::thread::{Role, Task, Thread};
use crate::{Hosts, Processors};

impl Hosts {
    /// The thread's job starts.
    pub fn thread_start(&mut self, wires: &mut Wires, thread: ThreadIndex) {
        if let Role::Rank(rank) = &mut self.processors.threads[thread].role {
            rank.is_started = true;
        }
        self.thread_next(wires, thread);
    }

    /// Gives a thread something to do.
    pub fn assign(&mut self, wires: &mut Wires, thread: ThreadIndex, task: Task) {
        let state = &mut self.processors.threads[thread];
        state.inbox.push_back(task);
        // Any stream of a graph can handle what has arrived.
        if state.current.is_none() || matches!(&state.role, Role::Rank(rank) if rank.graph.is_some()) {
            self.thread_next(wires, thread);
        }
    }

    /// Occupies a thread.
    #[inline]
    pub fn begin(&mut self, wires: &mut Wires, thread: ThreadIndex, task: Task, cost: TaskCost) {
        self.begin_with(wires, thread, task, cost, PrefetchHint::default());
    }

    /// The same, with a hint at what the task will touch. Inlined, so that the task is written in its place at once:
    /// read back from the stack in one piece, parts written just before wait for all earlier writes.
    #[inline(always)]
    pub(super) fn begin_with(
        &mut self,
        wires: &mut Wires,
        thread: ThreadIndex,
        task: Task,
        cost: TaskCost,
        hint: PrefetchHint,
    ) {
        let alone = cost;
        let cost = self.processors.time_with_memory(wires, self.processors.threads[thread].host, cost);
        let state = &mut self.processors.threads[thread];
        debug_assert!(state.current.is_none(), "a thread does one thing at a time");
        state.current = Some(task);
        let place = self.nics.hosts[state.host].port;
        let mut done = wires.now + cost;
        if state.core != OWN_CORE {
            let core = &mut self.processors.cores[state.core];
            state.interrupts = Some(core.interrupts());
            done = core.begin(wires.now, cost);
        }
        if self.processors.observes_ranks {
            let copied = (alone.copying + (cost - alone.time)).min(cost);
            self.observe_step(thread, wires.now, done, StepTimes { worked: cost, copied });
        }
        let key = wires.key(place, Kind::ThreadDone, thread.get());
        wires.queue.push(Event { time: done, key, bits: 0, hint });
    }

    /// What is left of a read: in flow-level mode its thread has read as bytes came, if it had nothing else to do.
    fn left_of_read(
        &mut self,
        wires: &Wires,
        thread: ThreadIndex,
        endpoint: EndpointIndex,
        bytes: u64,
        whole: TaskCost,
    ) -> TaskCost {
        let costs = &wires.constants.params.host.cpu;
        let Some(flow) = &mut self.nics.endpoints[endpoint].tcp().flow else { return whole };
        let Thread { free_at, core, .. } = self.processors.threads[thread];
        // A core that is shared has had something else to do.
        let from = if core == OWN_CORE { free_at.max(flow.readable_at) } else { wires.now };
        let done = from + whole.time;
        let tail = costs.receive_call + per_kib(costs.receive_per_kib, bytes.min(flow.last_batch));
        flow.read_at = done;
        TaskCost { time: done.since(wires.now).max(tail.min(whole.time)), ..whole }
    }

    /// Has a thread perform its present operation without a core: it sleeps.
    pub(super) fn sleep(&mut self, wires: &mut Wires, thread: ThreadIndex, duration: Duration) {
        let state = &mut self.processors.threads[thread];
        let task = Task::Step(EndpointIndex::new(0));
        (state.current, state.interrupts) = (Some(task), None);
        if self.processors.observes_ranks {
            let times = StepTimes { worked: duration, copied: Duration::ZERO };
            self.observe_step(thread, wires.now, wires.now + duration, times);
        }
        let state = &mut self.processors.threads[thread];
        let place = self.nics.hosts[state.host].port;
        wires.schedule(duration, place, Kind::ThreadDone, thread.get());
    }

    /// Whether interrupts have taken the core from the present task: it is done later by so much.
    fn is_postponed(&mut self, wires: &mut Wires, thread: ThreadIndex) -> bool {
        let state = &mut self.processors.threads[thread];
        let Some(before) = state.interrupts else { return false };
        let interrupts = self.processors.cores[state.core].interrupts();
        state.interrupts = Some(interrupts);
        let place = self.nics.hosts[state.host].port;
        if interrupts > before {
            wires.schedule(interrupts - before, place, Kind::ThreadDone, thread.get());
            if self.processors.observes_ranks {
                self.processors.observe_postponed(thread, interrupts - before);
            }
        }
        interrupts > before
    }

    /// The present task is done.
    pub fn thread_done(&mut self, wires: &mut Wires, thread: ThreadIndex) {
        if self.is_postponed(wires, thread) {
            return;
        }
        self.processors.progress_of(wires, thread);
        let task = self.processors.threads[thread].current.take().expect("a task is in progress");
        self.processors.threads[thread].free_at = wires.now;
        match task {
            Task::Step(endpoint) => self.step_done(wires, thread, endpoint),
            Task::Handle(endpoint, message) => {
                self.handle_message(wires, self.processors.rank_thread(thread), endpoint, message)
            }
            Task::Write(endpoint, bytes) => self.write_done(wires, endpoint, bytes),
            Task::Read(endpoint, bytes) => self.read_done(wires, endpoint, bytes),
            Task::Post => self.post_done(wires, thread),
        }
        if self.processors.threads[thread].current.is_none() {
            self.thread_next(wires, thread);
        }
    }

    /// Finds an idle thread its next task.
    pub fn thread_next(&mut self, wires: &mut Wires, thread: ThreadIndex) {
        match self.processors.threads[thread].role {
            Role::Rank(_) => self.rank_next(wires, thread),
            Role::GraphStream(rank) => self.graph_next(wires, rank),
            Role::Source(_) => self.source_next(wires, thread),
            Role::Sink(_) => self.inbox_next(wires, thread),
        }
    }

    /// Begins the first task of the inbox.
    pub fn inbox_next(&mut self, wires: &mut Wires, thread: ThreadIndex) {
        let Some(task) = self.processors.threads[thread].inbox.pop_front() else { return };
        self.begin_task(wires, thread, task);
    }

    /// Begins a task of an inbox.
    pub(super) fn begin_task(&mut self, wires: &mut Wires, thread: ThreadIndex, task: Task) {
        let (task, cost) = self.priced(wires, thread, task);
        self.begin(wires, thread, task, cost);
    }

    /// What a task costs now; reads and writes learn how many bytes they move.
    fn priced(&mut self, wires: &mut Wires, thread: ThreadIndex, task: Task) -> (Task, TaskCost) {
        let costs = &wires.constants.params.host.cpu;
        match task {
            Task::Write(endpoint, _) => {
                let (bytes, calls) = self.write_size(wires, endpoint);
                let costs = &wires.constants.params.host.cpu;
                let cost = TaskCost::of(costs.send_call * calls).and_copy(costs.send_per_kib, bytes);
                if bytes > costs.offload.get() {
                    self.nics.begin_write(wires, endpoint, bytes, cost.time);
                }
                (Task::Write(endpoint, bytes), cost)
            }
            Task::Read(endpoint, _) => {
                let (bytes, calls) = self.read_size(wires, thread, endpoint);
                let costs = &wires.constants.params.host.cpu;
                let call = TaskCost::of(costs.receive_call * calls);
                let whole = call.and_copy(costs.receive_per_kib, bytes);
                (Task::Read(endpoint, bytes), self.left_of_read(wires, thread, endpoint, bytes, whole))
            }
            Task::Handle(endpoint, message) if Neighbour::of(endpoint).is_some() => {
                (task, handling_cost(&wires.constants.params.host.shared_memory, &message))
            }
            Task::Handle(_, message) => {
                let mpi = wires.constants.mpi(self.processors.threads[thread].job);
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

impl Processors {
    /// Time of a task beside others: copies of a host's threads share the rate of its memory, but for those that caches
    /// serve.
    fn time_with_memory(&mut self, wires: &Wires, host: HostIndex, cost: TaskCost) -> Duration {
        let params = &wires.constants.params.host;
        match params.memory_rate {
            Some(rate) if cost.copied > params.cached_max.get() => {
                let free_at = &mut self.memory_free_at[host];
                *free_at = (*free_at).max(wires.now) + rate.serialization_time(Bytes::new(cost.copied));
                cost.time.max(free_at.since(wires.now))
            }
            _ => cost.time,
        }
    }
}
