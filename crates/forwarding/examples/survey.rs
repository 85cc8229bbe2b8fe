//! Surveys the tables of every family with at least a number of hosts, from switches of a number of ports:
//! `survey 300000 72`, or only of those named behind. Rules of the compacted tables, and seconds.

use std::time::Instant;

use etherweave_forwarding::Survey;
use etherweave_topology::{SizeRequest, TopologyKind};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, otherwise| arguments.get(place).map_or(Ok(otherwise), |text| text.parse());
    let (Ok(hosts), Ok(radix)) = (number(0, 300_000), number(1, 72)) else {
        eprintln!("expected two numbers: hosts and ports per switch");
        return;
    };
    println!("{:<20} {:>8} {:>8} {:>6} {:>8} {:>6} {:>7}", "family", "hosts", "switches", "min", "mean", "max", "time");
    for (name, fit) in TopologyKind::fits(&SizeRequest { hosts, radix }) {
        let is_asked = arguments.len() < 3 || arguments[2..].iter().any(|family| family == name);
        if let (true, Ok(fit)) = (is_asked, fit) {
            survey(name, &fit.smallest);
        }
    }
}

fn survey(name: &str, kind: &TopologyKind) {
    let topology = kind.generate().expect("a proposed member is valid");
    let start = Instant::now();
    match Survey::of(kind, &topology) {
        Ok(survey) => {
            let (rules, seconds) = (survey.compacted.rules, start.elapsed().as_secs_f64());
            let [hosts, switches] = [topology.hosts(), topology.switches()];
            let (min, mean, max) = (rules.min, rules.mean(), rules.max);
            println!("{name:<20} {hosts:>8} {switches:>8} {min:>6} {mean:>8.1} {max:>6} {seconds:>6.1}s");
        }
        Err(error) => println!("{name:<20} {error}"),
    }
}
