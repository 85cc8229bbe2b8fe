//! Which fabrics have enough hosts, and not too many.

use std::ops::RangeInclusive;

use etherweave_topology::{FamilyFit, SizeRequest, TopologyKind};

/// A member of a family that fulfils a request.
#[derive(Clone, PartialEq, Debug)]
pub struct Proposal {
    /// "dragonfly", or "dragonfly largest" for the one with the most hosts.
    pub name: String,
    /// Its parameters.
    pub kind: TopologyKind,
}

/// The smallest member of every family with at least `hosts.start()` hosts from switches of `radix` ports, then the
/// largest where it is another, both with at most `hosts.end()` hosts; and why members were left out.
pub fn proposals(hosts: &RangeInclusive<u32>, radix: u32) -> (Vec<Proposal>, Vec<String>) {
    let (mut proposals, mut reasons) = (Vec::new(), Vec::new());
    let mut add = |name: String, kind: TopologyKind| {
        let planned = planned_hosts(&kind);
        if planned <= u64::from(*hosts.end()) {
            proposals.push(Proposal { name, kind });
        } else {
            reasons.push(format!("{name}: {planned} hosts; expected {} to {}", hosts.start(), hosts.end()));
        }
    };
    let mut rejected = Vec::new();
    for (family, fit) in TopologyKind::fits(&SizeRequest { hosts: *hosts.start(), radix }) {
        match fit {
            Ok(FamilyFit { smallest, largest }) => {
                let largest = largest.filter(|largest| *largest != smallest);
                add(family.to_owned(), smallest);
                largest.into_iter().for_each(|kind| add(format!("{family} largest"), kind));
            }
            Err(error) => rejected.push(format!("{family}: {error}")),
        }
    }
    reasons.extend(rejected);
    (proposals, reasons)
}

/// The hosts that a family's parameters plan, by formula: members too large to be built have a count too.
pub(crate) fn planned_hosts(kind: &TopologyKind) -> u64 {
    let product = |factors: &mut dyn Iterator<Item = u32>| {
        factors.fold(1u64, |product, factor| product.saturating_mul(u64::from(factor)))
    };
    let of = |factors: &[u32]| product(&mut factors.iter().copied());
    match kind {
        TopologyKind::SingleSwitch(switch) => switch.hosts.into(),
        TopologyKind::FatTree(tree) => of(&[tree.leaves, tree.hosts_per_leaf]),
        TopologyKind::KAryFatTree(tree) => of(&[tree.k, tree.k / 2, tree.k / 2]),
        TopologyKind::StagedFatTree(tree) => {
            of(&[tree.hosts_per_leaf]).saturating_mul(product(&mut tree.stages.iter().map(|stage| stage.down)))
        }
        TopologyKind::FoldedClos(clos) => clos.hosts.into(),
        TopologyKind::RailOptimised(rails) => of(&[rails.rails, rails.servers]),
        TopologyKind::FlattenedButterfly(butterfly) => {
            of(&[butterfly.hosts_per_switch]).saturating_mul(of(&butterfly.sizes))
        }
        TopologyKind::HyperX(grid) => {
            of(&[grid.hosts_per_switch]).saturating_mul(product(&mut grid.dimensions.iter().map(|one| one.size)))
        }
        TopologyKind::Torus(grid) => {
            of(&[grid.hosts_per_switch]).saturating_mul(product(&mut grid.dimensions.iter().map(|one| one.size)))
        }
        TopologyKind::Mesh(grid) => {
            of(&[grid.hosts_per_switch]).saturating_mul(product(&mut grid.dimensions.iter().map(|one| one.size)))
        }
        TopologyKind::Dragonfly(dragonfly) => {
            let all = dragonfly.a.saturating_mul(dragonfly.h).saturating_add(1);
            of(&[dragonfly.p, dragonfly.a, dragonfly.groups.unwrap_or(all)])
        }
        TopologyKind::DragonflyPlus(dragonfly) => {
            let all = dragonfly.spines.saturating_mul(dragonfly.h).saturating_add(1);
            of(&[dragonfly.p, dragonfly.leaves, dragonfly.groups.unwrap_or(all)])
        }
        TopologyKind::SlimFly(fly) => {
            // As many hosts as half of the links to other switches, as the family plans unless it is given.
            let degree = if fly.q % 4 == 3 { (3 * u64::from(fly.q)).div_ceil(2) } else { 3 * u64::from(fly.q) / 2 };
            let hosts_per_switch = fly.hosts_per_switch.map_or(degree.div_ceil(2), u64::from);
            of(&[2, fly.q, fly.q]).saturating_mul(hosts_per_switch)
        }
        TopologyKind::Custom(custom) => custom.hosts.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planned_hosts_are_those_of_the_fabric() {
        for kind in TopologyKind::examples() {
            if matches!(&kind, TopologyKind::Custom(_)) {
                continue;
            }
            assert_eq!(planned_hosts(&kind), kind.generate().unwrap().hosts() as u64, "{kind:?}");
        }
    }

    #[test]
    fn members_with_too_many_hosts_are_left_out_with_the_range() {
        let (proposals, reasons) = proposals(&(1_000..=2_000), 64);
        assert!(proposals.len() > 8, "{proposals:?}");
        let hosts: Vec<u64> = proposals.iter().map(|one| planned_hosts(&one.kind)).collect();
        assert!(hosts.iter().all(|hosts| (1_000..=2_000).contains(hosts)), "{hosts:?}");
        let reason = "dragonfly largest: 262656 hosts; expected 1000 to 2000";
        assert!(reasons.iter().any(|one| one == reason), "{reasons:?}");
    }
}
