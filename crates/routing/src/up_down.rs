//! Climb, then descend, and never climb again: the up*/down* rule of Schroeder et al., "Autonet: a high-speed,
//! self-configuring local area network using point-to-point links", IEEE J. Sel. Areas Commun. 1991, section 4.2.
//!
//! A channel goes *up* when it leads to a higher level, or to a higher id on the same level. That is a total order of
//! the switches, so neither the up channels nor the down channels close a ring, and since no packet turns from down to
//! up, no dependency does. Of the legal ways the shortest are offered; where a switch can descend to the destination,
//! it does, so that the rule needs no memory of where a packet came from.
//!
//! Where that order has several summits between which there is no way, as in most fabrics that are no trees, the order
//! is Autonet's: the nearer to one root, the higher. From every switch the way to the root goes up.

use std::cmp::Reverse;

use etherweave_primitives::{ChannelId, SwitchId};
use etherweave_topology::{Topology, reverse};

use crate::shortest_path::{distances, switch_after};
use crate::table::onward;
use crate::{RoutingError, Table};

/// Farther than any switch.
const UNREACHED: u32 = u32::MAX;

/// The table of shortest up/down paths: one sweep down and one up per switch with hosts.
pub(crate) fn table(topology: &Topology) -> Result<Table, RoutingError> {
    let by_level = Order::by(topology, |switch| topology.level(switch));
    by_level.table(topology).or_else(|_| {
        let root = by_level.highest_first[0];
        let distances = distances(topology, root);
        Order::by(topology, |switch| Reverse(distances[switch.index()])).table(topology)
    })
}

/// A total order of the switches.
struct Order {
    highest_first: Vec<SwitchId>,
    /// By switch; the highest is the largest.
    heights: Vec<u32>,
}

impl Order {
    /// By a key and, where it is the same, by id.
    fn by<Key: Ord>(topology: &Topology, key: impl Fn(SwitchId) -> Key) -> Order {
        let mut lowest_first: Vec<SwitchId> = (0..topology.switches()).map(SwitchId::from_index).collect();
        lowest_first.sort_by_key(|&switch| (key(switch), switch));
        let mut heights = vec![0; topology.switches()];
        (0..).zip(&lowest_first).for_each(|(height, switch)| heights[switch.index()] = height);
        Order { highest_first: lowest_first.into_iter().rev().collect(), heights }
    }

    fn table(&self, topology: &Topology) -> Result<Table, RoutingError> {
        let distances = |dst| Distances::new(topology, self, dst);
        Table::fill(topology, distances, |distances, channel| distances.is_legal(topology, self, channel))
    }

    fn is_up(&self, topology: &Topology, channel: ChannelId) -> bool {
        let (from, to) = (switch_after(topology, reverse(channel)), switch_after(topology, channel));
        self.heights[to.index()] > self.heights[from.index()]
    }
}

/// Hops from every switch to one destination.
struct Distances {
    /// By down channels only.
    down: Vec<u32>,
    /// By the legal way: down when that is possible, otherwise up and on.
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
