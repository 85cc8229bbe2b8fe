//! Headroom to the exact byte.

use etherweave_primitives::{BitRate, Bytes, Duration, Length, Priority};
use etherweave_sim::params::{Cells, FlowControl, Forwarding, PeerResponse, Pfc, SimParams};
use etherweave_sim::{Experiment, PauseCounters, Report, headroom};

use crate::common::{experiment, job_of, one_message, one_switch, roce, run};

/// Three hosts send to one; the pool is so small that pauses come at once.
fn overload(bytes: Option<Bytes>) -> Experiment {
    let mut params: SimParams = roce();
    params.switch.buffer = Bytes::new(400_000);
    params.switch.reserve = Bytes::new(1_000);
    params.switch.headroom = bytes;
    params.switch.forwarding = Forwarding::StoreAndForward;
    let stream = |source: u32| etherweave_workload::StreamSpec { outstanding: 2, ..one_message(source, 0, 2_000_000) };
    let traffic = etherweave_workload::Traffic::Streams((1..4).map(stream).collect());
    experiment(one_switch(4), params, vec![job_of(traffic, Priority::new(0))])
}

fn loses(headroom: u64, cells: Option<&Cells>) -> bool {
    let mut experiment = overload(Some(Bytes::new(headroom)));
    experiment.params.switch.cells = cells.cloned();
    !run(&experiment, 1).lossless_drops.is_empty()
}

/// The least headroom that loses nothing.
fn least_headroom(cells: Option<&Cells>) -> u64 {
    let (mut too_small, mut enough) = (0, 60_000);
    assert!(loses(too_small, cells) && !loses(enough, cells));
    while enough - too_small > 1 {
        let middle = (enough + too_small) / 2;
        if loses(middle, cells) { too_small = middle } else { enough = middle }
    }
    enough
}

#[test]
fn one_byte_less_headroom_than_needed_loses_packets_and_the_computed_one_is_enough() {
    let enough = least_headroom(None);
    assert!(loses(enough - 1, None) && !loses(enough, None));
    let params = roce();
    let into_switch = params.nic.transmit_latency + Duration::from_ns(50) + params.switch.latency;
    let pause = Duration::from_ns(50) + Duration::from_ns(500);
    let computed = headroom(BitRate::from_gbps(100), into_switch, pause, Bytes::new(4_096 + 86 + 16));
    assert!(computed.get() >= enough, "computed are {computed}, needed are {enough} B");
    // To spare: the frame that nothing here sends against the pause frames, and less than one for whole packets.
    assert!(computed.get() - enough < 2 * 4_198, "computed are {computed}, needed are {enough} B");
}

#[test]
fn in_cells_one_cell_less_headroom_than_needed_loses_packets_and_the_rule_of_cells_is_enough() {
    // A frame of 4198 B on the wire, 4178 B in the memory, takes 30 cells of 144 B.
    let frame = 30 * 144;
    let params = roce();
    let cells = Cells {
        size: Bytes::new(144),
        factor: frame as f64 / 4_198.0,
        // The packet that decided, one at each end, and the pause frame.
        fixed: Bytes::new(3 * 4_198 + 84),
        delay: params.nic.transmit_latency + params.switch.latency + Duration::from_ns(500),
        response: PeerResponse::None,
        response_factor: None,
        rates: Vec::new(),
    };
    let enough = least_headroom(Some(&cells));
    assert_eq!(enough % 144, 0, "headroom of {enough} B is no whole number of cells");
    assert!(enough > least_headroom(None));
    let computed = cells.headroom(BitRate::from_gbps(100), Length::from_m(10)).get();
    assert!(computed >= enough, "computed are {computed}, needed are {enough} B");
    assert!(computed - enough < 2 * frame, "computed are {computed}, needed are {enough} B");
}

#[test]
fn a_loss_is_reported_by_port_and_priority() {
    let report: Report = run(&overload(Some(Bytes::new(2_000))), 1);
    let drop = &report.lossless_drops[0];
    assert_eq!((drop.node.as_str(), drop.priorities), ("switch0", 1));
    assert!(drop.peer.starts_with("host") && drop.packets > 0);
    assert_eq!(report.lossless_drops.iter().map(|drop| drop.packets).sum::<u64>(), report.totals.dropped);
}

#[test]
fn xoff_refresh_and_xon_frames_are_counted_apart() {
    // At 100 Gb/s a quantum is 5.12 ns: a pause of 200 quanta is renewed every 512 ns.
    let mut experiment = overload(None);
    experiment.params.flow_control = FlowControl::Pfc(Pfc { quanta: 200, ..Pfc::default() });
    let report = run(&experiment, 1);
    let row = |node: &str, peer: &str| {
        report.ports.iter().find(|row| row.node == node && row.peer == peer && row.priority.get() == 0).unwrap()
    };
    for host in ["host1", "host2", "host3"] {
        let (switch, host) = (row("switch0", host), row(host, "switch0"));
        assert_eq!(switch.tx_pauses, host.rx_pauses, "no pause frame is lost, none runs out before it is renewed");
        let PauseCounters { xoff, refresh, xon } = switch.tx_pauses;
        assert!(xoff > 0 && refresh > 0, "{:?}", switch.tx_pauses);
        assert_eq!(xoff, xon, "every pause has ended");
        assert!(u64::from(refresh) <= switch.tx_pause_duration.as_ps() / 512_000);
        assert_eq!(switch.rx_pauses.total(), 0, "a host with nothing to receive sends no pause frames");
    }
}

#[test]
fn a_longer_cable_needs_a_larger_headroom() {
    let of = |metres: u64| {
        let delay = Length::from_m(metres).propagation_time();
        headroom(BitRate::from_gbps(100), delay, delay, Bytes::new(4_198)).get()
    };
    // Twice 5 ns per metre at 12.5 B/ns.
    assert_eq!(of(110) - of(10), 100 * 2 * 5 * 25 / 2);
}

/// Light takes 5 us for a kilometre, and what is sent until a pause has effect is that of both ways: 125 KB at
/// 100 Gb/s, 500 KB at 400 Gb/s, 1 MB at 800 Gb/s for each kilometre and lossless priority.
#[test]
fn a_kilometre_of_cable_needs_ten_microseconds_of_the_rate() {
    for (gbps, bytes_of_km) in [(100, 125_000), (400, 500_000), (800, 1_000_000)] {
        let at = |km: u64| {
            let cable = Length::from_m(1_000 * km).propagation_time();
            let [there, back] = [300, 500].map(|ns| cable + Duration::from_ns(ns));
            headroom(BitRate::from_gbps(gbps), there, back, Bytes::new(4_198)).get()
        };
        for km in [1, 10, 80, 100] {
            assert_eq!(at(km) - at(0), km * bytes_of_km, "{km} km at {gbps} Gb/s");
        }
    }
}
