//! No packet is lost where flow control protects it, and none is lost or made up anywhere.

use etherweave_primitives::{BitRate, Bytes, Length};
use etherweave_sim::params::{FlowControl, Forwarding, GlobalPause, SimParams, Threshold};
use etherweave_topology::{Family, FatTree};
use etherweave_workload::{Permutation, Workload};
use proptest::prelude::*;

use crate::common::{experiment, job, roce, run, tcp};

/// A small tapered tree whose switches have little buffer.
fn tree(cable: u64, slow: bool) -> FatTree {
    let (leaves, hosts_per_leaf) = (3, 4);
    let uplink_rate = BitRate::from_gbps(if slow { 40 } else { 100 });
    FatTree {
        leaves,
        hosts_per_leaf,
        links_per_core: 1,
        uplink_cable: Length::from_m(cable).into(),
        uplink_rate,
        ..FatTree::default()
    }
}

fn small_buffer(mut params: SimParams, alpha: f64) -> SimParams {
    params.switch.buffer = Bytes::new(1_000_000);
    params.switch.reserve = Bytes::new(4_000);
    params.switch.ingress_threshold = Threshold::Alpha(alpha);
    params
}

fn exchange(bytes: u64) -> Workload {
    Workload::Permutation(Permutation { ranks: 12, bytes: Bytes::new(bytes), ..Permutation::default() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pfc_with_the_computed_headroom_never_drops_and_keeps_order(
        bytes in 1u64..400_000, cable in 1u64..200, slow: bool, cut: bool, quarter_alpha in 1u32..16,
    ) {
        let mut params = small_buffer(roce(), f64::from(quarter_alpha) / 4.0);
        params.switch.forwarding = if cut { Forwarding::CutThrough } else { Forwarding::StoreAndForward };
        let report = run(&experiment(tree(cable, slow).generate().unwrap(), params, vec![job(&exchange(bytes))]), 1);
        prop_assert_eq!(report.totals.dropped, 0);
        prop_assert!(report.lossless_drops.is_empty());
        // Go-back-N answers a gap with a retransmission: without any, every flow was in order.
        prop_assert!(report.flows.iter().all(|flow| flow.retransmissions == 0));
    }

    #[test]
    fn global_pause_never_drops(bytes in 1u64..400_000, cable in 1u64..200) {
        let mut params = small_buffer(roce(), 1.0);
        params.flow_control = FlowControl::GlobalPause(GlobalPause::default());
        let report = run(&experiment(tree(cable, true).generate().unwrap(), params, vec![job(&exchange(bytes))]), 1);
        prop_assert_eq!(report.totals.dropped, 0);
    }

    #[test]
    fn without_flow_control_everything_arrives_in_the_end(bytes in 1u64..400_000, is_tcp: bool) {
        let mut params = small_buffer(if is_tcp { tcp() } else { roce() }, 1.0);
        params.switch.buffer = Bytes::new(150_000);
        params.flow_control = FlowControl::None {};
        let report = run(&experiment(tree(5, true).generate().unwrap(), params, vec![job(&exchange(bytes))]), 1);
        // `run` asserts that every rank has received its message.
        let totals = report.totals;
        prop_assert_eq!(totals.created, totals.delivered + totals.dropped + totals.in_flight);
    }
}
