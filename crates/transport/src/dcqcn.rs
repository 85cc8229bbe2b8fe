//! DCQCN, the reaction point: a rate per connection, as NICs run it (NVIDIA, *DCQCN CC Parameters*) or as in its paper
//! (Zhu et al., SIGCOMM 2015, section 3.1).
//!
//! Timers are caught up with when the connection sends or is notified, so an idle connection costs no events. All in
//! integers: the congestion estimate in units of 2^-16, rates in bit/s.

use etherweave_primitives::{BitRate, Duration, InputError, Time};

use super::roce::{CongestionControl, FreshConnection, Progress, SenderControl};
use super::state_word::{joined, maybe_from_now};
use crate::params::{AlphaUpdate, Dcqcn, RATES, TIMER_MAX, check_timer, require, require_within};

/// `alpha` = 1.
const ONE: u64 = 1 << 16;
/// Denominator of the vendor's fixed-point numbers.
const FIXED: u64 = 1 << 10;
/// Credit that a rate of 1 bit/s earns in a second: bits times picoseconds in a second.
const BIT: u64 = 1_000_000_000_000;
/// DCQCN's timers in hardware tick in microseconds; far below, a run would do nothing else.
const TIMER_MIN: Duration = Duration::from_ns(100);

/// The rate of one connection.
#[derive(Clone)]
pub struct RateLimiter {
    params: Dcqcn,
    line: u64,
    /// `R_C` [bit/s].
    current: u64,
    /// `R_T` [bit/s].
    target: u64,
    /// Congestion estimate `alpha` [2^-16].
    alpha: u64,
    /// When the estimate was last updated; `None` before the first notification.
    alpha_at: Option<Time>,
    /// When the rate timer last expired or was reset.
    rate_at: Time,
    /// Before then the rate is not reduced again.
    reduces_from: Time,
    bytes: u64,
    by_timer: u32,
    by_bytes: u32,
    /// Credit that the last packet still has to earn before the next one goes, at `owed_at` [bit/s ps].
    owed: u64,
    owed_at: Time,
    is_limited: bool,
    /// A notification has come in this period of the estimate.
    is_notified: bool,
    /// A notification has come since the last reduction.
    is_reduction_due: bool,
}

impl RateLimiter {
    /// Creates a limiter at line rate, without congestion.
    pub fn new(params: &Dcqcn, line: BitRate) -> RateLimiter {
        RateLimiter {
            params: params.clone(),
            line: line.as_bps(),
            current: line.as_bps(),
            target: line.as_bps(),
            // The largest value of the fixed-point number stands for 1.
            alpha: (u64::from(params.initial_alpha_value) + 1) * ONE / FIXED,
            alpha_at: None,
            rate_at: Time::ZERO,
            reduces_from: Time::ZERO,
            bytes: 0,
            by_timer: 0,
            by_bytes: 0,
            owed: 0,
            owed_at: Time::ZERO,
            is_limited: false,
            is_notified: false,
            is_reduction_due: false,
        }
    }

    /// The present rate.
    pub fn rate(&self) -> BitRate {
        BitRate::from_bps(self.current)
    }

    /// Cuts the rate (eq. 1), at most once in `rate_reduce_monitor_period`.
    fn reduce_if_due(&mut self, now: Time) {
        if !self.is_reduction_due || now < self.reduces_from {
            return;
        }
        self.earn(now);
        self.is_reduction_due = false;
        self.reduces_from = now + self.params.rate_reduce_monitor_period;
        if let Some(rate) = self.params.rate_to_set_on_first_cnp.filter(|_| !self.is_limited) {
            (self.current, self.target) = (rate.as_bps().min(self.line), rate.as_bps().min(self.line));
        }
        if self.clamps_target() {
            self.target = self.current;
        }
        let cut = (u128::from(self.current) * u128::from(self.alpha * FIXED / ONE)) >> self.params.rpg_gd;
        let most = self.current * u64::from(self.params.rpg_min_dec_fac) / 100;
        self.current = (self.current - (cut as u64).min(most)).max(self.params.rpg_min_rate.as_bps());
        self.is_limited = true;
        self.rate_at = now;
        (self.bytes, self.by_timer, self.by_bytes) = (0, 0, 0);
    }

