//! Up/down in fabrics of subtrees, computed from coordinates: folded Clos networks and fat trees of any size.
//!
//! A switch of level `l` belongs to the subtree that its digits above `l` name; it joins, of its own subtree, children
//! subtrees below and, in the subtree around it, parents above. Where every switch joins each of the subtrees below
//! its own, every switch reaches every leaf of its subtree downwards, and the shortest legal path climbs exactly until
//! the destination is below. Every switch is checked for that; where one does not comply, there is the table.

use std::collections::{BTreeMap, BTreeSet};

use etherweave_primitives::{HostId, InputError, SwitchId};
use etherweave_topology::Topology;

use crate::plan::{DestinationSet, FRESH, RoutingPlan, RoutingStep};
use crate::{RoutingTable, adjacencies::Adjacencies};

/// All leaves: the destinations of packets that come from a host.
const EVERYTHING: DestinationSet = DestinationSet::Set(u32::MAX);
/// The leaves of the subtree that the switch is in.
const BELOW: DestinationSet = DestinationSet::Set(u32::MAX - 1);

/// All leaves but those of one child subtree, by that child's digit.
fn beyond(digit: u32) -> DestinationSet {
    DestinationSet::Set(digit)
}

/// A fabric of nested subtrees, complete as the module describes.
pub(crate) struct SubtreePlan {
    adjacencies: Adjacencies,
    levels: Vec<u8>,
    /// Digits, lowest stage first, those of switch `s` from `s · depth` on.
    digits: Vec<u32>,
    depth: usize,
    /// Whether there are leaves outside the subtree of a switch, by its level.
    has_beyond: Vec<bool>,
}

impl SubtreePlan {
    /// None when the fabric is no complete tree of subtrees, or has hosts elsewhere than on its leaves.
    pub fn of(topology: &Topology) -> Option<SubtreePlan> {
        let axes = topology.axes();
        // Only with these names of axes do digits name subtrees.
        let is_tree = axes.first()? == "level" && axes[1..].iter().all(|axis| axis.starts_with('x'));
        let is_on_leaf = |host| topology.level(topology.switch_of(HostId::from_index(host))) == 0;
        if !is_tree || !(0..topology.hosts()).all(is_on_leaf) {
            return None;
        }
        let switches = || (0..topology.switches()).map(SwitchId::from_index);
        let digits = |at| topology.coordinates(at)[1..].iter().rev().copied();
        let mut tree = SubtreePlan {
            adjacencies: Adjacencies::of(topology),
            levels: switches().map(|at| topology.level(at)).collect(),
            digits: switches().flat_map(digits).collect(),
            depth: axes.len() - 1,
            has_beyond: Vec::new(),
        };
        tree.is_complete().then_some(tree)
    }

    /// The routing as a table: a set of channels for each child of a switch, and one for all destinations beyond.
    pub fn table(&self, topology: &Topology) -> Result<RoutingTable, InputError> {
        let child = |at, dst| {
            let level = self.level(at);
            let is_below = self.subtree(dst, level) == self.subtree(at, level);
            is_below.then(|| self.digits(dst)[level - 1])
        };
        RoutingTable::by_key(topology, child, |at, dst, set| {
            let mut steps = Vec::new();
            self.steps(at, FRESH, DestinationSet::Switch(dst), &mut steps);
            set.extend(steps.iter().flat_map(|step| self.adjacencies.channels(step.adjacency)));
        })
    }

    fn level(&self, at: SwitchId) -> usize {
        usize::from(self.levels[at.index()])
    }

    fn digits(&self, at: SwitchId) -> &[u32] {
        &self.digits[at.index() * self.depth..][..self.depth]
    }

    /// The digits that name the subtree of some level around a switch.
    fn subtree(&self, at: SwitchId, level: usize) -> &[u32] {
        &self.digits(at)[level.min(self.depth)..]
    }

    /// Returns the number of the child that a switch belongs to, of the subtree around it.
    fn digit(&self, at: SwitchId) -> u32 {
        self.digits(at).get(self.level(at)).copied().unwrap_or_default()
    }

    fn is_up(&self, adjacency: u32) -> bool {
        self.level(self.adjacencies.to(adjacency)) > self.level(self.adjacencies.from(adjacency))
    }

