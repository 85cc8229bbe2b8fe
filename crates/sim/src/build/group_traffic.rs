//! The traffic between groups that a controller measures.

use etherweave_kernel::LocalIndex;
use etherweave_primitives::{Duration, InputError, InputErrors, SwitchId};
use etherweave_routing::{MeasuredGroups, MeasurementParams};
use etherweave_switch::group_traffic::{GroupTraffic, MeasurementClock};
use etherweave_topology::{LinkClass, Topology};

use super::{Experiment, Paths};
use crate::shard::Shard;

/// The groups between which a routing goes by measured traffic, and how it is measured.
fn measurement(experiment: &Experiment) -> Option<(MeasuredGroups, &MeasurementParams)> {
    let Paths::PerPacket(prepared) = &experiment.paths else { return None };
    Some((prepared.measures()?, &experiment.params.controller))
}

/// Rejects a controller that reacts faster than shards exchange what they have counted, every `lookahead`.
pub(super) fn check(experiment: &Experiment, lookahead: Duration) -> Result<(), InputErrors> {
    let Some((_, params)) = measurement(experiment) else { return Ok(()) };
    params.check().map_err(|errors| errors.within("controller"))?;
    let is_slow = params.period() >= lookahead && params.delay() >= lookahead;
    let expected = match params.interval {
        None => format!("at least {}: three times the shortest delay between switches", lookahead * 3),
        Some(interval) => {
            let at_least = interval * 2 + lookahead;
            format!("intervals of at least {lookahead}, the shortest delay between switches, and {at_least} with these")
        }
    };
    Ok(InputError::unless(is_slow, "controller.reaction", params.reaction, expected)?)
}

/// Gives shards what a routing needs that goes by traffic measured between groups.
pub(super) fn add(experiment: &Experiment, shards: &mut [Shard]) {
    let Some((groups, params)) = measurement(experiment) else { return };
    let clock = MeasurementClock { period: params.period(), delay: params.delay() };
    let is_counted = |class| class == LinkClass::Global || groups.are_leaves() && class == LinkClass::Local;
    let between = experiment.topology.channels().iter().filter(|channel| is_counted(channel.class));
    let capacity = between.map(|channel| channel.rate.bytes_in(clock.period).get()).min().unwrap_or(0);
    for shard in shards {
        let mut traffic = GroupTraffic::new(groups, clock, capacity);
        traffic.sample(params.sampling, shard.wires.ports.len());
        traffic.reroute_predictable(params.change_max);
        if params.flow_min > 0.0 {
            traffic.reroute_large_flows(flows_min(&experiment.topology, shard, clock.period, params.flow_min));
        }
        shard.switches.group_traffic = Some(Box::new(traffic));
    }
}

/// Bytes of a large flow in a period, by port of the shard [B].
fn flows_min(topology: &Topology, shard: &Shard, period: Duration, share: f64) -> Vec<u64> {
    let mut flows_min = vec![0; shard.wires.ports.len()];
    for switch in shard.switches.switches.iter() {
        for (port, &id) in topology.out_channels(SwitchId::new(switch.number)).iter().enumerate() {
            let sent = topology.channel(id).rate.bytes_in(period).get();
            flows_min[switch.first_port.place() + port] = (share * sent as f64) as u64;
        }
    }
    flows_min
}
