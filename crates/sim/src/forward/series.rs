//! Turns of a loop, one after the other: whether the last ones repeat those before, or take the same time on average.

use etherweave_engine::fingerprint::Fingerprint;
use etherweave_kernel::wire;
use etherweave_primitives::{Duration, Time, mix};
use etherweave_workload::{LoopPlace, Share};

const PERIOD_MAX: usize = 64;
/// Fewest turns that equal those a period before them.
const REPEATED_MIN: usize = 3;
/// Batches whose means are compared.
const BATCHES: usize = 4;
/// Fewest turns of a batch.
const BATCH_MIN: usize = 4;

/// Turns from one comparison of batches to the next are at most one of so many of all, rounded up to a power of two.
const COMPARISONS: usize = 16;

/// Projections of the offsets between ranks.
pub(super) const PROJECTIONS: usize = 8;
/// Distance between mean offsets of the first batch and the last, as a share of the sum from batch to batch, from which
/// on ranks drift: a third where offsets are noise, all where they have a trend.
const DRIFT: f64 = 0.6;

/// Parts of states of connections that may change for long.
pub(super) const SLOW: [&str; 9] = [
    "windows",
    "data in flight",
    "rates",
    "slow-start thresholds",
    "send buffers",
    "receive windows",
    "acknowledgements that are sent at once",
    "unused windows",
    "unacknowledged data",
];

/// Place of acknowledgements that are sent at once, behind which are parts without an effect of their own.
const QUICK_ACKS: usize = 6;

/// Digest of the events from one turn of a loop to the next.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Digest {
    /// Arrivals of all packets: times from the turn before, places, kinds, lengths; none where they are not compared.
    pub arrivals: Option<Fingerprint>,
    /// States at the turn that arrivals do not show: of connections.
    pub connections: u64,
    /// States of ports and of receive buffers, and packets under way.
    pub ports: u64,
    /// Deficits of classes; 0 where no two classes take turns.
    pub deficits: u64,
    /// Marks that were drawn since the start of the run.
    pub draws: u64,
    /// Turns of all ranks before or after the watched one: ranks may drift that exchange no packets.
    pub ranks: u64,
}

wire! { Digest { arrivals, connections, ports, deficits, draws, ranks } }

impl Digest {
    /// Adds that of another part of the run.
    pub fn merge(&mut self, other: &Digest) {
        other.arrivals.iter().for_each(|other| self.arrivals.get_or_insert_default().merge(other));
        self.connections = self.connections.wrapping_add(other.connections);
        self.ports = self.ports.wrapping_add(other.ports);
        self.deficits = self.deficits.wrapping_add(other.deficits);
        self.draws += other.draws;
        self.ranks = self.ranks.wrapping_add(other.ranks);
    }

    /// Adds how much later a rank of a job turns than expected [ps].
    pub fn add_rank(&mut self, (job, rank): (u32, u32), offset: i64) {
        self.ranks = self.ranks.wrapping_add(mix(mix(u64::from(job) << 32 | u64::from(rank)) ^ offset as u64));
    }

    /// Name of the first part that differs from another.
    fn difference(&self, other: &Digest) -> Option<&'static str> {
        let (own, others) = (self.arrivals?, other.arrivals?);
        let is_equal_but_for_times = Fingerprint { time: others.time, ..own } == others;
        let differences = [
            ("packets that arrive", !is_equal_but_for_times),
            ("marks that are drawn (switch.ecn)", self.draws != other.draws),
            ("times of arrivals", own.time != others.time),
            ("states of connections", self.connections != other.connections),
            ("states of ports", (self.ports, self.deficits) != (other.ports, other.deficits)),
            ("turns of ranks", self.ranks != other.ranks),
        ];
        differences.into_iter().find_map(|(name, differs)| differs.then_some(name))
    }
}

#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// Time of the turn.
    pub time: Time,
    /// Place in the loop.
    pub place: LoopPlace,
    /// Digest of the events since the turn before.
    pub digest: Digest,
    /// Offsets between ranks, projected to a few numbers [ps].
    pub offsets: [i64; PROJECTIONS],
    /// Sums over connections of each part of [`SLOW`].
    pub slow: [u64; SLOW.len()],
    /// Earliest of the last acknowledgements behind which data waits that has arrived since the turn before.
    pub waits_since: Time,
    /// Packet-hops since the start of the run, of jobs without a loop too; 0 where all have loops.
    pub packets: u64,
    /// Bytes acknowledged of each message in progress, where turns are of messages.
    pub acknowledged: Vec<u64>,
    /// Windows of their connections [B].
    pub windows: Vec<u64>,
}

