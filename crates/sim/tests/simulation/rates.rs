//! Links of different rates in a row: no bit arrives before it can, whether switches store packets or not.

use etherweave_primitives::{BitRate, Duration, Length, Priority, Time};
use etherweave_routing::RoutingKind;
use etherweave_sim::params::{FlowControl, Forwarding, RoceVersion, SimParams, SwitchModel, SwitchParams};
use etherweave_sim::{Experiment, Paths, PreparedRouting, Report, frame::size::RoceSizes};
use etherweave_topology::{Custom, Family, FatTree, Topology};

use crate::common::{experiment, job_of, run, selective};
use crate::credits::{MTU, frames, ideal, stream, streams, with_credits};
use crate::{per_packet::shift, threads::assert_same_on_any_threads};

/// Metres of every cable.
const CABLE: u64 = 3;

/// Rates of links in a row, from host to host [Gb/s].
type Rates = &'static [u64];

/// Rising and falling, in one to four steps and in both orders.
const ROWS: [Rates; 14] = [
    &[10, 10],
    &[10, 100],
    &[100, 10],
    &[10, 40, 100],
    &[100, 40, 10],
    &[40, 10, 100],
    &[10, 100, 40],
    &[10, 25, 40, 100],
    &[400, 100, 40, 10],
    &[100, 10, 100, 10],
    &[10, 100, 10, 100],
    &[10, 25, 40, 100, 400],
    &[400, 100, 40, 25, 10],
    &[40, 100, 40, 400, 10],
];

/// Two hosts with a switch between any two links.
fn row(rates: Rates) -> Topology {
    let last = rates.len() - 2;
    let mut links = format!("h0,s0,{}Gb/s,{CABLE}m\nh1,s{last},{}Gb/s,{CABLE}m\n", rates[0], rates[last + 1]);
    for (switch, rate) in rates[1..=last].iter().enumerate() {
        links += &format!("s{switch},s{},{rate}Gb/s,{CABLE}m\n", switch + 1);
    }
    Custom { hosts: 2, links, ..Custom::default() }.generate().unwrap()
}

/// A packet of `bytes` on a link of `gbps`.
fn time(bytes: u64, gbps: u64) -> Duration {
    Duration::from_ps(bytes * 8_000 / gbps)
}

/// When the last of packets that a host has at once is at the other host, by what every link does: it sends a packet
/// when it is free and the packet may leave, which is when all of it is there, or of a packet that goes on no faster
/// than it came, its header.
fn arrival(rates: Rates, packets: &[u64], params: &SimParams) -> Time {
    let header = params.switch.header.get();
    let is_cut_through = params.switch.forwarding == Forwarding::CutThrough;
    let cable = Length::from_m(CABLE).propagation_time();
    let mut free = vec![Time::ZERO; rates.len()];
    let mut last = Time::ZERO;
    for &bytes in packets {
        let mut ready = Time::ZERO + params.host.mpi_roce.send_overhead;
        for (link, &rate) in rates.iter().enumerate() {
            let start = ready.max(free[link]);
            free[link] = start + time(bytes, rate);
            let behind = params.nic.transmit_latency * u64::from(link == 0) + cable;
            let passes = is_cut_through && rates.get(link + 1).is_some_and(|&next| next <= rate);
            ready = start + time(if passes { header.min(bytes) } else { bytes }, rate) + behind;
            ready += if link + 1 < rates.len() { params.switch.latency } else { params.nic.receive_latency };
        }
        last = ready;
    }
    last
}

/// Bytes on the wire of the packets of a message of so many bytes.
fn packets(bytes: u64) -> Vec<u64> {
    let sizes = RoceSizes::new(RoceVersion::V2, true);
    let overhead = |first: bool| u64::from(if first { sizes.first_overhead() } else { sizes.middle_overhead() });
    (0..bytes.div_ceil(MTU)).map(|number| MTU.min(bytes - number * MTU) + overhead(number == 0)).collect()
}

fn one_message(topology: Topology, params: SimParams, bytes: u64) -> Experiment {
    streams(vec![stream(0, 1, bytes, Some(1))], 2, topology, params)
}

fn lossy(forwarding: Forwarding) -> SimParams {
    let mut params = SimParams { flow_control: FlowControl::None {}, ..ideal() };
    params.switch.forwarding = forwarding;
    params
}

