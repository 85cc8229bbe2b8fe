//! Climb, then descend, and never climb again: the up*/down* rule of Schroeder et al., "Autonet: a high-speed,
//! self-configuring local area network using point-to-point links", IEEE J. Sel. Areas Commun. 1991, section 4.2.
//!
//! A channel goes *up* when it leads to a higher level, or to a higher id on the same level. That is a total order of
//! the switches, so neither the up channels nor the down channels close a ring, and since no packet turns from down to
//! up, neither do dependencies. Of the legal paths the shortest are offered; where a switch can descend to the
//! destination, it does, so that the rule does not depend on the ingress port.
//!
//! Where that order has several summits between which there is no path, as in most fabrics that are no trees, the order
//! is Autonet's: the nearer to one root, the higher. From every switch the path to the root goes up.

use etherweave_primitives::{ChannelId, InputError, SwitchId};
use etherweave_topology::{Topology, reverse};

use super::shortest_path::switch_after;
use crate::table::{LISTED_MAX, TabulatedPlan, destinations, onward};
use crate::{RoutingTable, order::Order, plan::RoutingPlan, ranked::Climb, ranked::Ranked, tree::SubtreePlan};

const UNREACHED: u32 = u32::MAX;

/// Computed from coordinates where the fabric is a tree of subtrees; otherwise looked up in the table or, in a fabric
/// too large to follow every packet, computed for one destination at a time.
pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn RoutingPlan>, InputError> {
    if let Some(tree) = SubtreePlan::of(topology) {
        return Ok(Box::new(tree));
    }
    let destinations = destinations(topology);
    if topology.switches() as u64 * destinations.len() as u64 <= LISTED_MAX {
        return Ok(Box::new(TabulatedPlan::new(topology, searched(topology)?)));
    }
    // No switch twice.
    let ranked = |order| Ranked::new(topology, order, Climb::AsNeeded, topology.switches() as u32 - 1);
    let by_level = ranked(Order::by_level(topology));
    let is_joined = by_level.joins(&destinations);
    Ok(Box::new(if is_joined { by_level } else { ranked(Order::by_root(topology)) }))
}

/// The table of shortest up/down paths: computed from coordinates in a tree of subtrees, otherwise by one sweep down
/// and one up per switch with hosts.
pub(crate) fn table(topology: &Topology) -> Result<RoutingTable, InputError> {
    match SubtreePlan::of(topology) {
        Some(tree) => tree.table(topology),
        None => searched(topology),
    }
}

fn searched(topology: &Topology) -> Result<RoutingTable, InputError> {
    by(topology, &Order::by_level(topology)).or_else(|_| by(topology, &Order::by_root(topology)))
}

fn by(topology: &Topology, order: &Order) -> Result<RoutingTable, InputError> {
    let distances = |dst| Distances::new(topology, order, dst);
    RoutingTable::fill(topology, distances, |distances, channel| distances.is_legal(topology, order, channel))
}

/// Hops from every switch to one destination.
struct Distances {
    down: Vec<u32>,
    /// Hops by the legal path: down when that is possible, otherwise up and on.
    legal: Vec<u32>,
}

impl Distances {
    fn new(topology: &Topology, order: &Order, dst: SwitchId) -> Distances {
        let mut down = vec![UNREACHED; topology.switches()];
        down[dst.index()] = 0;
        for &at in order.highest_first.iter().rev() {
            relax(topology, &mut down, at, |channel| !order.is_up(topology, channel));
        }
        let mut legal = down.clone();
        for &at in order.highest_first.iter().filter(|at| down[at.index()] == UNREACHED) {
            relax(topology, &mut legal, at, |channel| order.is_up(topology, channel));
        }
        Distances { down, legal }
    }

    /// Whether a packet at the start of `channel` may take it: downwards where it can, and one hop closer.
    fn is_legal(&self, topology: &Topology, order: &Order, channel: ChannelId) -> bool {
        let from = switch_after(topology, reverse(channel)).index();
        let to = switch_after(topology, channel).index();
        let descends = self.down[from] != UNREACHED;
        let left = if descends { self.down[to] } else { self.legal[to] };
        order.is_up(topology, channel) != descends && left != UNREACHED && left + 1 == self.legal[from]
    }
}

/// Sets the distance of `at` to one more than the least over the admitted channels, whose ends are already known.
fn relax(topology: &Topology, distances: &mut [u32], at: SwitchId, is_admitted: impl Fn(ChannelId) -> bool) {
    let admitted = onward(topology, at).filter(|&channel| is_admitted(channel));
    let least = admitted.map(|channel| distances[switch_after(topology, channel).index()]).min();
    if let Some(least) = least.filter(|&least| least != UNREACHED) {
        distances[at.index()] = distances[at.index()].min(least + 1);
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::HostId;
    use etherweave_topology::TopologyKind;

    use super::*;

    #[test]
    fn the_table_of_a_tree_from_coordinates_is_the_searched_one() {
        let mut trees = 0;
        for topology in TopologyKind::examples().iter().map(|kind| kind.generate().unwrap()) {
            let Some(tree) = SubtreePlan::of(&topology) else { continue };
            let (computed, searched) = (tree.table(&topology).unwrap(), searched(&topology).unwrap());
            let hosts = || (0..topology.hosts()).map(HostId::from_index);
            for (at, dst) in (0..topology.switches()).flat_map(|at| hosts().map(move |dst| (at, dst))) {
                let at = etherweave_primitives::SwitchId::from_index(at);
                // In the same order, too: a selection numbers what it is offered.
                assert_eq!(computed.legal(at, dst), searched.legal(at, dst), "{}", topology.switch_name(at));
            }
            trees += 1;
        }
        assert!(trees > 4, "{trees} of the examples are trees");
    }
}
