//! Evenness, steadiness and independence of the distribution of flows by hashes.
//!
//! When `n` flows fall on `b` equally likely bins, `X² = Σ (observed - n/b)² / (n/b)` follows a chi-square distribution
//! with `b - 1` degrees of freedom: mean `b - 1`, deviation `√(2(b - 1))`. A fair hash stays within five deviations.

use std::collections::BTreeMap;

use etherweave_primitives::{ChannelId, HostId, SwitchId};
use etherweave_routing::{DestinationModulo, EcmpHash, FlowKey, Routing, RoutingKind, path};
use etherweave_topology::{Family, FatTree, KAryFatTree, Topology};

const FLOWS: u64 = 40_000;

/// Asserts that the counts are as even as chance allows.
fn check_even(counts: &BTreeMap<impl Ord, u64>, bins: u64) {
    assert_eq!(counts.len() as u64, bins, "every bin is used");
    let (flows, freedom) = (counts.values().sum::<u64>() as f64, bins as f64 - 1.0);
    let mean = flows / bins as f64;
    let chi_square: f64 = counts.values().map(|&count| (count as f64 - mean).powi(2) / mean).sum();
    assert!(chi_square < freedom + 5.0 * (2.0 * freedom).sqrt(), "chi square {chi_square} at {freedom} degrees");
}

fn count<T: Ord>(things: impl Iterator<Item = T>) -> BTreeMap<T, u64> {
    let mut counts = BTreeMap::new();
    things.for_each(|thing| *counts.entry(thing).or_insert(0) += 1);
    counts
}

/// Picks of leaf 0 for flows that differ by entropy only, as the flows of one pair of hosts do.
fn picks(topology: &Topology, hash: &EcmpHash) -> Vec<ChannelId> {
    let routing = RoutingKind::UpDown.build(topology).unwrap();
    let (selection, leaf) = (hash.build(topology), SwitchId::new(0));
    let (src, dst) = (HostId::new(0), HostId::from_index(topology.hosts() - 1));
    let mut candidates = Vec::new();
    routing.candidates(leaf, dst, &mut candidates);
    (0..FLOWS).map(|entropy| selection.pick(leaf, &FlowKey { src, dst, entropy }, &candidates)).collect()
}

#[test]
fn flows_spread_evenly_over_next_hops() {
    let topology = KAryFatTree { k: 32, ..KAryFatTree::default() }.generate().unwrap();
    check_even(&count(picks(&topology, &EcmpHash::default()).into_iter()), 16);
}

#[test]
fn flows_spread_evenly_over_the_members_of_a_port_channel() {
    let topology = FatTree::default().generate().unwrap();
    check_even(&count(picks(&topology, &EcmpHash::default()).into_iter()), 4);
}

#[test]
fn the_member_does_not_depend_on_the_next_hop() {
    // 3 cores × 4 members: if the second hash repeated the first, a third of the members would carry everything.
    let topology = FatTree { cores: 3, ..FatTree::default() }.generate().unwrap();
    check_even(&count(picks(&topology, &EcmpHash::default()).into_iter()), 3 * 4);
}

#[test]
fn a_wide_port_channel_does_not_draw_more_flows_than_a_narrow_one() {
    // s0 joins s1 by three links and s2 by one; next hops are chosen before members, so each gets half.
    let hosts = "h0,s0,1Gb/s,3m\nh1,s3,1Gb/s,3m\n";
    let links = "s0,s1,1Gb/s,3m\n".repeat(3) + "s0,s2,1Gb/s,3m\ns1,s3,1Gb/s,3m\ns2,s3,1Gb/s,3m\n";
    let custom = etherweave_topology::Custom { links: format!("{hosts}{links}"), ..Default::default() };
    let topology = custom.generate().unwrap();
    let picks = picks(&topology, &EcmpHash::default());
    check_even(&count(picks.iter().map(|&channel| topology.channel(channel).to.node)), 2);
}

#[test]
fn pairs_of_hosts_spread_evenly_without_entropy() {
    // 84 hosts off leaf 0, all 12 of its hosts: 1,008 flows on four members.
    let topology = FatTree::default().generate().unwrap();
    let routing = RoutingKind::UpDown.build(&topology).unwrap();
    let selection = EcmpHash::default().build(&topology);
    let pairs = (0..12).flat_map(|src| (12..96).map(move |dst| (HostId::new(src), HostId::new(dst))));
    let keys = pairs.map(|(src, dst)| FlowKey { src, dst, entropy: 0 });
    check_even(&count(keys.map(|key| path(&topology, &routing, &selection, &key).unwrap()[1])), 4);
}

#[test]
fn another_seed_is_another_spread() {
    let topology = FatTree::default().generate().unwrap();
    let with_seed = |seed| picks(&topology, &EcmpHash { seed, ..EcmpHash::default() });
    let (one, other) = (with_seed(1), with_seed(2));
    // Independent choices among 4 agree in a quarter of the cases: binomial with deviation 87 of 40,000 flows.
    let agreeing = one.iter().zip(&other).filter(|(a, b)| a == b).count() as u64;
    assert!(agreeing.abs_diff(FLOWS / 4) < 5 * 87, "{agreeing}");
    assert_eq!(with_seed(1), one);
}

/// Zahavi's theorem: a tree whose levels have as many links up as down carries any shift of its hosts without sharing.
#[test]
fn destinations_modulo_uplinks_share_no_link_in_a_shift_of_all_hosts() {
    let topology = KAryFatTree::default().generate().unwrap();
    let routing = RoutingKind::UpDown.build(&topology).unwrap();
    let selection = DestinationModulo {}.build(&topology);
    let hosts = topology.hosts();
    for shift in [1, 4, 17, 37, 64] {
        let key = |src: usize| FlowKey {
            src: HostId::from_index(src),
            dst: HostId::from_index((src + shift) % hosts),
            entropy: src as u64,
        };
        let paths = (0..hosts).flat_map(|src| path(&topology, &routing, &selection, &key(src)).unwrap());
        assert_eq!(count(paths).values().max(), Some(&1), "shift {shift}");
    }
}

/// How many cores flows between two pods of a k = 8 fat tree meet.
fn cores_met(hash: EcmpHash) -> usize {
    let topology = KAryFatTree::default().generate().unwrap();
    let routing = RoutingKind::UpDown.build(&topology).unwrap();
    let selection = hash.build(&topology);
    let keys = (0..1_000).map(|entropy| FlowKey { src: HostId::new(0), dst: HostId::new(127), entropy });
    count(keys.map(|key| topology.channel(path(&topology, &routing, &selection, &key).unwrap()[2]).to.node)).len()
}

#[test]
fn with_one_function_everywhere_a_spine_repeats_the_choice_of_the_leaf() {
    // All flows that a spine receives from a leaf hash to the same quarter: it uses one of its four cores.
    assert_eq!(cores_met(EcmpHash { polarised: true, ..EcmpHash::default() }), 4);
    assert_eq!(cores_met(EcmpHash::default()), 4 * 4);
}
