//! Spanning trees without a common cable, one of them for each flow: TCP-Bolt's restriction of paths, which keeps
//! pauses from a deadlock on one priority (Stephens et al., "Practical DCB for improved data center networks", INFOCOM
//! 2014).
//!
//! A packet goes up its tree and down again, so that it uses channels of a tree in the order of their distance from the
//! root. Cables belong to one tree at most: the port by which a packet arrives says which, and no channel of one tree
//! waits for one of another.
//!
//! Trees grow side by side, a cable in turn, from switches near their root that have more cables than trees still need
//! there. As many as possible are tried first, then fewer. That is not always the most trees that there are.

use etherweave_primitives::{HostId, InputError, SwitchId, mix};
use etherweave_topology::{LinkClass, Node, Topology};

use crate::per_packet::{
    FabricOf, HashScope, InputChannel, LoadView, NextHop, OutputChannel, PacketRouting, RoutedPacket, RoutingBasis,
    unsuited,
};

/// More switches would take minutes.
const SWITCHES_MAX: usize = 2_048;
/// Links of the longest path, which packets count.
const LINKS_MAX: u32 = 63;
/// A port in no tree, or that of a root.
const NONE: u8 = u8::MAX;

/// One of several trees for every flow, by hash.
pub struct DisjointTrees {
    trees: Vec<Tree>,
    /// Tree of each port, by switch, then port.
    of_port: Vec<Vec<u8>>,
    homes: Vec<(u32, u8)>,
    /// Links from a root to the farthest switch.
    depth: u32,
    /// Links between the two switches with hosts that are farthest apart in their tree.
    links_max: u32,
}

struct Tree {
    places: Vec<Place>,
}

#[derive(Clone, Debug, Default)]
struct Place {
    /// The port to its parent.
    up: u8,
    /// Links to the root.
    depth: u32,
    /// Places before it, each switch before those below it.
    first: u32,
    /// First place behind those below it.
    end: u32,
    /// First places of its children, ascending, and the ports to them.
    children: Vec<(u32, u8)>,
}

impl RoutingBasis for DisjointTrees {
    const FABRIC: &'static str = "a connected fabric of at most 2,048 switches";

    fn of(fabric: FabricOf<'_>) -> Result<DisjointTrees, InputError> {
        let topology = fabric.topology;
        if topology.switches() > SWITCHES_MAX {
            return Err(unsuited(format!("one of {} switches", topology.switches()), Self::FABRIC));
        }
        let links: Vec<Vec<Option<Link>>> = (0..topology.switches()).map(|at| links(topology, at)).collect();
        let degrees = || links.iter().map(|ports| ports.iter().flatten().count());
        let cables = degrees().sum::<usize>() / 2;
        let most = degrees().min().unwrap_or(0).min(cables / (topology.switches() - 1).max(1)).min(usize::from(NONE));
        let grown = (1..=most.max(1)).rev().find_map(|count| Growth::new(&links, count).grown());
        let Some(of_port) = grown else { return Err(unsuited("one in parts".to_owned(), Self::FABRIC)) };
        let count = of_port.iter().flatten().filter(|&&tree| tree != NONE).max().map_or(1, |&last| last + 1);
        let trees: Vec<Tree> = (0..count).map(|tree| Tree::of(tree, &of_port, &links)).collect();
        let depth = trees.iter().flat_map(|tree| &tree.places).map(|place| place.depth).max().unwrap_or(0);
        if 2 * depth > LINKS_MAX {
            return Err(unsuited(format!("one with trees of depth {depth}"), "one with paths of at most 63 links"));
        }
        let home = |host: usize| {
            let end = topology.channel(topology.host_channel(HostId::from_index(host))).to;
            (topology.switch_of(HostId::from_index(host)).get(), end.port.index() as u8)
        };
        let homes: Vec<(u32, u8)> = (0..topology.hosts()).map(home).collect();
        let links_max = trees.iter().map(|tree| tree.links_max(&homes)).max().unwrap_or(0);
        Ok(DisjointTrees { trees, of_port, homes, depth, links_max })
    }

    fn suits(fabric: FabricOf<'_>) -> bool {
        DisjointTrees::of(fabric).is_ok()
    }
}

#[derive(Clone, Copy)]
struct Link {
    far: usize,
    far_port: usize,
}

