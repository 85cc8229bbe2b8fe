//! Reno's window (RFC 5681): one segment more per window acknowledged, half after a loss.

use super::{super::params::TcpParams, AckProgress, Sign, WindowAlgorithm};

/// Bytes acknowledged towards the next segment of growth.
#[derive(Clone, Debug, Default)]
pub(super) struct NewReno {
    counted: u64,
}

impl NewReno {
    /// State that decides what it will do.
    pub(super) fn word(&self) -> u64 {
        let &NewReno { counted } = self;
        counted
    }

    /// Growth in avoidance [B] (RFC 5681, section 3.1: counting bytes, a segment per window of them).
    pub(super) fn increase(&mut self, window: u64, mss: u64, acked: u64) -> u64 {
        self.counted += acked;
        if self.counted < window {
            return 0;
        }
        self.counted -= window;
        mss
    }

    /// Threshold after a loss [B] (equation 4, with the window for FlightSize as Linux has it).
    pub(super) fn reduce(&mut self, window: u64) -> u64 {
        self.counted = 0;
        window / 2
    }

    pub(super) fn restart(&mut self) {
        self.counted = 0;
    }
}

impl WindowAlgorithm for NewReno {
    fn start(_params: &TcpParams) -> NewReno {
        NewReno::default()
    }

    fn increase(&mut self, window: u64, mss: u64, acked: u64, _progress: &AckProgress) -> u64 {
        self.increase(window, mss, acked)
    }

    fn reduce(&mut self, window: u64, _mss: u64, _sign: Sign) -> Option<u64> {
        Some(self.reduce(window))
    }

    fn restart(&mut self, _window: u64) {
        self.restart();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_acks_adds_one_segment() {
        let mut reno = NewReno::default();
        let mut window = 20_000;
        // 20 segments acknowledged, then 21: one more each time.
        for segments in [20, 21] {
            let before = window;
            (0..segments).for_each(|_| window += reno.increase(window, 1_000, 1_000));
            assert_eq!(window, before + 1_000);
        }
    }
}
