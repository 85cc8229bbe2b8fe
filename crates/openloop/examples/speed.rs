//! Times open-loop runs on a dragonfly: latency, accepted load, packet-hops per second of the bare core.
//!
//! `speed [p=4] [a=8] [h=4] [groups=33] [threads=1] [us=50] [seed=1] [load=0.2,0.5,0.8,1] [routing=MIN,VAL]
//! [pattern=UN] [arbiter=round_robin] [flow_control=pauses] [json=true]`
//!
//! `us` are measured after as many to warm up. With `json=true` it prints a JSON object per point and nothing else.
//! Routings `tables` and `conditional_tables` decide by flow tables.

use std::time::Instant;

use etherweave_openloop::routing::tables::{ConditionalTables, MinimalTables, TableRouting};
use etherweave_openloop::routing::{
    Conditional, DragonflyPlan, FabricPlan, Minimal, Piggyback, Routing, UgalLocal, ValiantGroup,
};
use etherweave_openloop::{
    Arbiter, Arrival, Experiment, FlowControl, OpenLoopError, Packet, Pattern, Report, RunParams, SwitchParams,
    port_bytes,
};
use etherweave_primitives::Duration;
use etherweave_topology::{Dragonfly, Topology, TopologyKind};
use etherweave_workload::arrival::Bernoulli;
use etherweave_workload::pattern::Adversarial;

fn main() {
    let words = Words(std::env::args().skip(1).collect());
    let number = |key, default| words.value(key).map_or(default, |word| word.parse().expect("a whole number"));
    let [p, a, h] = [("p", 4), ("a", 8), ("h", 4)].map(|(key, default)| number(key, default) as u32);
    let groups = number("groups", u64::from(a * h + 1)) as u32;
    let started = Instant::now();
    let kind = TopologyKind::Dragonfly(Dragonfly { p, a, h, groups: Some(groups), ..Dragonfly::default() });
    let topology = kind.generate().expect("a dragonfly");
    let plan = DragonflyPlan::of(&topology).expect("a complete dragonfly");
    let setting = Setting {
        kind: &kind,
        topology: &topology,
        plan: &plan,
        h: h as u8,
        threads: number("threads", 1) as usize,
        measured: Duration::from_us(number("us", 50)),
        seed: number("seed", 1),
        arbiter: match words.value("arbiter").unwrap_or("age") {
            "age" => Arbiter::Age,
            "round_robin" => Arbiter::RoundRobin,
            "least_recently_served" => Arbiter::LeastRecentlyServed,
            unknown => panic!("unknown arbiter {unknown}; known: age, round_robin, least_recently_served"),
        },
        flow_control: match words.value("flow_control").unwrap_or("credits") {
            "credits" => FlowControl::Credits,
            "pauses" => FlowControl::Pauses,
            unknown => panic!("unknown flow control {unknown}; known: credits, pauses"),
        },
        built: started.elapsed().as_secs_f64(),
        is_json: words.value("json") == Some("true"),
    };
    if !setting.is_json {
        let Setting { built, measured, .. } = setting;
        println!("{} hosts built in {built:.1} s; {measured} measured after as much", topology.hosts());
        println!("{HEAD}");
    }
    for pattern in words.list("pattern", "UN,ADV+1") {
        for load in words.list("load", "0.2,0.5,0.8,1") {
            let load = load.parse().expect("a load");
            words
                .list("routing", "MIN,VAL,UGAL-L,PB,conditional")
                .iter()
                .for_each(|name| setting.run(name, pattern, load));
        }
    }
}

struct Words(Vec<String>);

impl Words {
    fn value(&self, key: &str) -> Option<&str> {
        self.0.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    fn list<'a>(&'a self, key: &str, default: &'a str) -> Vec<&'a str> {
        self.value(key).unwrap_or(default).split(',').collect()
    }
}

struct Setting<'a> {
    kind: &'a TopologyKind,
    topology: &'a Topology,
    plan: &'a DragonflyPlan,
    h: u8,
    threads: usize,
    measured: Duration,
    seed: u64,
    arbiter: Arbiter,
    flow_control: FlowControl,
    /// How long the topology and its plan took [s].
    built: f64,
    is_json: bool,
}

