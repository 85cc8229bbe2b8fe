//! Swift, the window of a connection (G. Kumar et al., SIGCOMM 2020, algorithm 1). All in integers: windows in units of
//! 2^-20 packets.

use etherweave_primitives::{BitRate, Bytes, Duration, InputError, Time, params};

use super::roce::{CongestionControl, Feedback, FreshConnection, Progress, SenderControl};
use super::state_word::{joined, maybe_from_now};
use crate::params::{TIMER_MAX, check_timer, require, require_within};

/// A window of one packet.
const ONE: u64 = 1 << 20;
/// The root of [`ONE`].
const ROOT: u64 = 1 << 10;

params! {
    /// A window for each connection that holds the round trip near a target.
    pub struct Swift {
        /// Round trip that a connection with a large window aims at (base target delay, section 3.2).
        pub base_target: Duration = Duration::from_us(25),
        /// Time that the least window adds to the target (flow scaling). 0s: nothing.
        pub flow_scaling: Duration = Duration::from_us(100),
        /// Window up to which all of it is added [thousandths of a packet] (`fs_min_cwnd`).
        pub flow_scaling_window_min: u32 = 100,
        /// Window from which on none of it is added [thousandths of a packet] (`fs_max_cwnd`).
        pub flow_scaling_window_max: u32 = 100_000,
        /// Growth of the window by a round trip below the target [thousandths of a packet] (`ai`).
        pub additive_increase: u32 = 1_000,
        /// Share of the excess over the target by which the window shrinks [%] (`beta`).
        pub decrease: u32 = 80,
        /// Largest decrease of the window in a round trip [%] (`max_mdf`).
        pub decrease_max: u32 = 50,
        /// Window of a fresh connection, which may grow to `window`; absent: as large as it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub initial_window: Option<Bytes> = None,
        /// Smallest window [thousandths of a packet]; below one packet, packets are paced.
        pub window_min: u32 = 10,
        /// Timeouts in a row after which the window is the least (`RETX_RESET_THRESHOLD`).
        pub timeouts_max: u32 = 5,
    }
}

/// The window of one connection.
#[derive(Clone, Debug)]
pub struct DelayWindow {
    params: Swift,
    /// Payload of a packet [B].
    packet: u64,
    /// `cwnd` [2^-20 packets].
    window: u64,
    /// Most of it: what may be unacknowledged anyhow.
    window_max: u64,
    round_trip: Duration,
    /// When it last shrank (`t_last_decrease`).
    decreased_at: Option<Time>,
    /// The next packet leaves no earlier.
    paced_until: Time,
    /// Timeouts without an acknowledgement between them (`retransmit_cnt`).
    timeouts: u32,
}

impl DelayWindow {
    /// Opens with `window` bytes, in packets of `packet` bytes.
    pub fn new(params: &Swift, packet: u64, window: u64) -> DelayWindow {
        DelayWindow {
            params: params.clone(),
            packet,
            window: params.initial_window.map_or(window, |bytes| bytes.get().min(window)) * ONE / packet,
            window_max: window * ONE / packet,
            round_trip: params.base_target,
            decreased_at: None,
            paced_until: Time::ZERO,
            timeouts: 0,
        }
    }

    /// Returns the bytes that may be unacknowledged [B]: a packet at least.
    pub fn bytes(&self) -> u64 {
        ((u128::from(self.window) * u128::from(self.packet) / u128::from(ONE)) as u64).max(1)
    }

    /// A window per round trip.
    pub fn rate(&self) -> BitRate {
        let bits = u128::from(self.window) * u128::from(self.packet) * 8 * 1_000_000_000_000;
        BitRate::from_bps((bits / u128::from(ONE) / u128::from(self.round_trip.as_ps().max(1))) as u64)
    }

    /// Shrinks by `share` [thousandths of 1 %] at most once in a round trip.
    fn decrease(&mut self, now: Time, share: u64) {
        if self.decreased_at.is_some_and(|at| now.since(at) < self.round_trip) {
            return;
        }
        let share = share.min(u64::from(self.params.decrease_max) * 1_000);
        let cut = (u128::from(self.window) * u128::from(share) / 100_000) as u64;
        self.window = (self.window - cut).max(self.window_min());
        self.decreased_at = Some(now);
    }

    fn window_min(&self) -> u64 {
        u64::from(self.params.window_min) * ONE / 1_000
    }

    /// The round trip to aim at: more of it for a small window, as many connections share the path (section 3.2).
    fn target(&self) -> Duration {
        let [least, most] = [self.params.flow_scaling_window_min, self.params.flow_scaling_window_max]
            .map(|window| inverse_root(u64::from(window) * ONE / 1_000));
        let share = inverse_root(self.window).clamp(most, least) - most;
        let added = u128::from(self.params.flow_scaling.as_ps()) * u128::from(share) / u128::from(least - most);
        self.params.base_target + Duration::from_ps(added as u64)
    }
}

