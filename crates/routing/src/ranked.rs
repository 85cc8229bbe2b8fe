//! Ways that go up, then down, in a total order of the switches: distances from one destination at a time.
//!
//! Small fabrics have the distances of all destinations listed. In large ones they are found again for each question,
//! in time linear in the links, and a proof looks at whole turns instead of packets: after a hop down only hops down
//! are possible, otherwise any. That is a superset of what packets do, so free of rings means free.

use etherweave_primitives::SwitchId;
use etherweave_topology::Topology;

use crate::joints::Joints;
use crate::order::Order;
use crate::plan::{Aim, FRESH, Plan, Step};

/// Came down: may not climb any more.
const DESCENDING: u32 = FRESH + 1;
/// Farther than any switch.
const UNREACHED: u32 = u32::MAX;
/// Any destination.
const ANYWHERE: Aim = Aim::Set(0);

/// When packets climb.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Climb {
    /// Where no way leads down.
    AsNeeded,
    /// Where no way down is shorter.
    AsShorter,
}

/// Hops from every switch to one destination.
struct Distances {
    /// Downwards only.
    down: Vec<u32>,
    /// First up, then down.
    legal: Vec<u32>,
}

/// Legal ways by their lengths.
pub(crate) struct Ranked {
    joints: Joints,
    /// By joint.
    is_up: Vec<bool>,
    highest_first: Vec<SwitchId>,
    climb: Climb,
    hops_max: u32,
    /// By destination, none where nothing is asked about; empty where the fabric is too large for that.
    listed: Vec<Option<Distances>>,
}

impl Ranked {
    /// Without a list; at most so many hops.
    pub fn new(topology: &Topology, order: Order, climb: Climb, hops_max: u32) -> Ranked {
        let joints = Joints::of(topology);
        let is_up = (0..joints.len() as u32).map(|joint| order.is_up(topology, joints.channels(joint)[0])).collect();
        Ranked { joints, is_up, highest_first: order.highest_first, climb, hops_max, listed: Vec::new() }
    }

    /// With a list of distances to some switches.
    pub fn listed(mut self, destinations: &[SwitchId]) -> Ranked {
        let mut listed: Vec<Option<Distances>> = (0..self.joints.switches()).map(|_| None).collect();
        destinations.iter().for_each(|&dst| listed[dst.index()] = Some(self.measure(dst)));
        let hops = listed.iter().flatten().flat_map(|distances| &distances.legal).copied();
        self.hops_max = hops.filter(|&hops| hops != UNREACHED).max().unwrap_or_default();
        self.listed = listed;
        self
    }

    /// Whether there are ways between any two of some switches: by sets of what is below, a bit per switch and
    /// destination.
    pub fn joins(&self, destinations: &[SwitchId]) -> bool {
        let words = destinations.len().div_ceil(64);
        let mut reached = vec![0u64; self.joints.switches() * words];
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
        for joint in self.joints.leaving(at).filter(|&joint| self.is_up[joint as usize] == up) {
            let (from, to) = (self.joints.to(joint).index() * words, at.index() * words);
            (0..words).for_each(|word| reached[to + word] |= reached[from + word]);
        }
    }

    /// All distances to one switch: highest switches last on the way from it, first on the way back.
    fn measure(&self, dst: SwitchId) -> Distances {
        let mut down = vec![UNREACHED; self.joints.switches()];
        down[dst.index()] = 0;
        self.highest_first.iter().rev().for_each(|&at| self.relax(&mut down, at, false));
        let mut legal = down.clone();
        let climbs = |at: &&SwitchId| self.climb == Climb::AsShorter || down[at.index()] == UNREACHED;
        self.highest_first.iter().filter(climbs).for_each(|&at| self.relax(&mut legal, at, true));
        Distances { down, legal }
    }

    fn relax(&self, distances: &mut [u32], at: SwitchId, up: bool) {
        let joints = self.joints.leaving(at).filter(|&joint| self.is_up[joint as usize] == up);
        let least = joints.map(|joint| distances[self.joints.to(joint).index()]).min().unwrap_or(UNREACHED);
        distances[at.index()] = distances[at.index()].min(least.saturating_add(1));
    }

    /// Whether packets that came in some phase may take a joint towards the switch of some distances.
    fn is_next(&self, distances: &Distances, at: SwitchId, phase: u32, joint: u32) -> bool {
        let (down, to) = (distances.down[at.index()], self.joints.to(joint).index());
        let climbs = self.is_up[joint as usize];
        let may_climb = phase != DESCENDING && (self.climb == Climb::AsShorter || down == UNREACHED);
        let left = if phase == DESCENDING { down } else { distances.legal[at.index()] };
        let after = if climbs { distances.legal[to] } else { distances.down[to] };
        (may_climb || !climbs) && after != UNREACHED && after + 1 == left
    }
}

impl Plan for Ranked {
    fn joints(&self) -> &Joints {
        &self.joints
    }

    fn stages(&self) -> u32 {
        1
    }

    fn hops_max(&self) -> u32 {
        self.hops_max
    }

    fn phase(&self, joint: u32, _: u8) -> u32 {
        if self.is_up[joint as usize] { FRESH } else { DESCENDING }
    }

    fn has_memory(&self) -> bool {
        self.climb == Climb::AsShorter
    }

    fn everything(&self) -> Option<Aim> {
        self.listed.is_empty().then_some(ANYWHERE)
    }

    fn is_exact(&self) -> bool {
        !self.listed.is_empty()
    }

    fn steps(&self, at: SwitchId, phase: u32, aim: Aim, out: &mut Vec<Step>) {
        let step = |joint| Step { joint, stage: 0, aim };
        let leaving = self.joints.leaving(at);
        let Aim::Switch(dst) = aim else {
            let may_take = |joint: &u32| phase != DESCENDING || !self.is_up[*joint as usize];
            return out.extend(leaving.filter(may_take).map(step));
        };
        let found;
        let distances = match self.listed.get(dst.index()) {
            Some(listed) => listed.as_ref().expect("packets aim at switches with hosts"),
            None => {
                found = self.measure(dst);
                &found
            }
        };
        out.extend(leaving.filter(|&joint| self.is_next(distances, at, phase, joint)).map(step));
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

    /// Switches with hosts.
    fn access(topology: &Topology) -> Vec<SwitchId> {
        let mut access: Vec<SwitchId> =
            (0..topology.hosts()).map(|host| topology.switch_of(HostId::from_index(host))).collect();
        access.sort_unstable();
        access.dedup();
        access
    }

    /// Compares what is found on demand with what is listed, on every small fabric.
    fn check(climb: Climb) {
        for topology in TopologyKind::examples().iter().map(|kind| kind.generate().unwrap()) {
            let access = access(&topology);
            let (found, listed) = (ranked(&topology, climb), ranked(&topology, climb).listed(&access));
            assert!(found.joins(&access) && !found.is_exact() && listed.is_exact());
            for (at, &dst) in (0..topology.switches()).flat_map(|at| access.iter().map(move |dst| (at, dst))) {
                for phase in [FRESH, DESCENDING] {
                    let steps = |plan: &Ranked| {
                        let mut out = Vec::new();
                        plan.steps(SwitchId::from_index(at), phase, Aim::Switch(dst), &mut out);
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
    fn distances_found_on_demand_are_those_that_are_listed_and_turns_hold_all_that_packets_do() {
        check(Climb::AsShorter);
        check(Climb::AsNeeded);
    }

    #[test]
    fn a_wrong_rank_is_found_by_the_turns() {
        // A ring of three, each of whose joints leads "down": what comes down may go down again, all the way round.
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
