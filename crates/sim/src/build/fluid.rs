//! Flow-level mode: what it cannot simulate, and the capacity of links.

use std::collections::BTreeSet;

use etherweave_primitives::{BitRate, InputError, InputErrors};

use super::{Experiment, Paths};
use crate::engine::Shard;
use crate::fluid::Fluid;
use crate::host::fluid::packet_time;
use crate::params::{Fidelity, SwitchModel};

/// Rejects what has no meaning without packets.
pub(super) fn check(experiment: &Experiment, processes: usize) -> Result<(), InputErrors> {
    let params = &experiment.params;
    if params.fidelity.is_packet() {
        return Ok(());
    }
    let needs_packets = matches!(&experiment.paths, Paths::PerPacket(prepared) if prepared.needs_packets());
    let has_shaper = params.nic.shaper.is_some() || params.switch.shaper.is_some();
    let conditions = [
        ("transport", "tcp", params.transport.roce().is_some()),
        ("routing", "one that goes by pauses, by gaps between packets or by what was measured", !needs_packets),
        ("switch.model", "input_queued", params.switch.model == SwitchModel::SharedBuffer),
        ("faults", "links that damage frames or fail", experiment.degraded.is_empty() && experiment.outages.is_empty()),
        ("nic.shaper", "a shaper", !has_shaper),
        ("nic.pcie.store_and_forward", "true", !params.nic.pcie.as_ref().is_some_and(|pcie| pcie.store_and_forward)),
        ("observe", "time series", experiment.sampling.is_none()),
        ("--pcap", "captured hosts", experiment.capture.is_empty()),
        ("mpirun", "several processes", processes <= 1),
    ];
    let mut errors = InputErrors::default();
    for (key, found, holds) in conditions {
        let expected = "run.fidelity = \"packet\" with it: flow-level mode has no packets to do it by";
        errors.check(InputError::unless(holds, key, found, expected));
    }
    errors.into_result()
}

/// Prepares the one shard of a run in flow-level mode.
pub(super) fn add(experiment: &Experiment, shards: &mut [Shard]) {
    if experiment.params.fidelity == Fidelity::Flow {
        shards.iter_mut().for_each(|shard| shard.fluid = Some(Box::new(fluid(experiment, shard))));
    }
}

fn fluid(experiment: &Experiment, shard: &Shard) -> Fluid {
    let (topology, ets) = (&experiment.topology, &experiment.params.ets);
    let bytes_per_ps = |rate: BitRate| rate.as_bps() as f64 / 8e12;
    // What a NIC takes is no more than what reaches the memory of its host.
    let capacity = |(port, &channel): (_, &_)| {
        let rate = topology.channel(channel).rate;
        bytes_per_ps(if shard.ports[port].peer.is_host { rate.min(shard.constants.nic.rate) } else { rate })
    };
    let capacities = shard.channels.entries().map(capacity).collect();
    let hosts = (0..topology.hosts()).map(etherweave_primitives::HostId::from_index);
    let rates = hosts.map(|host| topology.channel(topology.host_channel(host)).rate);
    let branches = shard.constants.branches.as_ref().map_or(1, |branches| branches.most);
    let classes = experiment.jobs.iter().map(|job| usize::from(ets.class_of_priority[job.priority.index()]));
    let classes: BTreeSet<usize> = classes.collect();
    let classes = classes.into_iter().map(|class| (class, ets.weights[class])).collect();
    Fluid::new(capacities, packet_time(&shard.constants, rates), topology.hosts(), branches, classes)
}
