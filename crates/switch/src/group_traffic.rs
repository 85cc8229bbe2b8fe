//! Traffic between groups of hosts, measured for a routing with a central controller.
//!
//! ```text
//!            period k             delay           period
//!          ├──────────────────┼─────────────────┼──────────────────┤
//!           hosts' packets      the controller    its rules decide
//!           are counted         makes rules
//! ```
//!
//! Every switch counts the packets of its hosts, or one of several. A change of the traffic, wherever in a period it
//! happens, is followed by its rules at most two periods and the delay later: the controller's reaction. Unless the
//! scenario states the period, each of the three is a third of it. Periods and delay are at least as long as the
//! lookahead, so that a shard has all counts of the others when they are used, and decisions are the same in every
//! layout. Counts are no events, and take no bandwidth.
//!
//! A switch also keeps what each of its hosts sent to each group, where only large flows are rerouted. Of a tree, it
//! keeps what each subtree sent to others and received from them, and the most of these at each level.

use etherweave_engine::{LoadReport, Wires, packet::Handle};
use etherweave_kernel::{LocalIndex, indices::PortIndex};
use etherweave_primitives::{Duration, Time};
use etherweave_routing::MeasuredGroups;

use crate::Switches;

/// Bytes between groups in the last periods.
pub struct GroupTraffic {
    groups: MeasuredGroups,
    clock: MeasurementClock,
    /// Bytes that a link between groups carries in a period.
    capacity: u64,
    /// Packets of a host of which one is counted.
    sampling: u32,
    /// Packets of each ingress port of the shard since one was counted. Empty where all are.
    uncounted: Vec<u32>,
    /// Least bytes of a large flow in a period, by ingress port of the shard [B]. Empty where all flows are rerouted.
    flow_min: Vec<u64>,
    /// Share by which the bytes of a pair may differ from the period before; absent: by any.
    change_max: Option<f64>,
    /// Periods, by number modulo how many there are.
    counts: Vec<PeriodCounts>,
}

/// When counters are read, and when rules follow.
#[derive(Clone, Copy)]
pub struct MeasurementClock {
    /// Time between two readings.
    pub period: Duration,
    /// Time from a reading until its rules are active.
    pub delay: Duration,
}

impl MeasurementClock {
    fn number(self, now: Time) -> u64 {
        now.as_ps() / self.period.as_ps()
    }

    /// The period by whose counts decisions go; none before the first rules.
    fn active(self, now: Time) -> Option<u64> {
        (now.as_ps().checked_sub(self.delay.as_ps())? / self.period.as_ps()).checked_sub(1)
    }

    /// Periods from the one that decisions go by to the one that is counted.
    fn periods(self) -> usize {
        self.delay.as_ps().div_ceil(self.period.as_ps()) as usize + 2
    }
}

#[derive(Clone, Default)]
struct PeriodCounts {
    number: u64,
    /// Bytes by group of the source, then of the destination; empty in a tree.
    bytes: Vec<u64>,
    /// Counts by level of a tree; empty elsewhere.
    climbs: Vec<LevelCounts>,
    /// Bytes by ingress port of the shard, then group of the destination [B]; empty where all flows are rerouted.
    flows: Vec<u64>,
}

/// Bytes that subtrees below switches of a level sent to others and received from them in a period.
#[derive(Clone)]
struct LevelCounts {
    /// Leaves of a subtree.
    span: u32,
    /// Bytes by subtree.
    sent: Vec<u64>,
    /// Bytes by subtree.
    received: Vec<u64>,
    /// The most of both [B].
    busiest: u64,
}

impl LevelCounts {
    fn new(span: u32, leaves: u32) -> LevelCounts {
        let subtrees = vec![0; leaves.div_ceil(span) as usize];
        LevelCounts { span, sent: subtrees.clone(), received: subtrees, busiest: 0 }
    }

    fn count(&mut self, from: u32, to: u32, bytes: u64) {
        let [from, to] = [from, to].map(|leaf| (leaf / self.span) as usize);
        if from != to {
            self.sent[from] += bytes;
            self.received[to] += bytes;
            self.busiest = self.busiest.max(self.sent[from]).max(self.received[to]);
        }
    }

