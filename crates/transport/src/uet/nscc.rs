//! Network-signalled congestion control: a window of the sender by marks and delay (Ultra Ethernet Specification 1.0,
//! section 3.6.13).
//!
//! ```text
//!                       delay < target              delay >= target
//!   not marked    in proportion to the distance     fair increase
//!   marked        no change                         multiplicative decrease
//! ```
//!
//! Constants are for 100 Gb/s and a round trip of 12 us, and are scaled by the bandwidth-delay product and the target.
//! Those that table 3-76 names are taken from the reference simulator uet-htsim (`uec.cpp`, `initNscc`).

use etherweave_primitives::{BitRate, Bytes, Duration, InputError, Time, params};

use crate::state_word::joined;

/// Text that the window follows where the specification and its reference simulator differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NsccVariant {
    /// The specification: every delay enters the average. The default.
    #[default]
    Specification,
    /// The reference simulator uet-htsim: the delay above the target of a packet without a mark counts as a quarter of
    /// the base round trip, and nothing asks for acknowledgements when the window closes below what is out.
    Htsim,
}

params! {
    /// Network-signalled congestion control.
    pub struct Nscc {
        /// Round trip of a full packet on the longest idle path (config_base_rtt), 100 ns to 10 ms. Default "12us".
        pub base_round_trip: Duration = Duration::from_us(12),
        /// Queueing delay up to which the window grows. Default: three quarters of `base_round_trip`, for switches that
        /// trim; the specification has all of it for others.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub target_delay: Option<Duration> = None,
        /// First window. Default: the largest, one and a half bandwidth-delay products.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub initial_window: Option<Bytes> = None,
        /// Text that it follows. Default "specification".
        pub variant: NsccVariant = NsccVariant::Specification,
    }
}

impl Nscc {
    /// Rejects inconsistent parameters.
    ///
    /// # Errors
    /// With the key below its table.
    pub fn check(&self, packet: u64) -> Result<(), InputError> {
        let (least, most) = (Duration::from_ns(100), Duration::from_ms(10));
        let is_within = |delay: Duration| delay >= least && delay <= most;
        let expected = format!("{least} to {most}");
        let base = self.base_round_trip;
        InputError::unless(is_within(base), "base_round_trip", base, &expected)?;
        if let Some(target) = self.target_delay {
            InputError::unless(is_within(target), "target_delay", target, &expected)?;
        }
        let window = self.initial_window.unwrap_or(Bytes::new(packet));
        InputError::unless(window.get() >= packet, "initial_window", window, format!("at least a packet, {packet} B"))
    }

    /// Queueing delay up to which the window grows.
    pub fn target(&self) -> Duration {
        self.target_delay.unwrap_or(Duration::from_ps(self.base_round_trip.as_ps() / 4 * 3))
    }
}

/// Bandwidth-delay product for which the constants are given: 100 Gb/s and 12 us [B].
const REFERENCE_BDP: f64 = 150_000.0;
/// Round trip for which they are given [ps].
const REFERENCE_ROUND_TRIP: f64 = 12e6;
/// Largest window [bandwidth-delay products].
const WINDOW_MAX: f64 = 1.5;
/// Packets that may overtake one (uet-htsim, SLEEK) [windows].
const REORDERING: f64 = 1.5;
/// Gain of the proportional increase.
const ALPHA: f64 = 4.0;
/// Fair increase [packets].
const FAIR_INCREASE: f64 = 5.0;
/// Increase of each period (eta) [packets].
const PERIOD_INCREASE: f64 = 0.15;
/// Share of acknowledged bytes in fast increase.
const FAST_INCREASE: f64 = 0.25;
/// Gain of the multiplicative decrease (gamma).
const DECREASE: f64 = 0.8;
/// Least factor of a decrease (max_md_jump).
const DECREASE_MIN: f64 = 0.5;
/// Binary logarithm of the share of the largest window below which quick adapt cuts (qa_gate).
const QUICK_ADAPT_GATE: u32 = 3;
/// Delay from which on quick adapt may cut [targets].
const QUICK_ADAPT_THRESHOLD: u64 = 4;
/// Weight of a sample in the average delay.
const AVERAGE_WEIGHT: f64 = 0.0125;
/// Packets after which an increase takes effect at the latest.
const ADJUST_PACKETS: u64 = 8;
/// Delay below which a path counts as empty [ps].
const EMPTY_DELAY: u64 = 1_000_000;

