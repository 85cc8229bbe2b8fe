//! Paths that go up, then down, in a total order of the switches: distances from one destination at a time.
//!
//! Small fabrics have the distances of all destinations listed. In large ones they are measured again for each
//! query, in time linear in the links, and a proof follows whole turns instead of packets: after a hop down only hops
//! down are possible, otherwise any. That is a superset of what packets do, so a proof of freedom holds for packets.

use etherweave_primitives::SwitchId;
use etherweave_topology::Topology;

use crate::plan::{DestinationSet, FRESH, RoutingPlan, RoutingStep};
use crate::{adjacencies::Adjacencies, order::Order};

/// The last hop led down: the packet may not climb any more.
const DESCENDING: u32 = FRESH + 1;
const UNREACHED: u32 = u32::MAX;
const ANYWHERE: DestinationSet = DestinationSet::Set(0);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Climb {
    /// Where no path leads down.
    AsNeeded,
    /// Where no path down is shorter.
    AsShorter,
}

/// Hops from every switch to one destination.
struct Distances {
    down: Vec<u32>,
    /// First up, then down.
    legal: Vec<u32>,
}

pub(crate) struct Ranked {
    adjacencies: Adjacencies,
    is_up: Vec<bool>,
    highest_first: Vec<SwitchId>,
    climb: Climb,
    hops_max: u32,
    /// Distances by destination, none for switches without hosts; empty where the fabric is too large for a list.
    listed: Vec<Option<Distances>>,
}

impl Ranked {
    /// Without a list of distances; no path takes more than `hops_max` hops.
    pub fn new(topology: &Topology, order: Order, climb: Climb, hops_max: u32) -> Ranked {
        let adjacencies = Adjacencies::of(topology);
        let is_up = (0..adjacencies.len() as u32)
            .map(|adjacency| order.is_up(topology, adjacencies.channels(adjacency)[0]))
            .collect();
        Ranked { adjacencies, is_up, highest_first: order.highest_first, climb, hops_max, listed: Vec::new() }
    }

    /// Adds a list of distances to some switches.
    pub fn listed(mut self, destinations: &[SwitchId]) -> Ranked {
        let mut listed: Vec<Option<Distances>> = (0..self.adjacencies.switches()).map(|_| None).collect();
        destinations.iter().for_each(|&dst| listed[dst.index()] = Some(self.measure(dst)));
        let hops = listed.iter().flatten().flat_map(|distances| &distances.legal).copied();
        self.hops_max = hops.filter(|&hops| hops != UNREACHED).max().unwrap_or_default();
        self.listed = listed;
        self
    }

    /// Whether there are paths between any two of some switches: by sets of what is below, a bit per switch and
    /// destination.
    pub fn joins(&self, destinations: &[SwitchId]) -> bool {
        let words = destinations.len().div_ceil(64);
        let mut reached = vec![0u64; self.adjacencies.switches() * words];
        for (column, dst) in destinations.iter().enumerate() {
            reached[dst.index() * words + column / 64] |= 1 << (column % 64);
        }
        self.highest_first.iter().rev().for_each(|&at| self.gather(&mut reached, words, at, false));
        self.highest_first.iter().for_each(|&at| self.gather(&mut reached, words, at, true));
        let count = |at: &SwitchId| {
            let set = &reached[at.index() * words..][..words];
            set.iter().map(|word| word.count_ones() as usize).sum::<usize>()
        };
        destinations.iter().all(|at| count(at) == destinations.len())
    }

    /// Adds to a switch's set those of its neighbours above or below.
    fn gather(&self, reached: &mut [u64], words: usize, at: SwitchId, up: bool) {
        for adjacency in self.adjacencies.leaving(at).filter(|&adjacency| self.is_up[adjacency as usize] == up) {
            let (from, to) = (self.adjacencies.to(adjacency).index() * words, at.index() * words);
            (0..words).for_each(|word| reached[to + word] |= reached[from + word]);
        }
    }

    /// All distances to one switch: highest switches last downwards, first upwards.
    fn measure(&self, dst: SwitchId) -> Distances {
        let mut down = vec![UNREACHED; self.adjacencies.switches()];
        down[dst.index()] = 0;
        self.highest_first.iter().rev().for_each(|&at| self.relax(&mut down, at, false));
        let mut legal = down.clone();
        let climbs = |at: &&SwitchId| self.climb == Climb::AsShorter || down[at.index()] == UNREACHED;
        self.highest_first.iter().filter(climbs).for_each(|&at| self.relax(&mut legal, at, true));
        Distances { down, legal }
    }

    fn relax(&self, distances: &mut [u32], at: SwitchId, up: bool) {
        let adjacencies = self.adjacencies.leaving(at).filter(|&adjacency| self.is_up[adjacency as usize] == up);
        let least =
            adjacencies.map(|adjacency| distances[self.adjacencies.to(adjacency).index()]).min().unwrap_or(UNREACHED);
        distances[at.index()] = distances[at.index()].min(least.saturating_add(1));
    }

    /// Whether packets that arrived in some phase may take an adjacency towards the switch of some distances.
    fn is_next(&self, distances: &Distances, at: SwitchId, phase: u32, adjacency: u32) -> bool {
        let (down, to) = (distances.down[at.index()], self.adjacencies.to(adjacency).index());
        let climbs = self.is_up[adjacency as usize];
        let may_climb = phase != DESCENDING && (self.climb == Climb::AsShorter || down == UNREACHED);
        let left = if phase == DESCENDING { down } else { distances.legal[at.index()] };
        let after = if climbs { distances.legal[to] } else { distances.down[to] };
        (may_climb || !climbs) && after != UNREACHED && after + 1 == left
    }
}

