//! Routings on the families of fabrics: what a scenario needs beside their names.

use etherweave_forwarding::{FabricTables, TableParams};
use etherweave_routing::RoutingKind;
use etherweave_scenario::{Run, Scenario};
use etherweave_topology::{Topology, TopologyKind};

/// A scenario with a fabric, a routing, and nothing else that a routing could need.
fn scenario(kind: &TopologyKind, routing: RoutingKind, flow_control: &str) -> String {
    #[derive(serde::Serialize)]
    struct Fabric<'a> {
        routing: RoutingKind,
        topology: &'a TopologyKind,
    }
    let fabric = toml::to_string(&Fabric { routing, topology: kind }).unwrap();
    format!(
        "{fabric}\n[flow_control.{flow_control}]\n[transport.roce]\n[[job]]\nname = \"job\"\n\
         workload.osu_latency = {{ bytes = \"10kB\", iterations = 1 }}\n"
    )
}

fn supports(routing: RoutingKind, kind: &TopologyKind, topology: &Topology) -> bool {
    let params = TableParams::default();
    let tables = FabricTables { kind, topology, params: &params };
    routing.works_on(&tables) || routing.is_by_flow() && routing.build(topology).is_ok()
}

#[test]
fn every_routing_runs_on_every_family_that_it_supports_and_asks_for_no_priorities() {
    let mut seen = 0;
    for kind in TopologyKind::examples() {
        let topology = kind.generate().unwrap();
        let supported = RoutingKind::all().into_iter().filter(|&routing| supports(routing, &kind, &topology));
        for routing in supported.filter(|_| topology.hosts() >= 2) {
            for flow_control in ["pfc", "credits"] {
                let name = format!("{} on {kind:?} under {flow_control}", routing.name());
                let text = scenario(&kind, routing, flow_control);
                let run = Run::start(&text, "x.toml", &[], 1, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
                let (outcome, _) = run.finish(&mut |_| true);
                assert_eq!(outcome.summary.finished, "complete", "{name}");
                assert_eq!(outcome.summary.packets_dropped, 0, "{name}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 200, "{seen} runs");
}

/// The lossless priorities as `show` prints them.
fn priorities(text: &str) -> Vec<i64> {
    let resolved: toml::Table = Scenario::parse(text, "x.toml", &[]).unwrap().resolved().parse().unwrap();
    let kinds = resolved["flow_control"].as_table().unwrap();
    let listed = kinds.values().next().unwrap()["priorities"].as_array().unwrap();
    listed.iter().map(|priority| priority.as_integer().unwrap()).collect()
}

#[test]
fn lossless_priorities_are_those_of_the_routing_and_of_roce_unless_the_file_has_a_list() {
    let text = |routing: &str, more: &str, job: &str| {
        format!(
            "routing = \"{routing}\"\n[topology.dragonfly]\n{more}\n[[job]]\nname = \"job\"\n{job}\n\
             workload.osu_latency = {{}}\n"
        )
    };
    let roce = "[transport.roce]";
    assert_eq!(priorities(&text("up_down", roce, "")), [0]);
    assert_eq!(priorities(&text("minimal", roce, "")), [0, 1]);
    assert_eq!(priorities(&text("ugal_local", roce, "")), [0, 1, 2]);
    assert_eq!(priorities(&text("valiant_switch", "[transport.roce]\n[flow_control.credits]", "")), [0, 1, 2, 3]);
    assert_eq!(priorities(&text("ugal_local", roce, "priority = 3")), [0, 3, 4, 5]);
    // Packets of TCP may be lost, but not those that are raised from a lossless priority to another.
    assert_eq!(priorities(&text("ugal_local", "[transport.tcp]", "")), [0, 1, 2]);
    assert_eq!(priorities(&text("ugal_local", "[transport.tcp]", "priority = 3")), [0]);
    let listed = "[transport.roce]\n[flow_control.pfc]\npriorities = [0, 1, 2, 7]";
    assert_eq!(priorities(&text("ugal_local", listed, "")), [0, 1, 2, 7]);
}

#[test]
fn a_list_of_priorities_that_is_too_short_is_still_refused() {
    let text = "routing = \"ugal_local\"\n[topology.dragonfly]\n[transport.roce]\n[flow_control.pfc]\npriorities = \
                [0]\n[[job]]\nname = \"job\"\nworkload.osu_latency = {}\n";
    let Err(error) = Run::start(text, "x.toml", &[], 1, &[]) else { panic!("two priorities may lose packets") };
    assert!(error.to_string().contains("flow_control.pfc.priorities: [0]; expected 0, 1, 2"), "{error}");
}
