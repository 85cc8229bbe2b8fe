//! Time series: the ports and flows that are sampled in each shard.

use std::collections::BTreeSet;

use etherweave_primitives::{HostId, InputError, InputErrors};

use super::layout::Layout;
use super::{Experiment, Paths};
use crate::engine::Shard;
use crate::host::Endpoint;
use crate::sampling::{FlowSelection, SampledFlow, SampledPort, Sampler, Sampling};

/// Gives every shard a sampler for its ports and flows: all sample at the same times.
///
/// # Errors
/// When a selection of flows is empty.
pub(super) fn add(
    experiment: &Experiment,
    sampling: &Sampling,
    layout: &Layout,
    shards: &mut [Shard],
) -> Result<(), InputErrors> {
    check_flows(experiment, sampling, shards)?;
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
        for (number, end) in shard.endpoints.entries() {
            if sampling.flows.iter().any(|selection| is_included(selection, end)) {
                sampler.flows.push(number);
                sampler.samples.flows.push(SampledFlow { hosts: end.hosts, number: end.number });
            }
        }
    }
    for (shard, sampler) in shards.iter_mut().zip(samplers) {
        shard.sampler = Some(Box::new(sampler));
    }
    Ok(())
}

fn is_included(selection: &FlowSelection, end: &Endpoint) -> bool {
    selection.includes(HostId::new(end.hosts.0), HostId::new(end.hosts.1))
}

fn check_flows(experiment: &Experiment, sampling: &Sampling, shards: &[Shard]) -> Result<(), InputErrors> {
    let mut errors = InputErrors::default();
    let ends = || shards.iter().flat_map(|shard| &shard.endpoints);
    for (number, selection) in sampling.flows.iter().enumerate() {
        let expected = || {
            let first = ends().min_by_key(|end| end.number).map_or((0, 0), |end| end.hosts);
            let name = |host| experiment.topology.host_name(HostId::new(host));
            format!("hosts that exchange messages, such as \"{} -> {}\"", name(first.0), name(first.1))
        };
        if !ends().any(|end| is_included(selection, end)) {
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