impl RoutingPlan for Ranked {
    fn adjacencies(&self) -> &Adjacencies {
        &self.adjacencies
    }

    fn stages(&self) -> u32 {
        1
    }

    fn hops_max(&self) -> u32 {
        self.hops_max
    }

    fn phase(&self, adjacency: u32, _: u8) -> u32 {
        if self.is_up[adjacency as usize] { FRESH } else { DESCENDING }
    }

    fn has_memory(&self) -> bool {
        self.climb == Climb::AsShorter
    }

    fn everything(&self) -> Option<DestinationSet> {
        self.listed.is_empty().then_some(ANYWHERE)
    }

    fn is_exact(&self) -> bool {
        !self.listed.is_empty()
    }

    fn steps(&self, at: SwitchId, phase: u32, destinations: DestinationSet, out: &mut Vec<RoutingStep>) {
        let step = |adjacency| RoutingStep { adjacency, stage: 0, destinations };
        let leaving = self.adjacencies.leaving(at);
        let DestinationSet::Switch(dst) = destinations else {
            let may_take = |adjacency: &u32| phase != DESCENDING || !self.is_up[*adjacency as usize];
            return out.extend(leaving.filter(may_take).map(step));
        };
        let measurement;
        let distances = match self.listed.get(dst.index()) {
            Some(listed) => listed.as_ref().expect("packets destinations at switches with hosts"),
            None => {
                measurement = self.measure(dst);
                &measurement
            }
        };
        out.extend(leaving.filter(|&adjacency| self.is_next(distances, at, phase, adjacency)).map(step));
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::HostId;
    use etherweave_topology::TopologyKind;

    use super::*;
    use crate::{Legality, prove};

    fn ranked(topology: &Topology, climb: Climb) -> Ranked {
        Ranked::new(topology, Order::by_root(topology), climb, topology.switches() as u32)
    }

    fn access(topology: &Topology) -> Vec<SwitchId> {
        let mut access: Vec<SwitchId> =
            (0..topology.hosts()).map(|host| topology.switch_of(HostId::from_index(host))).collect();
        access.sort_unstable();
        access.dedup();
        access
    }

    /// Compares distances measured on demand with those listed, on every small fabric.
    fn check(climb: Climb) {
        for topology in TopologyKind::examples().iter().map(|kind| kind.generate().unwrap()) {
            let access = access(&topology);
            let (found, listed) = (ranked(&topology, climb), ranked(&topology, climb).listed(&access));
            assert!(found.joins(&access) && !found.is_exact() && listed.is_exact());
            for (at, &dst) in (0..topology.switches()).flat_map(|at| access.iter().map(move |dst| (at, dst))) {
                for phase in [FRESH, DESCENDING] {
                    let steps = |plan: &Ranked| {
                        let mut out = Vec::new();
                        plan.steps(SwitchId::from_index(at), phase, DestinationSet::Switch(dst), &mut out);
                        out
                    };
                    assert_eq!(steps(&found), steps(&listed));
                }
            }
            let [found, listed] = [found, listed].map(|plan| {
                let legality = Legality::new(&topology, Box::new(plan)).unwrap();
                prove(&topology, &legality)
            });
            assert!(found.is_free() && listed.is_free() && !found.is_exact && listed.is_exact);
            assert!(found.dependencies >= listed.dependencies && found.channels >= listed.channels);
        }
    }

    #[test]
    fn distances_measured_on_demand_equal_those_that_are_listed_and_turns_cover_all_packets() {
        check(Climb::AsShorter);
        check(Climb::AsNeeded);
    }

    #[test]
    fn a_wrong_rank_shows_as_a_cycle_of_turns() {
        // A ring of three, each of whose adjacencies leads "down": a packet that descended may descend again, round the
        // ring.
        let dimensions = vec![etherweave_topology::Dimension::of(3)];
        let kind = TopologyKind::Torus(etherweave_topology::Torus { dimensions, ..Default::default() });
        let topology = kind.generate().unwrap();
        let mut plan = ranked(&topology, Climb::AsShorter);
        plan.is_up.fill(false);
        let legality = Legality::new(&topology, Box::new(plan)).unwrap();
        assert!(!prove(&topology, &legality).is_free());
    }

    #[test]
    fn switches_without_a_common_summit_are_not_joined() {
        // Two leaves and two cores in a line, leaf - core - leaf - core - leaf: by level, the outer leaves share none.
        let links = "h0,s0\nh1,s1\nh2,s2\ns0,s3\ns3,s1\ns1,s4\ns4,s2";
        let custom = etherweave_topology::Custom { links: format!("from,to\n{links}"), ..Default::default() };
        let topology = TopologyKind::Custom(custom).generate().unwrap();
        let by_height =
            Order { highest_first: [4, 3, 2, 1, 0].map(SwitchId::new).to_vec(), heights: vec![0, 1, 2, 3, 4] };
        let plan = Ranked::new(&topology, by_height, Climb::AsNeeded, 4);
        assert!(!plan.joins(&access(&topology)));
        assert!(ranked(&topology, Climb::AsNeeded).joins(&access(&topology)));
    }
}
