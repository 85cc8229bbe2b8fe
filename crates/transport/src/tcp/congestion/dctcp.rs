//! DCTCP (RFC 8257; M. Alizadeh et al., "Data Center TCP", SIGCOMM 2010): the window shrinks by the share of marked
//! bytes.

use super::{super::params::TcpParams, AckProgress, Sign, WindowAlgorithm, new_reno::NewReno};
use crate::state_word::joined;

/// The share moves by 2^-4 of what it differs from the last window's (`g`, RFC 8257, section 4.2).
const GAIN_SHIFT: u32 = 4;
/// A share of 1.
const ONE: u64 = 1 << 20;

/// See the module. Growth, and what a loss does, are Reno's.
#[derive(Clone, Debug)]
pub(crate) struct Dctcp {
    reno: NewReno,
    /// Smoothed share of marked bytes (`DCTCP.Alpha`) [2^-20].
    alpha: u64,
    /// Acknowledged, and of these with an echo, in this window [B].
    acked: u64,
    marked: u64,
    /// The window of observation ends here [offset].
    window_end: u64,
}

impl Default for Dctcp {
    fn default() -> Self {
        // RFC 8257, section 4.2, recommends to begin with 1.
        Dctcp { reno: NewReno::default(), alpha: ONE, acked: 0, marked: 0, window_end: 0 }
    }
}

impl Dctcp {
    /// State that decides what it will do, where all below `una` is acknowledged.
    pub(crate) fn word(&self, una: u64) -> u64 {
        let &Dctcp { ref reno, alpha, acked, marked, window_end } = self;
        joined([reno.word(), alpha, acked, marked, (window_end + 1).saturating_sub(una)])
    }

    /// Takes every ACK (RFC 8257, section 3.3).
    pub(crate) fn observe(&mut self, acked: u64, is_marked: bool, una: u64, sent_to: u64) {
        self.acked += acked;
        self.marked += if is_marked { acked } else { 0 };
        if una <= self.window_end || self.acked == 0 {
            return;
        }
        let share = ONE * self.marked / self.acked;
        self.alpha = self.alpha - (self.alpha >> GAIN_SHIFT) + (share >> GAIN_SHIFT);
        (self.acked, self.marked, self.window_end) = (0, 0, sent_to);
    }

    pub(crate) fn increase(&mut self, window: u64, mss: u64, acked: u64) -> u64 {
        self.reno.increase(window, mss, acked)
    }

    /// Window after marks [B]: less half of the share (RFC 8257, section 3.3, step 9).
    pub(crate) fn reduce_for_marks(&self, window: u64) -> u64 {
        window - (u128::from(window) * u128::from(self.alpha) / u128::from(2 * ONE)) as u64
    }

    /// Threshold after a loss [B] (section 3.5).
    pub(crate) fn reduce(&mut self, window: u64) -> u64 {
        self.reno.reduce(window)
    }

    pub(crate) fn restart(&mut self) {
        self.reno.restart();
    }
}

impl WindowAlgorithm for Dctcp {
    const NEEDS_MARKS: bool = true;

    fn start(_params: &TcpParams) -> Dctcp {
        Dctcp::default()
    }

    fn increase(&mut self, window: u64, mss: u64, acked: u64, _progress: &AckProgress) -> u64 {
        self.increase(window, mss, acked)
    }

    fn observe(&mut self, acked: u64, is_marked: bool, una: u64, sent_to: u64) {
        self.observe(acked, is_marked, una, sent_to);
    }

    fn reduce(&mut self, window: u64, _mss: u64, sign: Sign) -> Option<u64> {
        Some(if sign == Sign::Mark { self.reduce_for_marks(window) } else { self.reduce(window) })
    }

    fn restart(&mut self, _window: u64) {
        self.restart();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    fn share(dctcp: &Dctcp) -> f64 {
        dctcp.alpha as f64 / ONE as f64
    }

    /// After n windows with a share F of marks, alpha = F + (1 - F) (15/16)^n (equation 1 of the paper).
    #[test]
    fn alpha_approaches_the_share_of_marks_by_a_sixteenth_per_window() {
        let mut dctcp = Dctcp::default();
        let mut una = 0;
        for window in 1..=40 {
            for segment in 0..10 {
                una += MSS;
                dctcp.observe(MSS, segment < 3, una, una + 9 * MSS);
            }
            // The first ACK ends a window of its own, which nothing preceded.
            let expected = 0.3 + 0.7 * (15.0 / 16.0_f64).powi(window);
            assert!((share(&dctcp) - expected).abs() < 0.07, "{} in window {window}, {expected}", share(&dctcp));
        }
        assert!((dctcp.reduce_for_marks(100 * MSS) as f64 - 100_000.0 * (1.0 - share(&dctcp) / 2.0)).abs() < 2.0);
    }

    /// The paper, section 3.3: a flow whose queue passes the threshold at a window of W segments has all segments of
    /// one round trip marked per cycle, so alpha² (1 - alpha / 4) = (2 W + 1) / (W + 1)², about √(2 / W), and the
    /// window saws by (W + 1) alpha / 2, which takes as many round trips.
    #[test]
    fn the_window_saws_as_the_paper_derives() {
        let critical = 100_u64;
        let mut dctcp = Dctcp::default();
        let (mut window, mut una) = (50 * MSS, 0);
        let (mut alphas, mut depths, mut cycles) = (Vec::new(), Vec::new(), Vec::new());
        let mut since = 0;
        let mut was_marked = false;
        for round in 0..3_000 {
            // Segments of this round were marked by the window that the round before it filled.
            let (is_marked, sent) = (window > critical * MSS && !was_marked, window / MSS);
            for _ in 0..sent {
                una += MSS;
                dctcp.observe(MSS, is_marked, una, una + window);
                window += if is_marked { 0 } else { dctcp.increase(window, MSS, MSS) };
            }
            since += 1;
            if is_marked {
                let before = window;
                window = dctcp.reduce_for_marks(window);
                if round > 2_000 {
                    alphas.push(share(&dctcp));
                    depths.push((before - window) as f64 / MSS as f64);
                    cycles.push(f64::from(since));
                }
                since = 0;
            }
            was_marked = is_marked;
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let expected = (2.0 / critical as f64).sqrt();
        assert!((mean(&alphas) / expected - 1.0).abs() < 0.25, "{} against {expected}", mean(&alphas));
        let depth = (critical + 1) as f64 * mean(&alphas) / 2.0;
        assert!((mean(&depths) / depth - 1.0).abs() < 0.05, "{} against {depth}", mean(&depths));
        assert!((mean(&cycles) - depth).abs() < 2.0, "{} round trips, {depth}", mean(&cycles));
    }
}
