//! BBR, version 1 (N. Cardwell et al., "BBR: Congestion-based congestion control", ACM Queue 14(5), 2016): the rate is
//! what the path delivers, the window a multiple of that for the least round trip. States and constants by their names
//! in Linux (`net/ipv4/tcp_bbr.c`).

mod delivery;

use etherweave_primitives::{Duration, Time};

pub(in crate::tcp) use delivery::Delivered;
use delivery::{Deliveries, RateSample, S};

use super::{super::params::TcpParams, Sign, WindowAlgorithm};

/// Gains in these parts.
const UNIT: u64 = 256;
/// 2 / ln 2: twice as much each round trip (`bbr_high_gain`).
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// Takes out in a round what STARTUP has queued (`bbr_drain_gain`).
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// Gain of the window (`bbr_cwnd_gain`).
const WINDOW_GAIN: u64 = 2 * UNIT;
/// Gain of the rate in each phase of PROBE_BW (`bbr_pacing_gain`).
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Round trips for which the largest rate counts (`bbr_bw_rtts`).
const ROUNDS: usize = CYCLE.len() + 2;
/// Growth that STARTUP expects of the rate in three round trips (`bbr_full_bw_thresh`, `bbr_full_bw_cnt`).
const FULL_GAIN: u64 = UNIT * 5 / 4;
const FULL_ROUNDS: u32 = 3;
/// Time for which the least round trip counts (`bbr_min_rtt_win_sec`).
const ROUND_TRIP_WINDOW: Duration = Duration::from_ms(10_000);
/// How long PROBE_RTT keeps the window small (`bbr_probe_rtt_mode_ms`).
const PROBE_RTT: Duration = Duration::from_ms(200);
/// Its window [segments] (`bbr_cwnd_min_target`).
const WINDOW_MIN: u64 = 4;
/// Share of the rate that pacing leaves unused, against queues [%] (`bbr_pacing_margin_percent`).
const MARGIN: u64 = 1;
/// Largest segment that a rate calls for [B].
const QUANTUM_MAX: u64 = 64 << 10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Finds the rate (`BBR_STARTUP`).
    Startup,
    /// Takes out what that has queued (`BBR_DRAIN`).
    Drain,
    /// Sends at the rate, a little more and a little less in turn (`BBR_PROBE_BW`).
    ProbeBandwidth { phase: usize, since: Time },
    /// Empties the path to see its round trip (`BBR_PROBE_RTT`), from when it is empty on.
    ProbeRoundTrip { until: Option<Time>, round: u64 },
}

#[derive(Clone, Debug)]
pub(super) struct Bbr {
    mode: Mode,
    mss: u64,
    initial: u64,
    deliveries: Deliveries,
    /// Rounds and their largest rates [B/s]. Old ones count until there is a newer one.
    rates: [(u64, u64); ROUNDS],
    /// Rounds so far; this one ends when so much is delivered [B].
    round: u64,
    round_end: u64,
    /// Least round trip, and when it was seen.
    round_trip_min: Option<(Duration, Time)>,
    /// The rate that STARTUP has reached, and round trips without much more.
    full: u64,
    full_rounds: u32,
    /// The window before PROBE_RTT or a recovery [B].
    window_before: u64,
    pacing_rate: u64,
    /// The next segment leaves no earlier.
    release_at: Time,
}

impl Bbr {
    fn new(initial: u64, mss: u64) -> Bbr {
        Bbr {
            mode: Mode::Startup,
            mss,
            initial,
            deliveries: Deliveries::default(),
            rates: [(0, 0); ROUNDS],
            round: 0,
            round_end: 0,
            round_trip_min: None,
            full: 0,
            full_rounds: 0,
            window_before: 0,
            // Before any round trip: as if it took 1 ms.
            pacing_rate: HIGH_GAIN * initial * 1000 / UNIT,
            release_at: Time::ZERO,
        }
    }

    /// How large a segment is worth handing down [B] (`tcp_tso_autosize`: what goes out in 2^-10 s).
    fn segment_worth(&self) -> u64 {
        (self.pacing_rate / 1024).clamp(2 * self.mss, QUANTUM_MAX.max(2 * self.mss))
    }

    /// A recovery begins: remembers the window.
    fn save(&mut self, window: u64) {
        self.window_before = self.window_before.max(window);
    }

