//! The traffic between groups that a controller measures.

use etherweave_primitives::{Duration, InputError};
use etherweave_topology::LinkClass;

use super::{Experiment, Paths};
use crate::engine::Shard;
use crate::switch::group_traffic::{GroupTraffic, PERIODS};

/// Gives shards what a routing needs that goes by traffic measured between groups.
///
/// # Errors
/// When the controller reacts faster than shards exchange what they have counted.
pub(super) fn add(experiment: &Experiment, shards: &mut [Shard]) -> Result<(), InputError> {
    let Paths::PerPacket(prepared) = &experiment.paths else { return Ok(()) };
    let Some(groups) = prepared.measures() else { return Ok(()) };
    let reaction = experiment.params.controller.reaction;
    let period = Duration::from_ps(reaction.as_ps() / PERIODS);
    let least = shards[0].constants.lookahead;
    let expected = format!("at least {}: three times the shortest delay between switches", least * PERIODS);
    InputError::unless(period >= least, "controller.reaction", reaction, expected)?;
    let global = experiment.topology.channels().iter().filter(|channel| channel.class == LinkClass::Global);
    let capacity = global.map(|channel| channel.rate.bytes_in(period).get()).min().unwrap_or(0);
    for shard in shards {
        shard.group_traffic = Some(Box::new(GroupTraffic::new(groups, period, capacity)));
    }
    Ok(())
}
