//! Congestion control of InfiniBand and Omni-Path, the reaction point: a delay behind each packet, by an index into a
//! table that notifications (BECN) raise and a timer lowers (InfiniBand Architecture vol. 1, annex A10). Intel's fabric
//! manager of Omni-Path (`opa-fm`, open source) has the values and the linear table.

use etherweave_primitives::{BitRate, ByteTime, Bytes, Duration, InputError, Time, params};

use super::roce::{CongestionControl, FreshConnection, Progress, SenderControl};
use super::state_word::joined;
use crate::params::{check_timer, require_within};

params! {
    /// A delay behind each packet, as InfiniBand has it: switches mark (FECN), receivers notify of each mark (BECN).
    pub struct InjectionDelay {
        /// Rise of the index at a notification (`CCTI_Increase`), 1 to 255.
        pub index_increase: u8 = 5,
        /// Largest index (`CCTI_Limit`), 1 to 1023.
        pub index_max: u16 = 127,
        /// Time after which the index falls by one (`CCTI_Timer`, in units of 1.024 us).
        pub timer: Duration = Duration::from_ns(10_240),
        /// Delay behind a full packet at the largest index; that of other indices and shorter packets is in proportion.
        pub delay_max: Duration = Duration::from_us(8),
    }
}

/// The delays of one connection.
#[derive(Clone, Debug)]
pub struct DelayedInjection {
    params: InjectionDelay,
    byte: ByteTime,
    line: BitRate,
    /// Payload of a full packet [B].
    packet: u64,
    /// Index into the table (`CCTI`).
    index: u16,
    /// When the timer last expired, or the index left 0.
    lowered_at: Time,
    /// When the next packet may go.
    opens_at: Time,
}

impl DelayedInjection {
    fn catch_up(&mut self, now: Time) {
        let expiries = now.since(self.lowered_at).as_ps() / self.params.timer.as_ps();
        self.index = u64::from(self.index).saturating_sub(expiries) as u16;
        self.lowered_at += self.params.timer * expiries;
    }

    /// Delay at the present index behind a packet of so many bytes.
    fn delay(&self, wire: u64) -> Duration {
        let full = self.params.delay_max * u64::from(self.index) / u64::from(self.params.index_max);
        Duration::from_ps((u128::from(full.as_ps()) * u128::from(wire) / u128::from(self.packet)) as u64)
    }
}

impl CongestionControl for DelayedInjection {
    type Params = InjectionDelay;

    fn heeds_marks(_: &InjectionDelay) -> bool {
        true
    }

    fn needs_echoes(_: &InjectionDelay) -> bool {
        false
    }

    fn check(own: &InjectionDelay) -> Result<(), InputError> {
        require_within(1..=255, "index_increase", own.index_increase)?;
        require_within(1..=1023, "index_max", own.index_max)?;
        check_timer("timer", own.timer)?;
        require_within(Duration::ZERO..=Duration::from_ms(1_000), "delay_max", own.delay_max)
    }

    fn notification_gap(_: &InjectionDelay) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    fn start(own: &InjectionDelay, connection: &FreshConnection) -> DelayedInjection {
        DelayedInjection {
            params: own.clone(),
            byte: ByteTime::new(connection.rate),
            line: connection.rate,
            packet: connection.packet,
            index: 0,
            lowered_at: Time::ZERO,
            opens_at: Time::ZERO,
        }
    }
}

impl SenderControl for DelayedInjection {
    fn repeatable_state(&self, now: Time, _progress: Progress) -> Option<u64> {
        let mut later = self.clone();
        later.catch_up(now);
        let DelayedInjection { params: _, byte: _, line: _, packet: _, index, lowered_at, opens_at } = later;
        // The timer runs while the index is above 0.
        let lowered = if index > 0 { now.since(lowered_at).as_ps() } else { 0 };
        Some(joined([index.into(), lowered, opens_at.since(now).as_ps()]))
    }

    fn next_at(&self) -> Time {
        self.opens_at
    }

    fn sent(&mut self, now: Time, wire: u32) -> bool {
        self.catch_up(now);
        let delay = self.delay(u64::from(wire));
        if !delay.is_zero() {
            self.opens_at = now + self.byte.of(wire) + delay;
        }
        !delay.is_zero()
    }

    fn notified(&mut self, now: Time) {
        self.catch_up(now);
        if self.index == 0 {
            self.lowered_at = now;
        }
        self.index = (self.index + u16::from(self.params.index_increase)).min(self.params.index_max);
    }

    /// That of full packets.
    fn rate_at(&self, now: Time) -> Option<BitRate> {
        let mut later = self.clone();
        later.catch_up(now);
        let alone = self.line.serialization_time(Bytes::new(self.packet));
        let share =
            alone.as_ps() as u128 * u128::from(self.line.as_bps()) / (alone + later.delay(self.packet)).as_ps() as u128;
        Some(BitRate::from_bps(share as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of 1,000 B takes 80 ns at 100 Gb/s, and the delay of an index is 8 ns.
    #[test]
    fn notifications_raise_the_delay_and_the_timer_lowers_it() {
        let own = InjectionDelay { index_max: 1000, timer: Duration::from_us(1), ..InjectionDelay::default() };
        let connection = FreshConnection { rate: BitRate::from_gbps(100), packet: 1_000, window: 100_000 };
        let mut control = DelayedInjection::start(&own, &connection);
        let at = |ns| Time::ZERO + Duration::from_ns(ns);
        assert!(!control.sent(at(0), 1_000), "nothing delays without a notification");
        control.notified(at(100));
        control.notified(at(100));
        // Index 10: 80 ns behind a packet of 80 ns, half of the rate; half a packet has half of the delay.
        assert_eq!(control.rate_at(at(100)), Some(BitRate::from_gbps(50)));
        assert!(control.sent(at(200), 1_000) && control.next_at() == at(360));
        assert!(control.sent(at(400), 500) && control.next_at() == at(480));
        assert!(!control.is_open(at(479)) && control.is_open(at(480)));
        // The timer runs from the first notification on: 2 of 10 are gone by 2,100 ns, all by 10,100 ns.
        assert!(control.sent(at(2_100), 1_000) && control.next_at() == at(2_100 + 80 + 64));
        assert!(!control.sent(at(10_100), 1_000));
        assert_eq!(control.rate_at(at(20_000)), Some(connection.rate));
        (0..500).for_each(|_| control.notified(at(20_000)));
        // No delay above the largest: 8 us behind 80 ns.
        assert!(control.sent(at(20_000), 1_000) && control.next_at() == at(28_080));
    }
}
