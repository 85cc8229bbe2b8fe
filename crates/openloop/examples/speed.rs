//! Times open-loop runs on a dragonfly: latency, accepted load, packet-hops per second of the bare core.
//!
//! `speed [p a h groups] [threads] [load ...]`; without arguments the 1,056-host dragonfly.

use std::time::Instant;

use etherweave_openloop::routing::{Conditional, DragonflyPlan, Minimal, Routing, ValiantGroup};
use etherweave_openloop::{Experiment, Pattern, Report, RunParams, SwitchParams};
use etherweave_primitives::Duration;
use etherweave_topology::{Dragonfly, Family, Topology};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u32| words.get(index).map_or(default, |word| word.parse().expect("a number"));
    let (p, a, h) = (number(0, 4), number(1, 8), number(2, 4));
    let dragonfly = Dragonfly { p, a, h, groups: Some(number(3, a * h + 1)), ..Dragonfly::default() };
    let threads = number(4, 1) as usize;
    let measured = Duration::from_us(u64::from(number(5, 20)));
    let topology = dragonfly.generate().expect("a dragonfly");
    let plan = DragonflyPlan::of(&topology).expect("a complete dragonfly");
    println!("{} hosts, {threads} threads, {measured} measured", topology.hosts());
    println!(
        "routing      pattern load  mean_ns   p50   p99 p99.9 accepted hops detour  Mhops/s   s  packets fingerprint"
    );
    let block = plan.hosts_per_group();
    let adversarial = Pattern::Adversarial { block, ahead: 1 };
    let loads = if words.len() > 6 {
        words[6..].iter().map(|word| word.parse().expect("a load")).collect()
    } else {
        vec![0.2, 0.3, 0.4, 0.45, 0.5, 0.8, 1.0]
    };
    let setting = Setting { topology: &topology, threads, measured };
    for (name, pattern) in [("UN", Pattern::Uniform), ("ADV+1", adversarial)] {
        for &load in &loads {
            setting.time("MIN", Minimal { plan: plan.clone() }, (name, &pattern), load);
            setting.time("VAL", ValiantGroup { plan: plan.clone() }, (name, &pattern), load);
            setting.time("conditional", Conditional { plan: plan.clone(), h: h as u8 }, (name, &pattern), load);
        }
    }
}

struct Setting<'a> {
    topology: &'a Topology,
    threads: usize,
    measured: Duration,
}

impl Setting<'_> {
    fn time<R: Routing>(&self, routing_name: &str, routing: R, (name, pattern): (&str, &Pattern), load: f64) {
        let run = RunParams { load, warm_up: self.measured, measured: self.measured, seed: 1 };
        // The simulator of the paper has no link from a switch to its hosts.
        let switch = SwitchParams { ejection_delay: Duration::ZERO, ..SwitchParams::default() };
        let experiment = Experiment { topology: self.topology, switch, routing, pattern: pattern.clone(), run };
        let prepared = experiment.prepare().expect("parameters in range");
        let started = Instant::now();
        let report = prepared.run(self.threads);
        let took = started.elapsed().as_secs_f64();
        print(&report, &format!("{routing_name:<12} {name:<7} {load:<4}"), took);
    }
}

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
