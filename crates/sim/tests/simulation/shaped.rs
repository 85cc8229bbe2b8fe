//! Ports behind token buckets.

use etherweave_primitives::{BitRate, Bytes, Duration, Priority, Time};
use etherweave_sim::frame::size::RoceSizes;
use etherweave_sim::params::{FlowControl, RoceVersion, TokenBucket};
use etherweave_topology::{Family, FatTree, SingleSwitch, Topology};
use etherweave_workload::{Permutation, Traffic, Workload};
use proptest::prelude::*;

use crate::common::{experiment, job, job_of, one_message, one_switch, roce, run, tcp};
use crate::threads::assert_same_on_any_threads;

fn bucket(gbps: u64, burst: u64) -> Option<TokenBucket> {
    Some(TokenBucket { rate: BitRate::from_gbps(gbps), burst: Bytes::new(burst) })
}

/// When a message of so many packets of 4 KiB has crossed a switch whose port is shaped to 10 of 100 Gb/s.
fn end(packets: u64, burst: u64) -> Time {
    end_on(one_switch(2), packets, bucket(10, burst))
}

fn end_on(topology: Topology, packets: u64, shaper: Option<TokenBucket>) -> Time {
    let stream = one_message(0, 1, packets * 4_096);
    let mut params = roce();
    params.nic.drain_rate = BitRate::from_gbps(10_000);
    params.switch.shaper = shaper;
    let job = job_of(Traffic::Streams(vec![stream]), Priority::new(0));
    run(&experiment(topology, params, vec![job]), 1).streams[0].end
}

/// Returns the bytes that a shaper counts of a packet of 4 KiB: addresses, type and what follows, without the check
/// sequence. On the wire it is 24 B more.
fn frame() -> u64 {
    4_096 + u64::from(RoceSizes::new(RoceVersion::V2, true).middle_overhead()) - 24
}

#[test]
fn a_long_message_takes_what_the_bucket_lacks_at_its_rate() {
    let frame = frame();
    let burst = 20 * frame;
    // Both finish in the bucket's pace: 800 ps a byte at 10 Gb/s.
    let more = end(500, burst).since(end(300, burst));
    assert_eq!(more, Duration::from_ps(200 * frame * 800));
    // A bucket that holds ten frames more saves the time of ten frames.
    let saved = end(300, burst).since(end(300, burst + 10 * frame));
    assert_eq!(saved, Duration::from_ps(10 * frame * 800));
}

#[test]
fn within_its_burst_a_message_is_not_delayed_by_the_shaper() {
    assert_eq!(end(20, 200_000), end(20, 100_000_000));
}

#[test]
fn a_shaper_that_is_faster_than_the_wire_changes_nothing() {
    // Whatever its burst: a bucket of one frame is full again before the frame has left the wire.
    for burst in [5_000, 1 << 31] {
        assert_eq!(end_on(one_switch(2), 300, bucket(101, burst)), end_on(one_switch(2), 300, None));
    }
}

#[test]
fn at_1_6_terabits_a_shaper_is_exact() {
    let rate = BitRate::from_gbps(1_600);
    let topology = || SingleSwitch { hosts: 2, rate, ..SingleSwitch::default() }.generate().unwrap();
    let end = |packets| end_on(topology(), packets, bucket(800, 20 * frame()));
    // 10 ps a byte at 800 Gb/s.
    assert_eq!(end(5_000).since(end(4_000)), Duration::from_ps(1_000 * frame() * 10));
}

#[test]
fn a_shaped_fat_tree_is_the_same_on_any_threads() {
    let tree = FatTree { leaves: 3, hosts_per_leaf: 4, links_per_core: 1, ..FatTree::default() };
    let workload =
        Workload::Permutation(Permutation { ranks: 12, bytes: Bytes::new(1 << 20), ..Permutation::default() });
    for mut params in [roce(), tcp()] {
        (params.switch.shaper, params.nic.shaper) = (bucket(7, 9_000), bucket(13, 30_000));
        let shaped = experiment(tree.generate().unwrap(), params.clone(), vec![job(&workload)]);
        let report = assert_same_on_any_threads(&shaped);
        (params.switch.shaper, params.nic.shaper) = (None, None);
        let free = run(&experiment(tree.generate().unwrap(), params, vec![job(&workload)]), 1);
        assert!(report.totals.end > free.totals.end, "shaped ports take longer");
    }
}

fn exchange(bytes: u64) -> Workload {
    Workload::Permutation(Permutation { ranks: 8, bytes: Bytes::new(bytes), ..Permutation::default() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pfc_loses_nothing_when_ports_are_shaped(
        bytes in 1u64..400_000, burst in 5_000u64..200_000, gbps in 1u64..90, at_host: bool,
    ) {
        let mut params = roce();
        params.switch.buffer = Bytes::new(1_000_000);
        params.switch.shaper = bucket(gbps, burst);
        params.nic.shaper = if at_host { bucket(gbps / 2 + 1, burst) } else { None };
        let report = run(&experiment(one_switch(8), params, vec![job(&exchange(bytes))]), 1);
        prop_assert_eq!(report.totals.dropped, 0);
        prop_assert!(report.flows.iter().all(|flow| flow.retransmissions == 0));
    }

    #[test]
    fn no_packet_is_lost_or_made_up_behind_shapers(bytes in 1u64..400_000, burst in 5_000u64..200_000) {
        let mut params = tcp();
        params.flow_control = FlowControl::None {};
        params.switch.buffer = Bytes::new(150_000);
        (params.switch.shaper, params.nic.shaper) = (bucket(2, burst), bucket(3, burst));
        let totals = run(&experiment(one_switch(8), params, vec![job(&exchange(bytes))]), 1).totals;
        prop_assert_eq!(totals.created, totals.delivered + totals.dropped + totals.in_flight);
    }
}
