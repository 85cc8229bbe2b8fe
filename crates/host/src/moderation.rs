//! Adaptive interrupt moderation: the algorithm of Linux, *dynamic interrupt moderation* (`net_dim`), for one queue.
//!
//! After every 64 interrupts the rates of bytes, packets and interrupts are compared with those before, and the queue
//! steps to the next profile in the same direction or turns. A queue that has found its best profile parks there until
//! the load changes; one that has found none parks when it is tired.

use etherweave_engine::params::PROFILES;
use etherweave_primitives::Time;

/// Interrupts after which rates are compared.
const WINDOW: u64 = 64;
/// Steps after which a queue is tired: twice as many as there are profiles.
const STEPS_MAX: u8 = 2 * PROFILES as u8;
/// Rates that differ by so much or less are the same [%].
const DIFFERENCE: u64 = 10;

/// Totals of a queue.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct QueueTotals {
    /// Frames.
    pub packets: u64,
    /// Frames [B].
    pub bytes: u64,
    /// Interrupts.
    pub interrupts: u64,
}

/// Rates, each per millisecond and rounded up.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Rates {
    bytes: u64,
    packets: u64,
    interrupts: u64,
}

impl Rates {
    /// Between two samples; `None` within a microsecond.
    fn between(from: (Time, QueueTotals), until: (Time, QueueTotals)) -> Option<Rates> {
        let micros = |time: Time| time.as_ps() / 1_000_000;
        let span = micros(until.0) - micros(from.0);
        let rate = |count: u64| (count * 1000).div_ceil(span);
        (span > 0).then(|| Rates {
            bytes: rate(until.1.bytes - from.1.bytes),
            packets: rate(until.1.packets - from.1.packets),
            interrupts: rate(WINDOW),
        })
    }

    /// Compares with the rates `before`: more bytes, then more packets, then fewer interrupts are better.
    fn compare(&self, before: &Rates) -> Outcome {
        let more = [(self.bytes, before.bytes), (self.packets, before.packets)];
        for (now, before) in more {
            if before == 0 {
                return if now > 0 { Outcome::Better } else { Outcome::Same };
            }
            if differs(now, before) {
                return if now > before { Outcome::Better } else { Outcome::Worse };
            }
        }
        if before.interrupts == 0 || !differs(self.interrupts, before.interrupts) {
            return Outcome::Same;
        }
        if self.interrupts < before.interrupts { Outcome::Better } else { Outcome::Worse }
    }
}

fn differs(now: u64, before: u64) -> bool {
    100 * now.abs_diff(before) / before > DIFFERENCE
}

/// How rates compare with those before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Better,
    Same,
    Worse,
}

/// Where a queue is on its walk over the profiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// On the best profile, until the load changes.
    ParkedOnTop,
    /// Parked for as many windows as it has stepped.
    ParkedTired,
    /// Steps to profiles that wait longer.
    GoingRight,
    /// Steps to profiles that wait less.
    GoingLeft,
}

/// The walk of one queue over the profiles.
#[derive(Clone, Debug)]
pub struct AdaptiveModeration {
    index: u8,
    state: State,
    steps_right: u8,
    steps_left: u8,
    /// Steps since it last parked on top.
    tired: u8,
    before: Rates,
    window: Option<(Time, QueueTotals)>,
}

impl AdaptiveModeration {
    /// A fresh queue.
    pub fn new() -> AdaptiveModeration {
        let (state, before) = (State::ParkedOnTop, Rates::default());
        AdaptiveModeration { index: 0, state, steps_right: 0, steps_left: 0, tired: 0, before, window: None }
    }

    /// The queue has been polled until it was empty. Returns the profile to set, if it changes.
    pub fn sample(&mut self, now: Time, totals: QueueTotals) -> Option<usize> {
        let Some(window) = self.window else {
            self.window = Some((now, totals));
            return None;
        };
        if totals.interrupts - window.1.interrupts < WINDOW {
            return None;
        }
        let rates = Rates::between(window, (now, totals))?;
        let index = self.index;
        self.decide(rates);
        let has_changed = self.index != index;
        // The first sample after the change starts the next window.
        self.window = (!has_changed).then_some((now, totals));
        has_changed.then_some(usize::from(self.index))
    }

    fn decide(&mut self, rates: Rates) {
        let outcome = rates.compare(&self.before);
        let was_on_top = self.state == State::ParkedOnTop;
        match self.state {
            State::ParkedOnTop if outcome != Outcome::Same => self.leave(),
            State::ParkedOnTop => {}
            State::ParkedTired => {
                self.tired -= 1;
                if self.tired == 0 {
                    self.leave();
                }
            }
            State::GoingRight | State::GoingLeft => self.walk(outcome),
        }
        if !(was_on_top && self.state == State::ParkedOnTop) {
            self.before = rates;
        }
    }

    fn walk(&mut self, outcome: Outcome) {
        if outcome != Outcome::Better {
            self.turn();
        }
        if self.is_on_top() {
            self.park(State::ParkedOnTop);
        } else if self.tired == STEPS_MAX {
            self.park(State::ParkedTired);
        } else if !self.step() {
            self.park(State::ParkedOnTop);
        }
    }

    fn turn(&mut self) {
        if self.state == State::GoingRight {
            (self.state, self.steps_left) = (State::GoingLeft, 0);
        } else {
            (self.state, self.steps_right) = (State::GoingRight, 0);
        }
    }

