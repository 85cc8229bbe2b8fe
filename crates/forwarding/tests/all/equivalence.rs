//! Every table does what the routing asks for: every plan and compaction on every family and on random graphs, host by
//! host and source by source, beside the proof by regions.

use std::collections::BTreeSet;

use crate::fabrics::{graph, hosts, ports_by_host, switches};
use etherweave_forwarding::{
    AddressPlan, CompactionKind, FlowTable, MinimalRouting, PacketHeader, PlanKind, RegionRoutes, Rule, Sources,
    Ternary, prove,
};
use etherweave_primitives::{HostId, Port, SwitchId};
use etherweave_routing::RoutingKind;
use etherweave_topology::{Dragonfly, Family, FoldedClos, Topology, TopologyKind};
use proptest::prelude::*;

const ANY_FABRIC: [RoutingKind; 2] = [RoutingKind::UpDown, RoutingKind::ShortestPath];

/// Ports that packets of any source take.
fn taken(table: &FlowTable, plan: &AddressPlan, dst: HostId) -> BTreeSet<Port> {
    let packet = |src: usize| {
        let [dst, src] = [dst, HostId::from_index(src)].map(|host| plan.address(host));
        PacketHeader { dst, src, in_port: None }
    };
    // Where no rule asks for the source, one stands for all.
    let is_shared = table.rules().iter().any(|rule| rule.src != Ternary::ANY);
    let sources = if is_shared { plan.hosts() } else { 1 };
    let rules = (0..sources).map(|src| table.lookup(&packet(src), |_| false).expect("every host is reached"));
    rules.flat_map(|rule| table.ports(rule).iter().copied()).collect()
}

/// Checks all plans and compactions of one routing, by proof and packet by packet.
fn check(topology: &Topology, minimal: &MinimalRouting<'_>) {
    let flat = PlanKind::Flat.plan(topology).unwrap();
    for plan in PlanKind::ALL.iter().filter_map(|kind| kind.plan(topology).ok()) {
        let mut sources = Sources::of(&plan);
        // A few switches of a large fabric, all of a small one.
        for at in switches(topology).step_by(1 + topology.switches() * topology.hosts() / 4_000) {
            let wanted = ports_by_host(minimal, &flat, at);
            let routes = RegionRoutes::of(minimal, &plan, at);
            assert_eq!(minimal.view(at).entries(&plan.root()), routes.entries.len() as u64, "entries by own path");
            for compaction in CompactionKind::ALL {
                let table = compaction.table(&routes);
                let name = format!("{} {} {}", topology.switch_name(at), plan.kind().name(), compaction.name());
                assert!(table.rules().len() <= routes.entries.len(), "{name} is larger than what it was made of");
                let shared = sources.share(&table, topology.level(at));
                for table in [&table, &shared] {
                    prove(&routes, table, topology).unwrap_or_else(|error| panic!("{name}: {error}"));
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
        check(&topology, &MinimalRouting::of(&kind, &topology).unwrap());
    }
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
    let minimal = MinimalRouting::of(&TopologyKind::Dragonfly(Dragonfly::default()), &topology).unwrap();
    let plan = PlanKind::PerGroup.plan(&topology).unwrap();
    for at in switches(&topology) {
        let routes = RegionRoutes::of(&minimal, &plan, at);
        let table = CompactionKind::Prefixes.table(&routes);
        for place in 0..table.rules().len() {
            let mut rules = table.rules().to_vec();
            spoil(&mut rules, place);
            let spoiled = FlowTable::new(rules, table.sets().clone());
            let error = prove(&routes, &spoiled, &topology).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the table of {}", topology.switch_name(at))), "{error}");
        }
    }
}

#[test]
fn a_missing_share_of_the_sources_is_found() {
    let kind = TopologyKind::FoldedClos(FoldedClos::default());
    let topology = kind.generate().unwrap();
    let minimal = MinimalRouting::of(&kind, &topology).unwrap();
    let plan = PlanKind::Coordinates.plan(&topology).unwrap();
    let routes = RegionRoutes::of(&minimal, &plan, SwitchId::new(0));
    let table = Sources::of(&plan).share(&CompactionKind::PrefixesNested.table(&routes), 0);
    assert_eq!(table.rules().len(), 8, "4 hosts and 4 uplinks");
    let without_last = table.rules()[..7].to_vec();
    let error = prove(&routes, &FlowTable::new(without_last, table.sets().clone()), &topology).unwrap_err();
    let expected = "the table of leaf0 sends packets for host4 to no port; expected core0, core1, core2, core3";
    assert_eq!(error.to_string(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn compaction_on_random_graphs_loses_nothing(custom in graph()) {
        let kind = TopologyKind::Custom(custom);
        let topology = kind.generate().unwrap();
        for routing in ANY_FABRIC {
            check(&topology, &MinimalRouting::listed(&topology, routing).unwrap());
        }
    }
}
