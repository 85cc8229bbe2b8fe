//! TIMELY, the rate of a connection by the slope of its round trip (R. Mittal et al., SIGCOMM 2015, algorithm 1).
//!
//! Rates are doubles, computed by additions, multiplications and divisions alone, which every platform rounds alike.
//! The class in the tutorial on prototypes computes the same and gives the same tables.

use etherweave_primitives::{BitRate, Bytes, Duration, InputError, Time, params};

use super::roce::{CongestionControl, Feedback, FreshConnection, Progress, SenderControl};
use super::state_word::joined;
use crate::params::{check_timer, require, require_within};

params! {
    /// A rate for each connection that rises while round trips are short or fall, and falls with their slope. Defaults
    /// are those of HPCC's simulations (`run.py`, 100 Gb/s).
    pub struct Timely {
        /// Round trip below which the rate rises, whatever its slope (`T_low`).
        pub low: Duration = Duration::from_us(50),
        /// Round trip above which the rate falls, whatever its slope (`T_high`).
        pub high: Duration = Duration::from_us(500),
        /// Round trip of an empty network, by which slopes are divided (`minRTT`).
        pub round_trip_min: Duration = Duration::from_us(20),
        /// Increase of the rate in a step (`delta`).
        pub additive_increase: BitRate = BitRate::from_bps(100_000_000),
        /// Steps of falling round trips after which a step is five times as large (section 4.3, hyperactive increase).
        pub hyper_after: u32 = 5,
        /// Weight of the latest difference of round trips [thousandths] (`alpha`).
        pub weight: u32 = 875,
        /// Share of the slope, or of the excess over `high`, by which the rate falls [%] (`beta`).
        pub decrease: u32 = 80,
        /// Payload acknowledged between two steps (section 4.1: 16 to 64 kB).
        pub segment: Bytes = Bytes::new(16_000),
        /// Lowest rate [% of the NIC's]; the paper bounds no step down.
        pub rate_min: u32 = 1,
    }
}

/// Steps in one of hyperactive increase (`N`).
const HYPER: f64 = 5.0;
/// Bits in a byte times picoseconds in a second.
const BYTE: f64 = 8e12;

/// The rate of one connection.
#[derive(Clone, Debug)]
pub struct SlopeRate {
    params: Timely,
    /// Rate of the NIC [b/s].
    line: f64,
    /// `R` [b/s].
    rate: f64,
    /// The round trip before [ps]; 0 at first.
    round_trip: f64,
    /// Smoothed difference of round trips (`rtt_diff`) [ps].
    difference: f64,
    /// Acknowledgements below it change nothing [offset].
    segment_end: u64,
    /// Steps in a row whose round trips did not rise.
    falls: u32,
    /// The next packet leaves no earlier.
    paced_until: Time,
}

impl CongestionControl for SlopeRate {
    type Params = Timely;

    fn check(timely: &Timely) -> Result<(), InputError> {
        check_timer("low", timely.low)?;
        check_timer("round_trip_min", timely.round_trip_min)?;
        require(timely.low < timely.high, "high", timely.high, format!("more than low, {}", timely.low))?;
        require_within(1..=1_000, "hyper_after", timely.hyper_after)?;
        require_within(1..=1_000, "weight", timely.weight)?;
        require_within(1..=100, "decrease", timely.decrease)?;
        require_within(1..=100, "rate_min", timely.rate_min)?;
        require(!timely.additive_increase.is_zero(), "additive_increase", timely.additive_increase, "more than 0")
    }

    fn rates(timely: &Timely) -> Vec<(&'static str, BitRate)> {
        vec![("additive_increase", timely.additive_increase)]
    }

    fn start(timely: &Timely, connection: &FreshConnection) -> SlopeRate {
        let line = connection.rate.as_bps() as f64;
        SlopeRate {
            params: timely.clone(),
            line,
            rate: line,
            round_trip: 0.0,
            difference: 0.0,
            segment_end: 0,
            falls: 0,
            paced_until: Time::ZERO,
        }
    }
}

impl SenderControl for SlopeRate {
    fn rate_at(&self, _now: Time) -> Option<BitRate> {
        Some(BitRate::from_bps(self.rate as u64))
    }

    fn sent(&mut self, now: Time, wire: u32) -> bool {
        self.paced_until = now + Duration::from_ps((f64::from(wire) * BYTE / self.rate) as u64);
        self.rate < self.line
    }