    fn clear(&mut self) {
        self.sent.fill(0);
        self.received.fill(0);
        self.busiest = 0;
    }
}

impl GroupTraffic {
    /// Nothing counted yet; a link between groups carries `capacity` bytes in a period.
    pub fn new(groups: MeasuredGroups, clock: MeasurementClock, capacity: u64) -> GroupTraffic {
        let pairs = if groups.are_leaves() { 0 } else { groups.groups as usize * groups.groups as usize };
        let spans = groups.spans.into_iter().filter(|&span| span > 0);
        let climbs = spans.map(|span| LevelCounts::new(span, groups.groups)).collect();
        let empty = PeriodCounts { number: 0, bytes: vec![0; pairs], climbs, flows: Vec::new() };
        GroupTraffic {
            groups,
            clock,
            capacity: capacity.max(1),
            sampling: 1,
            uncounted: Vec::new(),
            flow_min: Vec::new(),
            change_max: None,
            counts: vec![empty; clock.periods()],
        }
    }

    /// Counts one of `sampling` packets of each of the shard's ports.
    pub fn sample(&mut self, sampling: u32, ports: usize) {
        self.sampling = sampling;
        self.uncounted = vec![0; if sampling > 1 { ports } else { 0 }];
    }

    /// Reroutes flows alone that send so much in a period, by port of the shard [B].
    pub fn reroute_large_flows(&mut self, flow_min: Vec<u64>) {
        let flows = flow_min.len() * self.groups.groups as usize;
        self.counts.iter_mut().for_each(|counts| counts.flows = vec![0; flows]);
        self.flow_min = flow_min;
    }

    /// Reroutes what differs from the period before by at most this share alone.
    pub fn reroute_predictable(&mut self, change_max: Option<f64>) {
        self.change_max = change_max;
        if change_max.is_some() {
            // One period more, before the one that decisions go by.
            self.counts.extend(self.counts.first().cloned());
        }
    }

    fn pair(&self, from: u32, to: u32) -> u32 {
        from * self.groups.groups + to
    }

    fn flow(&self, ingress: PortIndex, to: u32) -> usize {
        ingress.place() * self.groups.groups as usize + to as usize
    }

    /// Packets that the next one of a port stands for: none when it is not counted.
    fn weight(&mut self, ingress: PortIndex) -> u32 {
        let Some(uncounted) = self.uncounted.get_mut(ingress.place()) else { return 1 };
        *uncounted += 1;
        if *uncounted < self.sampling {
            return 0;
        }
        *uncounted = 0;
        self.sampling
    }

    /// The counts of a period that is not over, or was not long ago.
    fn counts_at(&mut self, time: Time) -> &mut PeriodCounts {
        let number = self.clock.number(time);
        let periods = self.counts.len() as u64;
        let counts = &mut self.counts[(number % periods) as usize];
        if counts.number != number {
            counts.number = number;
            counts.bytes.fill(0);
            counts.climbs.iter_mut().for_each(LevelCounts::clear);
            counts.flows.fill(0);
        }
        counts
    }

    /// Counts what was sent; all that is still to be counted or asked for is later than the period that is active.
    fn count(&mut self, report: &LoadReport) {
        let (groups, bytes) = (self.groups.groups, u64::from(report.bytes));
        let counts = self.counts_at(report.time);
        match counts.bytes.get_mut(report.queue as usize) {
            Some(sent) => *sent += bytes,
            None => {
                let (from, to) = (report.queue / groups, report.queue % groups);
                counts.climbs.iter_mut().for_each(|level| level.count(from, to, bytes));
            }
        }
    }

    /// Takes what another shard has counted in the window that is over.
    pub fn receive(&mut self, reports: &[LoadReport]) {
        reports.iter().for_each(|report| self.count(report));
    }

    /// The counts that decisions go by.
    fn active(&self, now: Time) -> Option<&PeriodCounts> {
        self.counts_of(self.clock.active(now)?)
    }

