//! Pauses that a port received from its peer, pauses that it sent to its peer, and their durations.

use etherweave_primitives::{Duration, Priority, Time};

use crate::frame::pause::priorities;

/// Pause frames that name one priority, by what they do to it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PauseCounters {
    /// Start a pause.
    pub xoff: u32,
    /// Renew a pause before it runs out.
    pub refresh: u32,
    /// End a pause.
    pub xon: u32,
}

impl PauseCounters {
    /// All pause frames that name the priority.
    pub fn total(self) -> u64 {
        u64::from(self.xoff) + u64::from(self.refresh) + u64::from(self.xon)
    }
}

/// State of the priorities that the peer has paused.
#[derive(Clone, Copy, Debug)]
pub struct Paused {
    /// Priorities that the peer has paused.
    pub priorities: u8,
    /// Priorities whose pauses have no effect: a watchdog acts.
    pub ignored: u8,
    /// Priorities that are not sent because a watchdog discards them.
    pub discarded: u8,
    /// Priorities with a scheduled expiry event.
    pub expiring: u8,
    /// When each pause runs out by itself.
    pub until: [Time; Priority::COUNT],
    /// When each present pause began.
    pub since: [Time; Priority::COUNT],
    /// Time paused so far.
    pub duration: [Duration; Priority::COUNT],
    /// Longest pause so far, from its first frame to its end.
    pub duration_max: [Duration; Priority::COUNT],
    /// Pause frames received that name the priority. One that stops a priority is a refresh if the priority is paused
    /// when it arrives.
    pub rx_packets: [PauseCounters; Priority::COUNT],
    /// Pause frames discarded that named the priority: wrong frame check sequence.
    pub fcs_errors: [u64; Priority::COUNT],
    /// Pause frames sent that name the priority.
    pub tx_packets: [PauseCounters; Priority::COUNT],
    /// When each pause of the peer by this port began, if there is one.
    pub holding_since: [Time; Priority::COUNT],
    /// Time for which this port paused the peer.
    pub tx_duration: [Duration; Priority::COUNT],
}

impl Paused {
    /// No pause, now or before.
    pub const NOTHING: Paused = Paused {
        priorities: 0,
        ignored: 0,
        discarded: 0,
        expiring: 0,
        until: [Time::ZERO; Priority::COUNT],
        since: [Time::ZERO; Priority::COUNT],
        duration: [Duration::ZERO; Priority::COUNT],
        duration_max: [Duration::ZERO; Priority::COUNT],
        rx_packets: [PauseCounters { xoff: 0, refresh: 0, xon: 0 }; Priority::COUNT],
        fcs_errors: [0; Priority::COUNT],
        tx_packets: [PauseCounters { xoff: 0, refresh: 0, xon: 0 }; Priority::COUNT],
        holding_since: [Time::ZERO; Priority::COUNT],
        tx_duration: [Duration::ZERO; Priority::COUNT],
    };
}

impl Paused {
    /// Priorities that must not be sent now.
    pub fn stopped(&self) -> u8 {
        self.priorities & !self.ignored | self.discarded
    }

    /// A frame stops a priority until a time. Returns whether an event must end it: it has none yet.
    pub fn stop(&mut self, priority: usize, now: Time, until: Time) -> bool {
        let bit = 1u8 << priority;
        self.until[priority] = until;
        if self.priorities & bit == 0 {
            self.priorities |= bit;
            self.since[priority] = now;
            self.rx_packets[priority].xoff += 1;
        } else {
            self.rx_packets[priority].refresh += 1;
        }
        let is_expiring = self.expiring & bit != 0;
        self.expiring |= bit;
        !is_expiring
    }

    /// A priority goes on, if it was paused.
    pub fn resume(&mut self, priority: usize, now: Time) {
        let bit = 1u8 << priority;
        if self.priorities & bit != 0 {
            self.priorities &= !bit;
            self.count(priority, now);
        }
    }

    /// Adds the present pause of a priority.
    fn count(&mut self, priority: usize, now: Time) {
        let pause = now.since(self.since[priority]);
        self.duration[priority] += pause;
        self.duration_max[priority] = self.duration_max[priority].max(pause);
    }