impl Setting<'_> {
    fn run(&self, routing: &str, pattern: &str, load: f64) {
        let plan = self.plan.clone();
        match routing {
            "MIN" => self.time((routing, pattern), Minimal { plan }, load),
            "VAL" => self.time((routing, pattern), ValiantGroup { plan }, load),
            "conditional" => self.time((routing, pattern), Conditional { plan, h: self.h }, load),
            "UGAL-L" => self.time((routing, pattern), UgalLocal { plan, threshold: 0 }, load),
            "PB" => self.time((routing, pattern), Piggyback::new(plan), load),
            "tables" => {
                let made = || MinimalTables::default().build(self.kind, self.topology);
                self.time((routing, pattern), timed(made), load);
            }
            "conditional_tables" => {
                let made = || ConditionalTables::default().build(self.kind, self.topology);
                self.time((routing, pattern), timed(made), load);
            }
            unknown => panic!(
                "unknown routing {unknown}; known: MIN, VAL, UGAL-L, PB, conditional, tables, conditional_tables"
            ),
        }
    }

    fn time<R: Routing>(&self, (name, pattern_name): (&str, &str), routing: R, load: f64) {
        let run = RunParams::fixed(load, self.measured, self.measured, self.seed);
        // The simulator of the paper has no link from a switch to its hosts.
        let (arbiter, flow_control) = (self.arbiter, self.flow_control);
        let switch = SwitchParams { ejection_delay: Duration::ZERO, arbiter, flow_control, ..SwitchParams::default() };
        let pattern = match pattern_name {
            "UN" => Pattern::default(),
            "ADV+1" => Pattern::Adversarial(Adversarial::default()),
            unknown => panic!("unknown pattern {unknown}; known: UN, ADV+1"),
        };
        let bytes_per_port = port_bytes(routing.channels());
        let arrival = Arrival::Bernoulli(Bernoulli { slots_per_packet: 200 });
        let experiment =
            Experiment { topology: self.topology, switch, routing, pattern, arrival, outages: Vec::new(), run };
        let prepared = experiment.prepare().expect("parameters in range");
        let started = Instant::now();
        let report = prepared.run(self.threads);
        let took = started.elapsed().as_secs_f64();
        if self.is_json {
            let point = [
                ("routing", format!("{name:?}")),
                ("pattern", format!("{pattern_name:?}")),
                ("load", load.to_string()),
            ];
            print_json(&[&point[..], &self.costs(bytes_per_port, took), &counts(&report)].concat());
        } else {
            print(&report, &format!("{name:<12} {pattern_name:<7} {load:<4}"), took);
        }
    }

    fn costs(&self, bytes_per_port: usize, took: f64) -> [Member; 7] {
        [
            ("hosts", self.topology.hosts().to_string()),
            ("seed", self.seed.to_string()),
            ("threads", self.threads.to_string()),
            ("built_s", self.built.to_string()),
            ("wall_s", took.to_string()),
            ("bytes_per_port", bytes_per_port.to_string()),
            ("bytes_per_packet", size_of::<Packet>().to_string()),
        ]
    }
}

/// Key and value of a JSON object.
type Member = (&'static str, String);

fn counts(report: &Report) -> [Member; 4] {
    [
        ("packet_hops", report.packet_hops.to_string()),
        ("packets_most", report.packets_most.to_string()),
        ("load_accepted", report.load_accepted.to_string()),
        ("fingerprint", format!("\"{:016x}\"", report.fingerprint)),
    ]
}

fn print_json(members: &[Member]) {
    let members: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
    println!("{{{}}}", members.join(", "));
}

/// Tables, with how long they took and how large they are.
fn timed(make: impl Fn() -> Result<TableRouting, OpenLoopError>) -> TableRouting {
    let started = Instant::now();
    let tables = make().expect("a complete dragonfly has tables");
    println!("tables of {} KiB in {:.1} s", tables.bytes() / 1024, started.elapsed().as_secs_f64());
    tables
}

const HEAD: &str =
    "routing      pattern load  mean_ns   p50   p99 p99.9 accepted hops detour  Mhops/s   s  packets fingerprint";

fn print(report: &Report, name: &str, took: f64) {
    let percentile = |share| report.latency_ns.percentile(share).unwrap_or(0);
    println!(
        "{name} {:>8.0} {:>5} {:>5} {:>5} {:>8.3} {:>4.2} {:>6.3} {:>8.2} {took:>4.1} {:>8} {:016x}",
        report.latency_ns_mean.unwrap_or(f64::NAN),
        percentile(0.5),
        percentile(0.99),
        percentile(0.999),
        report.load_accepted,
        report.hops_mean.unwrap_or(f64::NAN),
        report.detoured_share.unwrap_or(f64::NAN),
        report.packet_hops as f64 / took / 1e6,
        report.packets_most,
        report.fingerprint,
    );
}