    /// A recovery has ended: the window to go back to.
    fn restored(&mut self, window: u64) -> u64 {
        std::mem::take(&mut self.window_before).max(window)
    }

    /// Takes an ACK (`bbr_main`). Returns the window [B].
    fn on_ack(&mut self, delivered: &Delivered, window: u64) -> u64 {
        let Some(sample) = self.deliveries.on_ack(delivered) else { return window };
        let starts_round = self.update_round(&sample);
        self.update_rate(&sample);
        self.update_phase(delivered);
        if starts_round && !sample.is_limited {
            self.look_for_full_pipe();
        }
        self.leave_startup(delivered);
        let window = self.update_round_trip(delivered, window);
        self.set_pacing_rate();
        self.next_window(delivered, window)
    }

    /// A round trip has passed when what was sent after the last one began is delivered.
    fn update_round(&mut self, sample: &RateSample) -> bool {
        let starts = sample.delivered_before >= self.round_end;
        if starts {
            self.round_end = self.deliveries.total();
            self.round += 1;
        }
        starts
    }

    /// Samples that the application limits count only as far as they show more (`bbr_update_bw`).
    fn update_rate(&mut self, sample: &RateSample) {
        if sample.is_limited && sample.rate < self.rate() {
            return;
        }
        let round = self.round;
        self.rates.iter_mut().filter(|(at, _)| at + ROUNDS as u64 <= round).for_each(|(_, rate)| *rate = 0);
        let (at, rate) = &mut self.rates[round as usize % ROUNDS];
        (*at, *rate) = (round, sample.rate.max(*rate));
    }

    /// Returns the rate that the path delivers [B/s].
    fn rate(&self) -> u64 {
        self.rates.iter().fold(0, |most, &(_, rate)| most.max(rate))
    }

    /// `gain` times what the path holds without a queue (`bbr_bdp`), and three segments as handed down for delays at
    /// the ends (`bbr_quantization_budget`) [B].
    fn target(&self, gain: u64) -> u64 {
        let Some((round_trip, _)) = self.round_trip_min else { return self.initial };
        let product = u128::from(self.rate()) * u128::from(round_trip.as_ps()) / u128::from(S);
        let probes = matches!(self.mode, Mode::ProbeBandwidth { phase: 0, .. });
        let more = if probes { 2 * self.mss } else { 0 };
        (product * u128::from(gain) / u128::from(UNIT)) as u64 + 3 * self.segment_worth() + more
    }

    /// Goes on in the cycle (`bbr_is_next_cycle_phase`).
    fn update_phase(&mut self, delivered: &Delivered) {
        let Mode::ProbeBandwidth { phase, since } = self.mode else { return };
        let round_trip = self.round_trip_min.map_or(Duration::ZERO, |(least, _)| least);
        let is_long = delivered.now.since(since) > round_trip;
        let is_over = match CYCLE[phase] {
            UNIT => is_long,
            gain if gain > UNIT => is_long && (delivered.has_loss || delivered.in_flight_before >= self.target(gain)),
            _ => is_long || delivered.in_flight_before <= self.target(UNIT),
        };
        if is_over {
            self.mode = Mode::ProbeBandwidth { phase: (phase + 1) % CYCLE.len(), since: delivered.now };
        }
    }

    /// The pipe is full when three round trips have not raised the rate by a quarter (`bbr_check_full_bw_reached`).
    fn look_for_full_pipe(&mut self) {
        if self.is_full() {
            return;
        }
        let rate = self.rate();
        if rate >= self.full * FULL_GAIN / UNIT {
            (self.full, self.full_rounds) = (rate, 0);
        } else {
            self.full_rounds += 1;
        }
    }

    fn is_full(&self) -> bool {
        self.full_rounds >= FULL_ROUNDS
    }

