//! Links that fail during a run: checks, and the ports that they belong to.

use etherweave_engine::impaired_link::LinkOutage;
use etherweave_primitives::{InputError, InputErrors, Time};
use etherweave_topology::reverse;

use super::{Experiment, layout::Layout};
use crate::shard::Shard;

/// Rejects outages that end before they begin.
pub(super) fn check(experiment: &Experiment) -> Result<(), InputErrors> {
    let mut errors = InputErrors::default();
    for (number, outage) in experiment.outages.iter().enumerate() {
        if let Some(until) = outage.until.filter(|&until| until <= outage.from) {
            let expected = format!("more than {}, when the link fails", outage.from);
            errors.push(InputError::new(format!("faults.down.{number}.until"), until, expected));
        }
    }
    errors.into_result()
}

/// Adds both directions of each failing link to the shards of their senders.
pub(super) fn add(experiment: &Experiment, layout: &Layout, shards: &mut [Shard]) {
    for outage in &experiment.outages {
        let until = outage.until.map_or(Time::MAX, |until| Time::ZERO + until);
        for channel in [outage.channel, reverse(outage.channel)] {
            let (shard, port) = layout.port(&experiment.topology, channel);
            shards[shard].wires.impaired_link(port).outages.push(LinkOutage::new(Time::ZERO + outage.from, until));
        }
    }
}
