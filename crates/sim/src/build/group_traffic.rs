//! The traffic between groups that a controller measures.

use etherweave_primitives::{Duration, InputError};
use etherweave_routing::MeasuredGroups;
use etherweave_topology::LinkClass;

use super::{Experiment, Paths};
use crate::engine::Shard;
use crate::switch::group_traffic::{GroupTraffic, PERIODS};

/// The groups between which a routing goes by measured traffic, and the period of the measurement.
fn measurement(experiment: &Experiment) -> Option<(MeasuredGroups, Duration)> {
    let Paths::PerPacket(prepared) = &experiment.paths else { return None };
    let reaction = experiment.params.controller.reaction;
    Some((prepared.measures()?, Duration::from_ps(reaction.as_ps() / PERIODS)))
}

/// Rejects a controller that reacts faster than shards exchange what they have counted, every `lookahead`.
pub(super) fn check(experiment: &Experiment, lookahead: Duration) -> Result<(), InputError> {
    let Some((_, period)) = measurement(experiment) else { return Ok(()) };
    let expected = format!("at least {}: three times the shortest delay between switches", lookahead * PERIODS);
    InputError::unless(period >= lookahead, "controller.reaction", experiment.params.controller.reaction, expected)
}

/// Gives shards what a routing needs that goes by traffic measured between groups.
pub(super) fn add(experiment: &Experiment, shards: &mut [Shard]) {
    let Some((groups, period)) = measurement(experiment) else { return };
    let global = experiment.topology.channels().iter().filter(|channel| channel.class == LinkClass::Global);
    let capacity = global.map(|channel| channel.rate.bytes_in(period).get()).min().unwrap_or(0);
    for shard in shards {
        shard.group_traffic = Some(Box::new(GroupTraffic::new(groups, period, capacity)));
    }
}