    /// The counts of a period; none where nothing was counted in it.
    fn counts_of(&self, number: u64) -> Option<&PeriodCounts> {
        Some(&self.counts[(number % self.counts.len() as u64) as usize]).filter(|counts| counts.number == number)
    }

    /// Traffic that the busiest subtree of a level sent or received in that period [percent of a link]; absent before
    /// the first rules, and of levels that are not measured.
    pub fn busiest_percent(&self, level: usize, now: Time) -> Option<u32> {
        let number = self.clock.active(now).filter(|_| level < self.counts[0].climbs.len())?;
        let busiest = self.counts_of(number).map_or(0, |counts| counts.climbs[level].busiest);
        Some(u32::try_from(busiest.saturating_mul(100) / self.capacity).unwrap_or(u32::MAX))
    }

    /// Whether a pair sent in a period what it had sent in the one before, as far as asked.
    fn is_predictable(&self, counts: &PeriodCounts, pair: usize) -> bool {
        let Some(change_max) = self.change_max else { return true };
        let before = counts.number.checked_sub(1).and_then(|number| self.counts_of(number));
        let before = before.map_or(0, |counts| counts.bytes[pair]);
        counts.bytes[pair].abs_diff(before) as f64 <= change_max * before as f64
    }

    /// Returns the data that a group sent to another in the period that decisions go by now, as a share of one link
    /// [percent].
    pub fn sent_percent(&self, from: u16, to: u16, now: Time) -> u32 {
        let pair = self.pair(from.into(), to.into()) as usize;
        let active = self.active(now).filter(|counts| self.is_predictable(counts, pair));
        active.map_or(0, |counts| (counts.bytes[pair] * 100 / self.capacity) as u32)
    }

    /// Whether what came in by a port for a group in that period is a large flow.
    pub fn is_large_flow(&self, ingress: PortIndex, to: u16, now: Time) -> bool {
        let Some(&flow_min) = self.flow_min.get(ingress.place()) else { return true };
        self.active(now).is_some_and(|counts| counts.flows[self.flow(ingress, to.into())] >= flow_min)
    }
}

