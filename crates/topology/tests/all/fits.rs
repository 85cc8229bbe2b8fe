//! Members for a request against all members of the same balance, one by one.

use etherweave_primitives::SwitchId;
use etherweave_topology::{
    Dimension, Dragonfly, DragonflyPlus, Family, FlattenedButterfly, FoldedClos, KAryFatTree, SizeRequest, SlimFly,
    StagedFatTree, Topology, TopologyKind, Torus, Uplinks,
};

/// Host counts that meet every rounding of small fabrics, and some beyond.
fn requests(radix: u32, hosts_max: u32) -> impl Iterator<Item = SizeRequest> {
    (1..=40).chain((41..=hosts_max).step_by(7)).map(move |hosts| SizeRequest { hosts, radix })
}

fn ports_max(topology: &Topology) -> u32 {
    let switches = (0..topology.switches()).map(SwitchId::from_index);
    switches.map(|switch| topology.ports_used(switch)).max().unwrap_or_default()
}

#[test]
fn every_member_of_every_family_has_the_hosts_and_no_more_ports_than_requested() {
    let large = [(100, 20), (700, 24), (2_000, 18)].map(|(hosts, radix)| SizeRequest { hosts, radix });
    let small = [2, 3, 4, 7, 8, 9, 12, 16].into_iter().flat_map(|radix| requests(radix, 150));
    for request in small.chain(large) {
        let fits = TopologyKind::fits(&request);
        assert_eq!(fits.len(), TopologyKind::NAMES.len());
        for (name, fit) in fits {
            let Ok(fit) = fit else { continue };
            let check = |kind: &TopologyKind| {
                let topology = kind.generate().unwrap_or_else(|error| panic!("{request:?}: {kind:?}: {error}"));
                assert!(topology.hosts() >= request.hosts as usize, "{request:?}: {kind:?}");
                assert!(ports_max(&topology) <= request.radix, "{request:?}: {kind:?} uses {}", ports_max(&topology));
                (topology.hosts(), topology.switches())
            };
            let smallest = check(&fit.smallest);
            // Large members are built once, for the first request of a radix.
            if let Some(largest) = fit.largest.as_ref().filter(|_| request.hosts == 1) {
                let largest = check(largest);
                assert!(largest.0 >= smallest.0 && largest.1 >= smallest.1, "{name} {request:?}");
            }
        }
    }
}

/// Hosts and switches.
type Size = (u32, u32);

fn size(kind: &impl Family) -> Size {
    let topology = kind.generate().expect("a member is valid");
    (topology.hosts() as u32, topology.switches() as u32)
}

/// The smallest member has the fewest switches of those that hold the hosts, and the largest, for which `stages` gives
/// members of as many stages or dimensions, the most hosts of these.
fn check<F: Family>(radix: u32, hosts_max: u32, members: &[F], stages: impl Fn(&F) -> usize) {
    let sizes: Vec<(usize, Size)> = members.iter().map(|member| (stages(member), size(member))).collect();
    for request in requests(radix, hosts_max) {
        let fewest =
            sizes.iter().filter(|(_, (hosts, _))| *hosts >= request.hosts).map(|(_, (_, switches))| *switches).min();
        match (F::fit(&request), fewest) {
            (Ok(fit), Some(fewest)) => {
                let (hosts, switches) = size(&fit.smallest);
                assert!(hosts >= request.hosts, "{request:?}");
                assert_eq!(switches, fewest, "{request:?}");
                if let Some(largest) = fit.largest {
                    let alike = sizes.iter().filter(|(number, _)| *number == stages(&largest));
                    let most = alike.map(|(_, (hosts, _))| *hosts).max();
                    assert_eq!(Some(size(&largest).0), most, "{request:?}");
                }
            }
            (Err(_), None) => {}
            (fit, fewest) => panic!("{request:?}: {:?}, but {fewest:?}", fit.map(|fit| size(&fit.smallest)).ok()),
        }
    }
}

#[test]
fn k_ary_fat_trees_are_the_least_k() {
    let member = |k| KAryFatTree { k, ..KAryFatTree::default() };
    check(9, 140, &[2, 4, 6, 8].map(member), |_| 0);
}

