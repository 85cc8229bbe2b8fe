//! CUBIC (RFC 9438). Windows inside are in segments, as in the RFC; times in seconds.
//!
//! Floating point here is addition, multiplication and division, which IEEE 754 fixes to the bit, and a cube
//! root from `libm`, which is the same code everywhere.

use etherweave_primitives::{Duration, Time};

use super::{super::params::TcpParams, AckProgress, Sign, WindowAlgorithm};

/// Aggressiveness [segments/s³] (`C`, section 5).
const C: f64 = 0.4;
/// Share of the window that a reduction leaves (`β_cubic`, section 4.6).
const BETA: f64 = 0.7;
/// Reno-friendly growth (`α_cubic`, section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

#[derive(Clone, Copy, Debug)]
struct CubicEpoch {
    start: Time,
    /// Where the curve is flat [segments] (`W_max`).
    plateau: f64,
    /// When the curve is back at its plateau [s] (`K`, equation 2).
    plateau_after: f64,
    /// Window that Reno would have by now [segments] (`W_est`).
    reno: f64,
}

impl CubicEpoch {
    /// Starts with `window`; the curve lies flat at once when no plateau is above.
    fn new(start: Time, window: f64, plateau: f64) -> CubicEpoch {
        let plateau = plateau.max(window);
        CubicEpoch { start, plateau, plateau_after: libm::cbrt((plateau - window) / C), reno: window }
    }

