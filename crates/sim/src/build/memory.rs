//! Whether the memory of hosts limits what their threads copy.

use etherweave_engine::params::HostParams;
use etherweave_primitives::{Bytes, Duration};
use etherweave_workload::Traffic;

use crate::Experiment;

/// Whether all threads of some host, copying at once, are faster than its memory. Where they are not, each copies as if
/// it were alone.
pub fn is_a_limit(experiment: &Experiment) -> bool {
    let host = &experiment.params.host;
    let (Some(rate), Some(copy)) = (host.memory_rate, fastest_copy(host)) else { return false };
    rate.serialization_time(Bytes::new(1024)) * threads_max(experiment) > copy
}

/// The shortest time of a thread for 1 KiB, of all that copy or add up.
fn fastest_copy(host: &HostParams) -> Option<Duration> {
    let of_mpi = [&host.mpi_roce, &host.mpi_tcp]
        .map(|mpi| [mpi.eager_send_per_kib, mpi.eager_receive_per_kib, mpi.self_per_kib, mpi.reduce_per_kib]);
    let memory = &host.shared_memory;
    let of_memory = [memory.eager_send_per_kib, memory.eager_receive_per_kib, memory.single_copy_per_kib];
    let of_kernel = [host.cpu.send_per_kib, host.cpu.receive_per_kib];
    let all = of_mpi.into_iter().flatten().chain(of_memory).chain(of_kernel);
    all.filter(|cost| !cost.is_zero()).min()
}

/// Most threads of a host.
pub fn threads_max(experiment: &Experiment) -> u64 {
    let mut threads = vec![0; experiment.topology.hosts()];
    for job in &experiment.jobs {
        match &job.traffic {
            Traffic::Ranks(_) => job.hosts.iter().for_each(|host| threads[host.index()] += 1),
            Traffic::Graphs { ranks, .. } => {
                let streams = ranks.iter().map(|graph| graph.streams().len().max(1) as u64);
                job.hosts.iter().zip(streams).for_each(|(host, streams)| threads[host.index()] += streams);
            }
            Traffic::Streams(streams) => {
                let ends = streams.iter().flat_map(|stream| [stream.src_rank, stream.dst_rank]);
                ends.for_each(|rank| threads[job.hosts[rank.index()].index()] += 1);
            }
        }
    }
    threads.into_iter().max().unwrap_or(0)
}
