//! Use of a link by connections, and the data that it has carried beyond its capacity until rates are solved anew.

use etherweave_primitives::{Duration, Time};

use super::FULL;

/// Full packets that a link may have carried beyond its capacity: from then on connections begin with what it has left.
const EXCESS: f64 = 8.0;
/// Bound of what a link carries beyond its capacity in the shortest time that rates hold [times what it carries in it].
const OVERLOAD: f64 = 16.0;

#[derive(Clone, Copy, Default)]
pub(super) struct LinkUse {
    /// Rates of its connections, each counted by the share of it that uses the link [B/ps].
    pub rate: f64,
    /// How many they are, counted likewise.
    pub connections: f64,
    /// When messages have passed that were no connections.
    pub free_at: Time,
    /// Bytes beyond the capacity until `metered` [B].
    excess: f64,
    metered: Time,
}

impl LinkUse {
    /// Counts what has been carried until now.
    pub fn meter(&mut self, now: Time, capacity: f64) {
        (self.excess, self.metered) = (self.excess_at(now, capacity), now);
    }

    fn excess_at(&self, now: Time, capacity: f64) -> f64 {
        (self.excess + (self.rate - capacity) * now.since(self.metered).as_ps() as f64).max(0.0)
    }

    /// The rate for a whole connection of which a share begins here: what is left, or an equal share if that is more
    /// and the link has not carried too much already. Full packets take `packet`.
    pub fn offer(&self, capacity: f64, share: f64, packet: Duration) -> f64 {
        let left = (capacity - self.rate).max(0.0);
        let equal =
            if self.is_overdrawn(capacity, packet) { 0.0 } else { capacity * share / (self.connections + share) };
        left.max(equal) / share
    }

    /// Whether it has carried more beyond its capacity than a few full packets.
    pub fn is_overdrawn(&self, capacity: f64, packet: Duration) -> bool {
        self.excess > EXCESS * capacity * packet.as_ps() as f64
    }

    /// Whether it will be overdrawn at these rates after a span.
    pub fn will_be_overdrawn(&self, capacity: f64, packet: Duration, span: Duration) -> bool {
        let beyond = self.rate - capacity * (1.0 + FULL);
        beyond > 0.0 && self.excess + beyond * span.as_ps() as f64 > EXCESS * capacity * packet.as_ps() as f64
    }

    /// Whether it has carried no more than its capacity until now, but for what rates of so long a span allow.
    pub fn is_bounded(&self, now: Time, capacity: f64, packet: Duration, span: Duration) -> bool {
        self.excess_at(now, capacity) <= capacity * (EXCESS * packet.as_ps() as f64 + OVERLOAD * span.as_ps() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full packet of 4,000 B on a link of 1 B/ps.
    const PACKET: Duration = Duration::from_ps(4_000);

    #[test]
    fn a_full_link_offers_an_equal_share_until_it_has_carried_eight_packets_too_much() {
        let mut link = LinkUse { rate: 1.0, connections: 3.0, ..LinkUse::default() };
        assert_eq!(link.offer(1.0, 1.0, PACKET), 0.25);
        assert_eq!(link.offer(1.0, 0.5, PACKET), 1.0 / 3.5);
        // A fourth makes it 1.25: 32,000 B too many after 128 ns.
        link.rate = 1.25;
        assert!(link.will_be_overdrawn(1.0, PACKET, Duration::from_ns(129)));
        assert!(!link.will_be_overdrawn(1.0, PACKET, Duration::from_ns(127)));
        link.meter(Time::from_ps(129_000), 1.0);
        assert_eq!((link.is_overdrawn(1.0, PACKET), link.offer(1.0, 1.0, PACKET)), (true, 0.0));
        // What is free pays it back: 250 B in 1 ns.
        link.rate = 0.75;
        assert_eq!(link.offer(1.0, 1.0, PACKET), 0.25);
        link.meter(Time::from_ps(131_000), 1.0);
        assert!(!link.is_overdrawn(1.0, PACKET));
    }
}