    /// Whether the last step came back to the profile before a worse one, after more than one step towards it.
    fn is_on_top(&self) -> bool {
        match self.state {
            State::GoingRight => self.steps_left > 1 && self.steps_right == 1,
            State::GoingLeft => self.steps_right > 1 && self.steps_left == 1,
            State::ParkedOnTop | State::ParkedTired => true,
        }
    }

    fn park(&mut self, state: State) {
        (self.steps_right, self.steps_left) = (0, 0);
        if state == State::ParkedOnTop {
            self.tired = 0;
        }
        self.state = state;
    }

    fn leave(&mut self) {
        self.state = if self.index > 0 { State::GoingLeft } else { State::GoingRight };
        self.step();
    }

    /// Steps to the next profile. Returns false at the end of the table.
    fn step(&mut self) -> bool {
        let is_right = self.state == State::GoingRight;
        let end = if is_right { PROFILES as u8 - 1 } else { 0 };
        if self.index == end {
            return false;
        }
        if is_right {
            (self.index, self.steps_right) = (self.index + 1, self.steps_right + 1);
        } else {
            (self.index, self.steps_left) = (self.index - 1, self.steps_left + 1);
        }
        self.tired += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Duration;
    use proptest::prelude::*;

    use super::*;

    /// A queue with 64 interrupts, a window, at each of these (microseconds, packets of 100 B). Returns the profile
    /// after each, 9 while none has been set.
    fn profiles(windows: &[(u64, u64)]) -> Vec<usize> {
        let mut queue = AdaptiveModeration::new();
        let (mut now, mut totals, mut profile) = (Time::ZERO, QueueTotals::default(), 9);
        let mut after = Vec::new();
        assert_eq!(queue.sample(now, totals), None, "the first sample starts a window");
        for &(micros, packets) in windows {
            now += Duration::from_us(micros);
            totals.packets += packets;
            totals.bytes += 100 * packets;
            totals.interrupts += 64;
            if let Some(next) = queue.sample(now, totals) {
                profile = next;
                assert_eq!(queue.sample(now, totals), None, "the first sample after a change starts a window");
            }
            after.push(profile);
        }
        after
    }

    /// A ping-pong: one frame per interrupt, 64 in a window, whose round trip holds the period once: 20 us beside it.
    /// 32 us is better than nothing, 8 us better still; 16 us is worse (36 us against 28 us); 8 us is better again, and
    /// on top.
    #[test]
    fn a_ping_pong_goes_by_32_8_16_and_8_us_and_parks() {
        let window = |period: u64| (64 * (20 + period), 64);
        assert_eq!(profiles(&[window(32), window(8), window(16), window(8), window(8)]), [1, 2, 1, 1, 1]);
    }

    /// Turns each time at equal rates: 1, 0, 1, 0, ... until ten steps have tired the queue. Then it stays for nine
    /// windows, and leaves at the tenth.
    #[test]
    fn a_queue_whose_rates_never_change_tires_and_rests() {
        let same = vec![(1_000, 64); 22];
        let walk = [1, 0, 1, 0, 1, 0, 1, 0, 1, 0];
        let expected: Vec<usize> = walk.into_iter().chain([0; 10]).chain([1, 0]).collect();
        assert_eq!(profiles(&same), expected);
    }

    /// A load that doubles each window drives the queue to the end of the table, where it parks; the next doubling
    /// moves it on.
    #[test]
    fn a_queue_that_fares_better_at_each_step_parks_at_the_end() {
        let windows: Vec<(u64, u64)> = (0..7).map(|step| (1_000, 64 << step)).collect();
        assert_eq!(profiles(&windows), [1, 2, 3, 4, 4, 3, 2]);
    }

    /// 10 % are the same, and 11 % are not; of packets first, then of interrupts.
    #[test]
    fn rates_are_compared_by_bytes_then_packets_then_interrupts() {
        let rates = |bytes, packets, interrupts| Rates { bytes, packets, interrupts };
        let before = rates(1_000, 1_000, 1_000);
        let compared = |bytes, packets, interrupts| rates(bytes, packets, interrupts).compare(&before);
        assert_eq!(compared(1_109, 1_000, 1_000), Outcome::Same);
        assert_eq!(compared(1_110, 0, 9_000), Outcome::Better);
        assert_eq!(compared(890, 9_000, 0), Outcome::Worse);
        assert_eq!(compared(1_000, 1_110, 9_000), Outcome::Better);
        assert_eq!(compared(1_000, 890, 0), Outcome::Worse);
        assert_eq!(compared(1_000, 1_000, 890), Outcome::Better);
        assert_eq!(compared(1_000, 1_000, 1_110), Outcome::Worse);
        assert_eq!(rates(0, 5, 5).compare(&rates(0, 1, 9)), Outcome::Same, "nothing before and now");
        assert_eq!(rates(1, 5, 5).compare(&rates(0, 1, 9)), Outcome::Better);
    }

    #[test]
    fn rates_are_rounded_up() {
        let until = (Time::ZERO + Duration::from_us(3), QueueTotals { packets: 1, bytes: 100, interrupts: 64 });
        let rates = Rates::between((Time::ZERO, QueueTotals::default()), until).unwrap();
        // 1000 / 3, 100,000 / 3, 64,000 / 3.
        assert_eq!(rates, Rates { packets: 334, bytes: 33_334, interrupts: 21_334 });
    }

    proptest! {
        #[test]
        fn the_profile_never_leaves_the_table(windows in prop::collection::vec((0u64..5_000, 0u64..10_000), 1..400)) {
            for profile in profiles(&windows) {
                prop_assert!(profile < PROFILES || profile == 9);
            }
        }
    }
}
