//! Length of a run: the start of its measurement, and its end.

use std::ops::Range;

use etherweave_primitives::Duration;
use etherweave_workload::Share;

use crate::params::{RUN_MAX, in_range, whole};
use crate::{steady::half_width, steady::is_steady, tally::Batch};
use etherweave_primitives::{InputError, InputErrors};

/// Batches of a first judgement.
const FIRST: usize = 20;
/// Less of what is offered that is accepted is saturation: then latencies keep rising until every queue is full, and
/// only the accepted load is judged.
const SATURATED: f64 = 0.95;

/// How long to warm up and to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLength {
    /// Time before the measured time [whole ns]; absent, until latency and accepted load have settled.
    pub warm_up: Option<Duration>,
    /// The measured time [whole ns]; absent, until both are known to `precision`.
    pub measured: Option<Duration>,
    /// Time that a value of a series is averaged over [whole ns], rounded up to whole windows of the engine.
    pub batch: Duration,
    /// Half of the 95 % confidence interval of a mean, as a share of it.
    pub precision: f64,
    /// When a run ends at the latest [whole ns]; half of it is for the warm-up.
    pub longest: Duration,
}

impl Default for RunLength {
    fn default() -> RunLength {
        RunLength {
            warm_up: None,
            measured: None,
            batch: Duration::from_us(2),
            precision: 0.02,
            longest: Duration::from_us(1_000),
        }
    }
}

impl RunLength {
    /// Both times as given.
    pub fn fixed(warm_up: Duration, measured: Duration) -> RunLength {
        RunLength { warm_up: Some(warm_up), measured: Some(measured), ..RunLength::default() }
    }

    /// Checks the values.
    ///
    /// # Errors
    /// Every value that is out of range or not a whole number of nanoseconds.
    pub fn check(&self) -> Result<(), InputErrors> {
        self.ticks().map(|_| ())
    }

    fn ticks(&self) -> Result<LengthTicks, InputErrors> {
        let mut errors = InputErrors::default();
        let mut ticks = |key, value: Duration, least, most| {
            let ticks = whole(key, value).and_then(|ticks| in_range(key, ticks, least, most).map(|()| ticks as u32));
            errors.check(ticks).unwrap_or_default()
        };
        let length = LengthTicks {
            start: self.warm_up.map(|warm_up| ticks("warm_up", warm_up, 0, RUN_MAX / 2)),
            measured: self.measured.map(|measured| ticks("measured", measured, 1, RUN_MAX / 2)),
            longest: ticks("longest", self.longest, 1, RUN_MAX / 2),
            batch: ticks("batch", self.batch, 1, RUN_MAX / 256),
        };
        let is_share = (1e-6..=1.0).contains(&self.precision);
        errors.check(InputError::unless(is_share, "precision", self.precision, "0.000001 to 1"));
        errors.into_result().map(|()| length)
    }

    /// # Errors
    /// Those of [`RunLength::check`].
    pub(crate) fn control(&self, window: u32, lead: u32) -> Result<RunControl, InputErrors> {
        let LengthTicks { start, measured, longest, batch } = self.ticks()?;
        // Enough for an interval, and so few that a long run has little to remember.
        let most = start.unwrap_or(0) + measured.unwrap_or(0);
        let batch = batch.max(most / 1_024).next_multiple_of(window);
        let end = start.zip(measured).map(|(start, measured)| start + measured);
        Ok(RunControl {
            span: start.unwrap_or(u32::MAX)..end.unwrap_or(u32::MAX),
            measured,
            batch,
            lead: lead.next_multiple_of(batch),
            precision: self.precision,
            longest,
            series: Vec::new(),
            next: FIRST,
            is_steady: start.is_some(),
        })
    }
}

/// Times of a [`RunLength`] [ticks].
struct LengthTicks {
    start: Option<u32>,
    measured: Option<u32>,
    longest: u32,
    batch: u32,
}

/// Less is no load.
const LOAD_MIN: f64 = 1e-6;

/// How long, how much and from which seed.
#[derive(Clone, Debug, PartialEq)]
pub struct RunParams {
    /// Traffic that every host wants to send, as a share of its link, 0.000001 to 1.
    pub load: f64,
    /// How long to warm up and to measure.
    pub length: RunLength,
    /// Whether to keep what every port sent in every batch of the measured time: 2 bytes each.
    pub records_steps: bool,
    /// Seed of everything random.
    pub seed: u64,
}

impl RunParams {
    /// A run of given times that records no steps.
    pub fn fixed(load: f64, warm_up: Duration, measured: Duration, seed: u64) -> RunParams {
        RunParams { load, length: RunLength::fixed(warm_up, measured), records_steps: false, seed }
    }
}

/// A load as an exact share of a host's link.
///
/// # Errors
/// When it is out of range.
pub fn load_share(load: f64) -> Result<Share, InputError> {
    InputError::unless((LOAD_MIN..=1.0).contains(&load), "", load, format!("{LOAD_MIN} to 1"))?;
    Share::try_from(load)
}

/// Decides from the batches of a run when to measure and when to end.
#[derive(Clone, Debug)]
pub(crate) struct RunControl {
    /// The measured time [ticks]; an end that is not yet known is `u32::MAX`.
    pub span: Range<u32>,
    measured: Option<u32>,
    /// Length of a batch [ticks].
    pub batch: u32,
    /// How far ahead of an instant what it decides lies: further than from the last grant of a packet to its delivery.
    lead: u32,
    precision: f64,
    longest: u32,
    /// Every batch so far of all shards.
    series: Vec<Batch>,
    /// How many batches the next judgement needs.
    next: usize,
    /// Whether the warm-up ended because the series had settled, or was given.
    pub is_steady: bool,
}

