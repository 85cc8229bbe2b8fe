//! The three fabrics of Benito, Vallejo and Beivide, "On the use of commodity Ethernet technology in exascale HPC
//! systems", HiPC 2015, section VI-A: about 300,000 hosts on switches of 72 ports, and the columns of table I.

use etherweave_primitives::{HostId, SwitchId};
use etherweave_topology::{
    BisectionBasis, Dragonfly, Family, FlattenedButterfly, FoldedClos, HyperX, KAryFatTree, Metrics, SizeRequest,
    TopologyKind, Uplinks,
};

const RADIX: u32 = 72;

fn metrics(kind: &TopologyKind) -> Metrics {
    Metrics::of(kind, &kind.generate().unwrap())
}

#[test]
fn the_folded_clos_has_29484_switches_and_303264_hosts() {
    let uplinks = vec![Uplinks::default(); 3];
    let clos = TopologyKind::FoldedClos(FoldedClos { radix: RADIX, hosts: 303_264, uplinks, ..FoldedClos::default() });
    // Pods of 36 + 36 switches; 36 pods under 1,296 switches make a stage-3 group, replicated 6.5 times: 234 pods.
    let topology = clos.generate().unwrap();
    let at_level = |level| (0..29_484).filter(|&switch| topology.level(SwitchId::new(switch)) == level).count();
    assert_eq!([0, 1, 2, 3].map(at_level), [36 * 234, 36 * 234, 1_296 * 13 / 2, 1_296 * 13 / 4]);
    let measured = Metrics::of(&clos, &topology);
    assert_eq!((measured.switches, measured.hosts), (29_484, 1_296 * 234));
    // Three stages up and three down; every port in use; as much up as down on every level.
    assert_eq!((measured.distances.diameter, measured.ports_free), (6, Some(0)));
    assert!(measured.tapers.len() == 3 && measured.tapers.iter().all(|taper| taper.ratio() == 1.0));
    // 46,656 uplinks of a stage-3 group do not divide by 4,212 cores, so no formula holds; the best cut is full
    // bisection.
    assert_eq!(measured.bisection.rate.as_bps(), 303_264 / 2 * 100_000_000_000);
    assert!(matches!(measured.bisection.basis, BisectionBasis::UpperBound { .. }));
}

#[test]
fn the_butterfly_of_15_15_15_6_has_20250_switches_and_303750_hosts() {
    let butterfly = FlattenedButterfly::fit(&SizeRequest { hosts: 300_000, radix: RADIX }).unwrap().smallest;
    assert_eq!((butterfly.hosts_per_switch, &butterfly.sizes[..]), (15, &[15, 15, 15, 6][..]));
    let measured = metrics(&TopologyKind::FlattenedButterfly(butterfly));
    assert_eq!((measured.switches, measured.hosts), (20_250, 303_750));
    // One hop per dimension; four dimensions in any order.
    assert_eq!((measured.distances.diameter, measured.paths.most), (4, 24));
    // 15 + 14 + 14 + 14 + 5 ports of 72.
    assert_eq!(measured.ports_used, 20_250 * 62);
}

#[test]
fn spare_ports_give_every_dimension_of_the_butterfly_as_many_links_as_hosts() {
    let smallest = HyperX::fit(&SizeRequest { hosts: 300_000, radix: RADIX }).unwrap().smallest;
    // Ahn et al. 2009, section 3.2: full bisection takes K·S of at least T = 15 in every dimension.
    let strengths: Vec<u32> = smallest.dimensions.iter().map(|dimension| dimension.size * dimension.lag).collect();
    assert_eq!(strengths, [15, 15, 15, 18]);
    let topology = smallest.generate().unwrap();
    assert!((0..20_250).all(|switch| topology.ports_used(SwitchId::new(switch)) == RADIX));
}

#[test]
fn the_dragonfly_of_463_groups_has_16668_switches_and_300024_hosts() {
    let dragonfly = Dragonfly::fit(&SizeRequest { hosts: 300_000, radix: RADIX }).unwrap().smallest;
    assert_eq!((dragonfly.groups, dragonfly.a, dragonfly.p), (Some(463), 36, 18));
    let measured = metrics(&TopologyKind::Dragonfly(dragonfly));
    assert_eq!((measured.switches, measured.hosts), (16_668, 300_024));
    // Local, global, local.
    assert_eq!(measured.distances.diameter, 3);
    assert_eq!(measured.ports_used, 16_668 * 71);
}

/// Hosts per access switch, switches and hosts of the largest member for a radix.
fn largest<F: Family>(radix: u32, hosts: u32) -> (u32, u32, u32) {
    let largest = F::fit(&SizeRequest { hosts, radix }).unwrap().largest.unwrap();
    let topology = largest.generate().unwrap();
    let on_first = topology.ports_used(SwitchId::new(0));
    let hosts_on_first = (0..on_first)
        .filter(|&host| (host as usize) < topology.hosts() && topology.switch_of(HostId::new(host)).get() == 0);
    (hosts_on_first.count() as u32, topology.switches() as u32, topology.hosts() as u32)
}

#[test]
fn table_i_s_clos_has_half_its_ports_for_hosts_and_a_quarter_of_the_cube_of_hosts() {
    for p in [8, 16, 24, 48] {
        assert_eq!(largest::<KAryFatTree>(p, 1), (p / 2, 5 * p * p / 4, p * p * p / 4));
        // Just beyond two levels the folded Clos has three.
        assert_eq!(largest::<FoldedClos>(p, p * p / 2 + 1), (p / 2, 5 * p * p / 4, p * p * p / 4));
    }
}

#[test]
fn table_i_s_butterflies_have_p_over_n_plus_one_hosts_and_that_to_the_power_of_n_plus_one_in_all() {
    // From 8 ports more than two dimensions hold no more hosts than two.
    // With T hosts and n rows of T: T + n(T - 1) ports, so T = (P + n)/(n + 1), which tends to P/(n + 1).
    let cases: [(u32, u32); 10] =
        [(8, 2), (16, 2), (24, 2), (48, 2), (96, 2), (16, 3), (24, 3), (48, 3), (16, 4), (24, 4)];
    for (p, n) in cases {
        let t = (p + n) / (n + 1);
        let beyond = p.div_ceil(n).pow(n) + 1;
        assert_eq!(largest::<FlattenedButterfly>(p, beyond), (t, t.pow(n), t.pow(n + 1)), "P = {p}, {n} dimensions");
        assert!(t.abs_diff(p / (n + 1)) <= 1);
    }
}

#[test]
fn table_i_s_dragonfly_has_a_quarter_of_its_ports_for_hosts_and_four_times_that_to_the_fourth_in_all() {
    for p in [8, 16, 24, 48] {
        // 4T - 1 ports; T·2T·(2T² + 1) hosts, which tends to 4·T⁴.
        let t = p / 4;
        assert_eq!(largest::<Dragonfly>(p, 1), (t, 2 * t * (2 * t * t + 1), 4 * t.pow(4) + 2 * t * t));
    }
}
