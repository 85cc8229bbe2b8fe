//! Dragonflies: directly within the group, otherwise over the own links to the destination's group or, without any,
//! over those of another switch of the own group (Kim et al., ISCA 2008, section 4.1, minimal routing). It depends on
//! the group only, so that an entry per group will do, unlike shortest paths, which may pass through a third group.

use etherweave_primitives::{Port, SwitchId};
use etherweave_topology::{Node, Topology};

use super::{butterfly, view::CoordinateView};

/// Switches of each group that have links to each other group.
#[derive(Clone, Debug)]
pub(super) struct Gateways {
    /// Group, peer group, switch: ascending, without repetition.
    links: Vec<(u32, u32, u32)>,
    /// Where each group starts in `links`, and the end.
    starts: Vec<usize>,
}

impl Gateways {
    /// Every group is fully joined, and every two are joined; none otherwise.
    pub fn of(topology: &Topology) -> Option<Gateways> {
        let switches = || (0..topology.switches()).map(SwitchId::from_index);
        if topology.axes() != ["group", "switch"] {
            return None;
        }
        let mut links = Vec::new();
        for at in switches() {
            let own = topology.coordinates(at);
            let peers = butterfly::apart(topology, at).into_iter().filter(|&(axis, ..)| axis == 0);
            links.extend(peers.map(|(_, peer, _)| (own[0], peer, own[1])));
        }
        links.sort_unstable();
        links.dedup();
        let groups = switches().map(|at| topology.coordinates(at)[0] + 1).max()?;
        let starts = (0..=groups).map(|group| links.partition_point(|link| link.0 < group)).collect();
        let gateways = Gateways { links, starts };
        let is_joined = (0..groups).all(|group| gateways.peers(group) == groups as usize - 1);
        (is_joined && switches().all(|at| has_whole_group(topology, at, groups))).then_some(gateways)
    }

    fn peers(&self, group: u32) -> usize {
        self.of_group(group).chunk_by(|a, b| a.1 == b.1).count()
    }

    fn of_group(&self, group: u32) -> &[(u32, u32, u32)] {
        &self.links[self.starts[group as usize]..self.starts[group as usize + 1]]
    }

    pub fn view(&self, topology: &Topology, at: SwitchId) -> CoordinateView {
        let own = topology.coordinates(at);
        let mut apart = butterfly::apart(topology, at);
        apart.sort_unstable();
        let (global, local) = apart.split_at(apart.partition_point(|&(axis, ..)| axis == 0));
        let has_own = |peer: u32| global.binary_search_by_key(&peer, |&(_, peer, _)| peer).is_ok();
        let others = self.of_group(own[0]).iter().filter(|&&(_, peer, _)| !has_own(peer));
        let over: Vec<(usize, u32, Port)> =
            others.flat_map(|&(_, peer, switch)| ports_to(local, switch).map(move |port| (0, peer, port))).collect();
        apart.extend(over);
        CoordinateView::new(topology, at, own.to_vec(), apart, Vec::new())
    }
}

/// The ports to a switch of the own group.
fn ports_to(local: &[(usize, u32, Port)], switch: u32) -> impl Iterator<Item = Port> {
    let first = local.partition_point(|&(_, place, _)| place < switch);
    local[first..].iter().take_while(move |&&(_, place, _)| place == switch).map(|&(_, _, port)| port)
}

/// Whether a switch has links to all others of its group.
fn has_whole_group(topology: &Topology, at: SwitchId, groups: u32) -> bool {
    let size = topology.switches() / groups as usize;
    let mut neighbours: Vec<_> = topology
        .out_channels(at)
        .iter()
        .filter_map(|&channel| match topology.channel(channel).to.node {
            Node::Switch(far) if topology.coordinates(far)[0] == topology.coordinates(at)[0] => Some(far),
            Node::Switch(_) | Node::Host(_) => None,
        })
        .collect();
    neighbours.sort_unstable();
    neighbours.dedup();
    neighbours.len() + 1 == size
}
