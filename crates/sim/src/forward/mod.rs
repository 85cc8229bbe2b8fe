//! Fast forward: repetitions of loops that are like those before are not simulated.
//!
//! ```text
//!   turns of the loop     │    │    │    │ from              until │                         │
//!   simulated          ───┴────┴────┴────┤ these stand for others  ├── the same state ── … ──┤ the last ones
//!                                        │                         │   further on in the     │
//!                                                                      programs
//! ```
//!
//! A skip moves all ranks forward in their programs by the same repetitions, and nothing else: clocks, packets and
//! connections stay as they are, since nothing in a run depends on when it happens. What the skipped repetitions would
//! have counted is added to the report, and their time to all that follows. Where no rank is in a loop, packets of the
//! messages in progress are the repetitions, and a skip shortens these messages.

mod budget;
mod candidate;
mod messages;
mod series;
mod standing;

use etherweave_engine::fingerprint::Fingerprint;
use etherweave_host::Role;
use etherweave_kernel::Processes;
use etherweave_primitives::{Duration, Time, mix};
use etherweave_workload::{LoopPlace, Share};

use budget::ComparisonBudget;
use candidate::{Candidate, Passes, Places, fewest_messages};
use messages::{MessagePlace, Stops, TURNS_MAX, shorten};
pub use series::SkipLevel;
use series::{Prospect, Series, Turn, parts, percent};
use standing::{ExpectedTurn, Standing};

use crate::report::{Repeated, SkipRow};
use crate::{loop_watch::LoopWatch, run::Simulation, run::StopReason, shard::Shard};

/// Cycles of congestion control that four batches have at least.
const CYCLES_MIN: u64 = 8;

/// Runs a part of a run until a time, or until the watched loop turns.
type Serve<'a> = &'a mut dyn FnMut(&mut Simulation, Time, bool) -> StopReason;

/// Skips that are allowed, and the share of them that is checked.
#[derive(Clone, Copy, Debug)]
pub struct SkipLimits {
    /// Largest difference between mean times of batches of repetitions from which on others are taken to last as long.
    pub error: Share,
    /// Share of the skips by such times that are simulated instead, and compared with what would have been skipped.
    pub shadows: Share,
}

/// A turn: of the watched loop, or of the watched message while no rank is in a loop.
struct TurnedPlace {
    time: Time,
    place: LoopPlace,
    /// All events before are served when it is looked at.
    at: Time,
    is_of_loop: bool,
}

/// A skip that is simulated: what was expected of it.
struct Shadow {
    row: SkipRow,
    start: Time,
    /// Complete repetitions at its start.
    done: u32,
}

pub(crate) struct FastForward {
    limits: SkipLimits,
    seed: u64,
    /// Time by which all jobs have begun and the warm-up is over.
    from: Time,
    job: Option<(u32, u32)>,
    stops: Stops,
    budget: ComparisonBudget,
    /// Messages in progress at the last turn; none at that of a loop.
    messages: Vec<MessagePlace>,
    series: Series,
    /// Turns that may stand for others, by level.
    candidates: [Option<Candidate>; SkipLevel::ALL.len()],
    shadow: Option<Shadow>,
    /// Parts that were skipped, in order.
    pub skips: Vec<(SkipRow, Repeated)>,
    /// Parts that were simulated instead, in order.
    pub shadows: Vec<SkipRow>,
    /// Reason not to skip at the last turn, or the key of state that digests leave out.
    pub obstacle: Option<String>,
    /// Whether it forbids to skip.
    is_blocked: bool,
    /// Whether digests have all that matters, so far.
    is_complete: bool,
    /// Whether there was a turn.
    has_turned: bool,
    /// Whether nothing will be skipped any more.
    has_ended: bool,
}

impl FastForward {
    /// State before the first event of a run in which all jobs have begun by `from`.
    pub fn new(limits: SkipLimits, seed: u64, from: Time, lookahead: Duration) -> FastForward {
        let (series, skips, shadows) = (Series::default(), Vec::new(), Vec::new());
        let (job, obstacle, candidates, shadow) = (None, None, [None, None], None);
        let (is_blocked, is_complete, has_turned, has_ended) = (false, true, false, false);
        let (stops, budget) = (Stops::new(lookahead), ComparisonBudget::new());
        FastForward {
            limits,
            seed,
            from,
            job,
            stops,
            budget,
            messages: Vec::new(),
            series,
            candidates,
            shadow,
            skips,
            shadows,
            obstacle,
            is_blocked,
            is_complete,
            has_turned,
            has_ended,
        }
    }

