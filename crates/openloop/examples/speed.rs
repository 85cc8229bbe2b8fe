//! Times runs of the bare open-loop core on a balanced dragonfly, for `bench/openloop.py`:
//! `speed h=4 groups=33 routing=MIN load=0.5 us=50 threads=1`, or `routing=VAL`.
//!
//! `us` are measured after as many to warm up. Prints a JSON object: what was run, what it took, and how it ended.

use std::time::Instant;

use etherweave_openloop::{Arrival, Experiment, Links, PACKET_BYTES, Pattern, RunParams, SwitchParams};
use etherweave_primitives::{BitRate, Duration};
use etherweave_routing::{DragonflyMinimal, DragonflyPlan, FabricPlan, PacketRouting, ValiantGroup};
use etherweave_topology::{Dragonfly, Family, Topology};
use etherweave_workload::arrival::Bernoulli;

/// Words `key=value`.
struct Words(Vec<String>);

impl Words {
    fn value(&self, key: &str) -> &str {
        let value = self.0.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        value.unwrap_or_else(|| panic!("no word {key}=..."))
    }

    fn number(&self, key: &str) -> u32 {
        self.value(key).parse().expect("a whole number")
    }
}

fn main() {
    let words = Words(std::env::args().skip(1).collect());
    let (h, groups) = (words.number("h"), Some(words.number("groups")));
    let started = Instant::now();
    let topology = Dragonfly { p: h, a: 2 * h, h, groups, ..Dragonfly::default() }.generate().expect("a dragonfly");
    let plan = DragonflyPlan::of(&topology).expect("a complete dragonfly");
    let built = started.elapsed().as_secs_f64();
    match words.value("routing") {
        "MIN" => time(&words, &topology, built, DragonflyMinimal { plan }),
        "VAL" => time(&words, &topology, built, ValiantGroup { plan }),
        unknown => panic!("unknown routing {unknown}; known: MIN, VAL"),
    }
}

fn time<R: PacketRouting>(words: &Words, topology: &Topology, built: f64, routing: R) {
    let span = Duration::from_us(words.number("us").into());
    let load = words.value("load").parse().expect("a load");
    let bytes_per_port = etherweave_openloop::port_bytes(routing.channels());
    // Benito, Vallejo and Beivide, HiPC 2015, table III: 40 Gb/s, 40 and 400 ns. Their simulator has no links from
    // switches to hosts.
    let links = Links::alike(topology, BitRate::from_gbps(40), [40, 40, 400].map(Duration::from_ns));
    let experiment = Experiment {
        topology,
        links: links.with_ejection(topology, Duration::ZERO),
        switch: SwitchParams::default(),
        routing,
        pattern: Pattern::default(),
        arrival: Arrival::Bernoulli(Bernoulli { slots_per_packet: 200 }),
        outages: Vec::new(),
        run: RunParams::fixed(load, span, span, 1),
    };
    let prepared = experiment.prepare().expect("parameters in range");
    let started = Instant::now();
    let report = prepared.run(words.number("threads") as usize);
    let wall = started.elapsed().as_secs_f64();
    let (hosts, hops, fingerprint) = (topology.hosts(), report.packet_hops, report.fingerprint);
    println!(
        "{{\"hosts\": {hosts}, \"built_s\": {built}, \"wall_s\": {wall}, \"bytes_per_port\": {bytes_per_port}, \
         \"bytes_per_packet\": {PACKET_BYTES}, \"packet_hops\": {hops}, \"fingerprint\": \"{fingerprint:016x}\"}}"
    );
}
