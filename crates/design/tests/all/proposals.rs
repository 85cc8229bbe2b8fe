//! Proposals of `--find` have the hosts, and their switches have the ports.

use etherweave_design::proposals;
use etherweave_primitives::SwitchId;
use etherweave_topology::{SizeRequest, TopologyKind};

/// Requests whose members are quickly built, and some that few families can fulfil.
const HOSTS: [u32; 5] = [1, 7, 48, 300, 2_000];
const RADICES: [u32; 6] = [1, 2, 5, 8, 24, 64];

/// More links are not built here: the largest member of a family may have billions of hosts.
const HOSTS_BUILT: u64 = 30_000;

#[test]
fn every_proposal_has_the_hosts_and_no_switch_has_more_ports_than_there_are() {
    let mut built = 0;
    for request in HOSTS.into_iter().flat_map(|hosts| RADICES.map(|radix| SizeRequest { hosts, radix })) {
        let (found, rejected) = proposals(&(request.hosts..=u32::MAX), request.radix);
        let families: Vec<&str> = found.iter().map(|proposal| proposal.kind.name()).collect();
        for family in TopologyKind::NAMES {
            let is_rejected = rejected.iter().any(|reason| reason.starts_with(&format!("{family}: ")));
            assert!(families.contains(family) != is_rejected, "{family} is proposed or rejected: {request:?}");
        }
        for proposal in found.iter().filter(|proposal| !proposal.name.ends_with("largest")) {
            let topology =
                proposal.kind.generate().unwrap_or_else(|error| panic!("{request:?}: {proposal:?}: {error}"));
            assert!(topology.hosts() >= request.hosts as usize, "{request:?}: {proposal:?}");
            let switches = (0..topology.switches()).map(SwitchId::from_index);
            let ports = switches.map(|switch| topology.ports_used(switch)).max().unwrap();
            assert!(ports <= request.radix, "{ports} ports: {request:?}: {proposal:?}");
            built += 1;
        }
    }
    assert!(built > 100, "{built}");
}

#[test]
fn the_largest_of_a_family_is_larger_than_its_smallest_and_fits_too() {
    let mut built = 0;
    for request in
        [SizeRequest { hosts: 4, radix: 4 }, SizeRequest { hosts: 10, radix: 7 }, SizeRequest { hosts: 60, radix: 8 }]
    {
        let (found, _) = proposals(&(request.hosts..=u32::MAX), request.radix);
        for pair in found.windows(2).filter(|pair| pair[1].name == format!("{} largest", pair[0].name)) {
            let [smallest, largest] = [&pair[0].kind, &pair[1].kind].map(|kind| kind.generate());
            let smallest = smallest.unwrap();
            // Beyond what is meant to be built, the largest is rejected for its size and for nothing else.
            let largest = match largest {
                Ok(largest) if largest.hosts() as u64 <= HOSTS_BUILT => largest,
                Ok(_) => continue,
                Err(error) => {
                    assert!(error.to_string().starts_with("too many"), "{request:?}: {:?}: {error}", pair[1]);
                    continue;
                }
            };
            assert!(largest.hosts() >= smallest.hosts(), "{request:?}: {pair:?}");
            let switches = (0..largest.switches()).map(SwitchId::from_index);
            assert!(
                switches.into_iter().all(|switch| largest.ports_used(switch) <= request.radix),
                "{request:?}: {pair:?}"
            );
            built += 1;
        }
    }
    assert!(built > 5, "{built}");
}

#[test]
fn a_request_that_no_fabric_fulfils_is_rejected_by_every_family_with_its_range() {
    for request in [
        SizeRequest { hosts: 0, radix: 64 },
        SizeRequest { hosts: 300, radix: 0 },
        SizeRequest { hosts: u32::MAX, radix: 2 },
    ] {
        let (proposals, rejected) = proposals(&(request.hosts..=u32::MAX), request.radix);
        let smallest = proposals.iter().filter(|proposal| !proposal.name.ends_with("largest"));
        assert_eq!(rejected.len() + smallest.count(), TopologyKind::NAMES.len());
        assert!(rejected.iter().all(|reason| reason.contains("expected")), "{rejected:?}");
    }
}
