//! Formulas for the bisection against the least of all cuts, on every small member.

use etherweave_primitives::{HostId, SwitchId};
use etherweave_topology::{
    BisectionBasis, Dimension, FatTree, FoldedClos, HyperX, KAryFatTree, Mesh, Metrics, Node, Stage, StagedFatTree,
    Topology, TopologyKind, Torus, Uplinks,
};

/// Switches with hosts of the largest fabric whose halves are all tried.
const ACCESS_MAX: usize = 12;

/// A fabric as capacities between any two switches [bit/s], and hosts by switch.
struct Cuts {
    capacity: Vec<Vec<u64>>,
    hosts: Vec<u64>,
}

impl Cuts {
    fn of(topology: &Topology) -> Cuts {
        let switches = topology.switches();
        let mut cuts = Cuts { capacity: vec![vec![0; switches]; switches], hosts: vec![0; switches] };
        for channel in topology.channels() {
            if let (Node::Switch(from), Node::Switch(to)) = (channel.from.node, channel.to.node) {
                cuts.capacity[from.index()][to.index()] += channel.rate.as_bps();
            }
        }
        (0..topology.hosts()).for_each(|host| cuts.hosts[topology.switch_of(HostId::from_index(host)).index()] += 1);
        cuts
    }

    /// The least cut between halves that are as equal as whole switches allow.
    fn least(&self) -> u64 {
        let access: Vec<usize> = (0..self.hosts.len()).filter(|&at| self.hosts[at] > 0).collect();
        let total: u64 = self.hosts.iter().sum();
        // The last switch is always in the second half: the other halves are the same the other way round.
        let halves = 1..1u32 << (access.len() - 1);
        let difference = |half: &u32| {
            let inside = access.iter().enumerate().filter(|(place, _)| half >> place & 1 == 1);
            total.abs_diff(2 * inside.map(|(_, &at)| self.hosts[at]).sum::<u64>())
        };
        let least = halves.clone().map(|half| difference(&half)).min().expect("two switches at least");
        let equal = halves.filter(|half| difference(half) == least);
        equal.map(|half| self.flow(&access, half)).min().expect("some halves are the most equal")
    }

    /// The most that flows from one half of the switches with hosts to the other: the least cut between them (Ford and
    /// Fulkerson, "Maximal flow through a network", Canadian J. Math. 1956), switches without hosts anywhere.
    fn flow(&self, access: &[usize], half: u32) -> u64 {
        let is_source = |at: usize| access.iter().position(|&other| other == at).map(|place| half >> place & 1 == 1);
        let mut left = self.capacity.clone();
        let mut total = 0;
        while let Some(path) = path(&left, is_source) {
            let least = path.windows(2).map(|hop| left[hop[0]][hop[1]]).min().expect("a path has hops");
            for hop in path.windows(2) {
                left[hop[0]][hop[1]] -= least;
                left[hop[1]][hop[0]] += least;
            }
            total += least;
        }
        total
    }
}

/// A shortest path with capacity left from a source to a sink.
fn path(left: &[Vec<u64>], is_source: impl Fn(usize) -> Option<bool>) -> Option<Vec<usize>> {
    let mut before: Vec<Option<usize>> = vec![None; left.len()];
    let mut queue: Vec<usize> = (0..left.len()).filter(|&at| is_source(at) == Some(true)).collect();
    let mut read = 0;
    while let Some(&at) = queue.get(read) {
        read += 1;
        if is_source(at) == Some(false) {
            let mut path = vec![at];
            while let Some(previous) = before[path[path.len() - 1]] {
                path.push(previous);
            }
            path.reverse();
            return Some(path);
        }
        for next in 0..left.len() {
            if left[at][next] > 0 && before[next].is_none() && is_source(next) != Some(true) {
                before[next] = Some(at);
                queue.push(next);
            }
        }
    }
    None
}

