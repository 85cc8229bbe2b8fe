//! A simulation: shards, and the windows in which they run.

use std::{sync::OnceLock, sync::atomic::AtomicBool, sync::atomic::Ordering};

use etherweave_engine::{frame::pause::priorities, params::PfcWatchdog, totals::EventTotals};
use etherweave_kernel::memory::return_free_memory;
use etherweave_kernel::{Agreement, Division, Exchange, Processes, ThreadEnd, Threads, on_threads, serve_windows};
use etherweave_primitives::{Duration, Time};

use crate::remote::{RunState, WorkerOutbox, post};
use crate::shard::Shard;
use crate::window_times::{Clock, ShardTimes, Watch};

/// Simulated time between two reports of progress, at least.
const REPORT_WINDOW: Duration = Duration::from_us(20);

/// Time without progress after which a deadlock is looked for the first time; each further time after ten times as
/// long.
const DEADLOCK_AFTER: Duration = Duration::from_ms(1);

/// Ends of connections whose set-up leaves so much free memory that the run begins with the kernel taking it back.
const ENDPOINTS_MANY: usize = 1 << 18;

/// Iterations of a rank that divide a run into tenths.
const ITERATIONS_MIN: u64 = 10;

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Packet-hops so far, of all shards by extrapolation from one.
    pub hops: u64,
    /// Events so far, likewise.
    pub events: u64,
    /// Share of the measured iterations that is done, of one shard; where ranks have few of them, of the expected
    /// packets, if they are known. `None` when there are neither. Of iterations that are skipped it counts none.
    pub fraction: Option<f64>,
    /// The same share if repetitions are skipped as soon as can be; `None` where no more are.
    pub fraction_max: Option<f64>,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finish {
    /// Every foreground job and counted stream is done.
    Complete,
    /// The time limit was reached first.
    TimeLimit,
    /// The caller asked to stop.
    Interrupted,
    /// No event can make progress: which ports and ranks wait for what.
    Stuck(String),
}

/// Why the windows ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StopReason {
    Complete,
    TimeLimit,
    Interrupted,
    Stuck,
    /// The watched loop has begun a repetition.
    LoopTurned,
}

/// A built run.
pub struct Simulation {
    /// Those of this process, consecutive.
    pub(crate) shards: Vec<Shard>,
    pub(crate) division: Division,
    pub(crate) lookahead: Duration,
    pub(crate) stall_limit: Duration,
    pub(crate) names: crate::report::ReportNames,
    pub(crate) end: Time,
    /// Clock of the real times of windows.
    pub(crate) clock: Option<Clock>,
    pub(crate) window_times: Vec<ShardTimes>,
    /// Packets that will be delivered, as far as is known before the run.
    pub(crate) packets: Option<u64>,
    /// Ports that wait for each other for ever, once the run is over; on the first process.
    pub(crate) deadlock: Option<String>,
    /// Whether links that fail or return, or hosts that stop to pause, may end a deadlock.
    pub(crate) has_faults: bool,
    /// Repetitions that are not simulated, where they may be skipped.
    pub(crate) forward: Option<Box<crate::forward::FastForward>>,
}

impl Simulation {
    /// Says how many packets will be delivered, by which progress is measured where ranks have few iterations.
    pub fn expect_packets(&mut self, packets: Option<u64>) {
        self.packets = packets;
    }

    /// Runs until all foreground work is done, or `end`. `on_progress` is called from time to time and returns whether
    /// to continue.
    pub fn run(&mut self, end: Time, on_progress: &mut dyn FnMut(Progress) -> bool) -> Finish {
        self.run_on(&Processes::ALONE, end, on_progress)
    }

