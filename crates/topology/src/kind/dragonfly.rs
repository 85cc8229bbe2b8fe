//! The dragonfly: Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008,
//! section 3.
//!
//! ```text
//!   group 0                group 1
//!   ┌─ s ─ s ─ s ─ s ─┐    ┌─ s ─ s ─ s ─ s ─┐     a switches per group, all joined (local links);
//!   │  every two      │────│  every two      │     p hosts and h global links per switch;
//!   └─ joined ────────┘    └─ joined ────────┘     up to a·h + 1 groups, every two joined
//! ```

use etherweave_primitives::{InputError, InputErrors, SwitchId};

use crate::check::{each_at_least_one, links, product};
use crate::group_links::{GroupLinks, group_family, groups, groups_max};
use crate::{Arrangement, AsBuilt, Builder, Family, FamilyFit, GroupShape, LinkClass, Shape, SizeRequest, Topology};

group_family! {
    /// Fully connected groups, fully connected with each other. All `a·h` global ports of a group are used: a system of
    /// few groups has several links between every two.
    Dragonfly {
        /// Hosts on every switch, at least 1; balanced at `h`. Default 2.
        p = 2,
        /// Switches in every group, at least 1; balanced at `2·h`. Default 4.
        a = 4,
        /// Global links of every switch, at least 1. Default 2.
        h = 2,
    }
    /// Groups, 1..=`a·h + 1`: `g` of Kim et al. Absent: `a·h + 1`.
    groups
}

impl Family for Dragonfly {
    fn generate(&self) -> Result<Topology, InputErrors> {
        let groups = self.check()?;
        let mut builder = Builder::with_axes(["group", "switch"]);
        for (group, switch) in (0..groups).flat_map(|group| (0..self.a).map(move |switch| (group, switch))) {
            builder.add_switch_at(format!("group{group}.switch{switch}"), 0, &[group, switch]);
        }
        self.join_hosts(&mut builder, groups * self.a * self.p);
        (0..groups).for_each(|group| self.join_within(&mut builder, group));
        self.join_between(&mut builder, groups);
        Ok(builder.build_as(&self.as_built)?)
    }

    fn examples() -> Vec<Self> {
        let dragonfly = |groups, arrangement| Dragonfly { groups, arrangement, ..Dragonfly::default() };
        vec![
            dragonfly(None, Arrangement::PalmTree),
            dragonfly(Some(4), Arrangement::Consecutive),
            dragonfly(Some(6), Arrangement::Random { seed: 1 }),
            Dragonfly { p: 1, a: 1, h: 2, ..Dragonfly::default() },
            dragonfly(Some(1), Arrangement::PalmTree),
        ]
    }

    fn as_built(&self) -> &AsBuilt {
        &self.as_built
    }

    fn shape(&self) -> Shape {
        Shape::Groups(GroupShape::Full)
    }

    fn hosts_planned(&self) -> u64 {
        product([self.p, self.a, self.groups.unwrap_or(groups_max(self.a, self.h))])
    }

    /// Kim et al., section 3.1: balanced at `a = 2p = 2h`, which takes `4p - 1` ports. The smallest has fewer groups
    /// and so more links between every two.
    fn fit(request: &SizeRequest) -> Result<FamilyFit<Self>, InputError> {
        request.check(3)?;
        let p = (request.radix + 1) / 4;
        let (a, h) = (2 * p, p);
        let groups = u64::from(a) * u64::from(h) + 1;
        request.check_room(groups * u64::from(a * p))?;
        let dragonfly = |groups| Dragonfly { p, a, h, groups: Some(groups), ..Dragonfly::default() };
        Ok(FamilyFit { smallest: dragonfly(request.hosts.div_ceil(a * p)), largest: Some(dragonfly(groups as u32)) })
    }
}

impl Dragonfly {
    /// How many groups there are, when all is in range.
    fn check(&self) -> Result<u32, InputErrors> {
        each_at_least_one([("p", self.p), ("a", self.a), ("h", self.h)])?;
        let groups = groups(self.groups, ("a", self.a), self.h)?;
        let switches = product([groups, self.a]);
        // Twice what each switch has of links between switches, halved.
        let ends = u64::from(self.a - 1) + u64::from(self.h);
        links(switches.saturating_mul(u64::from(self.p)).saturating_add(switches.saturating_mul(ends) / 2))?;
        Ok(groups)
    }

    fn join_within(&self, builder: &mut Builder, group: u32) {
        let switch = |place| SwitchId::new(group * self.a + place);
        for (low, high) in (0..self.a).flat_map(|low| (low + 1..self.a).map(move |high| (low, high))) {
            builder.link(switch(low), switch(high), self.local_rate, self.local_cable, LinkClass::Local);
        }
    }

    fn join_between(&self, builder: &mut Builder, groups: u32) {
        let group_links = GroupLinks { groups, ports: self.a * self.h, arrangement: self.arrangement };
        let switch = |group, port| SwitchId::new(group * self.a + port / self.h);
        group_links.join(builder, self.global_rate, self.global_cable, switch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_a_switch_are_those_of_its_ports() {
        // Figure 3c: 9 groups; switch 0 of group 0 has ports 0 and 1, which lead to groups 8 and 7 of the palm tree.
        let topology = Dragonfly::default().generate().unwrap();
        let channels = topology.out_channels(SwitchId::new(0)).iter().map(|&id| topology.channel(id));
        let global = channels.filter(|channel| channel.class == LinkClass::Global);
        let names: Vec<_> = global.map(|channel| topology.name(channel.to.node)).collect();
        assert_eq!(names, ["group8.switch3", "group7.switch3"]);
    }
}
