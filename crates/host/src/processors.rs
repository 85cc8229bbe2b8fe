//! Threads of hosts, the cores that they share and the memory that they copy in: how a task occupies them.

use etherweave_engine::Wires;
use etherweave_engine::event::{Event, Kind, PrefetchHint};
use etherweave_kernel::indices::{CoreIndex, EndpointIndex, HostIndex, ThreadIndex};
use etherweave_kernel::{IndexVec, SlidingVec};
use etherweave_primitives::{Bytes, Duration, Time};

use super::{
    Core, OWN_CORE, Thread, busy_time::BusyTimes, rank_records::RankRecords, rank_records::StepTimes,
    task_cost::TaskCost, thread::Follower, thread::Task,
};

/// Threads of a shard's hosts, the cores that they share, and the memory that they copy in.
#[derive(Default)]
pub struct Processors {
    /// Threads of ranks and streams.
    pub threads: SlidingVec<ThreadIndex, Thread>,
    /// Flows that wait for others, by the threads that these have here.
    pub followers: Vec<Follower>,
    /// Cores of all hosts, where ranks and receive queues share them.
    pub cores: IndexVec<CoreIndex, Core>,
    /// When the memory of each host has copied all that was begun, where that has a rate.
    pub memory_free_at: IndexVec<HostIndex, Time>,
    /// Whether records of ranks are kept.
    pub observes_ranks: bool,
    /// Whether tasks of threads are noted: for records of ranks, or for samples of hosts.
    pub notes_tasks: bool,
    /// Times of threads and receive queues, where hosts are sampled.
    pub busy: BusyTimes,
    /// Notes of their steps and messages.
    pub records: RankRecords,
}

impl Processors {
    /// A job has made progress. Of one in the background that says nothing where others may be stuck.
    #[inline]
    pub fn progress_of(&mut self, wires: &mut Wires, thread: ThreadIndex) {
        let constants = &wires.constants;
        if !constants.has_background || !constants.is_background[self.threads[thread].job as usize] {
            wires.totals.last_progress = wires.now;
        }
    }

    /// Occupies a thread, with a hint at what the task will touch. Inlined, so that the task is written in its place at
    /// once: read back from the stack in one piece, parts written just before wait for all earlier writes.
    #[inline(always)]
    pub(super) fn begin(
        &mut self,
        wires: &mut Wires,
        thread: ThreadIndex,
        task: Task,
        cost: TaskCost,
        hint: PrefetchHint,
    ) {
        let alone = cost;
        let cost = self.time_with_memory(wires, self.threads[thread].host, cost);
        let state = &mut self.threads[thread];
        debug_assert!(state.current.is_none(), "a thread does one thing at a time");
        state.current = Some(task);
        let place = state.place;
        let mut done = wires.now + cost;
        if state.core != OWN_CORE {
            let core = &mut self.cores[state.core];
            state.interrupts = Some(core.interrupts());
            done = core.begin(wires.now, cost);
        }
        if self.notes_tasks {
            let copied = (alone.copying + (cost - alone.time)).min(cost);
            self.note_task(wires, thread, done, StepTimes { worked: cost, copied });
        }
        let key = wires.key(place, Kind::ThreadDone, thread.get());
        wires.queue.push(Event { time: done, key, bits: 0, hint });
    }

    /// Has a thread perform its present operation without a core: it sleeps.
    pub(super) fn sleep(&mut self, wires: &mut Wires, thread: ThreadIndex, duration: Duration) {
        let state = &mut self.threads[thread];
        let task = Task::Step(EndpointIndex::new(0));
        (state.current, state.interrupts) = (Some(task), None);
        if self.notes_tasks {
            let times = StepTimes { worked: duration, copied: Duration::ZERO };
            self.note_task(wires, thread, wires.now + duration, times);
        }
        let place = self.threads[thread].place;
        wires.schedule(duration, place, Kind::ThreadDone, thread.get());
    }

    /// Whether interrupts have taken the core from the present task: it is done later by so much.
    pub(super) fn is_postponed(&mut self, wires: &mut Wires, thread: ThreadIndex) -> bool {
        let state = &mut self.threads[thread];
        let Some(before) = state.interrupts else { return false };
        let interrupts = self.cores[state.core].interrupts();
        state.interrupts = Some(interrupts);
        let place = state.place;
        if interrupts > before {
            wires.schedule(interrupts - before, place, Kind::ThreadDone, thread.get());
            if self.notes_tasks {
                self.note_postponed(thread, interrupts - before);
            }
        }
        interrupts > before
    }

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
