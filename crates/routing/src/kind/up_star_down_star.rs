//! Up*/down* in full: Schroeder et al., "Autonet: a high-speed, self-configuring local area network using
//! point-to-point links", IEEE J. Sel. Areas Commun. 1991, section 4.2.
//!
//! Up is towards the highest switch, which is the root; equally far ones rank by id. Of the paths that never climb
//! after they descended, the shortest are legal. Unlike in `up_down`, a packet may climb past a switch from which it
//! could descend, if that is no longer; so a switch must distinguish those that descended from the others, by their
//! ingress port.

use etherweave_topology::Topology;

use super::shortest_path::distances;
use crate::{order::Order, plan::RoutingPlan, ranked::Climb, ranked::Ranked, table::LISTED_MAX, table::destinations};
use etherweave_primitives::InputError;

pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn RoutingPlan>, InputError> {
    let order = Order::by_root(topology);
    // From anywhere, the shortest path to the root goes up, and the shortest from it goes down.
    let depth = distances(topology, order.highest_first[0]).into_iter().filter(|&hops| hops != u32::MAX).max();
    let ranked = Ranked::new(topology, order, Climb::AsShorter, 2 * depth.unwrap_or_default());
    let destinations = destinations(topology);
    let is_small = topology.switches() as u64 * destinations.len() as u64 <= LISTED_MAX;
    Ok(Box::new(if is_small { ranked.listed(&destinations) } else { ranked }))
}
