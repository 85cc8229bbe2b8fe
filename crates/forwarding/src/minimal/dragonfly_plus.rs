//! Dragonfly+: shortest paths. Every leaf joins every spine of its group, every two groups are joined, so a leaf sends
//! packets for another group to those of its spines with links there, for its own group to any spine (Shpiner et al.,
//! HiPINEB 2017, section III).
//!
//! A spine without links to a group sees no packets for it from its own leaves. On shortest paths it would pass them on
//! to spines elsewhere that have such links; where none of its neighbours has, back to its leaves and to those
//! neighbours that have a neighbour with such links, which both take one hop more.

use etherweave_primitives::{HostId, Port, SwitchId};
use etherweave_topology::Topology;

use super::view::{CoordinateView, neighbours};

/// The axes of such a fabric, in which these are the places of group and leaf.
const AXES: [&str; 3] = ["level", "group", "switch"];
const GROUP: usize = 1;
const LEAF: usize = 2;

#[derive(Clone, Debug)]
pub(super) struct SpineLinks {
    /// Other groups of switch `s`, ascending, are `groups[starts[s]..starts[s + 1]]`; none of a leaf.
    groups: Vec<u32>,
    starts: Vec<usize>,
    groups_total: u32,
}

impl SpineLinks {
    /// Hosts are on leaves, groups complete, and every two joined; none otherwise.
    pub fn of(topology: &Topology) -> Option<SpineLinks> {
        if topology.axes() != AXES {
            return None;
        }
        let switches = || (0..topology.switches()).map(SwitchId::from_index);
        let mut fans = SpineLinks { groups: Vec::new(), starts: vec![0], groups_total: 0 };
        for at in switches() {
            let own = group(topology, at);
            let mut peers: Vec<u32> =
                neighbours(topology, at).map(|(far, _)| group(topology, far)).filter(|&peer| peer != own).collect();
            peers.sort_unstable();
            peers.dedup();
            fans.groups.append(&mut peers);
            fans.starts.push(fans.groups.len());
            fans.groups_total = fans.groups_total.max(own + 1);
        }
        let is_on_leaf = |host| topology.level(topology.switch_of(HostId::from_index(host))) == 0;
        let is_regular =
            (0..topology.hosts()).all(is_on_leaf) && fans.are_joined(topology) && are_whole(topology, &fans);
        is_regular.then_some(fans)
    }

    /// Whether every two groups have a link.
    fn are_joined(&self, topology: &Topology) -> bool {
        let switches = (0..topology.switches()).map(SwitchId::from_index);
        let mut pairs: Vec<(u32, u32)> =
            switches.flat_map(|at| self.reach(at).iter().map(move |&peer| (group(topology, at), peer))).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs.len() as u64 == u64::from(self.groups_total) * u64::from(self.groups_total - 1)
    }

    fn reach(&self, at: SwitchId) -> &[u32] {
        &self.groups[self.starts[at.index()]..self.starts[at.index() + 1]]
    }

    pub fn view(&self, topology: &Topology, at: SwitchId) -> CoordinateView {
        if topology.level(at) == 0 { self.leaf(topology, at) } else { self.spine(topology, at) }
    }

    fn leaf(&self, topology: &Topology, at: SwitchId) -> CoordinateView {
        let (mut apart, mut up) = (Vec::new(), Vec::new());
        for (spine, port) in neighbours(topology, at) {
            up.push(port);
            apart.extend(self.reach(spine).iter().map(|&peer| (GROUP, peer, port)));
        }
        // What is in no other group is on another leaf of the own one.
        CoordinateView::new(topology, at, topology.coordinates(at).to_vec(), apart, up)
    }

    fn spine(&self, topology: &Topology, at: SwitchId) -> CoordinateView {
        let own = group(topology, at);
        let (leaves, peers): (Vec<_>, Vec<_>) =
            neighbours(topology, at).partition(|&(far, _)| group(topology, far) == own);
        let mut apart: Vec<(usize, u32, Port)> =
            leaves.iter().map(|&(leaf, port)| (LEAF, topology.coordinates(leaf)[LEAF], port)).collect();
        apart.extend(peers.iter().map(|&(far, port)| (GROUP, group(topology, far), port)));
        let next = || peers.iter().flat_map(|&(far, port)| self.reach(far).iter().map(move |&to| (to, port)));
        let mut hops = vec![3; self.groups_total as usize];
        next().for_each(|(to, _)| hops[to as usize] = 2);
        self.reach(at).iter().for_each(|&to| hops[to as usize] = 1);
        hops[own as usize] = 0;
        apart.extend(next().filter(|&(to, _)| hops[to as usize] == 2).map(|(to, port)| (GROUP, to, port)));
        let rest: Vec<u32> = (0..self.groups_total).filter(|&to| hops[to as usize] == 3).collect();
        apart.extend(rest.iter().flat_map(|&to| leaves.iter().map(move |&(_, port)| (GROUP, to, port))));
        for &(far, port) in peers.iter().filter(|_| !rest.is_empty()) {
            let ahead = self.ahead(topology, far);
            apart.extend(rest.iter().filter(|&&to| ahead[to as usize]).map(|&to| (GROUP, to, port)));
        }
        CoordinateView::new(topology, at, vec![0, own], apart, Vec::new())
    }

    /// Returns by group whether a neighbour of a spine has links to it.
    fn ahead(&self, topology: &Topology, spine: SwitchId) -> Vec<bool> {
        let mut is_ahead = vec![false; self.groups_total as usize];
        neighbours(topology, spine).flat_map(|(far, _)| self.reach(far)).for_each(|&to| is_ahead[to as usize] = true);
        is_ahead
    }
}

fn group(topology: &Topology, at: SwitchId) -> u32 {
    topology.coordinates(at)[GROUP]
}

/// Whether each switch of level 0 or 1 joins all of the other level in its group, and only spines look elsewhere.
fn are_whole(topology: &Topology, fans: &SpineLinks) -> bool {
    let switches = || (0..topology.switches()).map(SwitchId::from_index);
    let mut members = vec![[0usize; 2]; fans.groups_total as usize];
    for at in switches() {
        match members[group(topology, at) as usize].get_mut(usize::from(topology.level(at))) {
            Some(count) => *count += 1,
            None => return false,
        }
    }
    switches().all(|at| {
        let (own, level) = (group(topology, at), topology.level(at));
        let mut others: Vec<SwitchId> =
            neighbours(topology, at).map(|(far, _)| far).filter(|&far| group(topology, far) == own).collect();
        others.sort_unstable();
        others.dedup();
        let expected = members[own as usize][1 - usize::from(level)];
        let is_bipartite = others.iter().all(|&far| topology.level(far) != level);
        is_bipartite && others.len() == expected && (level == 1 || fans.reach(at).is_empty())
    })
}