    /// Whether a cut lowers the target to the present rate: always, or only the first after an increase.
    fn clamps_target(&self) -> bool {
        let by_timer = self.by_timer > 0 && self.params.clamp_tgt_rate_after_time_inc;
        self.params.clamp_tgt_rate || self.by_bytes > 0 || by_timer
    }

    /// All that has happened by itself until now: a cut that waited for its period, and timers.
    fn catch_up(&mut self, now: Time) {
        if self.is_reduction_due && self.reduces_from <= now {
            let at = self.reduces_from;
            self.expire_timers(at);
            self.reduce_if_due(at);
        }
        self.expire_timers(now);
    }

    /// Timers that have expired (eq. 2, and the increase by timer).
    fn expire_timers(&mut self, now: Time) {
        while let Some(due) = self.alpha_at.map(|at| at + self.params.dce_tcp_rtt).filter(|&due| due <= now) {
            let is_notified = std::mem::take(&mut self.is_notified);
            self.update_alpha(is_notified);
            // What is 0 stays 0: as many periods as have passed.
            let periods = if self.alpha == 0 { now.since(due).as_ps() / self.params.dce_tcp_rtt.as_ps() } else { 0 };
            self.alpha_at = Some(due + self.params.dce_tcp_rtt * periods);
        }
        while self.is_limited && self.rate_at + self.params.rpg_time_reset <= now {
            self.rate_at += self.params.rpg_time_reset;
            self.earn(self.rate_at);
            self.by_timer += 1;
            self.increase();
        }
    }

    /// `alpha` = g' alpha, plus 1 - g' with a notification, where g' is `dce_tcp_g`.
    fn update_alpha(&mut self, is_notified: bool) {
        let kept = u64::from(self.params.dce_tcp_g);
        let added = if is_notified { (FIXED - kept) * ONE } else { 0 };
        self.alpha = (self.alpha * kept + added) / FIXED;
    }

    /// Adds the credit that the present rate has earned until `now`.
    fn earn(&mut self, now: Time) {
        let earned = u128::from(now.since(self.owed_at).as_ps()) * u128::from(self.current);
        self.owed = u128::from(self.owed).saturating_sub(earned) as u64;
        self.owed_at = now;
    }

    /// Fast recovery, then additive, then hyper increase (eq. 3 and 4; IEEE 802.1Qau calls `F` the threshold).
    fn increase(&mut self) {
        let (most, least) = (self.by_timer.max(self.by_bytes), self.by_timer.min(self.by_bytes));
        let threshold = self.params.rpg_threshold;
        if least > threshold {
            self.target += self.params.rpg_hai_rate.as_bps() * u64::from(least - threshold);
        } else if most > threshold {
            self.target += self.params.rpg_ai_rate.as_bps();
        }
        self.target = self.target.min(self.line);
        self.current = (self.current + self.target).div_ceil(2);
        self.is_limited = self.current < self.line;
    }
}

impl CongestionControl for RateLimiter {
    type Params = Dcqcn;

    fn heeds_marks(_: &Dcqcn) -> bool {
        true
    }

    fn needs_echoes(_: &Dcqcn) -> bool {
        false
    }

