//! Paths of connections through the switches.

use etherweave_engine::constants::RunConstants;
use etherweave_host::PortPaths;
use etherweave_kernel::{indices::PortIndex, on_threads};
use etherweave_primitives::{ChannelId, InputError, Purpose, Stream};
use etherweave_routing::{FlowKey, PathFinder};
use etherweave_topology::Topology;

use super::{
    Experiment, Paths, branches, connections::PlannedConnection, fluid, layout::Layout, port_paths, too_large,
};

/// Connections of a thread: a thread costs as much as fewer.
const CONNECTIONS_MIN: usize = 64;

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
    // Paths do not depend on each other: each thread finds those of some consecutive connections.
    let count = connections.len().div_ceil(layout.threads).max(CONNECTIONS_MIN);
    let mut parts: Vec<Part<'_>> = connections.chunks(count).map(Part::of).collect();
    on_threads(&mut parts, |place, part| {
        let mut finder = PathFinder::default();
        for (number, connection) in (place * count..).zip(part.connections).filter(|(_, planned)| !planned.is_tree()) {
            let [a, b] = connection.hosts(experiment);
            let entropy = Stream::new(experiment.params.seed, Purpose::FlowEntropy, number as u64).bits();
            for (src, dst) in [(a, b), (b, a)] {
                match finder.path(topology, routing, selection, &FlowKey { src, dst, entropy }) {
                    Ok(channels) => part.push(topology, layout, channels),
                    Err(error) => return part.error = Some(error),
                }
            }
        }
    });
    let mut starts = Vec::with_capacity(connections.len());
    for Part { connections, routes, lengths, error } in parts {
        if let Some(error) = error {
            return Err(InputError::new("routing", error, ""));
        }
        let mut start = constants.routes.len();
        u32::try_from(start + routes.len()).map_err(|_| too_large("hops of connections"))?;
        // Routes may be millions: those of one thread are not copied.
        match constants.routes.is_empty() {
            true => constants.routes = routes,
            false => constants.routes.extend(routes),
        }
        let mut begins = lengths.into_iter().map(|length| {
            start += length as usize;
            start as u32 - length
        });
        let mut next = || begins.next().expect("a connection has two paths");
        starts.extend(connections.iter().map(|planned| if planned.is_tree() { [0; 2] } else { [next(), next()] }));
    }
    Ok(starts)
}

/// Consecutive connections, and the egress ports of their paths.
struct Part<'a> {
    connections: &'a [PlannedConnection],
    routes: Vec<PortIndex>,
    /// Number of ports of each path: of both directions of every connection, but for aggregation trees.
    lengths: Vec<u32>,
    error: Option<InputError>,
}

impl Part<'_> {
    fn of(connections: &[PlannedConnection]) -> Part<'_> {
        Part { connections, routes: Vec::new(), lengths: Vec::new(), error: None }
    }

    fn push(&mut self, topology: &Topology, layout: &Layout, channels: &[ChannelId]) {
        assert!(channels.len() <= topology.switches() + 1, "the path of a flow visits no switch twice");
        self.routes.extend(channels[1..].iter().map(|&channel| layout.port(topology, channel).1));
        self.lengths.push((channels.len() - 1) as u32);
    }
}
