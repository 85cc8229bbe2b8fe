//! Up/down in fabrics of subtrees, computed from coordinates: folded Clos networks and fat trees of any size.
//!
//! A switch of level `l` belongs to the subtree that its digits above `l` name; it joins, of its own subtree, children
//! subtrees below and, in the subtree around it, parents above. Where every switch joins each of the subtrees below
//! its own, every switch reaches every leaf of its subtree downwards, and the shortest legal way climbs exactly until
//! the destination is below. Whether that holds is checked switch by switch; where it does not, there is the table.

use std::collections::{BTreeMap, BTreeSet};

use etherweave_primitives::{HostId, SwitchId};
use etherweave_topology::Topology;

use crate::joints::Joints;
use crate::plan::{Aim, FRESH, Plan, Step};
use crate::{RoutingError, Table};

/// All leaves: what packets aim at that come from a host.
const EVERYTHING: Aim = Aim::Set(u32::MAX);
/// The leaves of the subtree that the switch is in.
const BELOW: Aim = Aim::Set(u32::MAX - 1);

/// All leaves but those of one child subtree, by that child's digit.
fn beyond(digit: u32) -> Aim {
    Aim::Set(digit)
}

/// A fabric of nested subtrees, complete as said above.
pub(crate) struct Tree {
    joints: Joints,
    levels: Vec<u8>,
    /// Digits, lowest stage first, those of switch `s` from `s · depth` on.
    digits: Vec<u32>,
    depth: usize,
    /// Whether there are leaves outside the subtree of a switch, by its level.
    has_beyond: Vec<bool>,
}

impl Tree {
    /// None when the fabric is no complete tree of subtrees, or has hosts elsewhere than on its leaves.
    pub fn of(topology: &Topology) -> Option<Tree> {
        let axes = topology.axes();
        // Only where axes are called so do digits name subtrees.
        let is_tree = axes.first()? == "level" && axes[1..].iter().all(|axis| axis.starts_with('x'));
        let is_on_leaf = |host| topology.level(topology.switch_of(HostId::from_index(host))) == 0;
        if !is_tree || !(0..topology.hosts()).all(is_on_leaf) {
            return None;
        }
        let switches = || (0..topology.switches()).map(SwitchId::from_index);
        let digits = |at| topology.coordinates(at)[1..].iter().rev().copied();
        let mut tree = Tree {
            joints: Joints::of(topology),
            levels: switches().map(|at| topology.level(at)).collect(),
            digits: switches().flat_map(digits).collect(),
            depth: axes.len() - 1,
            has_beyond: Vec::new(),
        };
        tree.is_complete().then_some(tree)
    }

    /// The routing as a table: a set of channels for each child of a switch, and one for all destinations beyond.
    pub fn table(&self, topology: &Topology) -> Result<Table, RoutingError> {
        let child = |at, dst| {
            let level = self.level(at);
            let is_below = self.subtree(dst, level) == self.subtree(at, level);
            is_below.then(|| self.digits(dst)[level - 1])
        };
        Table::by_key(topology, child, |at, dst, set| {
            let mut steps = Vec::new();
            self.steps(at, FRESH, Aim::Switch(dst), &mut steps);
            set.extend(steps.iter().flat_map(|step| self.joints.channels(step.joint)));
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

    /// Which child of the subtree around it a switch belongs to.
    fn digit(&self, at: SwitchId) -> u32 {
        self.digits(at).get(self.level(at)).copied().unwrap_or_default()
    }

    fn is_up(&self, joint: u32) -> bool {
        self.level(self.joints.to(joint)) > self.level(self.joints.from(joint))
    }

    /// Every link joins a switch with one of the subtree around it, every switch joins all children of its subtree, and
    /// where there are leaves beyond, a way leads up.
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
            let joined: BTreeSet<u32> = self.down(at).map(|joint| self.digit(self.joints.to(joint))).collect();
            let expected = children.get(&(level, self.subtree(at, level)));
            (level == 0 || expected == Some(&joined)) && (!has_beyond[level] || self.up(at).next().is_some())
        });
        self.has_beyond = has_beyond;
        is_complete && (0..self.joints.len() as u32).all(|joint| self.is_nested(joint))
    }

    fn is_nested(&self, joint: u32) -> bool {
        let [from, to] = [self.joints.from(joint), self.joints.to(joint)];
        let [low, high] = if self.is_up(joint) { [from, to] } else { [to, from] };
        let level = self.level(high);
        level == self.level(low) + 1 && self.subtree(low, level) == self.subtree(high, level)
    }

    fn up(&self, at: SwitchId) -> impl Iterator<Item = u32> {
        self.joints.leaving(at).filter(|&joint| self.is_up(joint))
    }

    fn down(&self, at: SwitchId) -> impl Iterator<Item = u32> {
        self.joints.leaving(at).filter(|&joint| !self.is_up(joint))
    }

    fn climb(&self, at: SwitchId, aim: Aim, out: &mut Vec<Step>) {
        out.extend(self.up(at).map(|joint| Step { joint, stage: 0, aim }));
    }

    /// Down to the children with digits that are asked for.
    fn descend(&self, at: SwitchId, is_asked: impl Fn(u32) -> bool, aim: Aim, out: &mut Vec<Step>) {
        let asked = self.down(at).filter(|&joint| is_asked(self.digit(self.joints.to(joint))));
        out.extend(asked.map(|joint| Step { joint, stage: 0, aim }));
    }
}

impl Plan for Tree {
    fn joints(&self) -> &Joints {
        &self.joints
    }

    fn stages(&self) -> u32 {
        1
    }

    fn hops_max(&self) -> u32 {
        2 * self.has_beyond.iter().filter(|&&has| has).count() as u32
    }

    fn everything(&self) -> Option<Aim> {
        Some(EVERYTHING)
    }

    fn steps(&self, at: SwitchId, _: u32, aim: Aim, out: &mut Vec<Step>) {
        let level = self.level(at);
        match aim {
            Aim::Switch(dst) if self.subtree(dst, level) == self.subtree(at, level) => {
                let child = self.digits(dst)[level - 1];
                self.descend(at, |digit| digit == child, aim, out);
            }
            Aim::Switch(_) => self.climb(at, aim, out),
            BELOW => self.descend(at, |_| true, BELOW, out),
            // Only packets from hosts aim at everything, on leaves; elsewhere they came from some child.
            set => {
                self.descend(at, |digit| set != beyond(digit), BELOW, out);
                if self.has_beyond[level] {
                    self.climb(at, beyond(self.digit(at)), out);
                }
            }
        }
    }
}