/// Why turns to come are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SkipLevel {
    /// The last turns repeat those before them: all arrivals at the same times, the same states.
    Repeated,
    /// Means of batches of turns differ by less than the error that is allowed.
    Steady,
}

impl SkipLevel {
    /// All, by number.
    pub const ALL: [SkipLevel; 2] = [SkipLevel::Repeated, SkipLevel::Steady];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            SkipLevel::Repeated => "repeated",
            SkipLevel::Steady => "steady",
        }
    }
}

/// Turns to come that are expected to be like those before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Prospect {
    pub level: SkipLevel,
    /// Turns that stand for those to come.
    pub turns: usize,
    /// Expected time of them.
    pub span: Duration,
}

#[derive(Default, Debug)]
pub(super) struct Series {
    turns: Vec<Turn>,
}

impl Series {
    /// Adds a turn.
    pub fn push(&mut self, turn: Turn) {
        self.turns.push(turn);
    }

    /// The last turn.
    pub fn last(&self) -> Option<&Turn> {
        self.turns.last()
    }

    /// Number of turns.
    pub fn len(&self) -> usize {
        self.turns.len()
    }

    /// Whether batches that end with the last turn are compared: the more turns there are, the rarer, as more are then
    /// in each.
    pub fn is_due(&self) -> bool {
        self.len().is_multiple_of((self.len() / COMPARISONS).next_power_of_two())
    }

    /// Name of the part in which the last turn differs from the one before it.
    pub fn difference(&self) -> Option<String> {
        let [before, last] = self.turns.last_chunk()?;
        let name = last.digest.difference(&before.digest)?;
        Some(format!("repetitions differ in {name}; an `error` skips by mean times"))
    }

    /// Whether the last turn repeats the one `period` turns before it.
    pub fn is_repeated(&self, period: usize) -> bool {
        self.repeats(self.len() - 1, period)
    }

    fn repeats(&self, turn: usize, period: usize) -> bool {
        let done = |turn: usize| self.turns[turn].place.done;
        let digest = |turn: usize| self.turns[turn].digest;
        let step = |turn: usize| (done(turn) - done(turn - 1), digest(turn));
        turn > period && digest(turn).arrivals.is_some() && step(turn) == step(turn - period)
    }

    /// Expectation of turns to come; `is_complete` says whether digests have all that matters.
    ///
    /// # Errors
    /// The reason why none is known, where it has a name.
    pub fn prospect(&self, level: SkipLevel, error: Share, is_complete: bool) -> Result<Prospect, Option<String>> {
        let turns = match level {
            SkipLevel::Repeated if !is_complete => Err(None),
            // Of what differs in repetitions, that of the means matters where these may stand for others.
            SkipLevel::Repeated if error > Share::NONE => self.period().ok_or(None),
            SkipLevel::Repeated => self.period().ok_or_else(|| self.difference()),
            SkipLevel::Steady if error == Share::NONE => Err(None),
            SkipLevel::Steady => self.steady(error).map_err(Some),
        };
        turns.map(|turns| Prospect { level, turns, span: self.span(turns) })
    }

    /// The shortest period of the last turns.
    fn period(&self) -> Option<usize> {
        let last = self.len().checked_sub(1)?;
        let is_period = |period: usize| {
            let turns = period.max(REPEATED_MIN);
            last >= turns && (last - turns + 1..=last).all(|turn| self.repeats(turn, period))
        };
        (1..=PERIOD_MAX).find(|&period| is_period(period))
    }

    /// Turns to come before some may be skipped at a level, at least; none where it is not used.
    pub fn turns_min(&self, level: SkipLevel, error: Share, is_complete: bool) -> Option<usize> {
        let turns = BATCHES * self.batch();
        let is_repeating = || self.len() <= REPEATED_MIN || (1..=PERIOD_MAX).any(|period| self.is_repeated(period));
        match level {
            SkipLevel::Repeated => is_complete.then(|| if is_repeating() { 1 } else { REPEATED_MIN + 1 }),
            SkipLevel::Steady => (error > Share::NONE).then(|| turns + (turns + 1).saturating_sub(self.turns_alike())),
        }
    }

