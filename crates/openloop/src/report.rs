//! Measures of a run.

use std::ops::Range;

use etherweave_primitives::mix;

use crate::{
    constants::RunConstants, deadlock::WaitingChannel, deadlock::cycle, fairness::Fairness, histogram::Histogram,
    measures::Measures, reordering::Reordering, run_length::RunControl, run_length::latencies, steady::half_width,
    tally::Batch,
};

/// Measures of the measured time, and counts of the whole run.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// Traffic that hosts wanted to send, as a share of their links.
    pub load_offered: f64,
    /// Traffic that arrived at hosts, as a share of their links.
    pub load_accepted: f64,
    /// Mean time from a packet's making to its last bit at the host [ns]; absent when none arrived.
    pub latency_ns_mean: Option<f64>,
    /// Half of its 95 % confidence interval [ns], by batch means; absent for less than 20 batches with packets.
    pub latency_ns_half_width: Option<f64>,
    /// Half of the 95 % confidence interval of `load_accepted`, by batch means; absent for less than 20 batches.
    pub load_accepted_half_width: Option<f64>,
    /// The measured time, from the start of the run [ns].
    pub measured_ns: Range<u32>,
    /// Whether the warm-up was given, or ended because latency and accepted load had settled.
    pub is_steady: bool,
    /// Latencies of all packets that arrived [ns].
    pub latency_ns: Histogram,
    /// Switches passed by a packet; absent when none arrived.
    pub hops_mean: Option<f64>,
    /// Share of packets that were routed non-minimally; absent when none arrived.
    pub misrouted_share: Option<f64>,
    /// How evenly hosts could send.
    pub fairness: Fairness,
    /// How far packets of a flow arrived out of order, at up to 256 hosts.
    pub reordering: Reordering,
    /// Packets made in the whole run.
    pub made: u64,
    /// Packets not made, because the queue of their host was full.
    pub source_blocked: u64,
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
    /// A cycle of full buffers at the end, each of which waits for the next: a deadlock; empty when there is none.
    /// Looked for where credits are used.
    pub deadlock: Vec<WaitingChannel>,
    /// The most packets for which there was memory.
    pub packets_most: u64,
    /// Fingerprint of all deliveries: host, time and latency.
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
    /// Packets that each port sent in each batch of the measured time, when that was wanted; ports as in `busy`.
    pub steps: Vec<Vec<u16>>,
}

impl Report {
    /// Creates the report from the measures of all shards.
    pub(crate) fn new<R>(
        measures: Measures,
        constants: &RunConstants<'_, R>,
        control: &RunControl,
        radix: usize,
    ) -> Report {
        let tally = measures.tally;
        let in_flight = measures.held + tally.leaving;
        let known = tally.delivered + tally.lost + in_flight;
        assert_eq!(tally.made, known, "every packet is delivered, lost on a link that failed, or in flight");
        let measured = tally.measured;
        let packets_per_ns = constants.packets_per_ns;
        // Packets that the links of all hosts could have carried.
        let capacity = f64::from(control.span.end - control.span.start) * packets_per_ns;
        let mean = |sum: u64| (measured.delivered > 0).then(|| sum as f64 / measured.delivered as f64);
        let batches = whole_batches(&tally.batches, control);
        let accepted: Vec<f64> =
            batches.iter().map(|batch| batch.delivered as f64 / (f64::from(control.batch) * packets_per_ns)).collect();
        Report {
            load_offered: measured.offered as f64 / capacity,
            load_accepted: measured.delivered as f64 / capacity,
            load_accepted_half_width: half_width(&accepted),
            latency_ns_mean: mean(measured.latency),
            latency_ns_half_width: half_width(&latencies(batches)),
            latency_ns: tally.histogram,
            hops_mean: mean(measured.hops),
            misrouted_share: mean(measured.misrouted),
            measured_ns: control.span.clone(),
            is_steady: control.is_steady,
            fairness: measures.fairness,
            reordering: measures.reordering,
            made: tally.made,
            source_blocked: tally.source_blocked,
            delivered: tally.delivered,
            lost: tally.lost,
            in_flight,
            packet_hops: tally.hops,
            idle_ns: control.span.end - tally.last_hop,
            deadlock: cycle(&measures.waits),
            packets_most: measures.most,
            fingerprint: measures.fingerprints.iter().fold(0, |all, own| mix(all ^ own)),
            batch_ns: control.batch,
            batches: tally.batches,
            busy: busy(&measures.busy, control),
            paused: paused(&measures.paused, constants, control),
            radix,
            steps: measures.steps,
        }
    }
}

/// Batches that lie in the measured time as a whole.
fn whole_batches<'a>(batches: &'a [Batch], control: &RunControl) -> &'a [Batch] {
    let [first, end] =
        [control.span.start.div_ceil(control.batch), control.span.end / control.batch].map(|at| at as usize);
    batches.get(first..end.min(batches.len())).unwrap_or_default()
}

fn busy(busy: &[u32], control: &RunControl) -> Vec<f32> {
    let span = (control.span.end - control.span.start) as f32;
    busy.iter().map(|&busy| busy as f32 / span).collect()
}

/// Returns the share of time paused of each port, as the mean of its channels.
fn paused<R>(paused: &[u32], constants: &RunConstants<'_, R>, control: &RunControl) -> Vec<f32> {
    let channel_time = (f32::from(constants.channel_last) + 1.0) * (control.span.end - control.span.start) as f32;
    paused.iter().map(|&paused| paused as f32 / channel_time).collect()
}
