//! Links with rates and lengths of their own.

use crate::fabric::offered;
use etherweave_openloop::{FlowControl, Links, OfferedTraffic, Pattern, Report, RunParams, SwitchParams};
use etherweave_primitives::{BitRate, Duration};
use etherweave_routing::RoutingKind;
use etherweave_topology::{Custom, Dimension, Family, Topology, Torus};
use etherweave_workload::pattern::{Listed, Uniform};

/// `hosts` hosts of 100 Gb/s on each of two switches, which a link of 100 m joins.
fn bridge(hosts: u32, rate: &str) -> Topology {
    let to_hosts = (0..2 * hosts).map(|host| format!("h{host},s{},100Gb/s,3m\n", host / hosts));
    let links = format!("{}s0,s1,{rate},100m\n", to_hosts.collect::<String>());
    Custom { links, ..Custom::default() }.generate().unwrap()
}

struct Run {
    routing: RoutingKind,
    pattern: Pattern,
    load: f64,
    us: u64,
    flow_control: FlowControl,
}

impl Run {
    fn on(&self, topology: &Topology, threads: usize) -> Report {
        let span = Duration::from_us(self.us);
        let traffic = OfferedTraffic {
            // Room for what is on 100 m at 400 Gb/s when a pause arrives.
            switch: SwitchParams { flow_control: self.flow_control, local_buffer: 128, ..SwitchParams::default() },
            links: Links::of(topology),
            ..offered(topology, self.pattern.clone(), RunParams::fixed(self.load, span, span, 1))
        };
        traffic.run_with(self.routing, threads).unwrap()
    }
}

const FLOW_CONTROLS: [FlowControl; 2] = [FlowControl::Credits, FlowControl::Pauses];

#[test]
fn a_packet_takes_the_time_of_each_of_its_links_and_is_stored_before_a_faster_one() {
    let pattern = Pattern::Listed(Listed { pairs: vec![[0, 1]] });
    // 3 m are 15 ns, 100 m 500 ns; 1,000 B take 80 ns at 100 Gb/s, 200 ns at 40 Gb/s and 20 ns at 400 Gb/s. Heads cross
    // a switch in 200 ns; before a faster link the tail has come first.
    for (rate, expected) in [
        ("100Gb/s", 15 + 200 + 500 + 200 + 80 + 15),
        ("40Gb/s", 15 + 200 + 500 + (200 + 200) + 80 + 15),
        ("400Gb/s", 15 + (80 + 200) + 500 + 200 + 80 + 15),
    ] {
        for flow_control in FLOW_CONTROLS {
            let run = Run {
                routing: RoutingKind::ShortestPath,
                pattern: pattern.clone(),
                load: 0.0001,
                us: 20_000,
                flow_control,
            };
            let mean = run.on(&bridge(1, rate), 1).latency_ns_mean.unwrap();
            assert!((mean - f64::from(expected)).abs() < 0.5, "{rate}, {flow_control:?}: {mean}, expected {expected}");
        }
    }
}

#[test]
fn a_slow_link_carries_its_rate_and_no_more() {
    // Of uniform traffic 3/5 of what three hosts send crosses a link of 2/5 of the rate of each.
    let topology = bridge(3, "40Gb/s");
    for flow_control in FLOW_CONTROLS {
        let run = |load| Run {
            routing: RoutingKind::ShortestPath,
            pattern: Pattern::Uniform(Uniform::default()),
            load,
            us: 200,
            flow_control,
        };
        let below = run(0.2).on(&topology, 1);
        assert!((below.load_accepted - 0.2).abs() < 0.006, "{flow_control:?}: {}", below.load_accepted);
        let above = run(1.0).on(&topology, 1);
        // Port 3 of both switches; no other is as busy.
        let busy = [above.busy[3], above.busy[above.radix + 3]];
        assert!(busy.iter().all(|&busy| (0.97..=1.001).contains(&busy)), "{flow_control:?}: {busy:?}");
        assert!(above.busy.iter().all(|&busy| busy <= 1.001), "{flow_control:?}: {:?}", above.busy);
    }
}

#[test]
fn hosts_of_unequal_rates_offer_the_same_share_of_each() {
    let links = "h0,s0,100Gb/s\nh1,s0,25Gb/s\nh2,s0,100Gb/s\nh3,s0,25Gb/s\n".to_owned();
    let topology = Custom { links, ..Custom::default() }.generate().unwrap();
    let pattern = Pattern::Listed(Listed { pairs: vec![[0, 2], [2, 0], [1, 3], [3, 1]] });
    let routing = RoutingKind::ShortestPath;
    let report = Run { routing, pattern, load: 0.5, us: 400, flow_control: FlowControl::Credits }.on(&topology, 1);
    assert!((report.load_accepted - 0.5).abs() < 0.02, "{}", report.load_accepted);
    assert!(report.busy.iter().all(|&busy| (busy - 0.5).abs() < 0.05), "{:?}", report.busy);
}

#[test]
fn rates_do_not_make_a_run_depend_on_threads() {
    let dimension = |gbps| Dimension { rate: BitRate::from_gbps(gbps), ..Dimension::of(8) };
    let dimensions = vec![dimension(100), dimension(25)];
    let topology = Torus { dimensions, ..Torus::default() }.generate().unwrap();
    for flow_control in FLOW_CONTROLS {
        let pattern = Pattern::Uniform(Uniform::default());
        let run = Run { routing: RoutingKind::DimensionOrder, pattern, load: 0.9, us: 10, flow_control };
        let alone = run.on(&topology, 1);
        for threads in [2, 3] {
            assert_eq!(run.on(&topology, threads), alone, "{flow_control:?} on {threads} threads");
        }
    }
}