    /// The event that ends the pause of a priority has come. Returns when the pause runs out, if there still is one;
    /// where that is later, the event comes again then.
    pub fn expire(&mut self, priority: usize, now: Time) -> Option<Time> {
        let bit = 1u8 << priority;
        self.expiring &= !bit;
        let until = (self.priorities & bit != 0).then_some(self.until[priority])?;
        if until > now {
            self.expiring |= bit;
        }
        Some(until)
    }

    /// The port pauses priorities at its peer.
    pub fn begin_holding(&mut self, mask: u8, now: Time) {
        for priority in priorities(mask) {
            self.tx_packets[priority].xoff += 1;
            self.holding_since[priority] = now;
        }
    }

    /// The port lets its peer go on.
    pub fn end_holding(&mut self, mask: u8, now: Time) {
        for priority in priorities(mask) {
            self.tx_packets[priority].xon += 1;
            self.tx_duration[priority] += now.since(self.holding_since[priority]);
        }
    }

    /// Time for which a priority was paused, and for which it was paused at the peer, until `now`; `held` are now.
    pub fn durations(&self, now: Time, held: u8, priority: usize) -> (Duration, Duration) {
        let present = |mask: u8, since: Time| if mask & 1 << priority == 0 { Duration::ZERO } else { now.since(since) };
        let rx = self.duration[priority] + present(self.priorities, self.since[priority]);
        let tx = self.tx_duration[priority] + present(held, self.holding_since[priority]);
        (rx, tx)
    }

    /// Adds what is paused at the end of a run to the durations; `held` are at the peer.
    pub fn settle(&mut self, end: Time, held: u8) {
        for priority in priorities(self.priorities) {
            self.count(priority, end);
            self.since[priority] = end;
        }
        for priority in priorities(held) {
            self.tx_duration[priority] += end.since(self.holding_since[priority]);
            self.holding_since[priority] = end;
        }
    }
}

etherweave_kernel::wire! { PauseCounters { xoff, refresh, xon } }

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    #[test]
    fn a_pause_that_is_renewed_runs_out_by_its_last_frame() {
        let mut paused = Paused::NOTHING;
        assert!(paused.stop(3, at(10), at(20)), "an event ends it");
        assert!(!paused.stop(3, at(15), at(25)), "the event is there");
        assert_eq!(paused.expire(3, at(20)), Some(at(25)), "it comes again");
        assert_eq!(paused.durations(at(22), 0, 3), (Duration::from_us(12), Duration::ZERO));
        assert_eq!(paused.expire(3, at(25)), Some(at(25)));
        paused.resume(3, at(25));
        assert_eq!(paused.expire(3, at(30)), None);
        assert_eq!((paused.priorities, paused.duration[3]), (0, Duration::from_us(15)));
        assert_eq!(paused.rx_packets[3], PauseCounters { xoff: 1, refresh: 1, xon: 0 });
    }

    /// Pauses of 15 us, renewed once, of 4 us, and of 9 us until the end.
    #[test]
    fn the_longest_pause_lasts_from_its_first_frame_to_its_end() {
        let mut paused = Paused::NOTHING;
        let mut pause = |frames: &[u64], end: u64| {
            for &frame in frames {
                paused.stop(3, at(frame), at(frame + 10));
            }
            paused.resume(3, at(end));
            paused.duration_max[3]
        };
        let us = Duration::from_us;
        assert_eq!([pause(&[30], 34), pause(&[40, 45], 55), pause(&[60], 64)], [us(4), us(15), us(15)]);
        paused.stop(5, at(80), at(100));
        paused.settle(at(89), 0);
        assert_eq!((paused.duration_max[5], paused.duration[3]), (us(9), us(23)));
    }

    #[test]
    fn what_still_holds_at_the_end_counts_until_then() {
        let mut paused = Paused::NOTHING;
        paused.begin_holding(0b11, at(1));
        paused.end_holding(0b01, at(4));
        paused.stop(7, at(2), at(100));
        paused.settle(at(10), 0b10);
        let us = Duration::from_us;
        assert_eq!((paused.tx_duration[0], paused.tx_duration[1], paused.duration[7]), (us(3), us(9), us(8)));
    }
}
