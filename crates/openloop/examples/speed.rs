//! Times open-loop runs on a dragonfly: latency, accepted load, packet-hops per second of the bare core.
//!
//! `speed [p=4] [a=8] [h=4] [groups=33] [threads=1] [us=50] [seed=1] [load=0.2,0.5,0.8,1] [routing=MIN,VAL]
//! [pattern=UN] [arbiter=round_robin] [flow_control=pauses] [json=true]`
//!
//! `us` are measured after as many to warm up. With `json=true` it prints a JSON object per point and nothing else.
//! Routings `tables` and `conditional_tables` decide by flow tables.

mod dragonfly;

use std::time::Instant;

use dragonfly::{Act, Point, Setting, Words};
use etherweave_forwarding::{ConditionalTables, MinimalTables};
use etherweave_openloop::{Experiment, PACKET_BYTES, Report, port_bytes};
use etherweave_primitives::InputError;
use etherweave_routing::{PacketRouting, tables::CompiledTables};
use etherweave_topology::TopologyKind;

fn main() {
    let words = Words(std::env::args().skip(1).collect());
    let started = Instant::now();
    let setting = Setting::of(&words);
    let built = started.elapsed().as_secs_f64();
    let is_json = words.value("json") == Some("true");
    let kind = dragonfly::kind(&words);
    let mut watch =
        Watch { kind: &kind, setting: &setting, threads: words.number("threads", 1) as usize, built, is_json };
    if !is_json {
        let (hosts, us) = (setting.topology.hosts(), words.number("us", 50));
        println!("{hosts} hosts built in {built:.1} s; {us}us measured after as much");
        println!("{HEAD}");
    }
    words.points().iter().for_each(|point| watch.run(point));
}

struct Watch<'a> {
    kind: &'a TopologyKind,
    setting: &'a Setting,
    threads: usize,
    /// How long the topology and its plan took [s].
    built: f64,
    is_json: bool,
}

impl Act for Watch<'_> {
    fn act<R: PacketRouting>(&mut self, point: &Point<'_>, experiment: &Experiment<'_, R>) {
        let prepared = experiment.prepare().expect("parameters in range");
        let started = Instant::now();
        let report = prepared.run(self.threads);
        let took = started.elapsed().as_secs_f64();
        let Point { routing, pattern, load } = point;
        if self.is_json {
            let point =
                [("routing", format!("{routing:?}")), ("pattern", format!("{pattern:?}")), ("load", load.to_string())];
            let bytes_per_port = port_bytes(experiment.routing.channels());
            print_json(&[&point[..], &self.costs(bytes_per_port, took), &counts(&report)].concat());
        } else {
            print(&report, &format!("{routing:<12} {pattern:<7} {load:<4}"), took);
        }
    }
}

impl Watch<'_> {
    fn run(&mut self, point: &Point<'_>) {
        let (kind, topology) = (self.kind, &self.setting.topology);
        let tables = match point.routing {
            "tables" => timed(|| MinimalTables::default().build(kind, topology)),
            "conditional_tables" => timed(|| ConditionalTables::default().build(kind, topology)),
            _ => return self.setting.with(point, self),
        };
        self.act(point, &self.setting.experiment(point, tables));
    }

    fn costs(&self, bytes_per_port: usize, took: f64) -> [Member; 7] {
        [
            ("hosts", self.setting.topology.hosts().to_string()),
            ("seed", self.setting.seed.to_string()),
            ("threads", self.threads.to_string()),
            ("built_s", self.built.to_string()),
            ("wall_s", took.to_string()),
            ("bytes_per_port", bytes_per_port.to_string()),
            ("bytes_per_packet", PACKET_BYTES.to_string()),
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
fn timed(make: impl Fn() -> Result<CompiledTables, InputError>) -> CompiledTables {
    let started = Instant::now();
    let tables = make().expect("a complete dragonfly has tables");
    println!("tables of {} KiB in {:.1} s", tables.bytes() / 1024, started.elapsed().as_secs_f64());
    tables
}

const HEAD: &str =
    "routing      pattern load  mean_ns   p50   p99 p99.9 accepted hops misrte  Mhops/s   s  packets fingerprint";

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
        report.misrouted_share.unwrap_or(f64::NAN),
        report.packet_hops as f64 / took / 1e6,
        report.packets_most,
        report.fingerprint,
    );
}