#[test]
fn folded_clos_networks_of_exactly_the_hosts_have_the_fewest_switches() {
    for (radix, levels) in [(4, 4), (6, 3), (7, 3)] {
        let uplinks = |stages| vec![Uplinks::default(); stages];
        let all = (0..levels).flat_map(|stages| (1..=170).map(move |hosts| (stages, hosts)));
        let members =
            all.map(|(stages, hosts)| FoldedClos { radix, hosts, uplinks: uplinks(stages), ..Default::default() });
        let members: Vec<FoldedClos> = members.filter(|clos| clos.generate().is_ok()).collect();
        // No more than the levels tried hold.
        let room = members.iter().map(|clos| clos.hosts).max().unwrap();
        for request in (1..=room).map(|hosts| SizeRequest { hosts, radix }) {
            let smallest = FoldedClos::fit(&request).unwrap().smallest;
            let fewest = members.iter().filter(|clos| clos.hosts >= request.hosts).map(|clos| size(clos).1).min();
            assert_eq!((smallest.hosts, Some(size(&smallest).1)), (request.hosts, fewest), "{request:?}");
        }
    }
}

#[test]
fn staged_trees_are_the_fewest_subtrees_under_the_fewest_stages() {
    // Full bisection by identical switches of 8 ports, 4 up: one switch, leaves and cores, one stage between.
    let tree = |hosts| StagedFatTree::fit(&SizeRequest { hosts, radix: 8 }).unwrap().smallest;
    // 17 hosts on 5 leaves of 4, each with one link to each of 4 cores; 16 on 4 leaves with two to each of two.
    assert_eq!([8, 9, 16, 17, 32].map(|hosts| size(&tree(hosts))), [(8, 1), (12, 5), (16, 6), (20, 9), (32, 12)]);
    // 3 pods of 4 leaves, 4 spines and 16 hosts; 4 groups of 2 cores, two links from each spine.
    assert_eq!(size(&tree(33)), (48, 3 * 8 + 8));
}

#[test]
fn dragonflies_have_the_fewest_groups() {
    let dragonfly = |groups| Dragonfly { p: 2, a: 4, h: 2, groups: Some(groups), ..Dragonfly::default() };
    check(8, 100, &(1..=9).map(dragonfly).collect::<Vec<_>>(), |_| 0);
    let plus = |groups| DragonflyPlus { groups: Some(groups), ..DragonflyPlus::default() };
    check(4, 40, &(1..=5).map(plus).collect::<Vec<_>>(), |_| 0);
}

#[test]
fn butterflies_have_the_fewest_switches_of_all_dimensions() {
    for radix in [7, 8, 12, 15] {
        let side = |n: u32| (radix + n) / (n + 1);
        let all = (1..=5u32).flat_map(|n| (1..=side(n)).map(move |last| (n, last)));
        let member = |(n, last): (u32, u32)| {
            let mut sizes = vec![side(n); n as usize];
            sizes[n as usize - 1] = last;
            FlattenedButterfly { hosts_per_switch: side(n), sizes, ..FlattenedButterfly::default() }
        };
        check(radix, 300, &all.map(member).collect::<Vec<_>>(), |butterfly| butterfly.sizes.len());
    }
}

#[test]
fn slim_flies_are_the_least_order() {
    // q = 3 has 5 + 3 ports, 4 has 6 + 3, 5 has 7 + 4, 7 has 11 + 6.
    let member = |q| SlimFly { q, ..SlimFly::default() };
    check(17, 700, &[3, 4, 5, 7].map(member), |_| 0);
}

#[test]
fn tori_have_the_fewest_switches_of_sides_no_longer_than_the_cube_s() {
    for request in requests(8, 400) {
        let smallest = Torus::fit(&request).unwrap().smallest;
        let sizes: Vec<u32> = smallest.dimensions.iter().map(|dimension: &Dimension| dimension.size).collect();
        let needed = request.hosts.div_ceil(smallest.hosts_per_switch);
        let side = (1..).find(|side: &u32| side.pow(3) >= needed).unwrap();
        let boxes = (1..=side).flat_map(|x| (1..=side).flat_map(move |y| (1..=side).map(move |z| x * y * z)));
        let fewest = boxes.filter(|&switches| switches >= needed).min();
        assert_eq!((smallest.hosts_per_switch, Some(sizes.iter().product())), (2, fewest), "{request:?}: {sizes:?}");
    }
}
