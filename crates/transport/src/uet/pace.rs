//! Pace of the grants of a NIC's receivers, which an oversubscribed core slows down (uet-htsim at 40ccb052,
//! `oversubscribed_cc.cpp`).
//!
//! Every one and a half round trips, give or take a quarter of that, a NIC judges what has arrived. Trims before the
//! last hop and a high average share of marks make its grants slower, a period without either makes them faster, and
//! each further one twice as much as long as nothing is marked.

use etherweave_primitives::{Duration, Purpose, Stream, Time};

use crate::packet::{TransportPacket, flags};

/// Average share of marked packets up to which grants become faster.
const MARKS_MAX: f64 = 0.3;
/// Weight of the share of a period in that average.
const WEIGHT: f64 = 0.5;
/// Decrease of grants, as a part of the excess of the average.
const DECREASE: f64 = 0.5;
/// Increase of the share of the link in a period.
const INCREASE: f64 = 0.01;
/// Doublings of that which reach the whole link from nothing: 0.01 * 2^7.
const DOUBLINGS_MAX: u32 = 7;
/// Smallest share of the link.
const SHARE_MIN: f64 = 0.01;
/// Share of what the core leaves to each host that is granted at least.
const FAIR_MIN: f64 = 0.9;

/// Core of the network, as a scenario states it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Core {
    /// Rate of the hosts of a leaf over that of its uplinks.
    pub(super) oversubscription: f64,
    /// Round trip on an idle network.
    pub(super) round_trip: Duration,
}

/// Pace at which receivers of a NIC grant credits.
#[derive(Clone, Debug)]
pub struct GrantPace {
    /// Earliest time of the next grant.
    pub(super) from: Time,
    /// Seed, and number of the host.
    identity: (u64, u32),
    core: Option<Box<CoreJudgement>>,
}

/// Judgement of a NIC on the core, by what arrived.
#[derive(Clone, Debug)]
struct CoreJudgement {
    random: Stream,
    /// End of the period.
    due: Time,
    /// Data packets of the period: all, those with a mark, and those trimmed before and at the last hop.
    arrived: u32,
    marked: u32,
    trimmed: u32,
    trimmed_last: u32,
    marked_share: f64,
    /// Share of the pace on an idle network.
    share: f64,
    increases: u32,
}

impl GrantPace {
    /// Makes the pace of a host in a run with `seed`.
    pub fn new(seed: u64, host: u32) -> GrantPace {
        GrantPace { from: Time::ZERO, identity: (seed, host), core: None }
    }

    /// A gap between grants at the present pace.
    pub(super) fn stretch(&self, gap: Duration) -> Duration {
        let share = self.core.as_ref().map(|core| core.share);
        share.map_or(gap, |share| Duration::from_ps((gap.as_ps() as f64 / share) as u64))
    }

    /// Takes notice of a data packet, after the judgements that were due.
    pub(super) fn take(&mut self, now: Time, packet: &TransportPacket, params: Core) {
        if params.oversubscription <= 1.0 {
            return;
        }
        let (seed, host) = self.identity;
        let core = self.core.get_or_insert_with(|| Box::new(CoreJudgement::new(seed, host, now, params)));
        core.judge_until(now, params);
        core.count(packet);
    }
}

impl CoreJudgement {
    fn new(seed: u64, host: u32, now: Time, params: Core) -> CoreJudgement {
        let mut random = Stream::new(seed, Purpose::GrantPeriods, host.into());
        let due = now + period(&mut random, params);
        CoreJudgement {
            random,
            due,
            arrived: 0,
            marked: 0,
            trimmed: 0,
            trimmed_last: 0,
            marked_share: 0.0,
            share: 1.0,
            increases: 0,
        }
    }

    fn count(&mut self, packet: &TransportPacket) {
        self.arrived += 1;
        let count = match (packet.has(flags::LAST_HOP), packet.has(flags::TRIMMED), packet.has(flags::CONGESTION)) {
            (true, ..) => &mut self.trimmed_last,
            (_, true, _) => &mut self.trimmed,
            (.., true) => &mut self.marked,
            _ => return,
        };
        *count += 1;
    }

    fn judge_until(&mut self, now: Time, params: Core) {
        while self.due <= now {
            self.judge((FAIR_MIN / params.oversubscription).max(SHARE_MIN));
            // Nothing has arrived since: grants that are as fast as can be stay so.
            let from = if self.share == 1.0 && self.marked_share < 0.001 { now } else { self.due };
            self.due = from + period(&mut self.random, params);
        }
    }

    fn judge(&mut self, share_min: f64) {
        let counts = [&mut self.arrived, &mut self.marked, &mut self.trimmed, &mut self.trimmed_last];
        let [arrived, marked, trimmed, trimmed_last] = counts.map(std::mem::take).map(f64::from);
        let untrimmed = arrived - trimmed - trimmed_last;
        let marks = if untrimmed > 0.0 { marked / untrimmed } else { 0.0 };
        self.marked_share = (1.0 - WEIGHT) * self.marked_share + WEIGHT * marks;
        let excess = self.marked_share - MARKS_MAX;
        if trimmed > 0.0 {
            self.share -= trimmed / arrived;
        }
        if excess > 0.0 {
            self.share *= 1.0 - excess * DECREASE;
        }
        if trimmed > 0.0 || excess > 0.0 {
            self.increases = 0;
        } else {
            let doublings = if marked == 0.0 { self.increases.min(DOUBLINGS_MAX) } else { 0 };
            self.share += INCREASE * f64::from(1u32 << doublings);
            self.increases += 1;
        }
        self.share = self.share.clamp(share_min, 1.0);
    }
}

/// Length of a period: one and a half round trips, within a quarter of that.
fn period(random: &mut Stream, params: Core) -> Duration {
    let mean = params.round_trip.as_ps() * 3 / 2;
    Duration::from_ps(mean * 3 / 4 + random.below(mean / 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketKind;

    /// Shares of the link after periods in which ten packets arrive with these flags.
    fn shares<const N: usize>(periods: [u8; N]) -> [f64; N] {
        let params = Core { oversubscription: 4.0, round_trip: Duration::from_us(12) };
        let (mut core, mut now) = (CoreJudgement::new(1, 0, Time::ZERO, params), Time::ZERO);
        periods.map(|flags| {
            let packet = TransportPacket { flags, ..TransportPacket::new(PacketKind::Data, 4_150, 4_086) };
            (0..10).for_each(|_| core.count(&packet));
            assert!(core.due > now && core.due.since(now) <= params.round_trip * 15 / 8);
            now = core.due;
            core.judge_until(now, params);
            core.share
        })
    }

    #[test]
    fn trims_and_marks_of_the_core_slow_grants_down_to_nine_tenths_of_a_fair_share() {
        let close = |[a, b]: [f64; 2]| (a - b).abs() < 1e-9;
        // Averages of marks 0.5 and 0.75, then 0.375 and 0.1875: the next period doubles what the one before added.
        let shares = shares([flags::CONGESTION, flags::CONGESTION, 0, 0, 0, flags::TRIMMED, flags::LAST_HOP]);
        let mut expected = [1.0 - 0.2 * 0.5; 7];
        expected[1] = expected[0] * (1.0 - 0.45 * 0.5);
        expected[2] = expected[1] * (1.0 - 0.075 * 0.5);
        expected[3] = expected[2] + 0.01;
        expected[4] = expected[3] + 0.02;
        (expected[5], expected[6]) = (0.9 / 4.0, 0.9 / 4.0 + 0.01);
        assert!((0..7).all(|period| close([shares[period], expected[period]])), "{shares:?}, expected {expected:?}");
    }
}
