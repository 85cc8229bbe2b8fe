//! What hosts of every group send to those of every other: for a routing with a central controller.
//!
//! ```text
//!   period     k − 2              k − 1             k
//!          ├──────────────────┼─────────────────┼─────────────────►
//!           hosts' packets      the controller    its rules decide
//!           are counted         makes rules
//! ```
//!
//! Every switch counts the packets of its hosts. The counts of a period are what decisions see two periods later. A
//! period is a third of the controller's reaction, so that a change of the traffic, wherever in a period it happens, is
//! followed by its rules at most one reaction later. A period is at least as long as the lookahead, so that a shard has
//! all counts of the others when they are used, and decisions are the same in every layout. Counts are no events, and
//! take no bandwidth.

use etherweave_primitives::{Duration, Time};
use etherweave_routing::MeasuredGroups;

use super::neighbour_loads::LoadReport;
use crate::engine::Shard;
use crate::packet::Handle;

/// Periods in a reaction.
pub(crate) const PERIODS: u64 = 3;

/// Bytes between groups in the last three periods.
pub(crate) struct GroupTraffic {
    groups: MeasuredGroups,
    /// Length of a period.
    period: Duration,
    /// What a link between groups carries in a period [B].
    capacity: u64,
    /// By the number of a period, modulo three.
    counts: [PeriodCounts; PERIODS as usize],
}

/// Bytes of one period.
#[derive(Clone, Default)]
struct PeriodCounts {
    number: u64,
    /// By group of the source, then of the destination [B].
    bytes: Vec<u64>,
}

impl GroupTraffic {
    /// Nothing counted yet; a link between groups carries `capacity` bytes in a `period`.
    pub fn new(groups: MeasuredGroups, period: Duration, capacity: u64) -> GroupTraffic {
        let pairs = groups.groups as usize * groups.groups as usize;
        let empty = PeriodCounts { number: 0, bytes: vec![0; pairs] };
        GroupTraffic { groups, period, capacity: capacity.max(1), counts: std::array::from_fn(|_| empty.clone()) }
    }

    fn pair(&self, from: u32, to: u32) -> u32 {
        from * self.groups.groups + to
    }

    fn number(&self, now: Time) -> u64 {
        now.as_ps() / self.period.as_ps()
    }

    /// Counts what was sent; all that is still to be counted or asked for is later than two periods before.
    fn count(&mut self, report: &LoadReport) {
        let number = self.number(report.time);
        let counts = &mut self.counts[(number % PERIODS) as usize];
        if counts.number != number {
            counts.number = number;
            counts.bytes.fill(0);
        }
        counts.bytes[report.queue as usize] += u64::from(report.bytes);
    }

    /// Takes what another shard has counted in the window that is over.
    pub fn receive(&mut self, reports: &[LoadReport]) {
        reports.iter().for_each(|report| self.count(report));
    }

    /// What a group sent to another in the period that decisions go by now, as a share of one link [percent].
    pub fn sent_percent(&self, from: u16, to: u16, now: Time) -> u32 {
        let Some(number) = self.number(now).checked_sub(PERIODS - 1) else { return 0 };
        let counts = &self.counts[(number % PERIODS) as usize];
        if counts.number != number {
            return 0;
        }
        (counts.bytes[self.pair(from.into(), to.into()) as usize] * 100 / self.capacity) as u32
    }
}

impl Shard {
    /// Counts a packet that has come from a host, if a controller measures.
    pub(super) fn count_traffic(&mut self, handle: Handle) {
        let Some(traffic) = &mut self.group_traffic else { return };
        let routed = self.packets.route(handle).routed;
        let [from, to] = [routed.src, routed.dst].map(|host| host / traffic.groups.hosts);
        if from == to {
            return;
        }
        let report = LoadReport { time: self.now, queue: traffic.pair(from, to), bytes: self.packets[handle].wire };
        traffic.count(&report);
        for (shard, outbox) in self.outboxes.iter_mut().enumerate() {
            if shard != self.id as usize {
                outbox.loads.push(report);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_in_a_period_is_seen_two_periods_later_for_one_period() {
        let groups = MeasuredGroups { groups: 3, hosts: 8 };
        // A link carries 1,000 B in a period of 100 ns.
        let mut traffic = GroupTraffic::new(groups, Duration::from_ns(100), 1_000);
        let at = |ns: u64| Time::ZERO + Duration::from_ns(ns);
        let report = |ns, from: u32, to: u32, bytes| LoadReport { time: at(ns), queue: from * 3 + to, bytes };
        traffic.receive(&[report(0, 0, 1, 400), report(99, 0, 1, 500), report(99, 1, 0, 70), report(100, 0, 1, 2_000)]);
        let seen =
            |traffic: &GroupTraffic, ns| [(0, 1), (1, 0)].map(|(from, to)| traffic.sent_percent(from, to, at(ns)));
        assert_eq!(seen(&traffic, 199), [0, 0]);
        assert_eq!([200, 299].map(|ns| seen(&traffic, ns)), [[90, 7]; 2]);
        assert_eq!(seen(&traffic, 300), [200, 0]);
        // Three periods later the same place counts anew; what was skipped is nothing.
        traffic.receive(&[report(400, 0, 1, 10)]);
        assert_eq!([500, 600].map(|ns| seen(&traffic, ns)), [[0, 0], [1, 0]]);
    }
}