    /// Turns of which a plateau must last for half: those behind the last of the acknowledgements that are sent at
    /// once, where these have come to an end, or all.
    fn turns_alike(&self) -> usize {
        let left = || self.turns.iter().rev().map(|turn| turn.slow[QUICK_ACKS]);
        let equal = left().zip(left().skip(1)).take_while(|(last, before)| last == before).count() + 1;
        let have_ended = equal > BATCHES * BATCH_MIN && left().is_sorted();
        if have_ended { equal.min(self.len()) } else { self.len() }
    }

    /// Turns of a batch, so that all are at least half of the turns so far.
    fn batch(&self) -> usize {
        let (alike, mut batches) =
            (self.turns_alike(), std::iter::successors(Some(BATCH_MIN), |batch| Some(2 * batch)));
        batches.find(|batch| 2 * BATCHES * batch >= alike).unwrap_or(BATCH_MIN)
    }

    /// Batches of the last turns, of half of all or more, if their means agree: what lasts for a shorter time may end.
    fn steady(&self, error: Share) -> Result<usize, String> {
        let (count, shortest) = (self.turns_alike(), self.batch());
        if BATCHES * shortest >= count {
            return Err(format!("{count} repetitions in a row are too few for four batches of {shortest}"));
        }
        let mut batches = (shortest..count.div_ceil(BATCHES)).step_by(BATCH_MIN);
        let turns = BATCHES * batches.find(|batch| self.has_acknowledgements(BATCHES * batch)).unwrap_or(shortest);
        self.check_steady(turns, error).map(|()| turns)
    }

    /// Whether data waits for its acknowledgement for longer than the fewest turns of a batch. Acknowledgements are
    /// then events that may move ranks against each other, now and then into another order that lasts, which depends
    /// on all of the states of connections.
    fn has_long_waits(&self, turns: usize) -> bool {
        let start = |turn: usize| self.turns[turn - BATCH_MIN].time;
        (self.len() - turns..self.len()).any(|turn| turn >= BATCH_MIN && self.turns[turn].waits_since < start(turn))
    }

    /// Largest less smallest offset between ranks in the last turns [ps].
    fn offset_range(&self, turns: usize) -> f64 {
        let range = |projection: usize| {
            let offsets = || self.turns[self.len() - turns..].iter().map(|turn| turn.offsets[projection]);
            offsets().max().unwrap_or(0).abs_diff(offsets().min().unwrap_or(0))
        };
        (0..PROJECTIONS).map(range).max().unwrap_or(0) as f64
    }

    /// Whether all data that waits for an acknowledgement in the last batch waits behind one in the last turns.
    fn has_acknowledgements(&self, turns: usize) -> bool {
        let (start, last) = (self.turns[self.len() - 1 - turns].time, &self.turns[self.len() - turns / BATCHES..]);
        last.iter().all(|turn| turn.waits_since >= start)
    }

    /// Rejects turns whose batches differ in time or packets, or whose ranks drift against each other so far that they
    /// meet otherwise in what follows.
    ///
    /// # Errors
    /// What differs, and by how much.
    pub fn check_steady(&self, turns: usize, error: Share) -> Result<(), String> {
        let left = self.last().map_or(0, |turn| turn.place.times - turn.place.done);
        let repetition = self.span(turns).as_ps() as f64 / turns as f64;
        let drift = self.drift(turns) * f64::from(left);
        for (name, spread) in self.spreads(turns) {
            if spread > error.parts() {
                let batch = turns / BATCHES;
                return Err(format!("{name} of batches of {batch} repetitions differ by {}", percent(spread)));
            }
        }
        let allowed = repetition * error.parts() as f64 / Share::PARTS as f64;
        if drift > allowed {
            let [drift, allowed] = [drift, allowed].map(|ps| ps / 1000.0);
            return Err(format!(
                "ranks drift by {drift:.3} ns in what is left, of which {allowed:.3} ns are within the error"
            ));
        }
        let are_moved = self.has_long_waits(turns) && self.offset_range(turns) > allowed;
        let mut parts = SLOW.iter().zip(0..if are_moved { SLOW.len() } else { QUICK_ACKS + 1 });
        if let Some(name) = parts.find_map(|(name, part)| self.has_trend(turns, part).then_some(name)) {
            let batch = turns / BATCHES;
            return Err(format!("{name} of connections still change between batches of {batch} repetitions"));
        }
        if !self.has_acknowledgements(turns) {
            return Err(format!("connections acknowledge data less often than in {turns} repetitions"));
        }
        Ok(())
    }