    /// The same on the processes for which it was built, of which each calls this; the first learns why a stuck run is
    /// stuck.
    pub fn run_on(
        &mut self,
        processes: &Processes,
        end: Time,
        on_progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Finish {
        let ends = self.shards.iter().map(|shard| shard.hosts.nics.endpoints.len());
        if ends.sum::<usize>() > ENDPOINTS_MANY {
            return_free_memory();
        }
        on_threads(&mut self.shards, |_, shard| shard.prepare_memory());
        let (lookahead, stall_limit) = (self.lookahead, self.stall_limit);
        let (mut next_report, count) = (NextReport::default(), self.division.shards as u64);
        // Of iterations that are skipped no packet is delivered.
        let packets = self.packets.filter(|_| self.forward.is_none());
        let mut may_continue =
            |shard: &Shard| !next_report.is_due(shard) || on_progress(progress(shard, count, packets));
        let mut serve = |simulation: &mut Simulation, end: Time, stops_at_turns: bool| {
            let mut stall = if simulation.has_faults { stall_limit } else { stall_limit.min(DEADLOCK_AFTER) };
            loop {
                let limits = Limits { end, lookahead, stall, stops_at_turns };
                let reason = if processes.are_several() {
                    limits.windows(&mut simulation.shards, simulation.division, processes.end(), &mut may_continue)
                } else {
                    simulation.run_on_threads(&limits, &mut may_continue)
                };
                if reason != StopReason::Stuck || stall == stall_limit || simulation.is_deadlocked(processes) {
                    return reason;
                }
                stall = stall_limit.min(stall * 10);
            }
        };
        let reason = self.run_forward(end, processes, &mut serve);
        let last = self.shards.iter().map(|shard| shard.wires.now).max().unwrap_or(Time::ZERO);
        self.end = processes.share(last).into_iter().max().expect("a run has a process");
        if reason == StopReason::TimeLimit {
            self.end = Time::from_ps(end.as_ps() - self.skipped().as_ps());
        }
        self.shards.iter_mut().for_each(|shard| shard.end(self.end));
        self.assert_credits_are_conserved();
        let is_final = self.is_deadlocked(processes);
        match reason {
            StopReason::Complete => Finish::Complete,
            // What waits for itself would wait after the time limit too, unless a watchdog ends it.
            StopReason::TimeLimit if !is_final => Finish::TimeLimit,
            StopReason::Interrupted => Finish::Interrupted,
            StopReason::LoopTurned => unreachable!("the run goes on then"),
            StopReason::TimeLimit | StopReason::Stuck => Finish::Stuck(self.waiting_ports_and_ranks(processes)),
        }
    }

    /// Whether ports wait for each other for ever, and no watchdog ends it. Keeps which.
    fn is_deadlocked(&mut self, processes: &Processes) -> bool {
        self.deadlock = self.deadlock(processes);
        let acts = |shard: &Shard| shard.wires.constants.watchdog.as_ref().is_some_and(PfcWatchdog::acts);
        let is_final = self.deadlock.is_some() && !self.shards.iter().any(acts);
        processes.share(u64::from(is_final)).into_iter().any(|is_final| is_final > 0)
    }

    /// Ends a run in whose midst a panic was caught at the latest time that a shard has reached.
    pub fn end_where_it_is(&mut self) {
        self.end = self.shards.iter().map(|shard| shard.wires.now).max().unwrap_or(Time::ZERO);
    }

    /// A thread to each shard; those that would wait serve shards of others.
    fn run_on_threads(&mut self, limits: &Limits, may_continue: &mut dyn FnMut(&Shard) -> bool) -> StopReason {
        let division = self.division.among(self.shards.len());
        let threads = &Threads::new(division.workers);
        let clock = self.clock;
        let worker = |(number, (shard, times))| {
            let end = threads.end(number);
            ThreadWorker { shard, end, posted: Time::MAX, met: 0, times, clock }
        };
        let (is_stopped, reason) = (AtomicBool::new(false), OnceLock::new());
        let serve = |worker: &mut ThreadWorker| match limits.turn(worker, division, is_stopped.load(Ordering::Relaxed))
        {
            Ok(()) => false,
            Err(why) => *reason.get_or_init(|| why) == why,
        };
        let shards = self.shards.iter_mut().zip(&mut self.window_times);
        serve_windows(shards.enumerate().map(worker), serve, |first| {
            // It has met the others once before it serves its first window.
            if first.met > 1 && !may_continue(first.shard) {
                is_stopped.store(true, Ordering::Relaxed);
            }
        });
        reason.into_inner().expect("the windows have ended for a reason")
    }

    /// Keeps the real times of windows from now on, by a clock.
    pub fn keep_window_times(&mut self, clock: Clock) {
        self.clock = Some(clock);
    }

    /// Simulated time that a window lasts.
    pub fn lookahead(&self) -> Duration {
        self.lookahead
    }

    /// Real times and number of events of each shard of this process; without a clock, times of 0.
    pub fn window_times(&self) -> impl ExactSizeIterator<Item = (&ShardTimes, u64)> {
        self.window_times.iter().zip(self.shards.iter().map(|shard| shard.wires.totals.events))
    }

    /// The shard of a number, if this process has it.
    pub(crate) fn shard(&self, id: u32) -> Option<&Shard> {
        self.shards.get((id as usize).checked_sub(self.shards.first()?.wires.id as usize)?)
    }
}

/// When progress is reported next: adding it up visits every thread, and a shard of a million of them serves as many
/// events in between.
#[derive(Default)]
struct NextReport {
    time: Time,
    events: u64,
}

impl NextReport {
    fn is_due(&mut self, shard: &Shard) -> bool {
        let is_due = shard.wires.now >= self.time && shard.wires.totals.events >= self.events;
        if is_due {
            self.time = shard.wires.now + REPORT_WINDOW;
            self.events = shard.wires.totals.events + shard.hosts.processors.threads.len() as u64;
        }
        is_due
    }
}

/// The progress of `shards` shards, extrapolated from one, where so many packets are expected of all.
fn progress(shard: &Shard, shards: u64, packets: Option<u64>) -> Progress {
    let EventTotals { hops, events, delivered, .. } = shard.wires.totals;
    let (done, all, most) = shard.hosts.processors.iterations();
    let by_packets = |packets: u64| ((delivered * shards) as f64 / packets.max(1) as f64).min(1.0);
    let work = shard.skipped_work;
    let by_iterations = (all > 0).then(|| work.share(done, all, 0));
    let fraction = packets.filter(|_| (1..ITERATIONS_MIN).contains(&most)).map(by_packets).or(by_iterations);
    let skippable = |needed| shard.hosts.processors.skippable(needed);
    let fraction_max = work.needed.filter(|_| all > 0).map(|needed| work.share(done, all, skippable(needed)));
    Progress { now: shard.wires.now, hops: hops * shards, events: events * shards, fraction, fraction_max }
}

struct ThreadWorker<'a> {
    shard: &'a mut Shard,
    end: ThreadEnd<'a, WorkerOutbox, RunState>,
    /// When the first of what it did to others in its last window happens.
    posted: Time,
    met: u64,
    times: &'a mut ShardTimes,
    clock: Option<Clock>,
}