/// Feedback of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct NsccFeedback {
    /// Newly received [B].
    pub acked: u64,
    /// Since the packet left that it answers.
    pub round_trip: Duration,
    /// Whether that packet was marked.
    pub is_marked: bool,
    /// Sent and not known to have left the network [B].
    pub in_flight: u64,
}

/// Sizes of packets, as the window counts them.
#[derive(Clone, Copy, Debug)]
pub struct PacketSizes {
    /// Payload of a full packet [B].
    pub payload: u64,
    /// The same with what counts of its headers [B].
    pub counted: u64,
}

/// The window of one context.
#[derive(Clone, Debug)]
pub struct NsccWindow {
    variant: NsccVariant,
    /// A full packet, the least window [B].
    packet: f64,
    /// Rate of the link [B/ps].
    rate: f64,
    config_base: u64,
    /// Least round trip so far [ps].
    base: u64,
    target: u64,
    /// Proportional increase [B/ps], others [B], and the share of the fast increase.
    alpha: f64,
    fair_increase: f64,
    period_increase: f64,
    fast_increase: f64,
    window: f64,
    window_max: f64,
    average_delay: f64,
    /// Bytes acknowledged without a queue, and whether the window grows fast.
    empty_bytes: f64,
    is_fast: bool,
    /// Increases that wait [B²].
    increase: f64,
    /// Received since they last took effect [B].
    received: u64,
    adjusted_at: Time,
    decreased_at: Time,
    adapt: QuickAdapt,
}

#[derive(Clone, Debug, Default)]
struct QuickAdapt {
    ends_at: Time,
    achieved: u64,
    ignored: u64,
    to_ignore: u64,
    is_triggered: bool,
}

impl QuickAdapt {
    /// State that decides what it will do, where it cuts if less than a limit was achieved.
    fn word(&self, now: Time, limit: u64) -> u64 {
        let &QuickAdapt { ends_at, achieved, ignored, to_ignore, is_triggered } = self;
        let flags = u64::from(ends_at == Time::ZERO) << 1 | u64::from(is_triggered);
        joined([ends_at.since(now).as_ps(), achieved.min(limit), ignored.min(to_ignore), to_ignore, flags])
    }
}

impl NsccWindow {
    /// The window of a context at a NIC of `rate`.
    pub fn new(params: &Nscc, rate: BitRate, sizes: PacketSizes) -> NsccWindow {
        let (base, target) = (params.base_round_trip.as_ps(), params.target().as_ps());
        let rate = rate.as_bps() as f64 / 8e12;
        let bdp = rate * base as f64;
        let (a, b) = (bdp / REFERENCE_BDP, target as f64 / REFERENCE_ROUND_TRIP);
        let payload = sizes.payload as f64;
        let window_max = (WINDOW_MAX * bdp).max(sizes.counted as f64);
        NsccWindow {
            variant: params.variant,
            packet: sizes.counted as f64,
            rate,
            config_base: base,
            base,
            target,
            alpha: ALPHA * payload * a * b / target as f64,
            fair_increase: FAIR_INCREASE * payload * a,
            period_increase: PERIOD_INCREASE * payload * a,
            fast_increase: FAST_INCREASE * a,
            window: params.initial_window.map_or(window_max, |window| window_max.min(window.get() as f64)),
            window_max,
            average_delay: 0.0,
            empty_bytes: 0.0,
            is_fast: false,
            increase: 0.0,
            received: 0,
            adjusted_at: Time::ZERO,
            decreased_at: Time::ZERO,
            adapt: QuickAdapt::default(),
        }
    }

