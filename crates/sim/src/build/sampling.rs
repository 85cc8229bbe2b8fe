//! Time series: the ports and flows that are sampled in each shard.

use std::collections::BTreeSet;

use etherweave_host::Endpoint;
use etherweave_primitives::{HostId, InputError, InputErrors};

use super::connections::PlannedConnection;
use super::layout::Layout;
use super::{Experiment, Paths};
use crate::sampling::{FlowSelection, SampledFlow, SampledPort, Sampler, Sampling};
use crate::shard::Shard;

/// Gives every shard a sampler for its ports and flows: all sample at the same times.
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
    for (shard, sampler) in shards.iter_mut().zip(samplers) {
        shard.sampler = Some(Box::new(sampler));
    }
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
