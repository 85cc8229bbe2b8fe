//! Addresses that switches learn: where that is defined, and their tables.

use etherweave_engine::constants::RunConstants;
use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{HostId, InputError, InputErrors};
use etherweave_switch::learning::Learning;

use super::{Experiment, Paths, connections::PlannedConnection, too_large};
use crate::shard::Shard;

/// Rejects learning where frames could circle, or copies would leave by other rules than the frames themselves.
pub(super) fn check(experiment: &Experiment, may_underrun: bool) -> Result<(), InputErrors> {
    let (topology, switch) = (&experiment.topology, &experiment.params.switch);
    if switch.learning.is_none() {
        return Ok(());
    }
    let (links, tree) = (topology.channels().len() / 2, topology.hosts() + topology.switches() - 1);
    let is_per_flow = matches!(experiment.paths, Paths::PerFlow { .. });
    let loops = format!("beside a fabric of {links} links");
    let tree = format!("one without loops, {tree} links, as a fat_tree of one core");
    let conditions = [
        (links + 1 == topology.hosts() + topology.switches(), &*loops, &*tree),
        (is_per_flow, "beside a routing that decides for every packet", "one path for each flow"),
        (!may_underrun, "beside cut_through and links of several rates", "switch.forwarding = \"store_and_forward\""),
        (switch.outer_header.is_none(), "beside switch.outer_header", "either: switches between know no hosts then"),
    ];
    let mut errors = InputErrors::default();
    for (holds, found, expected) in conditions {
        errors.check(InputError::unless(holds, "switch.learning", found, expected));
    }
    errors.into_result()
}

/// Notes the addresses of connections, and a route that leads nowhere, for copies.
pub(super) fn plan(
    experiment: &Experiment,
    connections: &[PlannedConnection],
    constants: &mut RunConstants,
) -> Result<(), InputError> {
    if experiment.params.switch.learning.is_some() {
        let hosts = |connection: &PlannedConnection| connection.hosts(experiment).map(HostId::get);
        constants.connection_hosts = connections.iter().map(hosts).collect();
        constants.flood_route = u32::try_from(constants.routes.len()).map_err(|_| too_large("hops of connections"))?;
        // A switch goes on to the next entry, which names a port that every shard has.
        constants.routes.extend([PortIndex::new(0); 2]);
    }
    Ok(())
}

/// Gives every switch an empty table.
pub(super) fn add(experiment: &Experiment, shards: &mut [Shard]) {
    let Some(params) = experiment.params.switch.learning else { return };
    for shard in shards {
        let switches = shard.switches.switches.len();
        shard.switches.learning = Some(Box::new(Learning::new(params, switches)));
    }
}