impl Switches {
    /// Counts a packet that has come from a host, if a controller measures.
    pub(super) fn count_traffic(&mut self, wires: &mut Wires, ingress: PortIndex, handle: Handle) {
        let Some(traffic) = &mut self.group_traffic else { return };
        let routed = wires.packets.route(handle).routed;
        let [from, to] = [routed.src, routed.dst].map(|host| host / traffic.groups.hosts);
        let weight = if from == to { 0 } else { traffic.weight(ingress) };
        if weight == 0 {
            return;
        }
        let bytes = wires.packets[handle].wire * weight;
        let report = LoadReport { time: wires.now, queue: traffic.pair(from, to), bytes };
        traffic.count(&report);
        let flow = traffic.flow(ingress, to);
        if let Some(sent) = traffic.counts_at(wires.now).flows.get_mut(flow) {
            *sent += u64::from(bytes);
        }
        for (shard, outbox) in wires.outboxes.iter_mut().enumerate() {
            if shard != wires.id as usize {
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
        let groups = MeasuredGroups::in_pairs(3, 8);
        // A link carries 1,000 B in a period of 100 ns.
        let period = Duration::from_ns(100);
        let mut traffic = GroupTraffic::new(groups, MeasurementClock { period, delay: period }, 1_000);
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

    #[test]
    fn rules_follow_a_reading_after_the_delay_until_the_next() {
        let [period, delay] = [100, 250].map(Duration::from_ns);
        let clock = MeasurementClock { period, delay };
        let at = |ns: u64| Time::ZERO + Duration::from_ns(ns);
        // Period 0 is read at 100 ns; its rules decide from 350 to 450 ns, while period 4 is counted: five periods.
        assert_eq!([249, 349, 350, 449, 450].map(|ns| clock.active(at(ns))), [None, None, Some(0), Some(0), Some(1)]);
        assert_eq!((clock.number(at(449)), clock.periods()), (4, 5));
    }

    #[test]
    fn one_packet_of_several_stands_for_all_of_them() {
        let groups = MeasuredGroups::in_pairs(2, 8);
        let period = Duration::from_ns(100);
        let mut traffic = GroupTraffic::new(groups, MeasurementClock { period, delay: period }, 1_000);
        assert_eq!([0, 1].map(|_| traffic.weight(PortIndex::new(0))), [1, 1]);
        traffic.sample(3, 2);
        let weights = [0, 0, 1, 0, 0, 1].map(|port| traffic.weight(PortIndex::new(port)));
        assert_eq!(weights, [0, 0, 0, 3, 0, 0]);
    }

    #[test]
    fn a_flow_is_large_by_what_its_host_sent_to_the_group() {
        let groups = MeasuredGroups::in_pairs(3, 8);
        let period = Duration::from_ns(100);
        let mut traffic = GroupTraffic::new(groups, MeasurementClock { period, delay: period }, 1_000);
        let [first, second] = [0, 1].map(PortIndex::new);
        assert!(traffic.is_large_flow(first, 2, Time::ZERO), "all flows are, unless there is a limit");
        traffic.reroute_large_flows(vec![500, 500]);
        let (large, small) = (traffic.flow(first, 2), traffic.flow(second, 2));
        traffic.counts_at(Time::ZERO).flows[large] = 500;
        traffic.counts_at(Time::ZERO).flows[small] = 499;
        let seen = |ns| {
            let now = Time::ZERO + Duration::from_ns(ns);
            [(first, 2), (first, 1), (second, 2)].map(|(port, to)| traffic.is_large_flow(port, to, now))
        };
        assert_eq!([199, 200, 300].map(seen), [[false; 3], [true, false, false], [false; 3]]);
    }

    #[test]
    fn what_changes_more_than_asked_is_not_rerouted() {
        let period = Duration::from_ns(100);
        let groups = MeasuredGroups::in_pairs(2, 8);
        let mut traffic = GroupTraffic::new(groups, MeasurementClock { period, delay: period }, 1_000);
        traffic.reroute_predictable(Some(0.2));
        let at = |ns: u64| Time::ZERO + Duration::from_ns(ns);
        let report = |ns, bytes| LoadReport { time: at(ns), queue: 1, bytes };
        // 1,000 B after nothing, 1,200 after 1,000, and 900 after 1,200, which is a quarter less.
        traffic.receive(&[report(0, 1_000)]);
        assert_eq!(traffic.sent_percent(0, 1, at(200)), 0);
        traffic.receive(&[report(100, 1_200)]);
        assert_eq!(traffic.sent_percent(0, 1, at(300)), 120);
        traffic.receive(&[report(200, 900)]);
        assert_eq!(traffic.sent_percent(0, 1, at(400)), 0);
    }

    /// Four leaves of a host, two in each pod. A link carries 1,000 B in a period.
    #[test]
    fn the_busiest_subtree_of_each_level_of_a_tree_is_known_two_periods_later() {
        let period = Duration::from_ns(100);
        let groups = MeasuredGroups { groups: 4, hosts: 1, spans: [1, 2, 0, 0] };
        let mut traffic = GroupTraffic::new(groups, MeasurementClock { period, delay: period }, 1_000);
        let at = |ns: u64| Time::ZERO + Duration::from_ns(ns);
        let report = |from: u32, to: u32, bytes| LoadReport { time: at(0), queue: from * 4 + to, bytes };
        // Leaf 0 sends 700 within its pod and 500 out of it; leaf 3 receives 500 + 900, 900 of it from its pod.
        traffic.receive(&[report(0, 1, 700), report(0, 3, 500), report(2, 3, 900)]);
        let seen = |ns| [0, 1].map(|level| traffic.busiest_percent(level, at(ns)));
        assert_eq!(seen(199), [None, None]);
        assert_eq!(seen(200), [Some(140), Some(50)]);
        assert_eq!(seen(300), [Some(0), Some(0)]);
        assert_eq!(traffic.busiest_percent(2, at(200)), None, "it has no uplinks");
    }
}