    fn check(dcqcn: &Dcqcn) -> Result<(), InputError> {
        for (name, timer) in [("dce_tcp_rtt", dcqcn.dce_tcp_rtt), ("rpg_time_reset", dcqcn.rpg_time_reset)] {
            check_timer(name, timer)?;
            require(timer >= TIMER_MIN, name, timer, format!("at least {TIMER_MIN}"))?;
        }
        let intervals = [
            ("min_time_between_cnps", dcqcn.min_time_between_cnps),
            ("rate_reduce_monitor_period", dcqcn.rate_reduce_monitor_period),
        ];
        for (name, interval) in intervals {
            require(interval <= TIMER_MAX, name, interval, "at most 1000000s")?;
        }
        require(dcqcn.rpg_byte_reset.get() > 0, "rpg_byte_reset", dcqcn.rpg_byte_reset, "more than 0")?;
        require_within(0..=1023, "dce_tcp_g", dcqcn.dce_tcp_g)?;
        require_within(0..=1023, "initial_alpha_value", dcqcn.initial_alpha_value)?;
        require_within(0..=100, "rpg_min_dec_fac", dcqcn.rpg_min_dec_fac)?;
        require_within(10..=63, "rpg_gd", dcqcn.rpg_gd)?;
        dcqcn.rates().try_for_each(|(name, rate)| require_within(RATES, name, rate))
    }

    fn rates(dcqcn: &Dcqcn) -> Vec<(&'static str, BitRate)> {
        dcqcn.rates().collect()
    }

    fn notification_gap(dcqcn: &Dcqcn) -> Option<Duration> {
        Some(dcqcn.min_time_between_cnps)
    }

    fn start(dcqcn: &Dcqcn, connection: &FreshConnection) -> RateLimiter {
        RateLimiter::new(dcqcn, connection.rate)
    }
}

impl SenderControl for RateLimiter {
    /// The rate at `now`, with the timers that have expired until then. Changes nothing.
    fn rate_at(&self, now: Time) -> Option<BitRate> {
        let mut limiter = self.clone();
        limiter.catch_up(now);
        Some(limiter.rate())
    }

    fn repeatable_state(&self, now: Time, _progress: Progress) -> Option<u64> {
        let mut limiter = self.clone();
        limiter.catch_up(now);
        limiter.earn(now);
        let RateLimiter {
            params: _,
            line: _,
            current,
            target,
            alpha,
            alpha_at,
            rate_at,
            reduces_from,
            bytes,
            by_timer,
            by_bytes,
            owed,
            owed_at: _,
            is_limited,
            is_notified,
            is_reduction_due,
        } = limiter;
        // Without a limit no timer raises the rate, and nothing is owed.
        let limited = [now.since(rate_at).as_ps(), owed].map(|own| if is_limited { own } else { 0 });
        let flags = u64::from(is_limited) << 2 | u64::from(is_notified) << 1 | u64::from(is_reduction_due);
        let counters = u64::from(by_timer) << 32 | u64::from(by_bytes);
        let (estimated, waits) = (maybe_from_now(now, alpha_at), reduces_from.since(now).as_ps());
        Some(joined([current, target, alpha, bytes, counters, limited[0], limited[1], estimated, flags, waits]))
    }

    /// When it may, or when the timer raises the rate.
    fn next_at(&self) -> Time {
        let wait = Duration::from_ps(self.owed.div_ceil(self.current));
        (self.owed_at + wait).min(self.rate_at + self.params.rpg_time_reset)
    }

    fn is_open(&mut self, now: Time) -> bool {
        self.catch_up(now);
        self.earn(now);
        self.owed == 0 || !self.is_limited
    }

    fn sent(&mut self, now: Time, wire: u32) -> bool {
        if !self.is_limited {
            return false;
        }
        self.catch_up(now);
        self.bytes += u64::from(wire);
        while self.bytes >= self.params.rpg_byte_reset.get() {
            self.bytes -= self.params.rpg_byte_reset.get();
            self.by_bytes += 1;
            self.increase();
        }
        (self.owed, self.owed_at) = (u64::from(wire) * 8 * BIT, now);
        self.is_limited
    }