    fn repeatable_state(&self, now: Time, progress: Progress) -> Option<u64> {
        let &SlopeRate { ref params, line: _, rate, round_trip, difference, segment_end, falls, paced_until } = self;
        let segment = segment_end.saturating_sub(progress.acknowledged);
        let own = [segment, falls.min(params.hyper_after).into(), paced_until.since(now).as_ps()];
        Some(joined([rate, round_trip, difference].map(f64::to_bits).into_iter().chain(own)))
    }

    fn next_at(&self) -> Time {
        self.paced_until
    }

    fn acknowledged(&mut self, _now: Time, feedback: &Feedback) {
        if feedback.acknowledged < self.segment_end {
            return;
        }
        self.segment_end = feedback.acknowledged + self.params.segment.get();
        let [round_trip, low, high, least] =
            [feedback.round_trip, self.params.low, self.params.high, self.params.round_trip_min]
                .map(|time| time.as_ps() as f64);
        let change = if self.round_trip == 0.0 { 0.0 } else { round_trip - self.round_trip };
        self.round_trip = round_trip;
        self.difference += f64::from(self.params.weight) / 1e3 * (change - self.difference);
        let slope = self.difference / least;
        self.falls = if slope <= 0.0 { self.falls + 1 } else { 0 };
        let (step, decrease) = (self.params.additive_increase.as_bps() as f64, f64::from(self.params.decrease) / 100.0);
        if round_trip < low {
            self.rate += step;
        } else if round_trip > high {
            self.rate *= 1.0 - decrease * (1.0 - high / round_trip);
        } else if slope <= 0.0 {
            self.rate += if self.falls >= self.params.hyper_after { step * HYPER } else { step };
        } else {
            self.rate *= 1.0 - decrease * slope;
        }
        let least = self.line * f64::from(self.params.rate_min) / 100.0;
        self.rate = self.rate.max(least).min(self.line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rate [Mb/s] after acknowledgements of a segment each, with round trips in microseconds; a NIC of 10 Gb/s
    /// that has sent at half its rate.
    fn rate(round_trips: &[u64]) -> f64 {
        let connection = FreshConnection { rate: BitRate::from_gbps(10), packet: 1_000, window: 1 << 20 };
        let mut timely = SlopeRate::start(&Timely::default(), &connection);
        timely.rate /= 2.0;
        for (number, &micros) in (1..).zip(round_trips) {
            let (acknowledged, round_trip) = (number * 16_000, Duration::from_us(micros));
            let feedback = Feedback { acked: 1_000, acknowledged, next: 0, round_trip, is_marked: false };
            timely.acknowledged(Time::ZERO, &feedback);
            // Less than a segment further: of no effect.
            timely.acknowledged(Time::ZERO, &Feedback { acknowledged: acknowledged + 15_999, ..feedback });
        }
        timely.rate / 1e6
    }

    /// Rates from 5,000 Mb/s on: 100 more below 50 us; 1 - 0.8 (1 - 500 / 1000) of it above 500 us; of a slope of 0.875
    /// * 4 us / 20 us = 0.175, 1 - 0.8 * 0.175; five steps of equal round trips of 100 each, then of 500.
    #[test]
    fn the_rate_follows_the_thresholds_and_the_slope() {
        let equal = [100; 6];
        for (round_trips, expected) in [
            (&[49_u64][..], 5_100.0),
            (&[1_000], 3_000.0),
            (&[100, 104], 5_100.0 * 0.86),
            (&equal[..4], 5_400.0),
            (&equal, 6_400.0),
        ] {
            assert!((rate(round_trips) - expected).abs() < 1e-6, "{} of {round_trips:?}", rate(round_trips));
        }
    }

    /// The least rate is 1 % of the NIC's, the highest all of it.
    #[test]
    fn the_rate_stays_between_its_bounds() {
        assert_eq!((rate(&[9_000; 40]), rate(&[10; 60])), (100.0, 10_000.0));
    }

    /// 1,000 B at 5 Gb/s: 1.6 us.
    #[test]
    fn packets_are_paced_below_the_rate_of_the_line() {
        let connection = FreshConnection { rate: BitRate::from_gbps(10), packet: 1_000, window: 1 << 20 };
        let mut timely = SlopeRate::start(&Timely::default(), &connection);
        assert!(!timely.sent(Time::ZERO, 1_000));
        timely.rate /= 2.0;
        assert!(timely.sent(Time::ZERO, 1_000));
        assert_eq!(timely.next_at(), Time::from_ps(1_600_000));
    }
}