    /// Repetitions that come before some are skipped, at least; none where nothing will be skipped any more.
    fn needed(&self) -> Option<u32> {
        let of_level = |level: SkipLevel| match &self.candidates[level as usize] {
            Some(candidate) => Some(candidate.turns_left(&self.series)),
            None => self.series.turns_min(level, self.limits.error, self.is_complete),
        };
        let turns = SkipLevel::ALL.into_iter().filter_map(of_level).min();
        turns.filter(|_| !self.has_ended).map(|turns| turns as u32)
    }

    /// Whether a skip is simulated instead, by a hash of the seed and its number.
    fn is_shadow(&self, level: SkipLevel) -> bool {
        let number = (self.skips.len() + self.shadows.len()) as u64;
        level == SkipLevel::Steady && mix(mix(self.seed) ^ number) % Share::PARTS < self.limits.shadows.parts()
    }

    /// Compares a skip that is simulated with its expectation, once its repetitions are over: `place` is the place of a
    /// turn at `time`. Returns whether it goes on.
    fn is_in_shadow(&mut self, time: Time, place: LoopPlace) -> bool {
        let Some(Shadow { row, start, done }) = &self.shadow else { return false };
        let passed = u64::from(place.done.saturating_sub(*done));
        if passed < row.repetitions {
            return true;
        }
        // The last turn may be one of a window with several.
        let expected = (row.until.since(row.from) / row.repetitions * passed).as_ps();
        let span = time.since(*start).as_ps();
        let error = parts(expected.abs_diff(span), span) as f64 / Share::PARTS as f64;
        self.shadows.push(SkipRow { error, ..*row });
        self.restart();
        false
    }

    /// Time that was skipped.
    pub fn skipped(&self) -> Duration {
        self.skips.iter().fold(Duration::ZERO, |sum, (_, repeated)| sum + repeated.span())
    }

    /// Begins anew behind messages that begin or end, or where none goes on.
    fn is_between(&mut self, reason: String) {
        if !self.has_turned {
            let times = LoopPlace::TIMES_MIN;
            self.obstacle = Some(format!("no rank is in a loop of {times} repetitions or more, and {reason}"));
        }
        self.restart();
    }

    /// Expectation of turns to come; that within messages, by their rates, has batches of several cycles of congestion
    /// control.
    ///
    /// # Errors
    /// The reason why there is none, where it has a name.
    fn prospect(&self, level: SkipLevel, cycle: Duration) -> Result<Prospect, Option<String>> {
        let is_within = level == SkipLevel::Steady && self.series.has_messages();
        if is_within && !self.series.is_due() {
            return Err(None);
        }
        let prospect = self.series.prospect(level, self.limits.error, self.is_complete)?;
        let is_long = prospect.span >= cycle * CYCLES_MIN;
        let reason = || Some("batches of turns have fewer than two cycles of congestion control".to_owned());
        if is_within && !is_long { Err(reason()) } else { Ok(prospect) }
    }

    /// Turns of messages after which they are made longer: with an error batches of them grow before.
    fn turns_max(&self) -> usize {
        if self.limits.error == Share::NONE { TURNS_MAX } else { 4 * TURNS_MAX }
    }

    /// Begins the series anew where a turn is not like those in it, or where too many have shown nothing.
    fn keep_comparable(&mut self, turn: &TurnedPlace, places: &Places, goes_on: bool, is_comparing: bool) {
        let place = turn.place;
        let key = |place: LoopPlace| (place.first, place.times);
        let is_other = |last: &Turn| key(last.place) != key(place) || last.place.done >= place.done;
        let messages = |all: &[MessagePlace]| all.iter().map(MessagePlace::message).collect::<Vec<_>>();
        let are_others = messages(&self.messages) != messages(&places.messages);
        if self.series.last().is_some_and(is_other) || are_others || !goes_on {
            self.restart();
        } else if !turn.is_of_loop && self.series.len() > self.turns_max() {
            // Where arrivals are not compared any more, little was found.
            (0..if is_comparing { 1 } else { 2 }).for_each(|_| self.stops.lengthen());
            self.restart();
        }
    }

    /// A turn of a loop of the watched job, by which those of its other ranks are expected.
    fn expected(&self, turn: &TurnedPlace) -> Option<ExpectedTurn> {
        let &TurnedPlace { time, place, is_of_loop, .. } = turn;
        let period = self.series.last().map_or(Duration::ZERO, |last| {
            time.since(last.time) / u64::from(place.done.saturating_sub(last.place.done).max(1))
        });
        self.job.filter(|_| is_of_loop).map(|(job, _)| ExpectedTurn { job, time, done: place.done, period })
    }