/// Compares what is said of members with the least of all cuts; gives how many have a formula.
fn check(kinds: impl IntoIterator<Item = TopologyKind>) -> usize {
    let mut exact = 0;
    for kind in kinds {
        let Ok(topology) = kind.generate() else { continue };
        let cuts = Cuts::of(&topology);
        if !(2..=ACCESS_MAX).contains(&cuts.hosts.iter().filter(|&&hosts| hosts > 0).count()) {
            continue;
        }
        let (bisection, least) = (Metrics::of(&kind, &topology).bisection, cuts.least());
        match bisection.basis {
            BisectionBasis::Exact { formula } => {
                assert_eq!(bisection.rate.as_bps(), least, "{formula} of {kind:?}");
                exact += 1;
            }
            BisectionBasis::UpperBound { cut } => assert!(bisection.rate.as_bps() >= least, "{cut} of {kind:?}"),
        }
    }
    exact
}

#[test]
fn the_least_cut_of_a_ring_of_four_is_two_links() {
    let torus = Torus { dimensions: vec![Dimension::of(4)], ..Torus::default() };
    let cuts = Cuts::of(&TopologyKind::Torus(torus).generate().unwrap());
    assert_eq!(cuts.least(), 2 * 100_000_000_000);
    assert_eq!(SwitchId::new(3).index(), cuts.hosts.len() - 1);
}

#[test]
fn every_formula_of_the_examples_is_the_least_cut() {
    assert!(check(TopologyKind::examples()) >= 8);
}

#[test]
fn folded_clos_networks_of_any_cut() {
    let clos = |radix, hosts, levels| {
        let uplinks = vec![Uplinks::default(); levels];
        TopologyKind::FoldedClos(FoldedClos { radix, hosts, uplinks, ..FoldedClos::default() })
    };
    let sizes = [(4, 1), (4, 2), (6, 1), (6, 2), (8, 1)];
    let all =
        sizes.into_iter().flat_map(|(radix, levels)| (1..=12 * radix / 2).map(move |hosts| (radix, hosts, levels)));
    assert!(check(all.map(|(radix, hosts, levels)| clos(radix, hosts, levels))) >= 10);
}

#[test]
fn trees_of_any_stages() {
    let stage = |down, up, links| Stage { down, up, links, ..Stage::default() };
    let sizes = || (1..=4).flat_map(|down| (1..=2).flat_map(move |up| (1..=2).map(move |links| (down, up, links))));
    let one_stage = sizes().map(|(down, up, links)| vec![stage(down, up, links)]);
    let two_stages = sizes().flat_map(|(down, up, links)| {
        let low = stage(down, up, links);
        sizes().map(move |(down, up, links)| vec![low.clone(), stage(down, up, links)])
    });
    let tree = |stages| TopologyKind::StagedFatTree(StagedFatTree { hosts_per_leaf: 3, stages, ..Default::default() });
    let fat = FatTree { leaves: 6, hosts_per_leaf: 3, ..FatTree::default() };
    let k_ary = KAryFatTree { k: 4, ..KAryFatTree::default() };
    let others = [TopologyKind::FatTree(fat), TopologyKind::KAryFatTree(k_ary)];
    assert!(check(one_stage.chain(two_stages).map(tree).chain(others)) >= 50);
}

#[test]
fn grids_of_any_sizes() {
    let sizes = (1..=12).flat_map(|x| (1..=4).flat_map(move |y| (1..=3).map(move |z| [x, y, z])));
    let grids = sizes.flat_map(|sizes| {
        let dimensions = || sizes.map(Dimension::of).to_vec();
        let bundled = sizes.into_iter().zip([1, 2, 3]).map(|(size, lag)| Dimension { lag, ..Dimension::of(size) });
        [
            TopologyKind::Torus(Torus { dimensions: dimensions(), ..Torus::default() }),
            TopologyKind::Mesh(Mesh { dimensions: dimensions(), ..Mesh::default() }),
            TopologyKind::HyperX(HyperX { dimensions: dimensions(), hosts_per_switch: 1, ..HyperX::default() }),
            TopologyKind::HyperX(HyperX { dimensions: bundled.collect(), ..HyperX::default() }),
        ]
    });
    assert!(check(grids) >= 40);
}
