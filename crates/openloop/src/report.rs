//! What a run measured.

use std::ops::Range;

use crate::deadlock::{RingStep, ring};
use crate::fairness::Fairness;
use crate::histogram::Histogram;
use crate::pace::{Pace, latencies};
use crate::pause::Queue;
use crate::shard::{Film, Shard};
use crate::steady::half_width;
use crate::tally::{Batch, Tally};
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
    /// Half of its 95 % confidence interval [ns], by batch means; absent for less than 20 batches with packets.
    pub latency_ns_half_width: Option<f64>,
    /// Half of the 95 % confidence interval of `load_accepted`, by batch means; absent for less than 20 batches.
    pub load_accepted_half_width: Option<f64>,
    /// The measured time, from the start of the run [ns].
    pub measured_ns: Range<u32>,
    /// Whether the warm-up was given, or ended because latency and accepted load had settled.
    pub is_steady: bool,
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
    /// Packets lost in the whole run on links that were down.
    pub lost: u64,
    /// Packets in queues and on links at the end.
    pub in_flight: u64,
    /// Packets through crossbars in the whole run.
    pub packet_hops: u64,
    /// How long before the end a packet last crossed a switch [ns]: long, with packets in flight, in a deadlock.
    pub idle_ns: u32,
    /// A ring of full buffers at the end, each of which waits for the next: a deadlock; empty when there is none.
    /// Looked for where credits are used.
    pub deadlock: Vec<RingStep>,
    /// The most packets for which there was memory.
    pub packets_most: u64,
    /// Of all deliveries: host, time and latency.
    pub fingerprint: u64,
    /// Length of a batch [ns].
    pub batch_ns: u32,
    /// Every batch from the start of the run.
    pub batches: Vec<Batch>,
    /// Share of the measured time in which each port sent, by switch and port; every switch has `radix` ports.
    pub busy: Vec<f32>,
    /// Share of the measured time for which the far end kept the channels of each port from sending, as their mean;
    /// ports as in `busy`. All 0 where credits are used.
    pub paused: Vec<f32>,
    /// Ports of every switch.
    pub radix: usize,
    /// What each port sent in each batch of the measured time, when that was wanted; ports as in `busy`.
    pub film: Vec<Vec<u16>>,
}

impl Report {
    pub(crate) fn new<R>(shards: &[Shard], world: &World<'_, R>, pace: &Pace) -> Report {
        let mut tally = Tally::default();
        shards.iter().for_each(|shard| tally.merge(&shard.tally));
        let in_flight = shards.iter().map(|shard| shard.slab.held()).sum::<u64>() + tally.leaving;
        let known = tally.delivered + tally.lost + in_flight;
        assert_eq!(tally.made, known, "every packet is delivered, lost on a link that failed, or in flight");
        let measured = tally.measured;
        let packets_per_ns = f64::from(world.hosts) / f64::from(world.ticks.packet);
        // Packets that the links of all hosts could have carried.
        let capacity = f64::from(pace.span.end - pace.span.start) * packets_per_ns;
        let mean = |sum: u64| (measured.delivered > 0).then(|| sum as f64 / measured.delivered as f64);
        let batches = whole_batches(&tally.batches, pace);
        let accepted: Vec<f64> =
            batches.iter().map(|batch| batch.delivered as f64 / (f64::from(pace.batch) * packets_per_ns)).collect();
        Report {
            load_offered: measured.offered as f64 / capacity,
            load_accepted: measured.delivered as f64 / capacity,
            load_accepted_half_width: half_width(&accepted),
            latency_ns_mean: mean(measured.latency),
            latency_ns_half_width: half_width(&latencies(batches)),
            latency_ns: tally.histogram,
            hops_mean: mean(measured.hops),
            detoured_share: mean(measured.detoured),
            measured_ns: pace.span.clone(),
            is_steady: pace.is_steady,
            fairness: fairness(shards),
            made: tally.made,
            refused: tally.refused,
            delivered: tally.delivered,
            lost: tally.lost,
            in_flight,
            packet_hops: tally.hops,
            idle_ns: pace.span.end - tally.last_hop,
            deadlock: if world.levels.is_some() { Vec::new() } else { ring(shards, world) },
            packets_most: shards.iter().map(|shard| shard.slab.most() as u64).sum(),
            fingerprint: tally.fingerprint,
            batch_ns: pace.batch,
            batches: tally.batches,
            busy: busy(shards, world, pace),
            paused: shards.iter().flat_map(|shard| paused(shard, pace)).collect(),
            radix: shards.first().map_or(0, |shard| shard.radix),
            film: film(shards),
        }
    }
}

/// Batches that lie in the measured time as a whole.
fn whole_batches<'a>(batches: &'a [Batch], pace: &Pace) -> &'a [Batch] {
    let [first, end] = [pace.span.start.div_ceil(pace.batch), pace.span.end / pace.batch].map(|at| at as usize);
    batches.get(first..end.min(batches.len())).unwrap_or_default()
}

fn fairness(shards: &[Shard]) -> Fairness {
    let mut fairness = Fairness::default();
    let senders = shards.iter().flat_map(|shard| &shard.hosts).filter(|host| host.wanted > 0);
    senders.for_each(|host| fairness.add(host.made));
    fairness
}

fn busy<R>(shards: &[Shard], world: &World<'_, R>, pace: &Pace) -> Vec<f32> {
    let span = (pace.span.end - pace.span.start) as f32;
    let of_shard = |shard: &Shard| {
        let sent = shard.ports.iter().map(|port| port.sent);
        sent.map(|sent| sent as f32 * world.ticks.packet as f32 / span).collect::<Vec<f32>>()
    };
    shards.iter().flat_map(of_shard).collect()
}

fn paused(shard: &Shard, pace: &Pace) -> Vec<f32> {
    let queues = &shard.pauses.queues;
    if queues.is_empty() {
        return vec![0.0; shard.ports.len()];
    }
    let whole = shard.channels as f32 * (pace.span.end - pace.span.start) as f32;
    let of_port = |queues: &[Queue]| queues.iter().map(|queue| queue.paused_until(&pace.span)).sum::<u32>() as f32;
    queues.chunks(1 << shard.shift).map(|queues| of_port(queues) / whole).collect()
}

/// Frames of all shards, put together.
fn film(shards: &[Shard]) -> Vec<Vec<u16>> {
    let films: Vec<&Film> = shards.iter().filter_map(|shard| shard.film.as_ref()).collect();
    let count = films.iter().map(|film| film.frames.len()).min().unwrap_or(0);
    (0..count).map(|frame| films.iter().flat_map(|film| &film.frames[frame]).copied().collect()).collect()
}