/// Returns the links by port; none to a host.
fn links(topology: &Topology, at: usize) -> Vec<Option<Link>> {
    let link = |&id| match topology.channel(id).to.node {
        Node::Switch(far) => Some(Link { far: far.index(), far_port: topology.channel(id).to.port.index() }),
        Node::Host(_) => None,
    };
    topology.out_channels(SwitchId::from_index(at)).iter().map(link).collect()
}

struct Growth<'a> {
    links: &'a [Vec<Option<Link>>],
    of_port: Vec<Vec<u8>>,
    /// Links to the root by tree, then switch; none where it does not reach yet.
    depths: Vec<Vec<Option<u32>>>,
    /// Free cables of each switch beyond those by which trees must still reach it.
    spare: Vec<i64>,
}

impl Growth<'_> {
    fn new(links: &[Vec<Option<Link>>], count: usize) -> Growth<'_> {
        let of_port = links.iter().map(|ports| vec![NONE; ports.len()]).collect();
        let degree = |ports: &Vec<Option<Link>>| ports.iter().flatten().count() as i64;
        let mut growth = Growth {
            links,
            of_port,
            depths: vec![vec![None; links.len()]; count],
            spare: links.iter().map(|ports| degree(ports) - count as i64).collect(),
        };
        for tree in 0..count {
            // Roots apart, each of which needs a cable less.
            let root = tree * links.len() / count;
            growth.depths[tree][root] = Some(0);
            growth.spare[root] += 1;
        }
        growth
    }

    /// The tree of every port; none where a tree cannot reach all switches.
    fn grown(mut self) -> Option<Vec<Vec<u8>>> {
        for _ in 1..self.links.len() {
            (0..self.depths.len()).try_for_each(|tree| self.extend(tree))?;
        }
        Some(self.of_port)
    }

    /// Adds a switch to a tree: at the parent that can spare a cable, is nearest to the root and spares most, the child
    /// that spares least.
    fn extend(&mut self, tree: usize) -> Option<()> {
        let depths = &self.depths[tree];
        let child = |at: usize| {
            let ports = self.links[at].iter().enumerate().filter(|&(port, _)| self.of_port[at][port] == NONE);
            let open = ports.filter_map(|(port, link)| Some((port, (*link)?)));
            open.filter(|(_, link)| depths[link.far].is_none()).min_by_key(|(_, link)| self.spare[link.far])
        };
        let reached = depths.iter().enumerate().filter_map(|(at, depth)| Some((at, (*depth)?)));
        let open = reached.filter_map(|(at, depth)| Some((at, depth, child(at)?)));
        let (at, depth, (port, link)) =
            open.min_by_key(|&(at, depth, _)| (self.spare[at] <= 0, depth, -self.spare[at]))?;
        self.of_port[at][port] = tree as u8;
        self.of_port[link.far][link.far_port] = tree as u8;
        self.depths[tree][link.far] = Some(depth + 1);
        self.spare[at] -= 1;
        Some(())
    }
}

impl Tree {
    /// The tree of a number, from its root on.
    fn of(tree: u8, of_port: &[Vec<u8>], links: &[Vec<Option<Link>>]) -> Tree {
        let count =
            usize::from(of_port.iter().flatten().filter(|&&other| other != NONE).max().map_or(0, |&last| last)) + 1;
        let root = usize::from(tree) * links.len() / count;
        let mut places = vec![Place { up: NONE, ..Place::default() }; links.len()];
        let below = |at: usize, up: u8| {
            let ports = links[at].iter().enumerate().filter(|&(port, _)| of_port[at][port] == tree && port as u8 != up);
            ports.filter_map(|(port, link)| Some((port, (*link)?))).collect::<Vec<_>>()
        };
        let mut next = 0;
        let mut path = vec![(root, below(root, NONE))];
        places[root].first = 0;
        while let Some((at, open)) = path.last_mut() {
            let at = *at;
            let Some((port, link)) = open.pop() else {
                places[at].end = next + 1;
                path.pop();
                continue;
            };
            next += 1;
            let (up, depth) = (link.far_port as u8, places[at].depth + 1);
            places[at].children.push((next, port as u8));
            places[link.far] = Place { up, depth, first: next, ..Place::default() };
            path.push((link.far, below(link.far, up)));
        }
        Tree { places }
    }

