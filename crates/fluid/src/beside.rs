//! Links that packets and messages share: hybrid runs.
//!
//! A link carries both, and no more than its capacity. Messages have their rate, packets what that leaves. Each packet
//! occupies its port until a meter of the link says that the next may follow: so packets that come faster wait in the
//! switch, as they would behind packets. A few may go at once, and none waits longer than an equal share makes it; what
//! a link carries beyond its capacity by that, messages leave free after the next solution of rates.
//!
//! Messages that a link limits have more in the network than is on the way: what their hosts have sent and the link has
//! not, up to their window. Packets arrive behind that.

use etherweave_kernel::LocalIndex;
use etherweave_primitives::{Duration, Time};

use super::{Branch, FULL, Links, NONE, Tables, classes::ClassLinks};
use etherweave_kernel::indices::PortIndex;

/// Full packets that go at once, however short the time is for which rates hold.
const BURST: f64 = 16.0;
/// Share of a link that is used at least while messages leave free what was carried beyond its capacity.
const USED_MIN: f64 = 0.25;
/// Bound of what a link carries beyond its capacity [times what it carries in the longest time that rates hold].
const INTERVALS: f64 = 4.0;
/// Share of a link that is left at least where packets wait for it that are split at random.
const SLACK: f64 = 0.5;

/// Messages on links that packets may cross.
pub struct BesidePackets {
    links: Vec<Load>,
    /// Most that waits in a switch for one link [B].
    queue_max: f64,
    /// A full packet [B on the wire].
    packet: f64,
    /// Time for which rates hold [ps].
    interval: f64,
}

#[derive(Clone, Copy, Default)]
struct Load {
    /// Bytes per picosecond.
    rate: f64,
    connections: f64,
    /// Data of them that waits for the link [B], and the part of it whose share is known already.
    queued: f64,
    queued_known: f64,
    /// Bytes of messages and packets on the link beyond its capacity until `metered` [B].
    excess: f64,
    metered: Time,
}

/// A link for a packet.
#[derive(Clone, Copy)]
pub struct SharedLink {
    /// The port that sends.
    pub port: PortIndex,
    /// Bytes per picosecond.
    pub capacity: f64,
    /// Connections in packets that use it, each counted by the share of it that does.
    pub packets: f64,
}

/// Effect of messages on a packet at a link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Crossing {
    /// It arrives so much later.
    pub wait: Duration,
    /// The next may begin so long after it.
    pub occupied: Duration,
}

impl Load {
    /// Whether no message uses the link; branches that are not used first do so without being counted.
    fn is_idle(&self, capacity: f64) -> bool {
        self.connections < NONE && self.rate < capacity * FULL
    }

    /// Counts what messages have used until now.
    fn meter(&mut self, now: Time, capacity: f64) {
        let span = now.since(self.metered).as_ps() as f64;
        self.excess = (self.excess + (self.rate - capacity) * span).max(0.0);
        self.metered = now;
    }
}

impl BesidePackets {
    /// No message yet on so many links. At most `queue_max` bytes wait for one; full packets are of `packet` bytes.
    pub fn new(links: usize, queue_max: f64, packet: f64) -> BesidePackets {
        BesidePackets { links: vec![Load::default(); links], queue_max, packet, interval: 0.0 }
    }

    /// A connection begins, a share of which uses a link of some capacity [B/ps] at a rate.
    pub(super) fn begin(&mut self, now: Time, (link, capacity): (PortIndex, f64), share: f64, rate: f64) {
        let load = &mut self.links[link.place()];
        load.meter(now, capacity);
        (load.rate, load.connections) = (load.rate + rate, load.connections + share);
    }

    /// A connection has ended, a share of which used a link of some capacity [B/ps] at a rate.
    pub(super) fn end(&mut self, now: Time, (link, capacity): (u32, f64), share: f64, rate: f64) {
        let load = &mut self.links[link as usize];
        load.meter(now, capacity);
        (load.rate, load.connections) = (load.rate - rate, load.connections - share);
        if load.is_idle(capacity) {
            *load = Load { excess: load.excess, metered: load.metered, ..Load::default() };
        }
    }

    /// Connections on a link, each counted by the share of it that uses the link.
    pub(super) fn connections(&self, link: PortIndex) -> f64 {
        self.links[link.place()].connections
    }

    /// Bytes that packets may take of a link beyond what messages leave, before rates are solved anew.
    fn burst(&self, capacity: f64) -> f64 {
        (BURST * self.packet).max(capacity * self.interval)
    }