/// When a run ends, and how far shards may run without each other.
#[derive(Clone, Copy)]
struct Limits {
    end: Time,
    lookahead: Duration,
    stall: Duration,
    /// Whether to stop when the watched loop turns.
    stops_at_turns: bool,
}

impl Limits {
    /// One process's share: window after window, until the run is over.
    fn windows(
        &self,
        shards: &mut [Shard],
        division: Division,
        mut exchange: impl Exchange<WorkerOutbox, RunState>,
        may_continue: &mut dyn FnMut(&Shard) -> bool,
    ) -> StopReason {
        let (mut posted, mut is_stopped) = (Time::MAX, false);
        loop {
            let own = RunState::of(shards, posted, is_stopped);
            let state = exchange.meet(own, |outbox| outbox.deliver(shards));
            posted = match self.window(shards, division, &mut exchange, &state) {
                Ok(posted) => posted,
                Err(reason) => return reason,
            };
            is_stopped = shards.first().is_some_and(|shard| !may_continue(shard));
        }
    }

    /// The same of one window of a thread's worker: takes what others have left, serves, and leaves what they need.
    fn turn(&self, worker: &mut ThreadWorker, division: Division, is_stopped: bool) -> Result<(), StopReason> {
        let ThreadWorker { shard, end, posted, met, times, clock } = worker;
        let shards = std::slice::from_mut(&mut **shard);
        let mut slowest = 0;
        if *met > 0 {
            let mut watch = Watch::of(*clock);
            let state = end.take(|outbox| outbox.deliver(shards));
            times.taken += watch.read();
            times.slowest += state.slowest;
            *posted = self.window(shards, division, end, &state)?;
            slowest = watch.read();
            times.served += slowest;
            times.windows += 1;
        }
        end.leave(RunState { slowest, ..RunState::of(shards, *posted, is_stopped) });
        *met += 1;
        Ok(())
    }

