//! Random fabrics and parameters: the properties of routings hold, and nothing panics.

use crate::common::{check_arrival, check_proof, suited};
use etherweave_routing::{RoutingKind, prove};
use etherweave_topology::{Custom, Dimension, Dragonfly, Family, FoldedClos, HyperX, Mesh, Topology, Torus, Uplinks};
use proptest::prelude::*;

/// A connected fabric: a random tree of switches, random further links, hosts on some.
fn fabric() -> impl Strategy<Value = Topology> {
    let switches = 2..9usize;
    switches.prop_flat_map(|switches| {
        let parents = proptest::collection::vec(any::<prop::sample::Index>(), switches - 1);
        let more = proptest::collection::vec((0..switches, 0..switches), 0..12);
        let has_host = proptest::collection::vec(any::<bool>(), switches);
        (parents, more, has_host).prop_map(|(parents, more, has_host)| listed(&parents, &more, &has_host))
    })
}

fn listed(parents: &[prop::sample::Index], more: &[(usize, usize)], has_host: &[bool]) -> Topology {
    let tree = parents.iter().enumerate().map(|(index, parent)| (parent.index(index + 1), index + 1));
    let links = tree.chain(more.iter().copied().filter(|(a, b)| a != b));
    let links: String = links.map(|(a, b)| format!("s{a},s{b},100Gb/s,5m\n")).collect();
    // One host at least, so that there is a fabric.
    let homes = std::iter::once(0).chain((0..has_host.len()).filter(|&at| has_host[at]));
    let homes: String = homes.enumerate().map(|(host, at)| format!("h{host},s{at},100Gb/s,3m\n")).collect();
    Custom { links: format!("{homes}{links}"), ..Custom::default() }.generate().expect("a connected fabric")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn on_any_fabric_packets_arrive_and_the_proof_is_that_of_brute_force(topology in fabric()) {
        check(&topology);
    }

    #[test]
    fn on_any_grid_packets_arrive_and_the_proof_is_that_of_brute_force(
        sizes in proptest::collection::vec(1..6u32, 1..3),
        lag in 1..3u32,
        family in 0..3u8,
    ) {
        let dimensions: Vec<Dimension> = sizes.iter().map(|&size| Dimension { lag, ..Dimension::of(size) }).collect();
        let topology = match family {
            0 => Torus { dimensions, ..Torus::default() }.generate(),
            1 => Mesh { dimensions, ..Mesh::default() }.generate(),
            _ => HyperX { dimensions, hosts_per_switch: 1, ..HyperX::default() }.generate(),
        };
        check(&topology.unwrap());
    }

    #[test]
    fn on_any_dragonfly_packets_arrive_and_the_proof_is_that_of_brute_force(
        (a, h, groups) in (1..4u32, 1..3u32).prop_flat_map(|(a, h)| (Just(a), Just(h), 1..=a * h + 1)),
    ) {
        let dragonfly = Dragonfly { p: 1, a, h, groups: Some(groups), ..Dragonfly::default() };
        // Two ports cannot join three groups.
        if let Ok(topology) = dragonfly.generate() {
            check(&topology);
        }
    }

    #[test]
    fn on_any_folded_clos_packets_arrive_and_the_proof_is_that_of_brute_force(
        radix in 2..7u32, hosts in 1..40u32, levels in 0..4usize,
    ) {
        let uplinks = vec![Uplinks::default(); levels];
        if let Ok(topology) = (FoldedClos { radix, hosts, uplinks, ..FoldedClos::default() }).generate() {
            check(&topology);
        }
    }
}

fn check(topology: &Topology) {
    for (kind, legality) in suited(topology) {
        check_arrival(topology, &legality);
        check_proof(topology, kind, &legality);
        assert!(kind == RoutingKind::ShortestPath || prove(topology, &legality).is_free(), "{kind:?}");
    }
}