    fn restart(&mut self) {
        (self.series, self.candidates, self.shadow) = (Series::default(), [None, None], None);
    }
}

impl Simulation {
    /// Runs until `end`, less what is skipped.
    pub(crate) fn run_forward(&mut self, end: Time, processes: &Processes, serve: Serve<'_>) -> StopReason {
        let Some(mut forward) = self.forward.take() else { return serve(self, end, false) };
        let reason = loop {
            let until = Time::from_ps(end.as_ps() - forward.skipped().as_ps());
            let is_in_loop = self.watch_loop(&mut forward, processes);
            if is_in_loop || forward.series.len() == 0 {
                let needed = forward.needed();
                self.shards.iter_mut().for_each(|shard| shard.skipped_work.needed = needed);
            }
            let is_whole = is_in_loop || forward.has_ended;
            let stop = if is_whole { until } else { forward.stops.next(&mut self.shards, processes).min(until) };
            let reason = serve(self, stop, !forward.has_ended);
            let turn = match reason {
                StopReason::LoopTurned => self.turn(processes),
                StopReason::TimeLimit if stop < until => {
                    match forward.message_turn((&self.shards, &self.names.jobs), stop, processes) {
                        None => {
                            compare_arrivals(&mut self.shards, false);
                            continue;
                        }
                        turn => turn,
                    }
                }
                StopReason::Complete if stop < until => break serve(self, until, false),
                _ => None,
            };
            let Some(turn) = turn else { break reason };
            let reason = serve(self, turn.at.min(until), false);
            if reason == StopReason::Complete {
                break serve(self, until, false); // It ends later than this part.
            }
            if reason != StopReason::TimeLimit || turn.at >= until {
                break reason;
            }
            self.fast_forward(&mut forward, turn, until, processes);
        };
        self.forward = Some(forward);
        reason
    }

    /// Has the shard of the first rank that is not done report when its loop turns. Whether it is in one.
    fn watch_loop(&mut self, forward: &mut FastForward, processes: &Processes) -> bool {
        let first = |shard: &Shard| {
            let is_background = &shard.wires.constants.is_background;
            let threads = shard.hosts.processors.threads.entries();
            let ranks = threads.filter_map(|(index, thread)| match &thread.role {
                Role::Rank(rank) if !rank.is_done && !is_background[thread.job as usize] => {
                    Some(((thread.job, rank.rank), (index, rank.loop_place().is_some())))
                }
                _ => None,
            });
            ranks.min()
        };
        let own: Vec<_> = self.shards.iter().map(first).collect();
        let least = own.iter().flatten().map(|&(rank, (_, is_in_loop))| (rank, is_in_loop)).min();
        let first = processes.share(least).into_iter().flatten().min();
        let job = first.map(|(rank, _)| rank);
        if forward.job != job {
            forward.job = job;
            forward.restart();
        }
        for (shard, first) in self.shards.iter_mut().zip(own) {
            shard.watch = first.filter(|&(rank, _)| Some(rank) == job).map(|(_, (thread, _))| {
                let place = shard.watch.filter(|watch| watch.thread == thread).and_then(|watch| watch.place);
                LoopWatch { thread, place }
            });
        }
        first.is_some_and(|(_, is_in_loop)| is_in_loop)
    }

    /// The turn of the loop; the watch goes on from there.
    fn turn(&mut self, processes: &Processes) -> Option<TurnedPlace> {
        let own = self.shards.iter_mut().find_map(|shard| {
            let watch = shard.watch?;
            let rank = watch.rank(&shard.hosts);
            let (place, time) = (rank.loop_place()?, rank.turned_at());
            shard.watch = Some(LoopWatch { place: Some(place), ..watch });
            Some((time, place.first, (place.times, place.done)))
        });
        let (time, first, (times, done)) = processes.share(own).into_iter().flatten().next()?;
        // No shard is further by then, on any number of threads.
        let at = time + self.lookahead;
        Some(TurnedPlace { time, place: LoopPlace { first, times, done }, at, is_of_loop: true })
    }

    /// Looks at all that has happened until the end of a turn, and skips what is known, up to `end`.
    fn fast_forward(&mut self, forward: &mut FastForward, turn: TurnedPlace, end: Time, processes: &Processes) {
        let TurnedPlace { time, place, at, .. } = turn;
        let (places, kept) = compare(self, forward, turn, processes);
        if forward.is_blocked || at < forward.from || forward.is_in_shadow(time, place) {
            forward.candidates = [None, None];
        } else {
            try_levels(self, forward, &places, (at, end), processes);
        }
        // A reason of this turn stands before one of an earlier turn.
        forward.obstacle = forward.obstacle.take().or(kept);
    }