impl RunControl {
    /// Whether the end of the run is open, so that batches must be judged.
    pub fn is_open(&self) -> bool {
        self.span.end == u32::MAX
    }

    /// The next instant, at most a window ahead, at which all shards stop.
    pub fn next_stop(&self, now: u32, window: u32) -> u32 {
        let grid = (now / window + 1) * window;
        grid.min(self.span.end)
    }

    /// Takes the batch that ends at `now`.
    pub fn judge(&mut self, now: u32, batch: Batch) {
        self.series.push(batch);
        let first = if self.span.start == u32::MAX { 0 } else { self.span.start.div_ceil(self.batch) as usize };
        let batches = self.series.get(first..).unwrap_or_default();
        let (is_warming, is_last) = (self.span.start == u32::MAX, now >= self.longest);
        let is_late = if is_warming { now >= self.longest / 2 } else { is_last };
        if batches.len() < self.next && !is_late {
            return;
        }
        self.next = batches.len().max(FIRST) * 3 / 2;
        if is_warming && (is_late || settled(batches)) {
            self.is_steady = settled(batches);
            self.span.start = now + self.lead;
            self.span.end = self.measured.map_or(u32::MAX, |measured| self.span.start + measured);
            self.next = FIRST;
        } else if !is_warming && (is_late || self.is_precise(batches)) {
            self.span.end = now + self.lead;
        }
    }

    fn is_precise(&self, batches: &[Batch]) -> bool {
        series_of_interest(batches).iter().all(|series| {
            let mean = series.iter().sum::<f64>() / series.len() as f64;
            half_width(series).is_some_and(|half| half <= self.precision * mean)
        })
    }
}

fn settled(batches: &[Batch]) -> bool {
    batches.len() >= FIRST && series_of_interest(batches).iter().all(|series| is_steady(series))
}

/// Accepted packets, and below saturation mean latencies.
fn series_of_interest(batches: &[Batch]) -> Vec<Vec<f64>> {
    let accepted: Vec<f64> = batches.iter().map(|batch| batch.delivered as f64).collect();
    let latest = &batches[batches.len() / 2..];
    let sum = |of: fn(&Batch) -> u64| latest.iter().map(of).sum::<u64>() as f64;
    let is_saturated = sum(|batch| batch.delivered) < SATURATED * sum(|batch| batch.offered);
    if is_saturated { vec![accepted] } else { vec![accepted, latencies(batches)] }
}

/// Mean latencies of the batches in which packets arrived.
pub(crate) fn latencies(batches: &[Batch]) -> Vec<f64> {
    let arrivals_watched = batches.iter().filter(|batch| batch.delivered > 0);
    arrivals_watched.map(|batch| batch.latency as f64 / batch.delivered as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: u32 = 600;

    fn batch(latency: u64) -> Batch {
        Batch { offered: 100, delivered: 100, latency: 100 * latency, hops: 0, misrouted: 0, lost: 0 }
    }

    /// Where a run measures whose batches have these latencies.
    fn span(length: &RunLength, latency: impl Fn(u32) -> u64) -> (Range<u32>, u32, bool) {
        let mut control = length.control(WINDOW, 1_000).unwrap();
        let mut now = 0;
        while control.is_open() {
            now += control.batch;
            control.judge(now, batch(latency(now / control.batch)));
        }
        (control.span, control.batch, control.is_steady)
    }

    #[test]
    fn what_is_settled_and_constant_is_warmed_up_and_measured_for_20_batches() {
        // Batches of 2 us, in windows of 600 ns: 2,400 ns; decisions lie a batch ahead.
        let (span, batch, is_steady) = span(&RunLength::default(), |_| 1_000);
        assert_eq!((batch, is_steady), (2_400, true));
        assert_eq!(span, 21 * 2_400..42 * 2_400);
    }

    #[test]
    fn what_rises_for_long_is_warmed_up_until_it_has_settled() {
        let (span, batch, is_steady) = span(&RunLength::default(), |number| u64::from(number.min(100)) * 10);
        assert!(is_steady && span.start > 100 * batch, "{span:?}");
    }

    #[test]
    fn what_never_settles_is_measured_all_the_same_and_reported_as_unsteady() {
        let longest = Duration::from_us(200);
        let (span, batch, is_steady) = span(&RunLength { longest, ..RunLength::default() }, u64::from);
        assert!(!is_steady);
        assert!(span.start >= 100_000 && span.end <= 200_000 + 2 * batch, "{span:?}");
    }

    #[test]
    fn given_times_are_kept_and_ask_for_nothing() {
        let length = RunLength::fixed(Duration::from_us(20), Duration::from_us(30));
        let control = length.control(WINDOW, 1_000).unwrap();
        assert!(!control.is_open() && control.is_steady);
        assert_eq!(control.span, 20_000..50_000);
        assert_eq!([0, 600, 49_800].map(|now| control.next_stop(now, WINDOW)), [600, 1_200, 50_000]);
    }

    #[test]
    fn errors_of_values_out_of_range_give_the_range() {
        let check = |length: RunLength, expected: &str| {
            assert_eq!(length.control(WINDOW, 1_000).unwrap_err().to_string(), expected);
        };
        check(RunLength { precision: 0.0, ..RunLength::default() }, "precision: 0; expected 0.000001 to 1");
        check(RunLength { batch: Duration::ZERO, ..RunLength::default() }, "batch: 0; expected 1 to 15625000");
        let measured = Some(Duration::ZERO);
        check(RunLength { measured, ..RunLength::default() }, "measured: 0; expected 1 to 2000000000");
        assert_eq!(load_share(1.5).unwrap_err().to_string(), "1.5; expected 0.000001 to 1");
    }
}
