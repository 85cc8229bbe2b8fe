//! Throttled interrupts of a queue, as the driver of Intel's NICs of 1 Gb/s has them (Linux, `igb_main.c`).
//!
//! The NIC raises no interrupt within an interval after the one before, for what has come or for what was sent.
//! After each poll the driver derives the interval from the mean size of the frames that it has taken
//! (`igb_update_ring_itr`); the NIC is given it with the next interrupt, and counts from there.

use etherweave_engine::params::ThrottleParams;
use etherweave_primitives::{Duration, Time};

use super::moderation::QueueTotals;

/// Unit of the interval: 256 ns (`IGB_20K_ITR` of 196 are 20,000 interrupts a second).
const UNIT: Duration = Duration::from_ps(256_000);
/// Interval of a fresh queue (`IGB_START_ITR`): about 6,000 interrupts a second.
const START: u64 = 648;
/// Largest mean size that counts, so that jumbo frames do not starve [B].
const SIZE_MAX: u64 = 3_000;

/// Interval between the interrupts of a queue.
pub struct Throttle {
    interval_min: Duration,
    interval: Duration,
    /// Earliest next interrupt.
    open_at: Time,
    /// Totals received and sent until the last poll.
    before: [QueueTotals; 2],
}

impl Throttle {
    /// Creates the throttle of a fresh queue.
    pub fn new(params: &ThrottleParams) -> Throttle {
        let interval = params.interval_min.max(UNIT * START);
        Throttle { interval_min: params.interval_min, interval, open_at: Time::ZERO, before: Default::default() }
    }

    /// When the NIC raises the interrupt that is due at a time.
    pub fn raised_at(&self, due: Time) -> Time {
        due.max(self.open_at)
    }

    /// The interrupt is raised.
    pub fn interrupt(&mut self, raised_at: Time) {
        self.open_at = raised_at + self.interval;
    }

    /// Frames have been polled, totals of received and of sent ones: sets the interval behind the next interrupt.
    pub fn sample(&mut self, totals: [QueueTotals; 2]) {
        let before = std::mem::replace(&mut self.before, totals);
        let means = totals.iter().zip(before).filter_map(|(now, before)| mean(now, &before));
        if let Some(size) = means.max() {
            self.interval = self.interval_min.max(interval(size));
        }
    }
}

/// Mean size of the frames between two samples [B]; `None` without a frame.
fn mean(now: &QueueTotals, before: &QueueTotals) -> Option<u64> {
    (now.bytes - before.bytes).checked_div(now.packets - before.packets)
}

/// Interval of frames of a size on the wire: shorter for those of middle size.
fn interval(size: u64) -> Duration {
    let size = size.min(SIZE_MAX);
    UNIT * if (301..1_200).contains(&size) { size / 3 } else { size / 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn totals(packets: u64, bytes: u64) -> QueueTotals {
        QueueTotals { packets, bytes, interrupts: 0 }
    }

    /// 1,024 B of payload are 1,114 B on the wire. Small frames have the smallest interval; jumbo frames count as
    /// 3,000 B.
    #[test]
    fn the_interval_follows_the_size_of_frames() {
        let units = [(90, 45), (1_114, 371), (1_199, 399), (1_200, 600), (1_538, 769), (9_038, 1_500)];
        for (size, units) in units {
            let mut throttle = fresh();
            throttle.sample([totals(1, size), totals(0, 0)]);
            assert_eq!(throttle.interval, (UNIT * units).max(Duration::from_us(50)), "{size} B");
        }
        assert_eq!([300, 301].map(interval), [UNIT * 150, UNIT * 100]);
    }

    fn fresh() -> Throttle {
        Throttle::new(&ThrottleParams::default())
    }

    #[test]
    fn an_interrupt_waits_for_the_interval_after_the_one_before() {
        let mut throttle = fresh();
        assert_eq!(throttle.raised_at(at(3)), at(3), "the first");
        throttle.interrupt(at(3));
        throttle.sample([totals(1, 90), totals(0, 0)]);
        let second = at(3) + UNIT * START;
        assert_eq!(throttle.raised_at(at(9)), second, "what the poll sets holds from the next interrupt on");
        throttle.interrupt(second);
        assert_eq!(throttle.raised_at(at(9)), second + Duration::from_us(50));
        assert_eq!(throttle.raised_at(at(999)), at(999));
    }

    #[test]
    fn the_larger_mean_of_both_directions_decides() {
        let mut throttle = fresh();
        throttle.sample([totals(2, 180), totals(3, 4_614)]);
        assert_eq!(throttle.interval, UNIT * 769);
        throttle.sample([totals(4, 360), totals(3, 4_614)]);
        assert_eq!(throttle.interval, Duration::from_us(50), "nothing was sent");
        throttle.sample([totals(4, 360), totals(3, 4_614)]);
        assert_eq!(throttle.interval, Duration::from_us(50), "no frame changes nothing");
    }
}
