//! Times the deadlock proof on the three fabrics of 300,000 hosts: `cargo run --release --example deadlock_proof`.
//! A fabric's name as argument (clos, butterfly, dragonfly) leaves the others out, to measure memory by itself.

use std::time::Instant;

use etherweave_routing::{RoutingKind, prove};
use etherweave_topology::{Dragonfly, Family, FlattenedButterfly, FoldedClos, Topology, Uplinks};

/// A fabric's name and how it is made.
type Fabric = (&'static str, fn() -> Topology);

fn main() {
    let wanted = std::env::args().nth(1);
    let fabrics: [Fabric; 3] = [("clos", clos), ("butterfly", butterfly), ("dragonfly", dragonfly)];
    for (name, generate) in
        fabrics.into_iter().filter(|(name, _)| wanted.as_deref().is_none_or(|wanted| wanted == *name))
    {
        let start = Instant::now();
        let topology = generate();
        println!(
            "{name}: {} switches, {} hosts, built in {:.2?}",
            topology.switches(),
            topology.hosts(),
            start.elapsed()
        );
        RoutingKind::all().into_iter().for_each(|kind| time(&topology, kind));
    }
}

fn time(topology: &Topology, kind: RoutingKind) {
    // Its table would be too large.
    if kind == RoutingKind::ShortestPath {
        return;
    }
    let start = Instant::now();
    let Ok(legality) = kind.legality(topology) else { return };
    let planned = start.elapsed();
    let proof = prove(topology, &legality);
    println!(
        "  {kind:?}: {} priorities, {} channels, {} dependencies{}, {} states, {}, in {planned:.2?} + {:.2?}",
        proof.priorities,
        proof.channels,
        proof.dependencies,
        if proof.is_exact { "" } else { " at most" },
        proof.states,
        if proof.is_free() { "free" } else { "may deadlock" },
        start.elapsed() - planned,
    );
}

fn clos() -> Topology {
    let uplinks = vec![Uplinks::default(); 3];
    FoldedClos { radix: 72, hosts: 303_264, uplinks, ..FoldedClos::default() }.generate().expect("valid parameters")
}

fn butterfly() -> Topology {
    let sizes = vec![15, 15, 15, 6];
    FlattenedButterfly { hosts_per_switch: 15, sizes, ..FlattenedButterfly::default() }
        .generate()
        .expect("valid parameters")
}

fn dragonfly() -> Topology {
    let dragonfly = Dragonfly { p: 18, a: 36, h: 18, groups: Some(463), ..Dragonfly::default() };
    dragonfly.generate().expect("valid parameters")
}
