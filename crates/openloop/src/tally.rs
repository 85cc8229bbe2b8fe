//! What a run counts.

use etherweave_primitives::mix;

use crate::histogram::Histogram;

/// Counts of one shard.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    pub made: u64,
    /// Packets that found the queue of their host full and were not made.
    pub refused: u64,
    /// Packets at their host by the end of the run.
    pub delivered: u64,
    /// Packets on their last link at the end of the run.
    pub leaving: u64,
    pub hops: u64,
    pub measured: Measured,
    pub fingerprint: u64,
}

/// Counts of the measured time.
#[derive(Clone, Default)]
pub(crate) struct Measured {
    pub offered: u64,
    pub delivered: u64,
    pub latency: u64,
    pub hops: u64,
    pub detoured: u64,
    pub histogram: Histogram,
}

/// A packet at its host.
pub(crate) struct Delivery {
    pub at: u32,
    pub host: u32,
    pub latency: u32,
    pub hops: u8,
    pub is_detoured: bool,
}

impl Tally {
    pub fn deliver(&mut self, delivery: &Delivery, measured: std::ops::Range<u32>) {
        if delivery.at >= measured.end {
            self.leaving += 1;
            return;
        }
        self.delivered += 1;
        let place = u64::from(delivery.host) << 32 | u64::from(delivery.latency);
        self.fingerprint = mix(self.fingerprint ^ place).wrapping_add(u64::from(delivery.at));
        if measured.contains(&delivery.at) {
            self.measured.add(delivery);
        }
    }

    pub fn merge(&mut self, other: &Tally) {
        self.made += other.made;
        self.refused += other.refused;
        self.delivered += other.delivered;
        self.leaving += other.leaving;
        self.hops += other.hops;
        self.measured.merge(&other.measured);
        self.fingerprint = mix(self.fingerprint ^ other.fingerprint);
    }
}

impl Measured {
    fn add(&mut self, delivery: &Delivery) {
        self.delivered += 1;
        self.latency += u64::from(delivery.latency);
        self.hops += u64::from(delivery.hops);
        self.detoured += u64::from(delivery.is_detoured);
        self.histogram.add(delivery.latency);
    }

    fn merge(&mut self, other: &Measured) {
        self.offered += other.offered;
        self.delivered += other.delivered;
        self.latency += other.latency;
        self.hops += other.hops;
        self.detoured += other.detoured;
        self.histogram.merge(&other.histogram);
    }
}