    /// Skips repetitions like those of a candidate, or simulates them in its shadow.
    ///
    /// # Errors
    /// They are not as expected, or too few are left.
    fn skip(
        &mut self,
        forward: &mut FastForward,
        candidate: Candidate,
        places: &Places,
        (at, end): (Time, Time),
        processes: &Processes,
    ) -> Result<(), String> {
        let Prospect { level, turns, span } = candidate.prospect;
        let period = forward.series.span(turns);
        let difference = forward.series.difference_from(turns, span);
        let allowed = if level == SkipLevel::Steady { forward.limits.error.parts() } else { 0 };
        let own = forward.job.map_or(0, |(job, _)| job);
        let passes = candidate.passes(places);
        // A repetition or a message more or less of another job is a part of them.
        let is_enough = |count: u64| count > 0 && (allowed == 0 || Share::PARTS / count <= allowed);
        let is_known = |&(job, passes): &(u32, u32)| passes > 0 && (job == own || is_enough(passes.into()));
        let is_by_rates = level == SkipLevel::Steady && forward.series.has_messages();
        let times_max = if is_by_rates { forward.series.times_max(turns, forward.limits.error) } else { u64::MAX };
        let times = places.times_left(&passes).min(times_max).min(end.since(at).as_ps() / period.as_ps().max(1)) as u32;
        if times == 0 {
            return Err(format!("fewer repetitions are left than the {turns} that would stand for them"));
        }
        if difference > allowed {
            return Err(format!("{turns} repetitions differ by {} from those before", percent(difference)));
        }
        if level == SkipLevel::Steady {
            forward.series.check_steady(turns, forward.limits.error)?;
        }
        if !passes.loops.iter().all(is_known) {
            return Err("repetitions of the jobs are not in step".to_owned());
        }
        let bound = if level == SkipLevel::Steady { forward.series.deviation(turns) } else { 0 };
        let after = self.counters(at, processes);
        let Candidate { before, from, .. } = candidate;
        let fewest = processes.share(fewest_messages(&before, &after)).into_iter().flatten().min();
        if level == SkipLevel::Steady && !fewest.is_none_or(is_enough) {
            let needed = Share::PARTS.div_ceil(allowed);
            return Err(format!("a stream without end completes fewer than {needed} messages in the time"));
        }
        let repeated = Repeated { before, after, times: times.into(), from, period };
        let passed = passes.loops.iter().find(|(job, _)| *job == own).map(|&(_, passes)| u64::from(passes));
        let repetitions = passed.unwrap_or_else(|| forward.series.repetitions(turns));
        let is_shadow = forward.is_shadow(level);
        let start = at + forward.skipped();
        let row = SkipRow {
            from: start,
            until: start + repeated.span(),
            level,
            is_of_messages: places.loops.is_empty().into(),
            repetitions: repetitions * u64::from(times),
            repetition: period / repetitions.max(1),
            events: repeated.events(),
            error: difference as f64 / Share::PARTS as f64,
            bound: bound as f64 / Share::PARTS as f64,
            is_simulated: is_shadow.into(),
        };
        if is_shadow {
            let (start, done) = forward.series.last().map(|last| (last.time, last.place.done)).expect("a loop turns");
            forward.shadow = Some(Shadow { row: SkipRow { events: 0, ..row }, start, done });
            return Ok(());
        }
        self.skip_repetitions(&passes, times, period);
        // The first process alone has the counts of all.
        forward.budget.skip(processes.share(repeated.hops()).into_iter().sum());
        forward.skips.push((row, repeated));
        forward.restart();
        Ok(())
    }

    /// Moves all ranks forward, each job `times` times by its repetitions of a period, or shortens all messages by as
    /// much.
    fn skip_repetitions(&mut self, Passes { loops, messages }: &Passes, times: u32, period: Duration) {
        if loops.is_empty() {
            let bytes: Vec<_> = messages.iter().map(|&(sender, bytes)| (sender, bytes * u64::from(times))).collect();
            shorten(&mut self.shards, &bytes);
            return self.shards.iter_mut().for_each(|shard| shard.hosts.delay_ranks(period * u64::from(times)));
        }
        for shard in &mut self.shards {
            for thread in shard.hosts.processors.threads.iter_mut() {
                let passes = loops.iter().find(|(job, _)| *job == thread.job);
                if let (Role::Rank(rank), Some(&(_, repetitions))) = (&mut thread.role, passes)
                    && !rank.is_done
                {
                    shard.skipped_work.skipped += rank.skip(repetitions, times, period);
                }
            }
        }
    }
}

