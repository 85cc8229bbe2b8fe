//! Search for fabrics that have enough hosts, and not too many.

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
        let planned = kind.hosts_planned();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_with_too_many_hosts_are_left_out_with_the_range() {
        let (proposals, reasons) = proposals(&(1_000..=2_000), 64);
        assert!(proposals.len() > 8, "{proposals:?}");
        let hosts: Vec<u64> = proposals.iter().map(|proposal| proposal.kind.hosts_planned()).collect();
        assert!(hosts.iter().all(|hosts| (1_000..=2_000).contains(hosts)), "{hosts:?}");
        let reason = "dragonfly largest: 262656 hosts; expected 1000 to 2000";
        assert!(reasons.iter().any(|text| text == reason), "{reasons:?}");
    }
}