    /// Every link joins a switch with one of the subtree around it, every switch joins all children of its subtree, and
    /// where there are leaves beyond, a path leads up.
    fn is_complete(&mut self) -> bool {
        let switches = || (0..self.levels.len()).map(SwitchId::from_index);
        let mut children: BTreeMap<(usize, &[u32]), BTreeSet<u32>> = BTreeMap::new();
        for at in switches() {
            let (level, around) = (self.level(at), self.subtree(at, self.level(at) + 1));
            children.entry((level + 1, around)).or_default().insert(self.digit(at));
        }
        let mut counts = vec![0; self.depth + 1];
        children.iter().for_each(|((above, _), all)| counts[above - 1] += all.len());
        let has_beyond: Vec<bool> = counts.into_iter().map(|subtrees| subtrees > 1).collect();
        let is_complete = switches().all(|at| {
            let level = self.level(at);
            let joined: BTreeSet<u32> =
                self.down(at).map(|adjacency| self.digit(self.adjacencies.to(adjacency))).collect();
            let expected = children.get(&(level, self.subtree(at, level)));
            (level == 0 || expected == Some(&joined)) && (!has_beyond[level] || self.up(at).next().is_some())
        });
        self.has_beyond = has_beyond;
        is_complete && (0..self.adjacencies.len() as u32).all(|adjacency| self.is_nested(adjacency))
    }

    fn is_nested(&self, adjacency: u32) -> bool {
        let [from, to] = [self.adjacencies.from(adjacency), self.adjacencies.to(adjacency)];
        let [low, high] = if self.is_up(adjacency) { [from, to] } else { [to, from] };
        let level = self.level(high);
        level == self.level(low) + 1 && self.subtree(low, level) == self.subtree(high, level)
    }

    fn up(&self, at: SwitchId) -> impl Iterator<Item = u32> {
        self.adjacencies.leaving(at).filter(|&adjacency| self.is_up(adjacency))
    }

    fn down(&self, at: SwitchId) -> impl Iterator<Item = u32> {
        self.adjacencies.leaving(at).filter(|&adjacency| !self.is_up(adjacency))
    }

    fn climb(&self, at: SwitchId, destinations: DestinationSet, out: &mut Vec<RoutingStep>) {
        out.extend(self.up(at).map(|adjacency| RoutingStep { adjacency, stage: 0, destinations }));
    }

    /// Down to the children whose digits are wanted.
    fn descend(
        &self,
        at: SwitchId,
        is_wanted: impl Fn(u32) -> bool,
        destinations: DestinationSet,
        out: &mut Vec<RoutingStep>,
    ) {
        let wanted = self.down(at).filter(|&adjacency| is_wanted(self.digit(self.adjacencies.to(adjacency))));
        out.extend(wanted.map(|adjacency| RoutingStep { adjacency, stage: 0, destinations }));
    }
}

impl RoutingPlan for SubtreePlan {
    fn adjacencies(&self) -> &Adjacencies {
        &self.adjacencies
    }

    fn stages(&self) -> u32 {
        1
    }

    fn hops_max(&self) -> u32 {
        2 * self.has_beyond.iter().filter(|&&has| has).count() as u32
    }

    fn everything(&self) -> Option<DestinationSet> {
        Some(EVERYTHING)
    }

    fn steps(&self, at: SwitchId, _: u32, destinations: DestinationSet, out: &mut Vec<RoutingStep>) {
        let level = self.level(at);
        match destinations {
            DestinationSet::Switch(dst) if self.subtree(dst, level) == self.subtree(at, level) => {
                let child = self.digits(dst)[level - 1];
                self.descend(at, |digit| digit == child, destinations, out);
            }
            DestinationSet::Switch(_) => self.climb(at, destinations, out),
            BELOW => self.descend(at, |_| true, BELOW, out),
            // Only packets from hosts have all leaves as destinations, on leaves; elsewhere they arrive from some
            // child.
            set => {
                self.descend(at, |digit| set != beyond(digit), BELOW, out);
                if self.has_beyond[level] {
                    self.climb(at, beyond(self.digit(at)), out);
                }
            }
        }
    }
}
