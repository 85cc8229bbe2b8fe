//! Paths of connections through the switches.

use etherweave_engine::constants::RunConstants;
use etherweave_host::PortPaths;
use etherweave_primitives::{InputError, Purpose, Stream};
use etherweave_routing::{FlowKey, path};

use super::connections::PlannedConnection;
use super::layout::Layout;
use super::{Experiment, Paths, branches, fluid, port_paths, too_large};

/// Appends the egress ports of both directions of every connection to the routes; gives where each begins.
pub(super) fn plan(
    experiment: &Experiment,
    layout: &Layout,
    connections: &[PlannedConnection],
    constants: &mut RunConstants,
    port_paths: &mut PortPaths,
) -> Result<Vec<[u32; 2]>, InputError> {
    let topology = &experiment.topology;
    if !topology.is_single_homed() {
        return port_paths::plan(experiment, layout, connections, (constants, port_paths));
    }
    let (routing, selection) = match &experiment.paths {
        Paths::PerFlow { routing, selection } => (routing, selection),
        // Only what distinguishes the two ends of a connection.
        Paths::PerPacket(prepared) => {
            if fluid::is_used(experiment) {
                branches::add(experiment, prepared, layout, connections, constants)?;
            }
            return Ok((0..connections.len() as u32).map(|number| [2 * number, 2 * number + 1]).collect());
        }
    };
    let routes = &mut constants.routes;
    let mut starts = Vec::with_capacity(connections.len());
    for (number, connection) in connections.iter().enumerate() {
        let [a, b] = connection.hosts(experiment);
        let entropy = Stream::new(experiment.params.seed, Purpose::FlowEntropy, number as u64).bits();
        let mut start = [0; 2];
        if connection.is_tree() {
            starts.push(start);
            continue;
        }
        for (direction, (src, dst)) in [(a, b), (b, a)].into_iter().enumerate() {
            start[direction] = u32::try_from(routes.len()).map_err(|_| too_large("hops of connections"))?;
            let flow = FlowKey { src, dst, entropy };
            let channels =
                path(topology, routing, selection, &flow).map_err(|error| InputError::new("routing", error, ""))?;
            assert!(channels.len() <= topology.switches() + 1, "the path of a flow visits no switch twice");
            routes.extend(channels[1..].iter().map(|&channel| layout.port(topology, channel).1));
        }
        starts.push(start);
    }
    Ok(starts)
}
