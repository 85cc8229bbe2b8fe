//! Counters of a run.

use std::ops::Range;

use etherweave_primitives::mix;

use crate::histogram::Histogram;

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Tally {
    pub made: u64,
    /// Packets that were not made because the queue of their host was full.
    pub source_blocked: u64,
    /// Packets at their host by the end of the run.
    pub delivered: u64,
    /// Packets on their last link at the end of the run.
    pub leaving: u64,
    /// Packets that were on a link while it was down.
    pub lost: u64,
    pub hops: u64,
    /// When a packet last crossed a switch [ticks].
    pub last_hop: u32,
    /// Counts of the measured time.
    pub measured: Batch,
    /// Latencies of the measured time.
    pub histogram: Histogram,
    /// Length of a batch [ticks].
    pub batch: u32,
    /// Every batch from the start of the run.
    pub batches: Vec<Batch>,
    pub fingerprint: u64,
}

/// Counts of a stretch of time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Batch {
    /// Packets that hosts had, made or source-blocked.
    pub offered: u64,
    /// Packets that arrived to their hosts.
    pub delivered: u64,
    /// Sum of their latencies [ns].
    pub latency: u64,
    /// Sum of the switches they passed.
    pub hops: u64,
    /// How many of them were routed non-minimally.
    pub misrouted: u64,
    /// Packets that were on a link while it was down.
    pub lost: u64,
}

pub(crate) struct DeliveredPacket {
    pub at: u32,
    pub host: u32,
    pub latency: u32,
    pub hops: u8,
    pub is_misrouted: bool,
}

impl Tally {
    /// Counts a packet that a host has.
    pub fn offer(&mut self, now: u32, span: &Range<u32>) {
        self.measured.offered += u64::from(span.contains(&now));
        self.batch_at(now).offered += 1;
    }

    pub fn deliver(&mut self, delivery: &DeliveredPacket, span: &Range<u32>) {
        if delivery.at >= span.end {
            self.leaving += 1;
            return;
        }
        self.delivered += 1;
        let place = u64::from(delivery.host) << 32 | u64::from(delivery.latency);
        self.fingerprint = mix(self.fingerprint ^ place).wrapping_add(u64::from(delivery.at));
        self.batch_at(delivery.at).add(delivery);
        if span.contains(&delivery.at) {
            self.measured.add(delivery);
            self.histogram.add(delivery.latency);
        }
    }

    pub fn lose(&mut self, now: u32) {
        self.lost += 1;
        self.batch_at(now).lost += 1;
    }

    fn batch_at(&mut self, now: u32) -> &mut Batch {
        let number = (now / self.batch) as usize;
        if number >= self.batches.len() {
            self.batches.resize(number + 1, Batch::default());
        }
        &mut self.batches[number]
    }

    /// The batch that ends at `now`.
    pub fn batch_before(&self, now: u32) -> Batch {
        self.batches.get((now / self.batch) as usize - 1).copied().unwrap_or_default()
    }

    /// Adds counts of other shards, without their fingerprint.
    pub fn merge(&mut self, other: &Tally) {
        self.made += other.made;
        self.source_blocked += other.source_blocked;
        self.delivered += other.delivered;
        self.leaving += other.leaving;
        self.lost += other.lost;
        self.hops += other.hops;
        self.last_hop = self.last_hop.max(other.last_hop);
        self.measured = self.measured.plus(other.measured);
        self.histogram.merge(&other.histogram);
        self.batch = self.batch.max(other.batch);
        self.batches.resize(self.batches.len().max(other.batches.len()), Batch::default());
        self.batches.iter_mut().zip(&other.batches).for_each(|(mine, theirs)| *mine = mine.plus(*theirs));
    }
}

impl Batch {
    fn add(&mut self, delivery: &DeliveredPacket) {
        self.delivered += 1;
        self.latency += u64::from(delivery.latency);
        self.hops += u64::from(delivery.hops);
        self.misrouted += u64::from(delivery.is_misrouted);
    }

    pub(crate) fn plus(self, other: Batch) -> Batch {
        Batch {
            offered: self.offered + other.offered,
            delivered: self.delivered + other.delivered,
            latency: self.latency + other.latency,
            hops: self.hops + other.hops,
            misrouted: self.misrouted + other.misrouted,
            lost: self.lost + other.lost,
        }
    }
}