/// Adds a turn to the series, with all that has happened until its end. Gives how far messages and loops are, and
/// the reason of an earlier turn if this one was not looked at as closely.
fn compare(
    simulation: &mut Simulation,
    forward: &mut FastForward,
    turn: TurnedPlace,
    processes: &Processes,
) -> (Places, Option<String>) {
    let expected = forward.expected(&turn);
    let TurnedPlace { time, place, at, is_of_loop } = turn;
    let Standing {
        digest,
        offsets,
        slow,
        waits_since,
        loops,
        open,
        packets,
        entities,
        has_streams,
        obstacle,
        left_out,
        ..
    } = simulation.standing(at, expected, processes);
    let places = Places { loops, messages: open.messages };
    let goes_on = forward.stops.turn(at, packets, if is_of_loop { 0 } else { entities });
    forward.has_turned = true;
    let is_complete = left_out.is_none();
    if is_of_loop {
        forward.budget.turn_of_loop(packets);
    } else {
        forward.budget.turn(packets, entities, forward.candidates[SkipLevel::Repeated as usize].is_some());
    }
    compare_arrivals(&mut simulation.shards, forward.budget.is_comparing && is_complete);
    // Without an error, turns whose arrivals are not compared show nothing.
    let is_comparing = digest.arrivals.is_some();
    let is_paused = forward.limits.error == Share::NONE && !is_comparing;
    if is_paused {
        forward.restart();
        if !is_of_loop && !forward.budget.is_comparing {
            forward.stops.pause(forward.budget.skip_turns());
        }
    }
    forward.keep_comparable(&turn, &places, goes_on, is_comparing);
    let packets = if has_streams { packets } else { 0 };
    let (offsets, waits_since) = (offsets.map(|sum| sum as i64), waits_since.unwrap_or(Time::MAX));
    forward.messages.clone_from(&places.messages);
    let acknowledged = places.messages.iter().map(|message| message.acknowledged).collect();
    let windows = places.messages.iter().map(|message| message.window).collect();
    forward.series.push(Turn { time, place, digest, offsets, slow, waits_since, packets, acknowledged, windows });
    forward.is_complete = is_complete;
    forward.has_ended = !is_complete && forward.limits.error == Share::NONE;
    forward.is_blocked = obstacle.is_some();
    let is_kept = is_paused || !is_of_loop && !forward.series.is_due();
    let kept = forward.obstacle.take().filter(|_| is_kept && !forward.has_ended);
    let left_out = left_out.filter(|_| forward.limits.error == Share::NONE);
    forward.obstacle = if forward.has_ended { left_out } else { obstacle.or(left_out) };
    (places, kept)
}

/// Skips what a candidate of a level stands for, or looks for candidates.
fn try_levels(
    simulation: &mut Simulation,
    forward: &mut FastForward,
    places: &Places,
    (at, end): (Time, Time),
    processes: &Processes,
) {
    let transports = simulation.shards.first().map(|shard| &shard.wires.constants.params);
    let cycles = transports.into_iter().flat_map(|params| params.transports()).map(|own| own.control_cycle());
    let cycle = cycles.max().unwrap_or_default();
    for level in SkipLevel::ALL {
        let candidate = forward.candidates[level as usize].take();
        let candidate = candidate.filter(|candidate| candidate.is_expected(&forward.series, places));
        match candidate {
            Some(candidate) if candidate.is_over(&forward.series) => {
                match simulation.skip(forward, candidate, places, (at, end), processes) {
                    Ok(()) => return,
                    Err(reason) => forward.obstacle = Some(reason),
                }
            }
            Some(candidate) => forward.candidates[level as usize] = Some(candidate),
            None => match forward.prospect(level, cycle) {
                Ok(prospect) => {
                    let (before, start) = (simulation.counters(at, processes), forward.series.len());
                    let candidate = Candidate { prospect, start, places: places.clone(), before, from: at };
                    forward.candidates[level as usize] = Some(candidate);
                }
                Err(reason) => forward.obstacle = forward.obstacle.take().or(reason),
            },
        }
    }
}

/// Has digests have what arrives from now on, or leave it out.
fn compare_arrivals(shards: &mut [Shard], are_compared: bool) {
    shards.iter_mut().for_each(|shard| shard.wires.fingerprint = are_compared.then(Fingerprint::default));
}
