//! What a run measured.

use crate::fairness::Fairness;
use crate::histogram::Histogram;
use crate::tally::Tally;
use crate::world::World;

/// Measures of the measured time, and counts of the whole run.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// What hosts wanted to send, as a share of their links.
    pub load_offered: f64,
    /// What came to hosts, as a share of their links.
    pub load_accepted: f64,
    /// From a packet's making to its last bit at the host [ns]; absent when none came.
    pub latency_ns_mean: Option<f64>,
    /// Latencies of all packets that came [ns].
    pub latency_ns: Histogram,
    /// Switches passed by a packet; absent when none came.
    pub hops_mean: Option<f64>,
    /// Share of packets that left the minimal way; absent when none came.
    pub detoured_share: Option<f64>,
    /// How evenly hosts could send.
    pub fairness: Fairness,
    /// Packets made in the whole run.
    pub made: u64,
    /// Packets not made, because the queue of their host was full.
    pub refused: u64,
    /// Packets delivered in the whole run.
    pub delivered: u64,
    /// Packets in queues and on links at the end.
    pub in_flight: u64,
    /// Packets through crossbars in the whole run.
    pub packet_hops: u64,
    /// The most packets for which there was memory.
    pub packets_most: u64,
    /// Of all deliveries: host, time and latency.
    pub fingerprint: u64,
}

impl Report {
    pub(crate) fn new<R>(tally: &Tally, world: &World<'_, R>, in_flight: u64, packets_most: u64) -> Report {
        let measured = &tally.measured;
        let span = (world.measured.end - world.measured.start) as f64;
        // Packets that the links of all hosts could have carried.
        let capacity = span * f64::from(world.hosts) / world.ticks.packet as f64;
        let mean = |sum: u64| (measured.delivered > 0).then(|| sum as f64 / measured.delivered as f64);
        Report {
            load_offered: measured.offered as f64 / capacity,
            load_accepted: measured.delivered as f64 / capacity,
            latency_ns_mean: mean(measured.latency),
            latency_ns: measured.histogram.clone(),
            hops_mean: mean(measured.hops),
            detoured_share: mean(measured.detoured),
            fairness: Fairness::default(),
            made: tally.made,
            refused: tally.refused,
            delivered: tally.delivered,
            in_flight,
            packet_hops: tally.hops,
            packets_most,
            fingerprint: tally.fingerprint,
        }
    }
}