    /// `W_cubic` [segments] (equation 1).
    fn curve(&self, elapsed: Duration) -> f64 {
        let past = elapsed.as_s_f64() - self.plateau_after;
        C * past * past * past + self.plateau
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Cubic {
    /// Plateau of the curve [segments] (`W_max`); 0 until a reduction sets it.
    plateau: f64,
    /// Window before the last reduction [segments] (`cwnd_prior`).
    prior: f64,
    epoch: Option<CubicEpoch>,
    /// Growth of less than a byte that is owed [B].
    owed: f64,
}

impl Cubic {
    /// Growth in avoidance [B].
    fn increase(&mut self, window: u64, mss: u64, acked: u64, progress: &AckProgress) -> u64 {
        let segment = mss as f64;
        let (window, acked) = (window as f64 / segment, acked as f64 / segment);
        let target = self.target(window, acked, progress);
        self.owed += (target - window).max(0.0) * segment;
        let bytes = self.owed as u64;
        self.owed -= bytes as f64;
        bytes
    }

    /// The window after this ACK [segments] (sections 4.2 to 4.5).
    fn target(&mut self, window: f64, acked: f64, progress: &AckProgress) -> f64 {
        let epoch = self.epoch.get_or_insert_with(|| CubicEpoch::new(progress.now, window, self.plateau));
        self.plateau = epoch.plateau;
        let elapsed = progress.now.since(epoch.start);
        epoch.reno += if epoch.reno < self.prior { ALPHA } else { 1.0 } * acked / window;
        if epoch.curve(elapsed) < epoch.reno {
            return epoch.reno;
        }
        let hint = epoch.curve(elapsed + progress.smoothed).clamp(window, 1.5 * window);
        window + (hint - window) / window * acked
    }

    /// Threshold after a loss [B], with fast convergence (sections 4.6 and 4.7).
    fn reduce(&mut self, window: u64, mss: u64) -> u64 {
        let segments = window as f64 / mss as f64;
        let shrinking = segments < self.plateau;
        self.plateau = if shrinking { segments * (1.0 + BETA) / 2.0 } else { segments };
        self.prior = segments;
        self.epoch = None;
        (window as f64 * BETA) as u64
    }
}

impl WindowAlgorithm for Cubic {
    const LEAVES_BY_HYSTART: bool = true;

    fn start(_params: &TcpParams) -> Cubic {
        Cubic::default()
    }

    fn increase(&mut self, window: u64, mss: u64, acked: u64, progress: &AckProgress) -> u64 {
        self.increase(window, mss, acked, progress)
    }

    fn reduce(&mut self, window: u64, mss: u64, _sign: Sign) -> Option<u64> {
        Some(self.reduce(window, mss))
    }

    /// After a timeout the next stage starts on its plateau (section 4.8).
    fn restart(&mut self, _window: u64) {
        self.plateau = 0.0;
        self.epoch = None;
    }

    /// Moves the stage by the time in which the application sent nothing (section 5.8), at most to `now`: a stage
    /// may have begun in it.
    fn skip(&mut self, now: Time, idle: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    #[test]
    fn the_curve_returns_to_its_plateau_after_k_seconds() {
        // A window of 100 segments is cut to 70. K = cbrt((100 - 70) / 0.4) = cbrt(75) = 4.2172 s.
        let epoch = CubicEpoch::new(Time::ZERO, 70.0, 100.0);
        assert!((epoch.plateau_after - 4.2172).abs() < 1e-4);
        assert!((epoch.curve(Duration::ZERO) - 70.0).abs() < 1e-9);
        // One second later 100 - 0.4·3.2172³ = 86.68; at K 100; two seconds after K 100 + 0.4·8 = 103.2.
        assert!((epoch.curve(Duration::from_ms(1_000)) - 86.680).abs() < 1e-3);
        assert!((epoch.curve(Duration::from_us(4_217_163)) - 100.0).abs() < 1e-9);
        assert!((epoch.curve(Duration::from_us(6_217_163)) - 103.2).abs() < 1e-4);
    }

    #[test]
    fn a_second_loss_below_the_plateau_releases_bandwidth() {
        let mut cubic = Cubic::default();
        assert_eq!(cubic.reduce(100 * MSS, MSS), 70 * MSS);
        assert_eq!(cubic.plateau, 100.0);
        // At 80 < 100 segments: W_max = 80 · (1 + 0.7) / 2 = 68.
        assert_eq!(cubic.reduce(80 * MSS, MSS), 56 * MSS);
        assert!((cubic.plateau - 68.0).abs() < 1e-9);
    }

    /// Growth [segments] while `window` bytes are acknowledged segment by segment.
    fn grow(cubic: &mut Cubic, window: u64, now: Time) -> f64 {
        let smoothed = Duration::from_us(100);
        let progress = AckProgress { now, acked: MSS, una: 0, sent_to: 0, round_trip: smoothed, smoothed };
        let grown = (0..window / MSS).fold(window, |grown, _| grown + cubic.increase(grown, MSS, MSS, &progress));
        (grown - window) as f64 / MSS as f64
    }

    #[test]
    fn on_short_round_trips_it_grows_no_slower_than_reno_with_its_reduction() {
        // From 20 to 14 segments. Within 100 us the cube stands still; W_est gains α = 3 (1 - 0.7) / (1 + 0.7) = 0.529
        // segments per window (section 4.3), a little less as the window grows meanwhile: 14 · 0.529 / 14.5 = 0.51.
        let mut cubic = Cubic::default();
        let window = cubic.reduce(20 * MSS, MSS);
        let growth = grow(&mut cubic, window, Time::ZERO);
        assert!((0.51..0.53).contains(&growth), "{growth}");
    }

    #[test]
    fn a_pause_of_the_application_takes_no_time_from_the_curve() {
        let after = |pause_ms| {
            let mut cubic = Cubic::default();
            let window = cubic.reduce(1_000 * MSS, MSS);
            grow(&mut cubic, window, Time::ZERO);
            let (pause, on) = (Duration::from_ms(pause_ms), Duration::from_ms(1_000));
            cubic.skip(Time::ZERO + pause, pause);
            grow(&mut cubic, window, Time::ZERO + pause + on)
        };
        assert_eq!(after(0), after(3_000));
        let mut late = Cubic { epoch: Some(CubicEpoch::new(Time::from_ps(5), 1.0, 1.0)), ..Cubic::default() };
        late.skip(Time::from_ps(7), Duration::from_ps(6));
        assert_eq!(late.epoch.unwrap().start, Time::from_ps(7), "no stage starts in the future");
    }
}
