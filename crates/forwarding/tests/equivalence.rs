//! Every table does what the routing asks for: every plan and compaction on every family and on random graphs, host by
//! host and source by source, beside the proof by regions.

use std::collections::BTreeSet;

use etherweave_forwarding::{
    AddressPlan, CompactionKind, FlowTable, Minimal, Packet, PlanKind, Row, Rule, Sources, Ternary, minimise, prove,
};
use etherweave_primitives::{HostId, Port, SwitchId};
use etherweave_routing::RoutingKind;
use etherweave_topology::{Custom, Dragonfly, Family, FoldedClos, Topology, TopologyKind, Uplinks};
use proptest::prelude::*;

/// Routings that every fabric has.
const ANY_FABRIC: [RoutingKind; 2] = [RoutingKind::UpDown, RoutingKind::ShortestPath];

fn switches(topology: &Topology) -> impl Iterator<Item = SwitchId> {
    (0..topology.switches()).map(SwitchId::from_index)
}

fn hosts(topology: &Topology) -> impl Iterator<Item = HostId> {
    (0..topology.hosts()).map(HostId::from_index)
}

/// Ports towards a host: the routing asked for this host alone.
fn wanted(minimal: &Minimal<'_>, flat: &AddressPlan, at: SwitchId) -> Vec<BTreeSet<Port>> {
    let row = Row::of(minimal, flat, at);
    row.entries.iter().map(|entry| row.sets.get(entry.action).iter().copied().collect()).collect()
}

/// Ports that packets of any source take.
fn taken(table: &FlowTable, plan: &AddressPlan, dst: HostId) -> BTreeSet<Port> {
    let packet = |src: usize| {
        let [dst, src] = [dst, HostId::from_index(src)].map(|host| plan.address(host));
        Packet { dst, src, in_port: None }
    };
    // Where no rule asks for the source, one stands for all.
    let is_shared = table.rules().iter().any(|rule| rule.src != Ternary::ANY);
    let sources = if is_shared { plan.hosts() } else { 1 };
    let rules = (0..sources).map(|src| table.lookup(&packet(src), |_| false).expect("every host is reached"));
    rules.flat_map(|rule| table.ports(rule).iter().copied()).collect()
}