/// 1 / √window [2^-20].
fn inverse_root(window: u64) -> u64 {
    ONE * ROOT / window.isqrt().max(1)
}

impl CongestionControl for DelayWindow {
    type Params = Swift;

    fn check(swift: &Swift) -> Result<(), InputError> {
        check_timer("base_target", swift.base_target)?;
        require(swift.flow_scaling <= TIMER_MAX, "flow_scaling", swift.flow_scaling, "at most 1000000s")?;
        let (least, most) = (swift.flow_scaling_window_min, swift.flow_scaling_window_max);
        require_within(1..=1_000_000, "flow_scaling_window_max", most)?;
        let below = format!("1 or more, and less than flow_scaling_window_max, {most}");
        require(least > 0 && least < most, "flow_scaling_window_min", least, below)?;
        require_within(1..=1_000_000, "additive_increase", swift.additive_increase)?;
        require_within(1..=100, "decrease", swift.decrease)?;
        require_within(1..=99, "decrease_max", swift.decrease_max)?;
        if let Some(window) = swift.initial_window {
            require(window > Bytes::ZERO, "initial_window", window, "more than 0B")?;
        }
        require_within(1..=1_000, "window_min", swift.window_min)?;
        require_within(1..=1_000, "timeouts_max", swift.timeouts_max)
    }

    fn start(swift: &Swift, connection: &FreshConnection) -> DelayWindow {
        DelayWindow::new(swift, connection.packet, connection.window)
    }
}

impl SenderControl for DelayWindow {
    fn window(&self) -> Option<u64> {
        Some(self.bytes())
    }

    fn rate_at(&self, _now: Time) -> Option<BitRate> {
        Some(self.rate())
    }

    /// The next packet waits where the window is less than a packet.
    fn sent(&mut self, now: Time, _wire: u32) -> bool {
        if self.window >= ONE {
            return false;
        }
        let wait = u128::from(self.round_trip.as_ps()) * u128::from(ONE) / u128::from(self.window);
        self.paced_until = now + Duration::from_ps(wait as u64);
        true
    }

    fn repeatable_state(&self, now: Time, progress: Progress) -> Option<u64> {
        let &DelayWindow {
            params: _,
            packet: _,
            window,
            window_max: _,
            round_trip,
            decreased_at,
            paced_until,
            timeouts,
        } = self;
        // The round trip of a packet to come begins behind the last decrease.
        let decreased_at = decreased_at.filter(|_| progress.next > progress.acknowledged);
        let times = [round_trip.as_ps(), maybe_from_now(now, decreased_at), paced_until.since(now).as_ps()];
        Some(joined([window, timeouts.into()].into_iter().chain(times)))
    }

    fn next_at(&self) -> Time {
        self.paced_until
    }

    fn acknowledged(&mut self, now: Time, &Feedback { acked, round_trip, .. }: &Feedback) {
        if acked == 0 {
            return;
        }
        self.round_trip = round_trip;
        self.timeouts = 0;
        let target = self.target();
        if round_trip < target {
            let packets = acked * ONE / self.packet;
            let step = u64::from(self.params.additive_increase) * packets / 1_000;
            // A packet per window acknowledged, or per packet where the window is less than one.
            self.window += (u128::from(step) * u128::from(ONE) / u128::from(self.window.max(ONE))) as u64;
            self.window = self.window.min(self.window_max);
        } else {
            let excess = u128::from(self.params.decrease) * u128::from((round_trip - target).as_ps());
            let share = excess * 1_000 / u128::from(round_trip.as_ps());
            self.decrease(now, share as u64);
        }
    }

    fn lost(&mut self, now: Time, _progress: Progress) {
        self.decrease(now, u64::MAX);
    }

