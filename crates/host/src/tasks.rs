//! Execution of tasks by threads, and the cost of each task.

use etherweave_engine::{Wires, event::PrefetchHint};
use etherweave_kernel::indices::ThreadIndex;

use super::{
    costs::EagerLimits, message::MessageKind, shared_memory::Neighbour, shared_memory::handling_cost,
    task_cost::TaskCost, thread::Role, thread::Task,
};
use crate::Hosts;

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

    /// The present task is done.
    pub fn thread_done(&mut self, wires: &mut Wires, thread: ThreadIndex) {
        if self.processors.is_postponed(wires, thread) {
            return;
        }
        self.processors.progress_of(wires, thread);
        let task = self.processors.threads[thread].current.take().expect("a task is in progress");
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

    pub(super) fn begin_task(&mut self, wires: &mut Wires, thread: ThreadIndex, task: Task) {
        let (task, cost) = self.priced(wires, thread, task);
        self.processors.begin(wires, thread, task, cost, PrefetchHint::default());
    }

    /// Returns the cost of a task now; reads and writes learn how many bytes they move.
    fn priced(&mut self, wires: &mut Wires, thread: ThreadIndex, task: Task) -> (Task, TaskCost) {
        let costs = &wires.constants.params.host.cpu;
        match task {
            Task::Write(endpoint, _) => {
                self.processors.records.acknowledged = self.nics.states.tcp(endpoint).sender.acknowledged();
                let is_stream = matches!(self.processors.threads[thread].role, Role::Source(_));
                let (bytes, calls) = self.nics.write_size(wires, endpoint, is_stream);
                let costs = &wires.constants.params.host.cpu;
                let cost = TaskCost::of(costs.send_call * calls).and_copy(costs.send_per_kib, bytes);
                (Task::Write(endpoint, bytes), cost)
            }
            Task::Read(endpoint, _) => {
                let role = &self.processors.threads[thread].role;
                let asked = if let Role::Sink(sink) = role { Some(sink.bytes) } else { None };
                let (bytes, calls) = self.nics.read_size(wires, endpoint, asked);
                let costs = &wires.constants.params.host.cpu;
                let call = TaskCost::of(costs.receive_call * calls);
                (Task::Read(endpoint, bytes), call.and_copy(costs.receive_per_kib, bytes))
            }
            Task::Handle(endpoint, message) if Neighbour::of(endpoint).is_some() => {
                (task, handling_cost(&wires.constants.params.host.shared_memory, &message))
            }
            Task::Handle(endpoint, message) => {
                let mpi = wires.constants.mpi(self.processors.threads[thread].job);
                // Switches send sums to where they belong, unless the message is as short as others that are copied.
                let is_placed =
                    self.nics.is_tree(endpoint) && !EagerLimits::of_mpi(mpi).admit(message.tag, message.bytes);
                let copied = match message.kind {
                    MessageKind::Eager if is_placed => 0,
                    MessageKind::Eager => mpi.last_piece(message.bytes),
                    MessageKind::Fragment | MessageKind::Put => message.bytes,
                    MessageKind::Payload if mpi.rendezvous_window.is_some() => message.bytes,
                    _ => 0,
                };
                (task, TaskCost::of(mpi.handling_overhead).and_copy(mpi.eager_receive_per_kib, copied))
            }
            Task::Step(_) | Task::Post => (task, TaskCost::of(costs.send_call)),
        }
    }
}
