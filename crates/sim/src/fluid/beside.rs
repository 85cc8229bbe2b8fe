//! What packets see of messages on the same links: hybrid runs.
//!
//! A link is a queue that serves both in the order of their arrival. Messages arrive at their rate, a packet all at
//! once; what it finds before it, it waits for. Messages that a link limits have more in the network than is on the
//! way: what their hosts have sent and the link has not, up to their window. That waits too.

use etherweave_kernel::LocalIndex;
use etherweave_primitives::{Duration, Time};

use super::classes::ClassLinks;
use super::{Links, NONE, Tables};
use crate::indices::PortIndex;

/// Messages on links that packets may cross.
pub(crate) struct BesidePackets {
    links: Vec<Load>,
    /// Most that waits in a switch for one link [B].
    queue_max: f64,
    /// A full packet [B on the wire].
    packet: f64,
}

/// Messages on a link.
#[derive(Clone, Copy, Default)]
struct Load {
    /// Bytes per picosecond.
    rate: f64,
    connections: f64,
    /// What of them waits for the link [B], and what of those does whose share is known already.
    queued: f64,
    found: f64,
}

/// What packets have left at a link for those after them.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Backlog {
    /// Not sent at `since`, messages that came between packets included [B].
    bytes: f64,
    since: Time,
}

impl BesidePackets {
    /// No message yet on so many links. At most `queue_max` bytes wait for one; full packets are of `packet` bytes.
    pub fn new(links: usize, queue_max: f64, packet: f64) -> BesidePackets {
        BesidePackets { links: vec![Load::default(); links], queue_max, packet }
    }

    /// A connection begins, a share of which uses a link at a rate.
    pub(super) fn begin(&mut self, link: PortIndex, share: f64, rate: f64) {
        let load = &mut self.links[link.place()];
        (load.rate, load.connections) = (load.rate + rate, load.connections + share);
    }

    /// A connection has ended, a share of which used a link at a rate.
    pub(super) fn end(&mut self, link: u32, share: f64, rate: f64) {
        let load = &mut self.links[link as usize];
        (load.rate, load.connections) = ((load.rate - rate).max(0.0), load.connections - share);
        if load.connections < NONE {
            *load = Load::default();
        }
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
            (load.queued, load.found) = (load.found, 0.0);
        }
    }

    /// The rate on a link grows.
    pub(super) fn change(&mut self, link: u32, rate: f64) {
        self.links[link as usize].rate += rate;
    }

    /// So many bytes wait for a link, if they do.
    pub(super) fn queue(&mut self, link: Option<u32>, bytes: f64) {
        if let Some(link) = link {
            self.links[link as usize].found += bytes;
        }
    }

    /// How long a packet of `wire` bytes waits at a link of some capacity [B/ps]: for half of a full packet if one is
    /// on the wire, for what waits, and for what packets before it left.
    pub(super) fn wait(&self, now: Time, link: PortIndex, capacity: f64, wire: u32, backlog: &mut Backlog) -> Duration {
        let &Load { rate, connections, queued, .. } = &self.links[link.place()];
        if connections < NONE {
            *backlog = Backlog::default();
            return Duration::ZERO;
        }
        let queued = queued.min(self.queue_max);
        // Before rates are solved anew, windows that wait here make room for packets: both leave in proportion to what
        // they have in the queue, packets up to an equal share.
        let share = (backlog.bytes / (backlog.bytes + queued).max(1.0)).min(1.0 / (connections + 1.0));
        let drained = (capacity - rate).max(capacity * share) * now.since(backlog.since).as_ps() as f64;
        let left = (backlog.bytes - drained).max(0.0);
        *backlog = Backlog { bytes: left + f64::from(wire), since: now };
        let on_the_wire = (rate / capacity).min(1.0) * self.packet / 2.0;
        let before = on_the_wire + left + queued;
        Duration::from_ps((before / capacity) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: PortIndex = PortIndex::new(0);

    /// Waits of packets of 1,000 bytes at such times [ps], at a link of 1 B/ps that has messages of a rate.
    fn waits(rate: f64, queued: f64, times: &[u64]) -> Vec<u64> {
        let mut beside = BesidePackets::new(1, 50_000.0, 4_000.0);
        beside.begin(LINK, 1.0, rate);
        beside.links[0].queued = queued;
        let mut backlog = Backlog::default();
        let wait = |&time: &u64| beside.wait(Time::from_ps(time), LINK, 1.0, 1_000, &mut backlog).as_ps();
        times.iter().map(wait).collect()
    }

    #[test]
    fn a_lone_packet_waits_for_half_of_what_may_be_on_the_wire_and_for_what_is_queued() {
        assert_eq!(waits(0.25, 0.0, &[0, 100_000]), [500, 500]);
        assert_eq!(waits(1.0, 20_000.0, &[0]), [22_000]);
        // No more than a switch holds.
        assert_eq!(waits(1.0, 80_000.0, &[0]), [52_000]);
    }

    /// Messages of half the rate bring 500 bytes while a packet is sent, those of the whole rate 1,000; what came later
    /// does not go first.
    #[test]
    fn packets_behind_each_other_wait_for_messages_that_came_between_them() {
        assert_eq!(waits(0.5, 0.0, &[0, 1_000, 2_000, 3_000]), [1_000, 1_500, 2_000, 2_500]);
        assert_eq!(waits(0.5, 0.0, &[0, 2_000, 4_000]), [1_000, 1_000, 1_000]);
    }

    #[test]
    fn without_messages_nobody_waits() {
        let mut beside = BesidePackets::new(1, 50_000.0, 4_000.0);
        let mut backlog = Backlog { bytes: 700.0, since: Time::ZERO };
        beside.begin(LINK, 1.0, 0.5);
        beside.end(0, 1.0, 0.5);
        assert_eq!(beside.wait(Time::ZERO, LINK, 1.0, 1_000, &mut backlog), Duration::ZERO);
        assert_eq!(backlog.bytes, 0.0);
    }
}