    fn leave_startup(&mut self, delivered: &Delivered) {
        if self.mode == Mode::Startup && self.is_full() {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && delivered.in_flight <= self.target(UNIT) {
            self.probe_bandwidth(delivered.now);
        }
    }

    /// Begins the cycle after its phase of less: Linux draws one of the others.
    fn probe_bandwidth(&mut self, now: Time) {
        self.mode = Mode::ProbeBandwidth { phase: 2, since: now };
    }

    /// Notes the least round trip; empties the path for it when it was seen too long ago (`bbr_update_min_rtt`).
    fn update_round_trip(&mut self, delivered: &Delivered, window: u64) -> u64 {
        let (now, round_trip) = (delivered.now, delivered.round_trip);
        let has_expired = self.round_trip_min.is_some_and(|(_, at)| now > at + ROUND_TRIP_WINDOW);
        if self.round_trip_min.is_none() && !round_trip.is_zero() {
            let rate = u128::from(HIGH_GAIN * self.initial / UNIT) * u128::from(S) / u128::from(round_trip.as_ps());
            self.pacing_rate = rate as u64;
        }
        if has_expired || self.round_trip_min.is_none_or(|(least, _)| round_trip <= least) {
            self.round_trip_min = Some((round_trip, now));
        }
        if has_expired && !matches!(self.mode, Mode::ProbeRoundTrip { .. }) {
            self.save(window);
            self.mode = Mode::ProbeRoundTrip { until: None, round: 0 };
        }
        let Mode::ProbeRoundTrip { until, round } = self.mode else { return window };
        // So few segments say nothing of the rate.
        self.deliveries.application_limits(delivered.in_flight);
        match until {
            None if delivered.in_flight <= WINDOW_MIN * self.mss => {
                self.mode = Mode::ProbeRoundTrip { until: Some(now + PROBE_RTT), round: self.round + 1 };
            }
            Some(until) if now > until && self.round >= round => return self.end_probe(now, window),
            None | Some(_) => {}
        }
        window
    }

    fn end_probe(&mut self, now: Time, window: u64) -> u64 {
        if let Some((_, at)) = &mut self.round_trip_min {
            *at = now;
        }
        if self.is_full() {
            self.probe_bandwidth(now);
        } else {
            self.mode = Mode::Startup;
        }
        self.restored(window)
    }

    fn pacing_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBandwidth { phase, .. } => CYCLE[phase],
            Mode::ProbeRoundTrip { .. } => UNIT,
        }
    }

    /// Before the pipe is full, the rate only grows (`bbr_set_pacing_rate`).
    fn set_pacing_rate(&mut self) {
        let rate = self.rate() * self.pacing_gain() / UNIT * (100 - MARGIN) / 100;
        if rate > 0 && (self.is_full() || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// Grows by what was delivered, to the target once the pipe is full (`bbr_set_cwnd`).
    fn next_window(&self, delivered: &Delivered, window: u64) -> u64 {
        let gain = if matches!(self.mode, Mode::Startup | Mode::Drain) { HIGH_GAIN } else { WINDOW_GAIN };
        let (target, grown) = (self.target(gain), window + delivered.bytes);
        let next = if self.is_full() {
            grown.min(target)
        } else if window < target || self.deliveries.total() < self.initial {
            grown
        } else {
            window
        };
        let least = WINDOW_MIN * self.mss;
        if matches!(self.mode, Mode::ProbeRoundTrip { .. }) { next.min(least) } else { next.max(least) }
    }
}

impl WindowAlgorithm for Box<Bbr> {
    const IS_BY_MODEL: bool = true;

    fn start(params: &TcpParams) -> Box<Bbr> {
        Box::new(Bbr::new(params.initial_bytes(), params.segment()))
    }

    fn on_delivery(&mut self, delivered: &Delivered, window: u64) -> Option<u64> {
        Some(self.on_ack(delivered, window))
    }

    fn sent(&mut self, now: Time, end: u64, len: u64, in_flight: u64) {
        self.deliveries.sent(now, end, in_flight == 0);
        let time = u128::from(len) * u128::from(S) / u128::from(self.pacing_rate.max(1));
        self.release_at = self.release_at.max(now) + Duration::from_ps(time as u64);
    }

    fn application_limits(&mut self, in_flight: u64) {
        self.deliveries.application_limits(in_flight);
    }

    fn release_at(&self) -> Option<Time> {
        Some(self.release_at)
    }

    fn quantum(&self) -> Option<u64> {
        Some(self.segment_worth())
    }

    fn recovered(&mut self, window: u64) -> u64 {
        self.restored(window)
    }

    /// Remembers the window; the threshold stays.
    fn reduce(&mut self, window: u64, _mss: u64, _sign: Sign) -> Option<u64> {
        self.save(window);
        None
    }

    fn restart(&mut self, window: u64) {
        self.save(window);
    }
}

#[cfg(test)]
mod tests;
