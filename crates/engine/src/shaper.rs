//! A token bucket before the transmitter of a port.
//!
//! Its state is the time at which it will be full, so that nothing happens while nothing is sent. A frame of s bytes
//! delays that time by s byte times. The next may begin once the bucket holds a frame of the largest size, whatever
//! its own: a packet is picked when it may begin, and not before. Pause frames bypass it.

use etherweave_primitives::{ByteTime, Duration, Time};

use crate::{frame::size::PREAMBLE_AND_GAP, params::TokenBucket};

/// The check sequence, which shapers do not count [B].
const CHECK_SEQUENCE: u32 = 4;

/// A token bucket.
#[derive(Clone, Debug)]
pub struct Shaper {
    byte_time: ByteTime,
    /// How long the bucket may take to fill when a packet begins.
    slack: Duration,
    full_at: Time,
    /// The transmitter itself is busy until then.
    pub wire_until: Time,
}

impl Shaper {
    /// A full bucket.
    ///
    /// # Panics
    /// When it does not hold the largest frame.
    pub fn new(bucket: &TokenBucket, largest_frame: u32) -> Shaper {
        let byte_time = ByteTime::new(bucket.rate);
        let burst = u32::try_from(bucket.burst.get()).expect("params::check has checked the burst");
        let room = burst.checked_sub(counted(largest_frame)).expect("params::check has checked the burst");
        Shaper { byte_time, slack: byte_time.of(room), full_at: Time::ZERO, wire_until: Time::ZERO }
    }

    /// A packet of `wire` bytes begins `now`, and leaves the wire at `end`. Returns when the next one may begin.
    pub fn charge(&mut self, now: Time, end: Time, wire: u32) -> Time {
        self.wire_until = end;
        self.full_at = self.full_at.max(now) + self.byte_time.of(counted(wire));
        let slack = self.slack.min(self.full_at.since(Time::ZERO));
        end.max(Time::ZERO + (self.full_at.since(Time::ZERO) - slack))
    }
}

/// Returns the bytes that a shaper counts of a packet of `wire` bytes.
fn counted(wire: u32) -> u32 {
    wire - PREAMBLE_AND_GAP - CHECK_SEQUENCE
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::{BitRate, Bytes};
    use proptest::prelude::*;

    use super::*;

    /// Time of a byte at 1 Gb/s [ps]: 8 ns.
    const BYTE: u64 = 8_000;
    const FRAME: u32 = 1_538;

    fn shaper(burst: u64) -> Shaper {
        Shaper::new(&TokenBucket { rate: BitRate::from_gbps(1), burst: Bytes::new(burst) }, FRAME)
    }

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    #[test]
    fn a_bucket_of_one_frame_sends_frames_at_its_rate() {
        let mut shaper = shaper(1_514);
        let second = shaper.charge(at(0), at(123), FRAME);
        assert_eq!(second, at(1_514 * BYTE));
        assert_eq!(shaper.charge(second, second, FRAME), at(2 * 1_514 * BYTE));
    }

    #[test]
    fn a_full_bucket_sends_its_burst_at_the_rate_of_the_wire() {
        let mut shaper = shaper(3 * 1_514);
        assert_eq!(shaper.charge(at(0), at(10), FRAME), at(10));
        assert_eq!(shaper.charge(at(10), at(20), FRAME), at(20));
        // Less a third frame, the bucket holds the tokens of 20 ps.
        let fourth = shaper.charge(at(20), at(30), FRAME);
        assert_eq!(fourth, at(1_514 * BYTE));
    }

    #[test]
    fn an_idle_time_fills_the_bucket_but_not_beyond_its_burst() {
        let mut shaper = shaper(2 * 1_514);
        shaper.charge(at(0), at(1), FRAME);
        let later = 1_000_000_000;
        assert_eq!(shaper.charge(at(later), at(later + 1), FRAME), at(later + 1));
        assert_eq!(shaper.charge(at(later + 1), at(later + 2), FRAME), at(later + 1_514 * BYTE));
    }

    proptest! {
        /// RFC 2697, section 3, of one bucket: in no interval more than its length at the rate, and a burst.
        #[test]
        fn no_interval_carries_more_than_rate_and_burst(
            frames in prop::collection::vec((84u32..=FRAME, 0u64..30_000_000), 1..100), burst in 1_514u64..20_000,
        ) {
            let mut shaper = shaper(burst);
            let (mut next, mut sent) = (at(0), Vec::new());
            for (wire, pause) in frames {
                let now = at(next.as_ps() + pause);
                sent.push((now.as_ps(), u64::from(counted(wire))));
                next = shaper.charge(now, now, wire);
            }
            for first in 0..sent.len() {
                let mut bytes = 0;
                for (time, counted) in &sent[first..] {
                    bytes += counted;
                    prop_assert!(bytes * BYTE <= (time - sent[first].0) + burst * BYTE);
                }
            }
        }
    }
}
