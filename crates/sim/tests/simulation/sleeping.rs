//! Ports that sleep between frames, and wake before the next one.

use etherweave_primitives::{Bytes, Duration, Priority, Time};
use etherweave_sim::params::{FlowControl, LowPowerIdleTimes, Pfc, SimParams};
use etherweave_sim::{Report, SleepRow};
use etherweave_topology::{Family, FatTree};
use etherweave_workload::{Permutation, StreamSpec, Traffic, Workload};
use proptest::prelude::*;

use crate::common::{experiment, job, job_of, one_message, one_switch, roce, run, tcp};
use crate::threads::assert_same_on_any_threads;

fn times(after: u64, sleep: u64, wake: u64) -> Option<LowPowerIdleTimes> {
    let [after, sleep, wake] = [after, sleep, wake].map(Duration::from_us);
    Some(LowPowerIdleTimes { after, sleep, wake })
}

fn sleeping(mut params: SimParams, idle: Option<LowPowerIdleTimes>) -> SimParams {
    (params.switch.low_power_idle, params.nic.low_power_idle) = (idle, idle);
    params
}

/// Messages of so many packets of 4 KiB over one switch, each after the acknowledgement of the one before.
fn exchange(messages: u64, packets: u64, idle: Option<LowPowerIdleTimes>) -> Report {
    let stream = StreamSpec { messages: Some(messages), ..one_message(0, 1, packets * 4_096) };
    let mut params = sleeping(roce(), idle);
    params.nic.drain_rate = etherweave_primitives::BitRate::from_gbps(10_000);
    let job = job_of(Traffic::Streams(vec![stream]), Priority::new(0));
    run(&experiment(one_switch(2), params, vec![job]), 1)
}

fn later(report: &Report, other: &Report) -> Duration {
    report.streams[0].end.since(other.streams[0].end)
}

fn row<'a>(report: &'a Report, node: &str, peer: &str) -> &'a SleepRow {
    let mut rows = report.sleeps.iter();
    rows.find(|row| (row.node.as_str(), row.peer.as_str()) == (node, peer)).expect("every port sleeps")
}

#[test]
fn a_message_waits_once_for_each_link_that_it_wakes() {
    for packets in [1, 100] {
        // Both links were idle for longer than they take to fall asleep when the first packet comes.
        let report = exchange(1, packets, times(0, 0, 5));
        assert_eq!(later(&report, &exchange(1, packets, None)), Duration::from_us(2 * 5));
        for (node, peer) in [("host0", "switch0"), ("switch0", "host1")] {
            let SleepRow { wakes, waited, .. } = row(&report, node, peer);
            assert_eq!((*wakes, *waited), (1, Duration::from_us(5)), "{node} to {peer}, {packets} packets");
        }
    }
}

#[test]
fn every_message_of_an_exchange_wakes_all_links_again() {
    // Data wakes two links, its acknowledgement two more: 4 · 5 us for each message but the last, which counts when it
    // has arrived. All are idle for longer between.
    let report = exchange(10, 1, times(0, 0, 5));
    assert_eq!(later(&report, &exchange(10, 1, None)), Duration::from_us(9 * 20 + 10));
    assert_eq!(row(&report, "switch0", "host0").wakes, 10);
}

#[test]
fn links_that_stay_active_for_longer_than_they_are_idle_never_sleep() {
    let report = exchange(10, 1, times(1_000, 3, 5));
    assert_eq!(later(&report, &exchange(10, 1, None)), Duration::ZERO);
    assert!(report.sleeps.iter().all(|row| row.wakes == 0 && row.asleep.is_zero()), "{:?}", report.sleeps);
}

#[test]
fn a_port_sleeps_when_it_neither_sends_nor_turns() {
    let report = exchange(10, 1, times(0, 1, 5));
    let row = row(&report, "host0", "switch0");
    // Each of the ten packets wakes it, and it falls asleep behind each and at the beginning.
    let sent = report.ports.iter().find(|port| port.node == "host0").expect("it has sent").tx_bytes;
    let busy = Duration::from_ps(80 * sent) + (Duration::from_us(1 + 5)) * 10 + Duration::from_us(1);
    assert_eq!(row.asleep, report.totals.end.since(Time::ZERO) - busy);
}

#[test]
fn a_sleeping_fat_tree_is_the_same_on_any_threads() {
    let tree = FatTree { leaves: 3, hosts_per_leaf: 4, links_per_core: 1, ..FatTree::default() };
    let workload =
        Workload::Permutation(Permutation { ranks: 12, bytes: Bytes::new(1 << 20), ..Permutation::default() });
    for params in [roce(), tcp()] {
        let job = || vec![job(&workload)];
        let asleep = experiment(tree.generate().unwrap(), sleeping(params.clone(), times(0, 3, 5)), job());
        let report = assert_same_on_any_threads(&asleep);
        let awake = run(&experiment(tree.generate().unwrap(), params, job()), 1);
        assert!(report.totals.end > awake.totals.end, "links that wake take longer");
        assert!(awake.sleeps.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// A pause that has to wake its link comes late, which the headroom counts on.
    #[test]
    fn pfc_loses_nothing_when_links_sleep(bytes in 1u64..400_000, sleep in 0u64..4, wake in 0u64..6) {
        let mut params = sleeping(roce(), times(0, sleep, wake));
        params.flow_control = FlowControl::Pfc(Pfc::default());
        params.switch.buffer = Bytes::new(2_000_000);
        let permutation = Permutation { ranks: 8, bytes: Bytes::new(bytes), ..Permutation::default() };
        let jobs = vec![job(&Workload::Permutation(permutation))];
        let report = run(&experiment(one_switch(8), params, jobs), 1);
        prop_assert_eq!(report.totals.dropped, 0);
    }
}
