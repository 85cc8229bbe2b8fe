//! A simulation: shards, and the windows in which they run.

use std::sync::atomic::Ordering;

use etherweave_primitives::{Duration, Time};

use super::exchange::{Breaker, Exchange};
use super::shard::{Shard, ShardTotals};

/// Simulated time between two reports of progress, at least.
const REPORT_WINDOW: Duration = Duration::from_us(20);

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Packet-hops so far, of all shards by extrapolation from one.
    pub hops: u64,
    /// Events so far, likewise.
    pub events: u64,
    /// Share of the measured iterations that is done, of one shard; `None` when there are none.
    pub fraction: Option<f64>,
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
enum StopReason {
    Complete,
    TimeLimit,
    Interrupted,
    Stuck,
}

/// A built run.
pub struct Simulation {
    pub(crate) shards: Vec<Shard>,
    pub(crate) lookahead: Duration,
    pub(crate) stall_limit: Duration,
    pub(crate) names: crate::report::ReportNames,
    pub(crate) end: Time,
}

impl Simulation {
    /// Runs until all foreground work is done, or `end`. `on_progress` is called from time to time and returns whether
    /// to continue.
    pub fn run(&mut self, end: Time, on_progress: &mut dyn FnMut(Progress) -> bool) -> Finish {
        self.shards.iter().for_each(Shard::prepare_memory);
        let verdict =
            if self.shards.len() == 1 { self.run_alone(end, on_progress) } else { self.run_together(end, on_progress) };
        self.end = self.shards.iter().map(|shard| shard.now).max().unwrap_or(Time::ZERO);
        if verdict == StopReason::TimeLimit {
            self.end = end;
        }
        for shard in &mut self.shards {
            shard.settle_pauses(self.end);
            shard.credits.settle(self.end);
            shard.end_samples(self.end);
        }
        self.assert_credits_are_conserved();
        match verdict {
            StopReason::Complete => Finish::Complete,
            StopReason::TimeLimit => Finish::TimeLimit,
            StopReason::Interrupted => Finish::Interrupted,
            StopReason::Stuck => Finish::Stuck(self.waiting_ports_and_ranks()),
        }
    }

    /// The sum over shards.
    pub(crate) fn totals(&self) -> ShardTotals {
        let mut sum = ShardTotals::default();
        for totals in self.shards.iter().map(|shard| &shard.totals) {
            sum.created += totals.created;
            sum.delivered += totals.delivered;
            sum.dropped += totals.dropped;
            sum.damaged += totals.damaged;
            sum.lost += totals.lost;
            sum.hops += totals.hops;
            sum.events += totals.events;
            sum.unfinished += totals.unfinished;
            sum.last_progress = sum.last_progress.max(totals.last_progress);
        }
        sum
    }

    /// One shard needs no windows for its order; it stops between windows to report progress. The instant at which the
    /// last job ends is the end of its window on any number of threads, so windows are the same as with many shards.
    fn run_alone(&mut self, end: Time, on_progress: &mut dyn FnMut(Progress) -> bool) -> StopReason {
        let (lookahead, stall_limit) = (self.lookahead, self.stall_limit);
        let shard = &mut self.shards[0];
        let mut next_report = NextReport::default();
        loop {
            let next = shard.queue.next_time().unwrap_or(Time::MAX);
            if let Some(verdict) = verdict(next, end, shard.totals.unfinished, shard.totals.last_progress, stall_limit)
            {
                return verdict;
            }
            shard.serve((next + lookahead).min(end));
            if next_report.is_due(shard) && !on_progress(progress(shard, 1)) {
                return StopReason::Interrupted;
            }
        }
    }

    fn run_together(&mut self, end: Time, on_progress: &mut dyn FnMut(Progress) -> bool) -> StopReason {
        let (lookahead, stall_limit) = (self.lookahead, self.stall_limit);
        let exchange = &Exchange::new(self.shards.len());
        let (first, others) = self.shards.split_first_mut().expect("a simulation has a shard");
        let count = others.len() as u64 + 1;
        std::thread::scope(|scope| {
            for shard in others {
                scope.spawn(move || windows(shard, exchange, end, lookahead, stall_limit, &mut |_| true));
            }
            let mut next_report = NextReport::default();
            windows(first, exchange, end, lookahead, stall_limit, &mut |shard| {
                !next_report.is_due(shard) || on_progress(progress(shard, count))
            })
        })
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
        let is_due = shard.now >= self.time && shard.totals.events >= self.events;
        if is_due {
            self.time = shard.now + REPORT_WINDOW;
            self.events = shard.totals.events + shard.threads.len() as u64;
        }
        is_due
    }
}

/// The progress of `shards` shards, extrapolated from one.
fn progress(shard: &Shard, shards: u64) -> Progress {
    let ShardTotals { hops, events, .. } = shard.totals;
    let (done, all) = shard.iterations();
    let fraction = (all > 0).then(|| done as f64 / all as f64);
    Progress { now: shard.now, hops: hops * shards, events: events * shards, fraction }
}

/// One thread's share: window after window, until the run is over.
fn windows(
    shard: &mut Shard,
    exchange: &Exchange,
    end: Time,
    lookahead: Duration,
    stall_limit: Duration,
    may_continue: &mut dyn FnMut(&Shard) -> bool,
) -> StopReason {
    let id = shard.id as usize;
    let _breaker = Breaker(&exchange.barrier);
    loop {
        exchange.take(id, |outbox| shard.receive(outbox));
        exchange.next[id].store(shard.queue.next_time().unwrap_or(Time::MAX).as_ps(), Ordering::Release);
        exchange.unfinished[id].store(shard.totals.unfinished, Ordering::Release);
        exchange.last_progress[id].store(shard.totals.last_progress.as_ps(), Ordering::Release);
        exchange.barrier.wait();
        let next = Time::from_ps(Exchange::least(&exchange.next));
        let unfinished = exchange.unfinished.iter().map(|left| left.load(Ordering::Acquire)).sum();
        let last = exchange.last_progress.iter().map(|last| last.load(Ordering::Acquire)).max().unwrap_or(0);
        if let Some(verdict) = verdict(next, end, unfinished, Time::from_ps(last), stall_limit) {
            return verdict;
        }
        if exchange.stop.load(Ordering::Acquire) {
            return StopReason::Interrupted;
        }
        shard.serve((next + lookahead).min(end));
        for to in 0..shard.outboxes.len() {
            exchange.put(id, to, &mut shard.outboxes[to]);
        }
        exchange.barrier.wait();
        // Only now: all threads have read the flag for this window, none has for the next.
        if !may_continue(shard) {
            exchange.stop.store(true, Ordering::Release);
        }
    }
}

/// Whether, before a window that would start at `next`, the run is over.
fn verdict(next: Time, end: Time, unfinished: u64, last_progress: Time, stall_limit: Duration) -> Option<StopReason> {
    if unfinished == 0 {
        Some(StopReason::Complete)
    } else if next == Time::MAX || next.since(last_progress) > stall_limit {
        Some(if next == Time::MAX || next < end { StopReason::Stuck } else { StopReason::TimeLimit })
    } else if next >= end {
        Some(StopReason::TimeLimit)
    } else {
        None
    }
}
