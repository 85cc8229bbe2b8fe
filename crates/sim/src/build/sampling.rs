//! Time series: the ports, flows and hosts that are sampled in each shard.

use std::collections::{BTreeMap, BTreeSet};

use etherweave_host::{BusyTime, Endpoint, ReceiveQueue};
use etherweave_primitives::{HostId, InputError, InputErrors};

use super::{Experiment, Paths, connections::PlannedConnection, layout::Layout};
use crate::sampling::{FlowSelection, SampledFlow, SampledPort, Sampler, Sampling};
use crate::shard::Shard;

/// Gives every shard a sampler for its ports, flows and hosts: all sample at the same times.
pub(super) fn add(experiment: &Experiment, sampling: &Sampling, layout: &Layout, shards: &mut [Shard]) {
    let mut samplers: Vec<Sampler> = shards.iter().map(|_| Sampler::new(sampling)).collect();
    let priorities = priorities(experiment);
    for &channel in &sampling.ports {
        let (shard, port) = layout.port(&experiment.topology, channel);
        for &priority in &priorities {
            samplers[shard].ports.push(port);
            samplers[shard].samples.ports.push(SampledPort { channel, priority });
        }
    }
    for (sampler, shard) in samplers.iter_mut().zip(&*shards) {
        for (number, end) in shard.hosts.nics.endpoints.entries() {
            if sampling.flows.iter().any(|selection| is_included(selection, end)) {
                sampler.flows.push(number);
                sampler.samples.flows.push(SampledFlow { hosts: end.hosts, number: end.number });
            }
        }
    }
    for &host in &sampling.hosts {
        let (shard, _) = layout.host_port(&experiment.topology, host);
        samplers[shard].samples.hosts.push(host);
    }
    for (shard, mut sampler) in shards.iter_mut().zip(samplers) {
        if !sampling.hosts.is_empty() {
            add_processors(&mut sampler, shard);
        }
        shard.sampler = Some(Box::new(sampler));
    }
}

/// Has a shard count the processor time of its threads and receive queues, and a sampler read that of its hosts.
fn add_processors(sampler: &mut Sampler, shard: &mut Shard) {
    let hosts = &sampler.samples.hosts;
    let places: BTreeMap<u32, usize> = hosts.iter().enumerate().map(|(place, host)| (host.get(), place)).collect();
    let (nics, processors) = (&shard.hosts.nics, &mut shard.hosts.processors);
    let threads = processors.threads.entries();
    sampler.threads = threads.filter_map(|(number, thread)| Some((*places.get(&thread.host_id)?, number))).collect();
    let queues = nics.receive_queues.entries();
    let place_of = |queue: &ReceiveQueue| places.get(&nics.hosts[queue.host].id).copied();
    sampler.queues = queues.filter_map(|(number, queue)| Some((place_of(queue)?, number))).collect();
    processors.busy.threads = vec![BusyTime::default(); processors.threads.len()].into();
    processors.busy.queues = vec![BusyTime::default(); nics.receive_queues.len()].into();
    processors.notes_tasks = true;
}

fn is_included(selection: &FlowSelection, end: &Endpoint) -> bool {
    selection.includes(HostId::new(end.hosts.0), HostId::new(end.hosts.1))
}

/// Rejects selections of flows that are empty.
pub(super) fn check(experiment: &Experiment, connections: &[PlannedConnection]) -> Result<(), InputErrors> {
    let mut errors = InputErrors::default();
    let hosts = || connections.iter().map(|connection| connection.hosts(experiment));
    let selections = experiment.sampling.iter().flat_map(|sampling| &sampling.flows);
    for (number, selection) in selections.enumerate() {
        let expected = || {
            let [src, dst] = hosts().next().unwrap_or([HostId::new(0); 2]);
            let name = |host| experiment.topology.host_name(host);
            format!("hosts that exchange messages, such as \"{} -> {}\"", name(src), name(dst))
        };
        if !hosts().any(|[a, b]| selection.includes(a, b) || selection.includes(b, a)) {
            errors.push(InputError::new(format!("observe.flows.{number}"), "no connection between them", expected()));
        }
    }
    errors.into_result()
}

/// Priorities that packets may have: those of jobs, and what a routing per packet makes of them.
fn priorities(experiment: &Experiment) -> BTreeSet<u8> {
    let count = match &experiment.paths {
        Paths::PerFlow { .. } => 1,
        Paths::PerPacket(prepared) => prepared.priorities(),
    };
    experiment.jobs.iter().flat_map(|job| job.priority.get()..job.priority.get() + count).collect()
}