    fn notified(&mut self, now: Time) {
        self.catch_up(now);
        self.alpha_at.get_or_insert(now);
        self.is_reduction_due = true;
        self.reduce_if_due(now);
        match self.params.alpha_update {
            AlphaUpdate::Period => self.is_notified = true,
            AlphaUpdate::Notification => {
                self.update_alpha(true);
                self.alpha_at = Some(now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: BitRate = BitRate::from_gbps(100);

    impl RateLimiter {
        fn later(&self, now: Time) -> BitRate {
            self.rate_at(now).expect("it has a rate")
        }
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// Parameters of the paper (`profiles/dcqcn/paper.toml`).
    fn paper() -> Dcqcn {
        Dcqcn {
            alpha_update: AlphaUpdate::Notification,
            dce_tcp_g: 1020,
            dce_tcp_rtt: Duration::from_us(55),
            clamp_tgt_rate: true,
            rate_reduce_monitor_period: Duration::ZERO,
            rpg_time_reset: Duration::from_us(55),
            rpg_threshold: 5,
            ..Dcqcn::default()
        }
    }

    /// Rates after notifications at these times [Mb/s].
    fn rates(params: &Dcqcn, notified_at: &[u64]) -> Vec<u64> {
        let mut limiter = RateLimiter::new(params, LINE);
        let after = |time: &u64| {
            limiter.notified(at(*time));
            limiter.rate().as_bps() / 1_000_000
        };
        notified_at.iter().map(after).collect()
    }

    #[test]
    fn the_first_notification_halves_the_rate_and_recovery_halves_the_gap() {
        let mut limiter = RateLimiter::new(&paper(), LINE);
        limiter.notified(at(100));
        // alpha starts at 1: R_C = R_C (1 - 1/2).
        assert_eq!(limiter.rate(), BitRate::from_gbps(50));
        // One timer expiry later: (R_T + R_C) / 2 with R_T the rate before the cut.
        assert_eq!(limiter.later(at(155)), BitRate::from_gbps(75));
    }

    #[test]
    fn without_notifications_nothing_is_limited() {
        let mut limiter = RateLimiter::new(&Dcqcn::default(), LINE);
        assert!(!limiter.sent(Time::ZERO, 4_096));
    }

    #[test]
    fn the_rate_returns_to_the_line_after_enough_time() {
        let mut limiter = RateLimiter::new(&Dcqcn::default(), LINE);
        limiter.notified(Time::ZERO);
        assert_eq!(limiter.later(at(100_000)), LINE);
    }

    /// Target rate after cuts in a row: only the first moves it, and one increase leads half of the way back to the
    /// line. In the paper each moves it, and the way back begins at the rate before the last.
    #[test]
    fn the_target_stays_until_an_increase_unless_it_is_clamped() {
        let half_back = |clamp_tgt_rate| {
            let params = Dcqcn { clamp_tgt_rate, ..Dcqcn::default() };
            let mut limiter = RateLimiter::new(&params, LINE);
            [0, 4, 8].into_iter().for_each(|time| limiter.notified(at(time)));
            let lowest = limiter.rate().as_bps();
            let target = 2 * limiter.later(at(308)).as_bps() - lowest;
            (lowest / 1_000_000_000, target / 1_000_000_000)
        };
        // alpha of the second cut has decayed for 3 us, of the third for 6: 100 Gb/s to 50, 25.4 and 13.
        assert_eq!(half_back(false), (13, 100));
        assert_eq!(half_back(true), (13, 25));
    }

    /// After an increase by the timer the next cut moves the target only with `clamp_tgt_rate_after_time_inc`; after
    /// one by the byte counter it does anyhow.
    #[test]
    fn an_increase_lets_the_next_cut_move_the_target() {
        let target = |clamp_tgt_rate_after_time_inc, bytes: u32| {
            let params = Dcqcn { clamp_tgt_rate_after_time_inc, ..Dcqcn::default() };
            let mut limiter = RateLimiter::new(&params, LINE);
            limiter.notified(at(0));
            let time = if bytes > 0 { 299 } else { 301 };
            limiter.sent(at(time), bytes);
            limiter.notified(at(time));
            limiter.target / 1_000_000_000
        };
        assert_eq!(target(true, 0), 75);
        assert_eq!(target(false, 0), 100);
        assert_eq!(target(false, 32_767), 75);
    }

    /// Notifications each microsecond cut at most each 4 us: the one in between waits for the end of the period.
    #[test]
    fn cuts_are_a_monitor_period_apart() {
        let all = rates(&Dcqcn::default(), &[0, 1, 2, 3, 4, 5]);
        assert_eq!(all[..4], [50_000; 4]);
        // alpha is 1 still: it has been raised in each period.
        assert_eq!(all[4..], [25_000; 2]);
        let mut limiter = RateLimiter::new(&Dcqcn::default(), LINE);
        [0, 1].into_iter().for_each(|time| limiter.notified(at(time)));
        assert_eq!(limiter.later(at(3)), BitRate::from_gbps(50));
        // Two quiet periods have lowered alpha to (1019 / 1024)^2 or 3: a little more than a quarter is left.
        let left = limiter.later(at(4)).as_bps();
        assert!((25_000_000_000..26_000_000_000).contains(&left), "{left}");
    }

    /// The target is the line rate, so each expiry of the timer halves the gap: after 40 of them the rate is the line's
    /// again. alpha falls by 5 in 1024 each period all the time, but for the first, in which the notification came.
    #[test]
    fn the_estimate_decays_at_line_rate_too() {
        let period = Duration::from_us(10);
        let params = Dcqcn { dce_tcp_rtt: period, rpg_time_reset: period, ..Dcqcn::default() };
        let mut limiter = RateLimiter::new(&params, LINE);
        limiter.notified(at(0));
        assert_eq!(limiter.later(at(400)), LINE);
        limiter.notified(at(2_050));
        let (share, alpha) = (1.0 - limiter.rate().as_bps() as f64 / 1e11, (1019.0_f64 / 1024.0).powi(204));
        assert!((share / (alpha / 2.0) - 1.0).abs() < 0.01, "{share}");
        // So long that nothing of it is left.
        limiter.notified(at(1_000_000));
        assert_eq!(limiter.rate(), LINE);
    }

    #[test]
    fn a_cut_takes_no_more_than_its_bounds() {
        assert_eq!(rates(&Dcqcn { rpg_min_dec_fac: 20, ..Dcqcn::default() }, &[0]), [80_000]);
        assert_eq!(rates(&Dcqcn { rpg_gd: 12, ..Dcqcn::default() }, &[0]), [75_000]);
        assert_eq!(rates(&Dcqcn { rpg_min_rate: BitRate::from_gbps(70), ..Dcqcn::default() }, &[0]), [70_000]);
        let first = Dcqcn { rate_to_set_on_first_cnp: Some(BitRate::from_gbps(40)), ..Dcqcn::default() };
        assert_eq!(rates(&first, &[0]), [20_000]);
    }

    /// A packet of 4,096 B at 1 Mb/s waits for 32.8 ms; the timer leads back to the line long before, and the packet
    /// goes then.
    #[test]
    fn a_waiting_packet_goes_earlier_when_the_rate_rises() {
        let slow = Dcqcn { rate_to_set_on_first_cnp: Some(BitRate::from_bps(1_000_000)), ..Dcqcn::default() };
        let mut limiter = RateLimiter::new(&Dcqcn { rpg_ai_rate: LINE, ..slow }, LINE);
        limiter.notified(at(0));
        assert!(limiter.sent(at(0), 4_096));
        let (mut now, mut looks) = (at(0), 0);
        while !limiter.is_open(now) {
            now = limiter.next_at();
            looks += 1;
        }
        // The second expiry is the first of additive increase, whose step is the line rate.
        assert!(now <= at(601), "{now:?} after {looks} looks");
        assert!(looks <= 3);
    }
}