    /// Links between the two of some switches that are farthest apart.
    fn links_max(&self, homes: &[(u32, u8)]) -> u32 {
        let mut below: Vec<Option<u32>> = vec![None; self.places.len()];
        homes.iter().for_each(|&(at, _)| below[at as usize] = Some(0));
        let mut upward: Vec<usize> = (0..self.places.len()).collect();
        upward.sort_unstable_by_key(|&at| std::cmp::Reverse(self.places[at].first));
        let mut of_place = vec![0; self.places.len()];
        upward.iter().for_each(|&at| of_place[self.places[at].first as usize] = at);
        let mut most = 0;
        for at in upward {
            for &(first, _) in &self.places[at].children {
                let Some(arm) = below[of_place[first as usize]].map(|below| below + 1) else { continue };
                most = most.max(below[at].map_or(0, |other| other + arm));
                below[at] = below[at].max(Some(arm));
            }
        }
        most
    }

    fn port(&self, at: u32, to: u32) -> u8 {
        let (place, target) = (&self.places[at as usize], self.places[to as usize].first);
        if !(place.first..place.end).contains(&target) {
            return place.up;
        }
        let child = place.children.partition_point(|&(first, _)| first <= target) - 1;
        place.children[child].1
    }
}

impl PacketRouting for DisjointTrees {
    fn channels(&self) -> u8 {
        1
    }

    /// Up, nearer to the root; then down, farther from it.
    fn rank(&self, out: OutputChannel) -> Option<u32> {
        let tree = self.of_port[out.switch as usize][usize::from(out.port)];
        let Some(tree) = self.trees.get(usize::from(tree)) else { return Some(0) };
        let place = &tree.places[out.switch as usize];
        Some(if place.up == out.port { self.depth - place.depth } else { self.depth + place.depth })
    }

    fn links_max(&self) -> Option<u32> {
        Some(self.links_max)
    }

    fn hash_scope(&self) -> HashScope {
        HashScope::PerFlow
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, _load: L) -> NextHop {
        let (home, port) = self.homes[packet.dst as usize];
        if home == at.switch {
            return NextHop { port, channel: 0 };
        }
        let tree = match at.class {
            LinkClass::Host => ((mix(packet.hash.into()) >> 32) * self.trees.len() as u64) >> 32,
            LinkClass::Local | LinkClass::Global => u64::from(self.of_port[at.switch as usize][usize::from(at.port)]),
        };
        NextHop { port: self.trees[tree as usize].port(at.switch, home), channel: 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use etherweave_topology::TopologyKind;

    use super::*;

    fn trees(topology: &Topology) -> DisjointTrees {
        DisjointTrees::of(topology.into()).unwrap()
    }

    fn generated(text: &str) -> Topology {
        toml::from_str::<TopologyKind>(text).unwrap().generate().unwrap()
    }

    /// The switches on a packet's path in a tree.
    fn path(topology: &Topology, tree: &Tree, from: u32, to: u32) -> Vec<u32> {
        let mut path = vec![from];
        while *path.last().unwrap() != to {
            assert!(path.len() <= topology.switches(), "{path:?}");
            let at = *path.last().unwrap();
            let link = links(topology, at as usize)[usize::from(tree.port(at, to))].unwrap();
            path.push(link.far as u32);
        }
        path
    }

    #[test]
    fn no_two_trees_have_a_cable_in_common_and_each_joins_all_switches() {
        for topology in TopologyKind::examples().iter().map(|kind| kind.generate().unwrap()) {
            let routing = trees(&topology);
            let switches = topology.switches() as u32;
            for (number, tree) in routing.trees.iter().enumerate() {
                let ports = routing.of_port.iter().flatten().filter(|&&tree| usize::from(tree) == number).count();
                assert_eq!(ports, 2 * (topology.switches() - 1), "two ends of each cable");
                for to in 0..switches {
                    let walked = path(&topology, tree, 0, to);
                    assert_eq!(walked.iter().collect::<BTreeSet<_>>().len(), walked.len(), "no switch twice");
                }
            }
        }
    }

    #[test]
    fn there_are_as_many_trees_as_cables_allow() {
        let count = |text: &str| trees(&generated(text)).trees.len();
        // Six switches, each joined to every other: 15 cables, of which a tree has 5.
        assert_eq!(count("[flattened_butterfly]\nhosts_per_switch = 1\nsizes = [6]"), 3);
        // Eight leaves below four cores: 32 cables, of which a tree has 11.
        assert_eq!(count("[fat_tree]\nleaves = 8\nhosts_per_leaf = 1\ncores = 4\nlinks_per_core = 1"), 2);
        assert_eq!(count("[torus]\ndimensions = [{ size = 5 }]"), 1);
        assert_eq!(count("[single_switch]\nhosts = 2"), 1);
    }
}