    /// State that decides what it will do.
    pub(super) fn word(&self, now: Time) -> u64 {
        let &NsccWindow {
            variant: _,
            packet: _,
            rate: _,
            config_base,
            base,
            target: _,
            alpha: _,
            fair_increase: _,
            period_increase: _,
            fast_increase: _,
            window,
            window_max,
            average_delay,
            empty_bytes,
            is_fast,
            increase,
            received,
            adjusted_at,
            decreased_at,
            ref adapt,
        } = self;
        // What has grown beyond what it is compared with may grow on: the window grows fast, a period is over.
        let empty_bytes = if is_fast { 0.0 } else { empty_bytes };
        let adjusted = now.since(adjusted_at).as_ps().min(config_base);
        let decreased = now.since(decreased_at).as_ps().min(base + 1);
        let adapt = adapt.word(now, window_max as u64 >> QUICK_ADAPT_GATE);
        let floats = [window, window_max, average_delay, empty_bytes, increase].map(f64::to_bits);
        joined(floats.into_iter().chain([base, is_fast.into(), received, adjusted, decreased, adapt]))
    }

    /// Returns the bytes that may be in flight [B].
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.window as u64
    }

    /// Whether so many bytes may be in flight.
    #[inline]
    pub fn holds(&self, bytes: u64) -> bool {
        bytes as i64 as f64 <= self.window
    }

    /// Bytes that may be sent after a packet which is still expected to arrive.
    pub fn reordering(&self) -> u64 {
        (REORDERING * self.window).min(self.window_max) as u64
    }

    /// Time after the last answer at which SLEEK probes where nothing follows; none of the reference simulator, which
    /// has SLEEK beside switches that do not trim.
    pub fn probe_after(&self) -> Option<Duration> {
        (self.variant == NsccVariant::Specification).then(|| Duration::from_ps(self.base + self.target))
    }

    /// Whether control packets ask for acknowledgements where it closes: the reference simulator waits for its timer.
    pub fn asks(&self) -> bool {
        self.variant == NsccVariant::Specification
    }

    /// Takes an acknowledgement without a round trip.
    pub fn received(&mut self, acked: u64) {
        self.adapt.ignored += acked;
        self.adapt.achieved += acked;
        self.received += acked;
    }

    /// Takes an acknowledgement.
    pub fn acknowledged(&mut self, now: Time, feedback: &NsccFeedback) {
        let &NsccFeedback { acked, round_trip, is_marked, .. } = feedback;
        self.received(acked);
        self.measure(round_trip.as_ps());
        let delay = round_trip.as_ps().saturating_sub(self.base);
        self.average(delay, is_marked);
        if self.quick_adapt(now, false, is_marked, delay, feedback.in_flight) {
            return;
        }
        match (is_marked, delay >= self.target) {
            (false, true) => self.increase += self.fair_increase * acked as f64,
            (false, false) => self.grow(acked as f64, delay),
            (true, true) => self.decrease(now),
            (true, false) => {}
        }
        self.adjust(now);
    }

    fn measure(&mut self, round_trip: u64) {
        if round_trip < self.base {
            self.base = round_trip;
            self.window_max = (WINDOW_MAX * self.rate * self.base as f64).max(self.packet);
        }
    }

    fn average(&mut self, delay: u64, is_marked: bool) {
        let is_quarter = self.variant == NsccVariant::Htsim && !is_marked && delay > self.target;
        let sample = if is_quarter { 0.25 * self.base as f64 } else { delay as f64 };
        self.average_delay += AVERAGE_WEIGHT * (sample - self.average_delay);
    }

    /// Grows in proportion to the distance of the delay from the target, or fast while there is no queue.
    fn grow(&mut self, acked: f64, delay: u64) {
        if delay >= EMPTY_DELAY {
            self.end_fast_increase();
        } else {
            self.empty_bytes += acked;
            self.is_fast |= self.empty_bytes > self.window;
            if self.is_fast {
                self.window = (self.window + acked * self.fast_increase).min(self.window_max);
                return;
            }
        }
        self.increase += self.alpha * acked * (self.target - delay) as f64;
    }

    fn end_fast_increase(&mut self) {
        (self.empty_bytes, self.is_fast) = (0.0, false);
    }

    fn decrease(&mut self, now: Time) {
        self.end_fast_increase();
        let excess = self.average_delay - self.target as f64;
        if excess > 0.0 && now.since(self.decreased_at).as_ps() > self.base {
            let factor = (1.0 - DECREASE * excess / self.average_delay).max(DECREASE_MIN);
            self.window = (self.window * factor).max(self.packet);
            self.decreased_at = now;
        }
    }

    /// Lets increases take effect: each period, and after so many bytes.
    fn adjust(&mut self, now: Time) {
        let is_period = now.since(self.adjusted_at).as_ps() >= self.config_base;
        if !is_period && self.received <= ADJUST_PACKETS * self.packet as u64 {
            return;
        }
        self.window += self.increase / self.window;
        if is_period {
            self.window += self.period_increase;
            self.adjusted_at = now;
        }
        self.window = self.window.min(self.window_max);
        (self.increase, self.received) = (0.0, 0);
    }

    /// Cuts the window to what a round trip and a target achieved, where that is little; then ignores what was in
    /// flight. Whether the signal is spent.
    fn quick_adapt(&mut self, now: Time, is_loss: bool, is_marked: bool, delay: u64, in_flight: u64) -> bool {
        let adapt = &mut self.adapt;
        if adapt.ignored < adapt.to_ignore && is_marked {
            (self.increase, self.received) = (0.0, 0);
            return true;
        }
        if now < adapt.ends_at {
            return false;
        }
        let is_due = adapt.is_triggered || is_loss || delay > QUICK_ADAPT_THRESHOLD * self.target;
        let is_little = adapt.achieved < self.window_max as u64 >> QUICK_ADAPT_GATE;
        let acts = adapt.ends_at != Time::ZERO && is_due && is_little;
        if acts {
            self.window = (adapt.achieved as f64).max(self.packet);
            (adapt.to_ignore, adapt.ignored, adapt.is_triggered) = (in_flight, 0, false);
        }
        adapt.achieved = 0;
        adapt.ends_at = now + Duration::from_ps(self.base + self.target);
        acts
    }

    /// A packet of `bytes` was trimmed: it met a full queue, whose delay is about a base round trip. At the last hop of
    /// a receiver that grants credits, that is no sign of congestion in the network.
    pub fn trimmed(&mut self, now: Time, bytes: u64, round_trip: Duration, in_flight: u64, is_granted: bool) {
        if self.variant == NsccVariant::Htsim {
            self.measure(round_trip.as_ps());
        }
        self.average_delay += AVERAGE_WEIGHT * (self.config_base as f64 - self.average_delay);
        self.adapt.ignored += bytes;
        if is_granted && self.variant == NsccVariant::Specification {
            return;
        }
        self.adapt.is_triggered = true;
        if !self.quick_adapt(now, true, true, 0, in_flight) && !is_granted {
            self.window = (self.window - bytes as f64).max(self.packet);
        }
    }

    /// A packet of `bytes` was lost.
    pub fn lost(&mut self, bytes: u64) {
        self.adapt.ignored += bytes;
        self.window = (self.window - bytes as f64).max(self.packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: PacketSizes = PacketSizes { payload: 4_086, counted: 4_150 };

    /// The window of the reference simulator's default: three tiers of 100 Gb/s, 1 us for each link.
    fn window(initial: Option<u64>) -> NsccWindow {
        let params = Nscc {
            base_round_trip: Duration::from_ps(14_022_720),
            initial_window: initial.map(Bytes::new),
            variant: NsccVariant::Htsim,
            ..Nscc::default()
        };
        NsccWindow::new(&params, BitRate::from_gbps(100), SIZES)
    }

    fn feedback(window: &NsccWindow, delay: u64, is_marked: bool) -> NsccFeedback {
        let round_trip = Duration::from_ps(window.base + delay);
        NsccFeedback { acked: 4_150, round_trip, is_marked, in_flight: 50_000 }
    }

    #[test]
    fn constants_scale_with_bandwidth_delay_product_and_target() {
        let window = window(None);
        let close = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-4, "{value}");
        // 12.5 kB/us over 14.02272 us, by 150,000 B: 1.16856; 10.51704 us by 12 us: 0.87642.
        close(window.window_max, 262_926.0);
        close(window.fair_increase, 5.0 * 4_086.0 * 1.16856);
        close(window.period_increase, 716.2);
        close(window.fast_increase, 0.292_14);
        close(window.alpha * 1e6, 4.0 * 4_086.0 * 1.16856 * 0.87642 / 10.51704);
    }

    #[test]
    fn each_quadrant_changes_the_window_by_its_equation() {
        let now = Time::ZERO + Duration::from_us(5);
        let after = |delay: u64, is_marked, average: f64| {
            let mut window = window(Some(100_000));
            (window.average_delay, window.adapt.ends_at) = (average, now + Duration::from_us(1));
            window.adjusted_at = now;
            window.received = ADJUST_PACKETS * 4_150;
            let feedback = feedback(&window, delay, is_marked);
            window.decreased_at = now;
            let later = now + Duration::from_us(20);
            window.adapt.ends_at = later + Duration::from_us(1);
            window.adjusted_at = later;
            window.acknowledged(later, &feedback);
            window.window
        };
        let (acked, window_before) = (4_150.0, 100_000.0);
        let close = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-6, "{value} {expected}");
        let constants = window(None);
        close(after(11_000_000, false, 0.0), window_before + constants.fair_increase * acked / window_before);
        let distance = (constants.target - 2_000_000) as f64;
        close(after(2_000_000, false, 0.0), window_before + constants.alpha * acked * distance / window_before);
        close(after(2_000_000, true, 0.0), window_before);
        // The average is far above the target: half at most.
        close(after(200_000_000, true, 200e6), 50_000.0);
        let average = 14e6 + AVERAGE_WEIGHT * (14e6 - 14e6);
        let factor = 1.0 - DECREASE * (average - constants.target as f64) / average;
        close(after(14_000_000, true, 14e6), window_before * factor);
    }

    #[test]
    fn a_path_without_a_queue_opens_the_window_fast_after_a_window_of_bytes() {
        let mut window = window(Some(8_300));
        window.adapt.ends_at = Time::ZERO + Duration::from_ms(1);
        let now = Time::ZERO + Duration::from_us(1);
        window.adjusted_at = now;
        let feedback = feedback(&window, 0, false);
        (0..2).for_each(|_| window.acknowledged(now, &feedback));
        assert_eq!(window.bytes(), 8_300);
        window.acknowledged(now, &feedback);
        let expected = 8_300.0 + 4_150.0 * window.fast_increase;
        assert!((window.window - expected).abs() < 1e-6);
    }

    #[test]
    fn quick_adapt_cuts_to_what_was_achieved_and_then_ignores_what_was_in_flight() {
        let mut window = window(None);
        let late = Time::ZERO + Duration::from_us(100);
        window.adapt.ends_at = late;
        window.adapt.achieved = 12_000;
        window.trimmed(late, 4_150, Duration::from_us(14), 200_000, false);
        assert_eq!(window.bytes(), 12_000);
        // Trimmed packets and marks of what was in flight change nothing; what they count is drained.
        window.trimmed(late + Duration::from_us(1), 4_150, Duration::from_us(14), 190_000, false);
        let feedback = feedback(&window, 20_000_000, true);
        window.acknowledged(late + Duration::from_us(1), &feedback);
        assert_eq!((window.bytes(), window.adapt.ignored), (12_000, 8_300));
    }

    #[test]
    fn a_trimmed_packet_takes_its_size_from_the_window() {
        let mut window = window(Some(20_000));
        window.adapt.ends_at = Time::ZERO + Duration::from_us(10);
        window.trimmed(Time::ZERO + Duration::from_us(1), 4_150, Duration::from_us(14), 20_000, false);
        assert_eq!(window.bytes(), 15_850);
        (0..9).for_each(|_| window.lost(4_150));
        assert_eq!(window.bytes(), 4_150);
    }
}