    fn timed_out(&mut self, now: Time) {
        self.timeouts += 1;
        if self.timeouts >= self.params.timeouts_max {
            self.window = self.window_min();
            self.decreased_at = Some(now);
        } else {
            self.decrease(now, u64::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u64 = 1_000;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn us(micros: u64) -> Duration {
        Duration::from_us(micros)
    }

    /// A window of 10 packets, without flow scaling.
    fn ten() -> DelayWindow {
        DelayWindow::new(&Swift { flow_scaling: Duration::ZERO, ..Swift::default() }, PACKET, 100 * PACKET).set(10_000)
    }

    impl DelayWindow {
        fn set(mut self, window: u64) -> DelayWindow {
            self.window = window * ONE / 1_000;
            self
        }

        /// Takes an acknowledgement of so many bytes after so long.
        fn answer(&mut self, now: Time, acked: u64, round_trip: Duration) {
            let feedback = Feedback { acked, acknowledged: 0, next: 0, round_trip, is_marked: false };
            self.acknowledged(now, &feedback);
        }

        fn thousandths(&self) -> u64 {
            (self.window * 1_000).div_ceil(ONE)
        }
    }

    /// Ten packets are acknowledged below the target: one packet more. Of a tenth of a packet, each adds one.
    #[test]
    fn a_round_trip_below_the_target_adds_a_packet() {
        let mut swift = ten();
        (0..10).for_each(|time| swift.answer(at(time), PACKET, us(24)));
        assert!((10_950..=11_000).contains(&swift.thousandths()), "{}", swift.thousandths());
        let mut small = ten().set(100);
        small.answer(at(0), PACKET, us(24));
        assert_eq!(small.thousandths(), 1_100);
    }

    /// 1 - 0.8 (30 - 25) / 30 of the window is left; half of it when the round trip is far above; once a round trip.
    #[test]
    fn above_the_target_the_window_shrinks_by_the_excess_once_a_round_trip() {
        let mut swift = ten();
        swift.answer(at(100), PACKET, us(30));
        assert!(swift.thousandths().abs_diff(8_667) < 2, "{}", swift.thousandths());
        swift.answer(at(129), PACKET, us(30));
        assert!(swift.thousandths().abs_diff(8_667) < 2);
        swift.answer(at(600), PACKET, us(500));
        assert!(swift.thousandths().abs_diff(4_333) < 2, "{}", swift.thousandths());
    }

    /// Target with `fs_range` 100 us between windows of 0.1 and 100 packets: alpha = 100 / (1 / √0.1 - 1 / √100) =
    /// 32.65, beta = -alpha / 10. At 4 packets 25 + 16.33 - 3.27 us.
    #[test]
    fn the_target_grows_as_the_window_shrinks() {
        let target = |window| {
            let swift = DelayWindow::new(&Swift::default(), PACKET, 1_000 * PACKET).set(window);
            swift.target().as_ps() as f64 / 1e6
        };
        for (window, expected) in [(4_000, 38.06), (100_000, 25.0), (900_000, 25.0), (100, 125.0), (10, 125.0)] {
            assert!((target(window) - expected).abs() < 0.1, "{} at {window}", target(window));
        }
    }

    #[test]
    fn a_fresh_window_is_the_initial_one_and_grows_to_that_of_the_connection() {
        let fresh = |bytes| {
            let swift = Swift { initial_window: Some(Bytes::new(bytes)), ..Swift::default() };
            DelayWindow::new(&swift, PACKET, 20 * PACKET)
        };
        assert_eq!((fresh(15 * PACKET).bytes(), fresh(30 * PACKET).bytes()), (15 * PACKET, 20 * PACKET));
        let mut swift = fresh(15 * PACKET);
        (0..200).for_each(|time| swift.answer(at(time), PACKET, us(1)));
        assert_eq!(swift.bytes(), 20 * PACKET);
    }

    #[test]
    fn losses_halve_the_window_and_five_timeouts_close_it() {
        let mut swift = ten();
        swift.lost(at(0), Progress { acknowledged: 0, next: 0 });
        assert_eq!(swift.thousandths(), 5_000);
        (1..5).for_each(|time| swift.timed_out(at(time)));
        assert_eq!(swift.thousandths(), 5_000);
        swift.timed_out(at(5));
        assert_eq!(swift.thousandths(), 10);
    }

    /// A quarter of a packet per round trip of 25 us: a packet each 100 us.
    #[test]
    fn below_a_packet_packets_are_paced() {
        let mut swift = ten().set(250);
        assert!(swift.sent(at(7), 0));
        assert_eq!(swift.next_at(), at(107));
        assert_eq!(swift.bytes(), 250);
        assert!(!ten().sent(at(7), 0));
    }

    /// Connections that share a link of 12.5 kB/us with a round trip of 10 us, in rounds: the queue holds what is
    /// beyond 125 packets. Each round all together add a packet each, 4 us for 50. The round trip stays at the target
    /// of their windows and all get the same (section 3.2).
    #[test]
    fn any_number_of_connections_share_a_link_at_the_target_delay() {
        for count in [2_u64, 10, 50] {
            let connection = |start| DelayWindow::new(&Swift::default(), PACKET, 500 * PACKET).set(start);
            let mut all: Vec<_> = (0..count).map(|number| connection(1_000 + 40_000 * (number % 2))).collect();
            let mut now = Time::ZERO;
            let mut delays = Vec::new();
            for round in 0..4_000 {
                let out: u64 = all.iter().map(|swift| swift.window / ONE * PACKET).sum();
                let delay = us(10).max(Duration::from_ps(out * 80));
                now += delay;
                all.iter_mut().for_each(|swift| swift.answer(now, swift.bytes(), delay));
                if round > 3_000 {
                    delays.push(delay.as_ps() as f64 / all[0].target().as_ps() as f64);
                }
            }
            let mean = delays.iter().sum::<f64>() / delays.len() as f64;
            assert!((0.85..1.1).contains(&mean), "{mean} of the target with {count}");
            let least = all.iter().map(|swift| swift.window).min().unwrap();
            let most = all.iter().map(|swift| swift.window).max().unwrap();
            assert!(most * 10 <= least * 11, "{least} and {most} of {count}");
        }
    }
}