/// Checks all plans and compactions of one routing, by proof and packet by packet.
fn check(topology: &Topology, minimal: &Minimal<'_>) {
    let flat = PlanKind::Flat.plan(topology).unwrap();
    for plan in PlanKind::ALL.iter().filter_map(|kind| kind.plan(topology).ok()) {
        let mut sources = Sources::of(&plan);
        // A few switches of a large fabric, all of a small one.
        for at in switches(topology).step_by(1 + topology.switches() * topology.hosts() / 4_000) {
            let wanted = wanted(minimal, &flat, at);
            let row = Row::of(minimal, &plan, at);
            assert_eq!(minimal.view(at).entries(&plan.root()), row.entries.len() as u64, "entries by own path");
            for compaction in CompactionKind::ALL {
                let table = compaction.table(&row);
                let name = format!("{} {} {}", topology.switch_name(at), plan.kind().name(), compaction.name());
                assert!(table.rules().len() <= row.entries.len(), "{name} is larger than what it was made of");
                let shared = sources.share(&table, topology.level(at));
                let small = [&table, &shared].map(minimise);
                assert!(
                    small[0].rules().len() <= table.rules().len() && small[1].rules().len() <= shared.rules().len()
                );
                for table in [&table, &shared, &small[0], &small[1]] {
                    prove(&row, table, topology).unwrap_or_else(|error| panic!("{name}: {error}"));
                    for host in hosts(topology) {
                        assert_eq!(taken(table, &plan, host), wanted[host.index()], "{name}, {host}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_compaction_of_every_plan_of_every_family_is_the_routing() {
    for kind in TopologyKind::examples() {
        let topology = kind.generate().unwrap();
        check(&topology, &Minimal::of(&kind, &topology).unwrap());
    }
}

#[test]
fn trees_go_as_up_down_and_as_shortest_paths_do() {
    let uplinks = vec![Uplinks::default(); 2];
    let clos = FoldedClos { radix: 6, hosts: 54, uplinks, ..FoldedClos::default() };
    let trees = TopologyKind::examples().into_iter().chain([TopologyKind::FoldedClos(clos)]);
    for kind in trees {
        let topology = kind.generate().unwrap();
        let is_tree = topology.axes().first().is_some_and(|axis| axis == "level");
        let minimal = Minimal::of(&kind, &topology).unwrap();
        if !is_tree || !minimal.is_implicit() {
            continue;
        }
        let flat = PlanKind::Flat.plan(&topology).unwrap();
        for routing in ANY_FABRIC {
            let listed = Minimal::listed(&topology, routing).unwrap();
            for at in switches(&topology) {
                assert_eq!(wanted(&minimal, &flat, at), wanted(&listed, &flat, at), "{} {routing:?}", kind.name());
            }
        }
    }
}

#[test]
fn most_families_of_the_paper_are_not_listed() {
    let implicit = TopologyKind::examples().into_iter().filter(|kind| {
        let topology = kind.generate().unwrap();
        Minimal::of(kind, &topology).unwrap().is_implicit()
    });
    let names: BTreeSet<&str> = implicit.map(|kind| kind.name()).collect();
    let expected = ["dragonfly", "fat_tree", "flattened_butterfly", "folded_clos", "hyperx", "k_ary_fat_tree"];
    assert!(expected.iter().all(|name| names.contains(name)), "{names:?}");
}

#[test]
fn dimension_order_takes_shortest_paths() {
    for kind in TopologyKind::examples() {
        if !matches!(kind, TopologyKind::FlattenedButterfly(_) | TopologyKind::HyperX(_)) {
            continue;
        }
        let topology = kind.generate().unwrap();
        let flat = PlanKind::Flat.plan(&topology).unwrap();
        let minimal = Minimal::of(&kind, &topology).unwrap();
        let shortest = Minimal::listed(&topology, RoutingKind::ShortestPath).unwrap();
        for at in switches(&topology) {
            let pairs = wanted(&minimal, &flat, at).into_iter().zip(wanted(&shortest, &flat, at));
            assert!(pairs.into_iter().all(|(own, all)| !own.is_empty() && own.is_subset(&all)), "{}", kind.name());
        }
    }
}

#[test]
fn dragonflies_take_at_most_one_global_and_two_local_links() {
    for groups in [2, 4, 9] {
        let dragonfly = Dragonfly { groups: Some(groups), ..Dragonfly::default() };
        let topology = dragonfly.generate().unwrap();
        let minimal = Minimal::of(&TopologyKind::Dragonfly(dragonfly), &topology).unwrap();
        let flat = PlanKind::Flat.plan(&topology).unwrap();
        let wanted: Vec<_> = switches(&topology).map(|at| wanted(&minimal, &flat, at)).collect();
        for (src, dst) in hosts(&topology).flat_map(|src| hosts(&topology).map(move |dst| (src, dst))) {
            let mut at = BTreeSet::from([topology.switch_of(src)]);
            for _ in 0..3 {
                at = at.into_iter().flat_map(|at| next(&topology, &wanted, at, dst)).collect();
            }
            assert_eq!(at, BTreeSet::from([topology.switch_of(dst)]), "{src} to {dst} of {groups} groups");
        }
    }
}

/// Switches after one more hop towards a host; the same, when it is there.
fn next(topology: &Topology, wanted: &[Vec<BTreeSet<Port>>], at: SwitchId, dst: HostId) -> Vec<SwitchId> {
    let ports = wanted[at.index()][dst.index()].iter();
    let far = ports.map(|&port| topology.channel(topology.out_channel(at, port)).to.node);
    far.map(|node| match node {
        etherweave_topology::Node::Switch(switch) => switch,
        etherweave_topology::Node::Host(_) => at,
    })
    .collect()
}

/// Changes one thing in a table; says whether packets of some host may then go elsewhere.
fn spoil(rules: &mut Vec<Rule>, place: usize) {
    let place = place % rules.len();
    match rules.iter().position(|rule| rule.action != rules[place].action) {
        Some(other) => rules[place].action = rules[other].action,
        None => drop(rules.remove(place)),
    }
}

#[test]
fn a_spoiled_rule_is_found_by_its_destination() {
    let topology = Dragonfly::default().generate().unwrap();
    let minimal = Minimal::of(&TopologyKind::Dragonfly(Dragonfly::default()), &topology).unwrap();
    let plan = PlanKind::PerGroup.plan(&topology).unwrap();
    for at in switches(&topology) {
        let row = Row::of(&minimal, &plan, at);
        let table = CompactionKind::Prefixes.table(&row);
        for place in 0..table.rules().len() {
            let mut rules = table.rules().to_vec();
            spoil(&mut rules, place);
            let spoiled = FlowTable::new(rules, table.sets().clone());
            let error = prove(&row, &spoiled, &topology).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the table of {}", topology.switch_name(at))), "{error}");
        }
    }
}

#[test]
fn a_missing_share_of_the_sources_is_found() {
    let kind = TopologyKind::FoldedClos(FoldedClos::default());
    let topology = kind.generate().unwrap();
    let minimal = Minimal::of(&kind, &topology).unwrap();
    let plan = PlanKind::Coordinates.plan(&topology).unwrap();
    let row = Row::of(&minimal, &plan, SwitchId::new(0));
    let table = Sources::of(&plan).share(&CompactionKind::PrefixesNested.table(&row), 0);
    assert_eq!(table.rules().len(), 8, "4 hosts and 4 uplinks");
    let without_last = table.rules()[..7].to_vec();
    let error = prove(&row, &FlowTable::new(without_last, table.sets().clone()), &topology).unwrap_err();
    let expected = "the table of leaf0 sends packets for host4 to no port; expected core0, core1, core2, core3";
    assert_eq!(error.to_string(), expected);
}

/// A connected graph: a random tree of switches with hosts, and more links.
fn graph() -> impl Strategy<Value = Custom> {
    let tree = proptest::collection::vec(any::<prop::sample::Index>(), 1..12);
    let more = proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..12);
    let hosts = proptest::collection::vec(any::<prop::sample::Index>(), 1..20);
    (tree, more, hosts).prop_map(|(tree, more, hosts)| {
        let switches = tree.len() + 1;
        let mut links: Vec<String> =
            tree.iter().enumerate().map(|(at, to)| format!("s{},s{}", at + 1, to.index(at + 1))).collect();
        let more = more.iter().map(|(a, b)| (a.index(switches), b.index(switches)));
        links.extend(more.filter(|(a, b)| a != b).map(|(a, b)| format!("s{a},s{b}")));
        links.extend(hosts.iter().enumerate().map(|(host, at)| format!("h{host},s{}", at.index(switches))));
        Custom { links: format!("from,to\n{}", links.join("\n")), ..Custom::default() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn compaction_on_random_graphs_loses_nothing(custom in graph()) {
        let kind = TopologyKind::Custom(custom);
        let topology = kind.generate().unwrap();
        for routing in ANY_FABRIC {
            check(&topology, &Minimal::listed(&topology, routing).unwrap());
        }
    }
}