    /// Largest less smallest growth over batches of the last turns, by the mean, of what must not change [parts of
    /// [`Share::PARTS`]].
    fn spreads(&self, turns: usize) -> Vec<(&'static str, u64)> {
        if self.has_messages() {
            let rates = self.rates(turns / BATCHES, BATCHES);
            let spread = |rates: &Vec<u64>| {
                let [least, most] = [rates.iter().min(), rates.iter().max()].map(|rate| rate.copied().unwrap_or(0));
                parts(most - least, rates.iter().sum::<u64>() / BATCHES as u64)
            };
            return vec![("rates of messages", rates.iter().map(spread).max().unwrap_or(0))];
        }
        let times = ("times", self.spread(turns, |turn| turn.time.as_ps()));
        vec![times, ("packet-hops", self.spread(turns, |turn| turn.packets))]
    }

    /// Whether turns are of messages.
    pub fn has_messages(&self) -> bool {
        self.last().is_some_and(|turn| !turn.acknowledged.is_empty())
    }

    /// Rates of each message in so many batches of the last turns, the last batch first [B/ms].
    fn rates(&self, batch: usize, batches: usize) -> Vec<Vec<u64>> {
        let last = self.len() - 1;
        let ends = || (0..batches).map(|number| (last - (number + 1) * batch, last - number * batch));
        let rate = |message: usize, (from, to): (usize, usize)| {
            let (from, to) = (&self.turns[from], &self.turns[to]);
            let bytes = u128::from(to.acknowledged[message] - from.acknowledged[message]);
            (bytes * u128::from(Duration::from_ms(1).as_ps()) / u128::from(to.time.since(from.time).as_ps())) as u64
        };
        let messages = 0..self.turns[last].acknowledged.len();
        messages.map(|message| ends().map(|range| rate(message, range)).collect()).collect()
    }

    /// Difference between the last turns and what as many before predicted, which took `span`: of their time, or of the
    /// rate of a message [parts of [`Share::PARTS`]].
    pub fn difference_from(&self, turns: usize, span: Duration) -> u64 {
        if self.has_messages() && self.len() > 2 * turns {
            let difference = |rates: &Vec<u64>| parts(rates[0].abs_diff(rates[1]), rates[1]);
            return self.rates(turns, 2).iter().map(difference).max().unwrap_or(0);
        }
        let own = self.span(turns).as_ps();
        parts(own.abs_diff(span.as_ps()), own)
    }

    /// How often the last turns may stand for others so that a drift of rates and windows, like that from as many turns
    /// before to them, is within the error on average; without turns of messages as often as can be.
    pub fn times_max(&self, turns: usize, error: Share) -> u64 {
        let half = |[before, after]: [u64; 2]| parts(before.abs_diff(after), before.max(after)) / 2;
        let rates = self.rates(turns, 2).into_iter().map(|rates| half([rates[1], rates[0]]));
        let windows = (0..self.last().map_or(0, |turn| turn.windows.len())).map(|message| {
            let sum = |turns: &[Turn]| turns.iter().map(|turn| turn.windows[message]).sum::<u64>();
            let (before, after) = self.turns[self.len() - 2 * turns..].split_at(turns);
            half([before, after].map(sum))
        });
        let drift = rates.chain(windows).max().unwrap_or(0);
        error.parts().checked_div(drift).unwrap_or(u64::MAX)
    }