fn input_queued(params: SimParams) -> SimParams {
    let mut params = with_credits(params, frames(16));
    params.switch = SwitchParams { model: SwitchModel::InputQueued, ..params.switch };
    params
}

/// Shared buffers without flow control and with credits, and input-queued switches.
fn models(forwarding: Forwarding) -> [SimParams; 3] {
    let params = || lossy(forwarding);
    [params(), with_credits(params(), frames(16)), input_queued(params())]
}

const FORWARDINGS: [Forwarding; 2] = [Forwarding::CutThrough, Forwarding::StoreAndForward];

/// A header, a packet, and several packets behind each other.
#[test]
fn messages_over_rising_and_falling_rates_take_as_long_as_every_link_needs() {
    for forwarding in FORWARDINGS {
        for params in models(forwarding) {
            for (rates, bytes) in ROWS.iter().flat_map(|&rates| [4, MTU, 6 * MTU].map(|bytes| (rates, bytes))) {
                let end = run(&one_message(row(rates), params.clone(), bytes), 1).streams[0].end;
                let what = format!("{bytes} B over {rates:?} Gb/s, {forwarding:?}, {:?}", params.switch.model);
                assert_eq!(end, arrival(rates, &packets(bytes), &params), "{what}");
            }
        }
    }
}

/// 10, 40, 100 Gb/s: no switch may begin to forward before it has the whole packet, so that both kinds are equal.
#[test]
fn where_rates_rise_at_every_switch_cutting_through_gains_nothing() {
    for rates in ROWS.into_iter().filter(|rates| rates.is_sorted_by(|rate, next| rate < next)) {
        let [cut, stored] = FORWARDINGS.map(|forwarding| arrival(rates, &packets(4_000), &lossy(forwarding)));
        assert_eq!(cut, stored);
        let simulated = run(&one_message(row(rates), lossy(Forwarding::CutThrough), 4_000), 2).streams[0].end;
        assert_eq!(simulated, stored, "{rates:?} Gb/s");
    }
}

#[test]
fn a_decision_per_packet_takes_as_long_as_a_path_per_flow() {
    for rates in ROWS {
        let topology = row(rates);
        let prepared = PreparedRouting::new(RoutingKind::ShortestPath, &topology).unwrap();
        let params = lossy(Forwarding::CutThrough);
        let experiment = one_message(topology, params.clone(), 6 * MTU);
        let experiment = Experiment { paths: Paths::PerPacket(prepared), ..experiment };
        let report = run(&experiment, 2);
        assert_eq!(report.streams[0].end, arrival(rates, &packets(6 * MTU), &params), "{rates:?} Gb/s");
        // Every packet, and as many acknowledgements, over every link once.
        assert_eq!(report.totals.packet_hops, report.totals.created * rates.len() as u64, "{rates:?} Gb/s");
    }
}

/// Two leaves under two cores.
fn tree(host: u64, uplink: u64) -> Topology {
    let [host_rate, uplink_rate] = [host, uplink].map(BitRate::from_gbps);
    let tree = FatTree { leaves: 2, hosts_per_leaf: 4, cores: 2, links_per_core: 1, ..FatTree::default() };
    FatTree { host_rate, uplink_rate, ..tree }.generate().unwrap()
}

fn shifted(topology: &Topology, kind: RoutingKind, params: SimParams) -> Report {
    let prepared = PreparedRouting::new(kind, topology).unwrap();
    let job = job_of(shift(topology, 4, 100_000), Priority::new(0));
    let experiment = experiment(topology.clone(), params, vec![job]);
    assert_same_on_any_threads(&Experiment { paths: Paths::PerPacket(prepared), ..experiment })
}

/// Host, leaf, core, leaf, host: four links, whatever their rates.
#[test]
fn packets_of_slow_hosts_on_fast_trees_cross_four_links() {
    for (host, uplink) in [(40, 100), (100, 400), (10, 400), (100, 40)] {
        let topology = tree(host, uplink);
        for kind in
            [RoutingKind::Spray, RoutingKind::Ecmp, RoutingKind::AdaptiveUp, RoutingKind::Flowlet(Default::default())]
        {
            for params in models(Forwarding::CutThrough) {
                let totals = shifted(&topology, kind, selective(params)).totals;
                let hops = 4 * totals.delivered..=4 * totals.created;
                assert!(hops.contains(&totals.packet_hops), "{kind:?}, {host} and {uplink} Gb/s: {totals:?}");
                assert_eq!(totals.dropped, 0);
            }
        }
    }
}
