//! Traffic of jobs as far as a run simulates it, before it is built.
//!
//! Jobs in the background send until the others are done, and all until the run ends: no more than the links of their
//! hosts carry until then, and a message each way of every connection. A job lasts as long as its computation and
//! sleep, its bytes on the link of a host, and the latency of a path for each message of a rank together; nothing is
//! known of one whose arrivals decide that, and no wait for other ranks counts. Left out: jobs on one host, whose
//! messages pass no link.

use etherweave_primitives::{BitRate, Bytes, Duration, HostId};
use etherweave_sim::path_latency;
use etherweave_topology::Topology;
use etherweave_workload::TrafficSize;

use crate::{JobSpec, Scenario};

/// Returns what a run simulates of the traffic of each job, whose packets cross so many links on average.
pub(crate) fn simulated(
    scenario: &Scenario,
    traffic: &[TrafficSize],
    topology: &Topology,
    links: f64,
) -> Vec<TrafficSize> {
    let latency_ps = path_latency(topology, &scenario.params(), links).as_ps();
    let rate = host_rate(topology);
    let jobs = || traffic.iter().zip(&scenario.job);
    let others = jobs().filter(|(_, job)| !job.background && scenario.run.has(&job.name));
    let mut ends = others.map(|(size, job)| end_ps(size, job, rate, latency_ps));
    let others_end_ps = ends.try_fold(0, |end, own| Some(own?.max(end)));
    let run_end_ps = scenario.run.end.map(Duration::as_ps);
    let of_job = |(size, job): (&TrafficSize, &JobSpec)| {
        let has_links = job.hosts() > 1 || size.bytes.is_none();
        let ends_ps = [run_end_ps, others_end_ps.filter(|_| job.background)];
        let end_ps = ends_ps.into_iter().flatten().min().filter(|_| has_links);
        let span = end_ps.map(|end| Duration::from_ps(end.saturating_sub(job.start.as_ps())));
        span.map_or(*size, |span| sent_in(size, rate.bytes_in(span)))
    };
    jobs().map(of_job).collect()
}

/// Rate of all links of the first host together.
fn host_rate(topology: &Topology) -> BitRate {
    let links = topology.host_channels(HostId::from_index(0)).iter();
    BitRate::from_bps(links.map(|&link| topology.channel(link).rate.as_bps()).sum())
}

/// When a job is done, from the start of the run [ps]; none where that is not known.
fn end_ps(size: &TrafficSize, job: &JobSpec, rate: BitRate, latency_ps: u64) -> Option<u64> {
    let sent = rate.serialization_time(Bytes::new(size.bytes? / job.hosts().max(1)));
    let in_flight = (size.messages? / size.ranks.max(1)).saturating_mul(latency_ps);
    Some([size.rest_ps?, sent.as_ps(), in_flight].into_iter().fold(job.start.as_ps(), u64::saturating_add))
}

/// Returns what is sent of a job in a time in which the link of each receiver carries so many bytes.
fn sent_in(size: &TrafficSize, carried: Bytes) -> TrafficSize {
    let carried = carried.get().saturating_mul(size.receivers);
    let (messages, bytes) = match (size.messages, size.bytes) {
        (Some(messages), Some(bytes)) if carried < bytes => (messages, bytes),
        (None, None) => return TrafficSize { bytes: Some(carried), ..*size },
        (Some(_), _) | (None, Some(_)) => return *size,
    };
    let share = |all: u64| (u128::from(all) * u128::from(carried) / u128::from(bytes)) as u64;
    let begun = share(messages).saturating_add(size.connections.saturating_mul(2));
    // The iteration that the end cuts has rows too, and no job of ranks has none.
    let rows = size.rows.min(share(size.rows).saturating_add(1));
    TrafficSize { messages: Some(messages.min(begun)), bytes: Some(carried), rows, ..*size }
}