    /// Whether the mean of a batch of the last turns lies outside of all values of another batch: a part of the state
    /// of connections changes from batch to batch by more than it does within them.
    fn has_trend(&self, turns: usize, part: usize) -> bool {
        let values = self.turns[self.len() - turns..].iter().map(|turn| turn.slow[part]).collect::<Vec<_>>();
        let batches = || values.chunks(turns / BATCHES);
        let is_within = |own: &[u64], other: &[u64]| {
            let sum = own.iter().map(|&value| u128::from(value)).sum::<u128>();
            let [least, most] = [other.iter().min(), other.iter().max()].map(|value| value.copied().unwrap_or(0));
            let times = |value: u64| u128::from(value) * own.len() as u128;
            (times(least)..=times(most)).contains(&sum)
        };
        !batches().all(|own| batches().all(|other| is_within(own, other)))
    }

    /// Drift of offsets between ranks in a turn, 0 where it is no more than noise [ps].
    fn drift(&self, turns: usize) -> f64 {
        let batch = turns / BATCHES;
        let mean = |number: usize, projection: usize| {
            let turns = self.turns[self.len() - (number + 1) * batch..].iter().take(batch);
            turns.map(|turn| turn.offsets[projection] as f64).sum::<f64>() / batch as f64
        };
        let distance = |from: usize, to: usize| -> f64 {
            (0..PROJECTIONS).map(|projection| (mean(from, projection) - mean(to, projection)).abs()).sum()
        };
        let steps: f64 = (1..BATCHES).map(|number| distance(number, number - 1)).sum();
        let drift = distance(BATCHES - 1, 0);
        if drift > DRIFT * steps { drift / (PROJECTIONS * (turns - batch)) as f64 } else { 0.0 }
    }

    /// Largest less smallest mean growth of a sum over batches of the last turns, by the mean of all [parts of
    /// [`Share::PARTS`]].
    fn spread(&self, turns: usize, sum: fn(&Turn) -> u64) -> u64 {
        let batch = turns / BATCHES;
        let growth =
            |from: usize, to: usize| sum(&self.turns[self.len() - 1 - to]) - sum(&self.turns[self.len() - 1 - from]);
        let growths = (0..BATCHES).map(|number| growth((number + 1) * batch, number * batch));
        let (least, most) = growths.fold((u64::MAX, 0), |(least, most), own| (least.min(own), most.max(own)));
        parts(most - least, growth(turns, 0) / BATCHES as u64)
    }

    /// Largest difference between the mean time of a batch of the turns that are compared, twice the last `turns`, and
    /// that of the last ones [parts of [`Share::PARTS`]].
    pub fn deviation(&self, turns: usize) -> u64 {
        let (last, batch) = (self.len() - 1, turns / BATCHES);
        if self.has_messages() {
            let mean = |rates: &Vec<u64>| rates[..BATCHES].iter().sum::<u64>() / BATCHES as u64;
            let deviation = |rates: &Vec<u64>| {
                let deviations = rates.iter().map(|&rate| rate.abs_diff(mean(rates)));
                parts(deviations.max().unwrap_or(0), mean(rates))
            };
            return self.rates(batch, 2 * BATCHES).iter().map(deviation).max().unwrap_or(0);
        }
        let mean = self.span(turns) / BATCHES as u64;
        let spans = (0..2 * BATCHES).map(|number| last - number * batch);
        let deviations =
            spans.map(|end| self.turns[end].time.since(self.turns[end - batch].time).as_ps().abs_diff(mean.as_ps()));
        parts(deviations.max().unwrap_or(0), mean.as_ps())
    }

    /// Repetitions in the last turns.
    pub fn repetitions(&self, turns: usize) -> u64 {
        let last = self.len() - 1;
        (self.turns[last].place.done - self.turns[last - turns].place.done).into()
    }

    /// Times of the last turns.
    pub fn span(&self, turns: usize) -> Duration {
        let last = self.len() - 1;
        self.turns[last].time.since(self.turns[last - turns].time)
    }
}

/// Parts of [`Share::PARTS`] in percent.
pub(super) fn percent(parts: u64) -> String {
    format!("{:.2} %", 100.0 * parts as f64 / Share::PARTS as f64)
}

