//! Counts of any member of a family are those of its formula, and fabrics that look regular are.
//!
//! That every fabric is connected is checked whenever one is built.

use etherweave_primitives::SwitchId;
use etherweave_topology::{LinkClass, Topology, TopologyKind};
use proptest::prelude::*;

/// The fabric of a family with parameters as a scenario writes them.
fn built(family: &str, parameters: &str) -> Topology {
    let text = format!("[{family}]\n{parameters}");
    let kind: TopologyKind = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    kind.generate().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Hosts, switches, and links between switches.
fn counts(topology: &Topology) -> (u64, u64, u64) {
    let between = topology.channels().iter().filter(|channel| channel.class != LinkClass::Host).count();
    (topology.hosts() as u64, topology.switches() as u64, between as u64 / 2)
}

/// Links between switches at each switch.
fn degrees(topology: &Topology) -> Vec<u64> {
    let switches = (0..topology.switches()).map(SwitchId::from_index);
    let between = |switch| {
        let leaving = topology.out_channels(switch).iter().map(|&id| topology.channel(id));
        leaving.filter(|channel| channel.class != LinkClass::Host).count() as u64
    };
    switches.map(between).collect()
}

fn links_of(topology: &Topology, class: LinkClass) -> u64 {
    topology.channels().iter().filter(|channel| channel.class == class).count() as u64 / 2
}

fn dimensions(sizes: &[(u64, u64)]) -> String {
    let tables: Vec<String> = sizes.iter().map(|(size, lag)| format!("{{ size = {size}, lag = {lag} }}")).collect();
    format!("dimensions = [{}]", tables.join(", "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_switch_of_a_hyperx_joins_all_others_of_its_rows(
        hosts in 1u64..4,
        sizes in proptest::collection::vec((1u64..6, 1u64..4), 1..5),
    ) {
        let topology = built("hyperx", &format!("hosts_per_switch = {hosts}\n{}", dimensions(&sizes)));
        let switches: u64 = sizes.iter().map(|(size, _)| size).product();
        let degree: u64 = sizes.iter().map(|(size, lag)| (size - 1) * lag).sum();
        prop_assert_eq!(counts(&topology), (hosts * switches, switches, switches * degree / 2));
        prop_assert!(degrees(&topology).iter().all(|&of_one| of_one == degree));
    }

    #[test]
    fn rows_of_a_torus_are_rings_and_those_of_a_mesh_lines(
        hosts in 1u64..4,
        sizes in proptest::collection::vec((1u64..6, 1u64..4), 1..5),
    ) {
        let parameters = format!("hosts_per_switch = {hosts}\n{}", dimensions(&sizes));
        let switches: u64 = sizes.iter().map(|(size, _)| size).product();
        // A row of n has n links as a ring of three and more, and n - 1 as a line.
        let ring = |size: u64| if size > 2 { size } else { size - 1 };
        let links = |row: &dyn Fn(u64) -> u64| -> u64 {
            sizes.iter().map(|&(size, lag)| switches / size * row(size) * lag).sum()
        };
        prop_assert_eq!(counts(&built("torus", &parameters)), (hosts * switches, switches, links(&ring)));
        prop_assert_eq!(counts(&built("mesh", &parameters)), (hosts * switches, switches, links(&|size| size - 1)));
        let degree: u64 = sizes.iter().map(|&(size, lag)| size.min(3).saturating_sub(1) * lag).sum();
        prop_assert!(degrees(&built("torus", &parameters)).iter().all(|&of_one| of_one == degree));
    }

    #[test]
    fn a_dragonfly_of_any_size_is_complete_within_groups_and_between_them(
        (p, a, h) in (1u64..4, 1u64..6, 1u64..4),
        size in any::<prop::sample::Index>(),
    ) {
        let groups = 1 + size.index((a * h + 1) as usize) as u64;
        let topology = built("dragonfly", &format!("p = {p}\na = {a}\nh = {h}\ngroups = {groups}"));
        let (hosts, switches, _) = counts(&topology);
        prop_assert_eq!((hosts, switches), (p * a * groups, a * groups));
        prop_assert_eq!(links_of(&topology, LinkClass::Local), groups * a * (a - 1) / 2);
        let global = links_of(&topology, LinkClass::Global);
        prop_assert!(global >= groups * (groups - 1) / 2 && global <= groups * a * h / 2);
        if groups == a * h + 1 {
            prop_assert_eq!(global, groups * a * h / 2);
            prop_assert!(degrees(&topology).iter().all(|&degree| degree == a - 1 + h));
        }
    }

    #[test]
    fn trees_have_the_hosts_switches_and_links_of_their_radix(half in 1u64..7, levels in 1u32..4) {
        let k = 2 * half;
        let k_ary = built("k_ary_fat_tree", &format!("k = {k}"));
        prop_assert_eq!(counts(&k_ary), (k * k * k / 4, 5 * k * k / 4, k * k * k / 2));
        // As many levels of the same switches: with n levels 2·half^n hosts, as many links from each level up.
        let uplinks = vec!["{}"; levels as usize - 1].join(", ");
        let hosts = 2 * half.pow(levels);
        let clos = built("folded_clos", &format!("radix = {k}\nhosts = {hosts}\nuplinks = [{uplinks}]"));
        let switches = hosts / half * u64::from(levels - 1) + hosts / k;
        prop_assert_eq!(counts(&clos), (hosts, switches, hosts * u64::from(levels - 1)));
    }
}
