//! Dragonfly+, or megafly: Shpiner, Haramaty, Eliad, Zdornov, Gafni and Zahavi, "Dragonfly+: low cost topology for
//! scaling datacenters", HiPINEB 2017, section III.
//!
//! ```text
//!   to other groups   │││    │││    │││       h global links per spine
//!                    spine  spine  spine
//!                      │ ╲ ╱ │ ╲ ╱ │          every leaf joins every spine of its group
//!                     leaf   leaf   leaf
//!                     │││    │││    │││       p hosts per leaf
//! ```

use etherweave_primitives::{InputError, InputErrors, SwitchId};

use crate::check::{each_at_least_one, links, product};
use crate::group_links::{GroupLinks, group_family, groups, groups_max};
use crate::{Arrangement, AsBuilt, Builder, Family, FamilyFit, GroupShape, LinkClass, Shape, SizeRequest, Topology};

group_family! {
    /// A dragonfly whose groups are two-level trees; spines have the global links and no hosts.
    DragonflyPlus {
        /// Hosts on every leaf, at least 1. Default 2.
        p = 2,
        /// Leaves in every group, at least 1. Default 2.
        leaves = 2,
        /// Spines in every group, at least 1. Default 2.
        spines = 2,
        /// Global links of every spine, at least 1. Default 2.
        h = 2,
    }
    /// Groups, 1..=`spines·h + 1`. Absent: `spines·h + 1`.
    groups
}

impl Family for DragonflyPlus {
    fn generate(&self) -> Result<Topology, InputErrors> {
        let groups = self.check()?;
        let mut builder = Builder::with_axes(["level", "group", "switch"]);
        for (group, leaf) in (0..groups).flat_map(|group| (0..self.leaves).map(move |leaf| (group, leaf))) {
            builder.add_switch_at(format!("group{group}.leaf{leaf}"), 0, &[0, group, leaf]);
        }
        for (group, spine) in (0..groups).flat_map(|group| (0..self.spines).map(move |spine| (group, spine))) {
            builder.add_switch_at(format!("group{group}.spine{spine}"), 1, &[1, group, spine]);
        }
        self.join_hosts(&mut builder, groups * self.leaves * self.p);
        self.join_within(&mut builder, groups);
        self.join_between(&mut builder, groups);
        Ok(builder.build_as(&self.as_built)?)
    }

    fn examples() -> Vec<Self> {
        let plus = |groups, arrangement| DragonflyPlus { groups, arrangement, ..DragonflyPlus::default() };
        vec![
            plus(None, Arrangement::PalmTree),
            plus(Some(3), Arrangement::Consecutive),
            DragonflyPlus { leaves: 3, h: 1, ..plus(None, Arrangement::Random { seed: 5 }) },
        ]
    }

    fn as_built(&self) -> &AsBuilt {
        &self.as_built
    }

    fn shape(&self) -> Shape {
        Shape::Groups(GroupShape::Tree)
    }

    fn hosts_planned(&self) -> u64 {
        product([self.p, self.leaves, self.groups.unwrap_or(groups_max(self.spines, self.h))])
    }

    /// Half of every switch's ports upward: `P/2` leaves of `P/2` hosts under `P/2` spines of `P/2` global links. The
    /// smallest has fewer groups and so more links between every two.
    fn fit(request: &SizeRequest) -> Result<FamilyFit<Self>, InputError> {
        request.check(2)?;
        let half = request.radix / 2;
        let groups = u64::from(half) * u64::from(half) + 1;
        request.check_room(groups * u64::from(half * half))?;
        let plus = |groups: u32| {
            let [p, leaves, spines, h] = [half; 4];
            DragonflyPlus { p, leaves, spines, h, groups: Some(groups), ..DragonflyPlus::default() }
        };
        Ok(FamilyFit { smallest: plus(request.hosts.div_ceil(half * half)), largest: Some(plus(groups as u32)) })
    }
}

impl DragonflyPlus {
    /// How many groups there are, when all is in range.
    fn check(&self) -> Result<u32, InputErrors> {
        let positive = [("p", self.p), ("leaves", self.leaves), ("spines", self.spines), ("h", self.h)];
        each_at_least_one(positive)?;
        let groups = groups(self.groups, ("spines", self.spines), self.h)?;
        let per_group = [product([self.leaves, self.p]), product([self.leaves, self.spines])];
        let within = per_group.into_iter().fold(0, u64::saturating_add);
        let between = product([self.spines, self.h]).div_ceil(2);
        links(u64::from(groups).saturating_mul(within.saturating_add(between)))?;
        Ok(groups)
    }

    fn join_within(&self, builder: &mut Builder, groups: u32) {
        for (group, leaf) in (0..groups).flat_map(|group| (0..self.leaves).map(move |leaf| (group, leaf))) {
            let leaf = SwitchId::new(group * self.leaves + leaf);
            for spine in 0..self.spines {
                let spine = self.spine(groups, group, spine);
                builder.link(leaf, spine, self.local_rate, self.local_cable, LinkClass::Local);
            }
        }
    }

    fn join_between(&self, builder: &mut Builder, groups: u32) {
        let group_links = GroupLinks { groups, ports: self.spines * self.h, arrangement: self.arrangement };
        let spine = |group, port| self.spine(groups, group, port / self.h);
        group_links.join(builder, self.global_rate, self.global_cable, spine);
    }

    fn spine(&self, groups: u32, group: u32, spine: u32) -> SwitchId {
        SwitchId::new(groups * self.leaves + group * self.spines + spine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_paper() {
        // Shpiner et al., section III: k/2 leaves and spines per group, (k/2)² + 1 groups of (k/2)² hosts.
        let fit = DragonflyPlus::fit(&SizeRequest { hosts: 1, radix: 8 }).unwrap();
        let topology = fit.largest.unwrap().generate().unwrap();
        assert_eq!((topology.hosts(), topology.switches()), (16 * 17, 8 * 17));
        assert!((0..topology.switches()).all(|switch| topology.ports_used(SwitchId::from_index(switch)) == 8));
    }
}