/// A difference by the size of what differs [parts of [`Share::PARTS`]].
pub(super) fn parts(difference: u64, size: u64) -> u64 {
    let parts = u128::from(difference) * u128::from(Share::PARTS) / u128::from(size.max(1));
    u64::try_from(parts).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns that took so long [ps], each with a digest.
    fn series(spans: impl IntoIterator<Item = (u64, u64)>) -> Series {
        let (mut series, mut time) = (Series::default(), Time::ZERO);
        for (done, (span, states)) in (0..).zip(spans) {
            time += Duration::from_ps(span);
            let place = LoopPlace { first: 0, times: 1000, done };
            let arrivals = Some(Fingerprint::default());
            let digest = Digest { arrivals, connections: states, ..Digest::default() };
            let (offsets, slow, waits_since) = ([0; PROJECTIONS], [0; SLOW.len()], Time::MAX);
            let (packets, acknowledged, windows) = (0, Vec::new(), Vec::new());
            series.push(Turn { time, place, digest, offsets, slow, waits_since, packets, acknowledged, windows });
        }
        series
    }

    /// Turns of 1 us, with offsets between ranks [ps].
    fn drifting(offset: impl Fn(i64) -> i64) -> bool {
        let mut series = series((0..32).map(|turn| (1_000_000, turn)));
        for (number, turn) in (0..).zip(&mut series.turns) {
            turn.offsets = [offset(number); PROJECTIONS];
        }
        series.prospect(SkipLevel::Steady, error(), true).is_err()
    }

    #[test]
    fn ranks_that_drift_against_each_other_are_not_steady() {
        assert!(drifting(|turn| 20 * turn), "19 us in the 968 turns that are left, of which 10 ns are allowed");
        assert!(drifting(|turn| 5_000 - 20 * turn - turn % 3));
        assert!(!drifting(|turn| turn / 4), "less than 1 ns");
        assert!(!drifting(|turn| 5_000 * (turn % 2)) && !drifting(|turn| 900 * (turn * 7919 % 13)), "noise");
    }

    fn error() -> Share {
        Share::percent(1)
    }

    #[test]
    fn equal_digests_are_a_period_and_equal_times_alone_are_none() {
        let alternating = series((0..12).map(|turn| (100 + turn % 2, turn % 2)));
        let expected = Prospect { level: SkipLevel::Repeated, turns: 2, span: Duration::from_ps(201) };
        let repeated = |series: &Series, is_complete| series.prospect(SkipLevel::Repeated, Share::NONE, is_complete);
        assert_eq!(repeated(&alternating, true), Ok(expected));
        assert_eq!(repeated(&alternating, false), Err(None));
        assert!(alternating.is_repeated(2) && !alternating.is_repeated(1));
        assert!(repeated(&series((0..12).map(|turn| (100, turn))), true).is_err());
        // A period must be seen twice, and three turns at least.
        assert_eq!(repeated(&series([(100, 0), (100, 7), (100, 7), (100, 7)]), true), Err(None));
        assert!(repeated(&series([(100, 0), (100, 7), (100, 7), (100, 7), (100, 7)]), true).is_ok());
    }

    #[test]
    fn batches_with_equal_means_are_steady() {
        let noisy = |turns: u64, amplitude: u64| series((0..turns).map(|turn| (10_000 + turn % 3 * amplitude, turn)));
        let turns = |series: &Series| series.steady(error()).ok();
        assert_eq!(turns(&noisy(32, 100)), Some(16), "batches of four differ by less than 1 %");
        assert_eq!(turns(&noisy(16, 100)), None, "there are four of them");
        assert_eq!(noisy(32, 100).prospect(SkipLevel::Steady, Share::NONE, true), Err(None));
        // Batches of eight average more.
        assert_eq!((turns(&noisy(32, 400)), turns(&noisy(40, 400))), (None, Some(32)));
        // Batches of a trend of 0.3 % a turn differ by 1.2 % of the start from one to the next.
        let trend = series((0..32).map(|turn| (10_000 + 30 * turn, turn)));
        assert_eq!(trend.steady(error()).unwrap_err(), "times of batches of 4 repetitions differ by 3.36 %");
    }

    #[test]
    fn states_that_change_from_batch_to_batch_are_not_steady() {
        let reason = |turns: u64, state: fn(u64) -> u64| {
            let mut series = series((0..turns).map(|turn| (10_000, turn)));
            for (number, turn) in (0..).zip(&mut series.turns) {
                turn.slow[1] = state(number);
            }
            series.steady(error()).err()
        };
        let expected = "data in flight of connections still change between batches of 4 repetitions";
        assert_eq!(reason(32, |turn| turn).as_deref(), Some(expected));
        assert!(reason(32, |turn| turn / 30).is_some(), "a step");
        assert!(reason(32, |turn| u64::MAX - turn).is_some());
        let saw = |turn: u64| turn % 35;
        assert!(reason(30, saw).is_some() && reason(64, saw).is_some() && reason(300, saw).is_none());
        assert!(reason(32, |_| 7).is_none() && reason(32, |turn| turn % 2).is_none());
    }

    #[test]
    fn turns_before_the_last_acknowledgement_of_quick_mode_are_not_alike() {
        let alike = |left: fn(u64) -> u64| {
            let mut series = series((0..40).map(|turn| (10_000, turn)));
            for (number, turn) in (0..).zip(&mut series.turns) {
                turn.slow[QUICK_ACKS] = left(number);
            }
            (series.turns_alike(), series.batch())
        };
        assert_eq!(alike(|_| 0), (40, 8));
        assert_eq!(alike(|turn| 15 - turn.min(15)), (25, 4), "from turn 15 on");
        assert_eq!(alike(|turn| 30 - turn.min(30)), (40, 8), "too short");
        assert_eq!(alike(|turn| if turn == 5 { 16 } else { 0 }), (40, 8), "a silence begins quick mode again");
    }

    #[test]
    fn turns_behind_an_acknowledgement_are_compared_where_data_waits_for_the_next() {
        let mut series = series((0..32).map(|turn| (10_000, turn)));
        let mut turns = |acknowledged: usize| {
            let waits_since = series.turns[acknowledged].time;
            series.turns.iter_mut().for_each(|turn| turn.waits_since = waits_since);
            series.steady(error()).ok()
        };
        // Four batches of 4 begin behind turn 15, four of 7 behind turn 3: none is longer by a multiple of 4.
        assert_eq!([15, 14, 0].map(&mut turns), [Some(16), None, None]);
    }

    #[test]
    fn windows_without_effect_count_where_late_acknowledgements_move_ranks() {
        let is_steady = |offset: i64, acknowledged: usize| {
            let mut series = series((0..32).map(|turn| (10_000, turn)));
            let waits_since = series.turns[acknowledged].time;
            for (number, turn) in (0..).zip(&mut series.turns) {
                turn.offsets[0] = number as i64 % 2 * offset;
                (turn.slow[QUICK_ACKS + 1], turn.waits_since) = (number, waits_since);
            }
            series.steady(error()).is_ok()
        };
        // Data of turns 27 to 31 waits for less than five turns behind the 27th; 1 % of a turn is 100 ps.
        assert!(is_steady(100, 20) && !is_steady(101, 20) && is_steady(101, 27));
    }

    #[test]
    fn as_many_turns_come_before_a_skip_as_are_compared() {
        let noisy = |turns: u64| series((0..turns).map(|turn| (10_000 + turn % 3, turn)));
        let least = |turns, level| noisy(turns).turns_min(level, error(), true);
        // Four batches of 4 behind the first turn, and as many turns again; of 40 turns, four batches of 8.
        assert_eq!([0, 17, 40].map(|turns| least(turns, SkipLevel::Steady)), [Some(33), Some(16), Some(32)]);
        assert_eq!([2, 17].map(|turns| least(turns, SkipLevel::Repeated)), [Some(1), Some(4)]);
        let equal = series((0..20).map(|_| (10_000, 0)));
        assert_eq!(equal.turns_min(SkipLevel::Repeated, error(), true), Some(1));
        assert_eq!(equal.turns_min(SkipLevel::Steady, Share::NONE, true), None);
    }

    #[test]
    fn a_plateau_must_last_for_half_of_all_turns() {
        let plateaus = |turns: u64| series((0..turns).map(|turn| (if turn / 20 % 2 == 0 { 800 } else { 720 }, turn)));
        let is_steady = |turns: u64| plateaus(turns).steady(error()).is_ok();
        assert!(is_steady(20) && !is_steady(38) && !is_steady(60) && !is_steady(80));
    }
}