    /// Serves a window that begins with a state; returns when the first of what happens elsewhere is, or why there is
    /// no window.
    fn window(
        &self,
        shards: &mut [Shard],
        division: Division,
        exchange: &mut impl Exchange<WorkerOutbox, RunState>,
        state: &RunState,
    ) -> Result<Time, StopReason> {
        if let Some(reason) = self.reason(state) {
            return Err(reason);
        }
        let until = (state.next + self.lookahead).min(self.end_from(state));
        shards.iter_mut().for_each(|shard| shard.serve(until));
        Ok(post(shards, division, exchange))
    }

    /// The end of the run, as far as it is known: a lookahead after the end of the last job, which every shard has then
    /// served until, wherever windows begin.
    fn end_from(&self, state: &RunState) -> Time {
        if state.unfinished == 0 { self.end.min(state.last_end + self.lookahead) } else { self.end }
    }

    /// Why the run is over before a window, if it is.
    fn reason(&self, state: &RunState) -> Option<StopReason> {
        let &RunState { next, unfinished, last_progress, is_stopped, has_turned, .. } = state;
        if unfinished == 0 {
            (next >= self.end_from(state)).then_some(StopReason::Complete)
        } else if next == Time::MAX || next.since(last_progress) > self.stall {
            Some(if next == Time::MAX || next < self.end { StopReason::Stuck } else { StopReason::TimeLimit })
        } else if next >= self.end {
            Some(StopReason::TimeLimit)
        } else if is_stopped {
            Some(StopReason::Interrupted)
        } else {
            (has_turned && self.stops_at_turns).then_some(StopReason::LoopTurned)
        }
    }
}

impl RunState {
    /// State of a worker that has posted something for a time.
    fn of(shards: &mut [Shard], posted: Time, is_stopped: bool) -> RunState {
        let own = RunState { next: posted, is_stopped, ..RunState::default() };
        shards.iter_mut().fold(own, |state, shard| state.and(shard))
    }

    fn and(self, shard: &mut Shard) -> RunState {
        let next = shard.wires.queue.next_time().unwrap_or(Time::MAX);
        if next < Time::MAX && shard.wires.fluid.as_ref().is_some_and(|fluid| fluid.has_messages()) {
            // Flows have a rate at any time: bytes arrive until the next event.
            shard.wires.totals.last_progress = next;
        }
        let has_turned = shard.watch.as_ref().is_some_and(|watch| watch.is_due(&shard.hosts));
        let EventTotals { unfinished, last_progress, last_end, .. } = shard.wires.totals;
        self.with(RunState { next, unfinished, last_progress, last_end, has_turned, ..RunState::default() })
    }
}

impl Simulation {
    /// Credits are neither lost nor made up: what a sender may send, what it has granted and not sent, what is on the
    /// wire, what the receiver holds and what is on its way back are the receiver's buffer.
    ///
    /// # Panics
    /// When they are not.
    pub(crate) fn assert_credits_are_conserved(&self) {
        if self.shards.iter().all(|shard| !shard.wires.credits.are_used()) {
            return;
        }
        let travelling: Vec<_> = self.shards.iter().map(|shard| shard.wires.travelling()).collect();
        for (shard, here) in self.shards.iter().zip(&travelling) {
            for (index, port) in shard.wires.credits.ports.entries() {
                let peer = shard.wires.ports[index].peer;
                let (Some(far), far_port) = (self.shard(shard.wires.impaired_links.shard_at(peer.link)), peer.port)
                else {
                    continue;
                };
                let arriving = &travelling[(far.wires.id - self.shards[0].wires.id) as usize][far_port];
                for priority in priorities(shard.wires.credits.priorities) {
                    let channel = &port.channels[priority];
                    let held = far.wires.credits.ports[far_port].channels[priority].held;
                    let on_wire = arriving[priority].packets;
                    let granted = shard.switches.granted(&shard.wires, index)[priority];
                    let sum = channel.available + granted + on_wire + held + here[index][priority].credits;
                    assert_eq!(sum, channel.limit, "credits of priority {priority} of port {index:?}");
                }
            }
        }
    }
}
