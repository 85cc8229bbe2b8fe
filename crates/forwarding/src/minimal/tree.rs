//! Trees of several stages: up while the destination is not below, then down.
//!
//! Axes are the level and a digit per stage above the leaves, highest first; below a switch of level `l` are the
//! leaves that share its digits but the lowest `l`.

use std::collections::{BTreeMap, BTreeSet};

use etherweave_primitives::SwitchId;
use etherweave_topology::Topology;

use super::view::{CoordinateView, neighbours};

pub(super) fn view(topology: &Topology, at: SwitchId) -> CoordinateView {
    let cover = cover(topology, at);
    let (mut apart, mut up) = (Vec::new(), Vec::new());
    for (far, port) in neighbours(topology, at) {
        if topology.level(far) > topology.level(at) {
            up.push(port);
        } else {
            apart.push((cover.len(), topology.coordinates(far)[cover.len()], port));
        }
    }
    CoordinateView::new(topology, at, cover, apart, up)
}

/// Coordinates of all leaves below a switch: level 0, then its digits above its own level.
pub(crate) fn cover(topology: &Topology, at: SwitchId) -> Vec<u32> {
    let place = topology.coordinates(at);
    let digits = place.len().saturating_sub(1 + usize::from(topology.level(at)));
    std::iter::once(0).chain(place[1..].iter().take(digits).copied()).collect()
}

/// Whether hosts are on leaves, links join a subtree to the next, and every switch leads to all leaves of its
/// subtree, so that a packet may go up anywhere.
pub(crate) fn is_regular(topology: &Topology) -> bool {
    let switches = || (0..topology.switches()).map(SwitchId::from_index);
    let leaves: BTreeSet<&[u32]> =
        switches().filter(|&at| topology.level(at) == 0).map(|at| topology.coordinates(at)).collect();
    let hosts = (0..topology.hosts()).map(etherweave_primitives::HostId::from_index);
    let on_leaves = hosts.map(|host| topology.switch_of(host)).all(|at| topology.level(at) == 0);
    let subtrees: BTreeSet<&[u32]> =
        leaves.iter().flat_map(|leaf| (2..=leaf.len()).map(|digits| &leaf[..digits])).collect();
    let mut children: BTreeMap<&[u32], usize> = BTreeMap::new();
    subtrees.iter().for_each(|subtree| *children.entry(&subtree[..subtree.len() - 1]).or_default() += 1);
    topology.axes().first().is_some_and(|axis| axis == "level")
        && on_leaves
        && leaves.len() == switches().filter(|&at| topology.level(at) == 0).count()
        && switches().all(|at| is_joined(topology, at, &children))
}

/// Whether the links down lead to every child subtree, and those up to the subtree that contains this one.
fn is_joined(topology: &Topology, at: SwitchId, children: &BTreeMap<&[u32], usize>) -> bool {
    let cover = cover(topology, at);
    let mut reached = BTreeSet::new();
    let mut climbs = topology.level(at) as usize + 1 == topology.axes().len();
    for (far, _) in neighbours(topology, at) {
        let far_cover = self::cover(topology, far);
        let (low, high) =
            if topology.level(far) < topology.level(at) { (&far_cover, &cover) } else { (&cover, &far_cover) };
        if low.len() != high.len() + 1 || !low.starts_with(high) {
            return false;
        }
        if high == &cover {
            reached.insert(far_cover);
        } else {
            climbs = true;
        }
    }
    let wanted = children.get(cover.as_slice()).copied().unwrap_or(0);
    climbs && reached.len() == wanted
}