    /// Notes for how long rates will hold.
    pub(super) fn hold(&mut self, interval: Duration) {
        self.interval = interval.as_ps() as f64;
    }

    /// How long packets of a connection wait for messages [ps], as known since rates were last solved.
    pub(super) fn waits(&self, links: &Links, tables: Tables<'_>, solver: &ClassLinks) -> f64 {
        let wait = |(link, share): (PortIndex, f64)| {
            share * self.links[link.place()].queued.min(self.queue_max) / solver.capacity(link.get())
        };
        links.shares(tables).map(wait).sum()
    }

    /// All shares are known.
    pub(super) fn settle(&mut self) {
        for load in &mut self.links {
            (load.queued, load.queued_known) = (load.queued_known, 0.0);
        }
    }

    /// The rate on a link of some capacity [B/ps] grows.
    pub(super) fn change(&mut self, now: Time, (link, capacity): (u32, f64), rate: f64) {
        let load = &mut self.links[link as usize];
        load.meter(now, capacity);
        load.rate += rate;
    }

    /// Notes bytes of a branch that wait because a link is full: there, or, of one that is split over links between
    /// switches, at each of these, the more the more of it is `used`: packets at random do not all meet the fullest.
    pub(super) fn queue(
        &mut self,
        branch: Branch,
        full: u32,
        bytes: f64,
        tables: Tables<'_>,
        (is_between, used): (impl Fn(u32) -> bool, impl Fn(u32) -> f64),
    ) {
        if !is_between(full) || !branch.is_split(tables) {
            self.links[full as usize].queued_known += bytes;
            return;
        }
        let weight = |(link, share): (PortIndex, f64)| {
            let used = used(link.get());
            (link, share * used / (1.0 + SLACK - used))
        };
        let weights = || branch.links(tables).filter(|(link, _)| is_between(link.get())).map(weight);
        let sum: f64 = weights().map(|(_, weight)| weight).sum();
        weights().for_each(|(link, weight)| self.links[link.place()].queued_known += bytes * weight / sum);
    }

    /// Bytes that messages have queued for a link.
    pub(super) fn queued(&self, link: PortIndex) -> u32 {
        self.links[link.place()].queued.min(self.queue_max) as u32
    }

    /// Takes from the capacity of each link what it has carried beyond it, over a `span` for which rates will hold.
    pub(super) fn take_excess(&mut self, now: Time, span: Duration, solver: &mut ClassLinks) {
        // Where packets wait for each other, the last of them is beyond a burst.
        for link in 0..self.links.len() as u32 {
            let capacity = solver.capacity(link);
            let burst = self.burst(capacity) + self.packet;
            let load = &mut self.links[link as usize];
            load.meter(now, capacity);
            let excess = (load.excess - burst).max(0.0) / span.as_ps() as f64;
            solver.limit(link, (capacity - excess).max(USED_MIN * capacity));
        }
    }

    /// Whether links have carried no more beyond their capacity than a burst and what some intervals of rates allow, of
    /// at most a span each.
    pub(super) fn is_excess_bounded(&self, interval: Duration, solver: &ClassLinks) -> bool {
        let (packets, intervals) = ((BURST + 2.0) * self.packet, INTERVALS * interval.as_ps() as f64);
        (0..).zip(&self.links).all(|(link, load)| load.excess <= packets + intervals * solver.capacity(link))
    }

    /// A packet of `wire` bytes begins to leave: it arrives behind a full packet, if messages use the link all the
    /// time, and behind what waits. Packets share what messages leave, or have an equal share if that is more.
    pub(super) fn cross(&mut self, now: Time, link: SharedLink, wire: u32) -> Crossing {
        let SharedLink { port, capacity, packets } = link;
        let burst = self.burst(capacity);
        let load = &mut self.links[port.place()];
        load.meter(now, capacity);
        load.excess += f64::from(wire);
        if load.is_idle(capacity) {
            return Crossing::default();
        }
        let &mut Load { rate, connections, queued, excess, .. } = load;
        let packets = if packets < NONE { 1.0 } else { packets };
        // No more than messages can leave free afterwards.
        let share = capacity * (packets / (packets + connections)).min(1.0 - USED_MIN);
        // Of a few packets, each leaves with the messages that came beside it.
        let beside = f64::from(wire) * (1.0 + (rate / capacity).min(1.0)) / capacity;
        let paced = (excess - burst) / (capacity - rate).max(share);
        // At half of the rate, as long as packets at random wait for each other (M/D/1).
        let at_random = (rate / capacity).min(1.0) * self.packet;
        let before = at_random + queued.min(self.queue_max);
        let duration = |ps: f64| Duration::from_ps(ps as u64);
        Crossing {
            wait: duration(before / capacity),
            occupied: duration(paced.min(f64::from(wire) / share).max(beside)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: PortIndex = PortIndex::new(0);
    /// A link of 1 B/ps with one connection in packets.
    const LINK: SharedLink = SharedLink { port: PORT, capacity: 1.0, packets: 1.0 };
    const FULL: u32 = 4_000;

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    /// Such a link with so many connections of messages that have a rate together.
    fn beside(connections: u32, rate: f64) -> BesidePackets {
        let mut beside = BesidePackets::new(1, 50_000.0, f64::from(FULL));
        (0..connections).for_each(|_| beside.begin(Time::ZERO, (PORT, 1.0), 1.0, rate / f64::from(connections)));
        beside
    }

    /// Bytes of full packets that leave one after another in a span [ps].
    fn sent(beside: &mut BesidePackets, span: u64) -> u64 {
        let (mut now, mut bytes) = (0, 0);
        while now < span {
            now += beside.cross(at(now), LINK, FULL).occupied.as_ps().max(FULL.into());
            bytes += u64::from(FULL);
        }
        bytes
    }

    #[test]
    fn a_lone_packet_waits_for_what_may_come_before_it_and_for_what_is_queued() {
        let wait = |rate: f64, queued: f64| {
            let mut beside = beside(1, rate);
            beside.links[0].queued = queued;
            beside.cross(Time::ZERO, LINK, 1_000).wait.as_ps()
        };
        assert_eq!(wait(0.25, 0.0), 1_000);
        assert_eq!(wait(1.0, 20_000.0), 24_000);
        // No more than a switch holds.
        assert_eq!(wait(1.0, 80_000.0), 54_000);
    }

    /// Messages of half the rate bring 500 bytes while a packet is sent, those of the whole rate 1,000.
    #[test]
    fn a_few_packets_leave_with_the_messages_that_come_between_them() {
        for (rate, expected) in [(0.5, 1_500), (1.0, 2_000)] {
            assert_eq!(beside(1, rate).cross(Time::ZERO, LINK, 1_000).occupied.as_ps(), expected);
        }
    }

    #[test]
    fn packets_and_messages_carry_no_more_than_the_link_and_a_burst() {
        for (connections, rate) in [(1, 0.5), (3, 0.75), (3, 0.25), (9, 0.9)] {
            let span = 10_000_000;
            let left = (1.0 - rate) * span as f64;
            let bytes = sent(&mut beside(connections, rate), span) as f64;
            let burst = (BURST + 2.0) * f64::from(FULL);
            assert!((left - burst..left + burst).contains(&bytes), "{connections} {rate}: {bytes} of {left}");
        }
    }

    /// Messages have the link; a connection in packets has half of it at once, and what that is beyond the capacity
    /// messages leave afterwards, but for a burst.
    #[test]
    fn what_is_carried_beyond_the_capacity_is_taken_from_it_later() {
        let (mut beside, span) = (beside(1, 1.0), 400_000);
        let bytes = sent(&mut beside, span);
        assert!((200_000..220_000).contains(&bytes), "{bytes}");
        let (mut solver, mut shares) = (ClassLinks::new(vec![1.0], vec![1.0]), Vec::new());
        let mut rate = |beside: &mut BesidePackets, now: u64| {
            beside.take_excess(at(now), Duration::from_ps(1_000_000), &mut solver);
            solver.solve(&[f64::INFINITY], |_| [(0, 1.0)].into_iter(), &mut shares);
            shares[0].rate
        };
        let excess = (bytes as f64 - (BURST + 1.0) * f64::from(FULL)) / 1e6;
        let lowered = rate(&mut beside, span);
        assert!((lowered - (1.0 - excess)).abs() < 1e-9, "{lowered} {excess}");
        // No packet follows, and messages keep to it.
        beside.change(at(span), (0, 1.0), lowered - 1.0);
        assert_eq!(rate(&mut beside, span + 1_000_000), 1.0);
    }

    #[test]
    fn without_messages_nobody_waits() {
        let mut beside = beside(1, 0.5);
        beside.end(Time::ZERO, (0, 1.0), 1.0, 0.5);
        assert_eq!(beside.cross(Time::ZERO, LINK, 1_000), Crossing::default());
    }
}
