//! Ports whose rate follows their load.

use etherweave_primitives::{Bytes, Duration, Time};
use etherweave_sim::params::{EpochRates, FlowControl, Forwarding, Pfc, SimParams};
use etherweave_topology::{Family, FatTree};
use etherweave_workload::{Permutation, Workload};
use proptest::prelude::*;

use crate::common::{experiment, job, one_switch, roce, run, tcp};
use crate::threads::assert_same_on_any_threads;

fn adapting(mut params: SimParams, epoch: u64) -> SimParams {
    let (epoch, reactivation) = (Duration::from_us(epoch), Duration::from_us(1));
    let rates = Some(EpochRates { rates: vec![0.25, 0.5], epoch, reactivation, load_max: 0.5 });
    params.switch.forwarding = Forwarding::StoreAndForward;
    (params.switch.rate_adaptation, params.nic.rate_adaptation) = (rates.clone(), rates);
    params
}

fn permutation(ranks: u32, bytes: u64) -> Workload {
    Workload::Permutation(Permutation { ranks, bytes: Bytes::new(bytes), ..Permutation::default() })
}

#[test]
fn ports_that_are_idle_go_down_and_those_that_send_stay_at_the_full_rate() {
    let jobs = vec![job(&permutation(2, 4 << 20))];
    let report = run(&experiment(one_switch(3), adapting(roce(), 10), jobs), 1);
    let rates = |node: &str| {
        let rows = report.rates.iter().filter(|row| row.node == node);
        rows.map(|row| (row.rate, row.time)).collect::<Vec<_>>()
    };
    let end = report.totals.end.since(Time::ZERO);
    // Host 2 sends nothing: an epoch at the full rate, one at half, then a quarter.
    let epoch = Duration::from_us(10);
    assert_eq!(rates("host2"), [(0.25, end - epoch * 2), (0.5, epoch), (1.0, epoch)]);
    // Host 0 sends 4 MiB without a pause.
    let busy = rates("host0");
    assert!(busy[2].1.as_ps() > end.as_ps() / 2, "{busy:?}");
    assert_eq!(busy.iter().map(|&(_, time)| time.as_ps()).sum::<u64>(), end.as_ps());
}

#[test]
fn a_fat_tree_whose_rates_follow_the_load_is_the_same_on_any_threads() {
    let tree = FatTree { leaves: 3, hosts_per_leaf: 4, links_per_core: 1, ..FatTree::default() };
    for params in [roce(), tcp()] {
        let jobs = || vec![job(&permutation(12, 1 << 20))];
        let adapted = experiment(tree.generate().unwrap(), adapting(params.clone(), 10), jobs());
        let report = assert_same_on_any_threads(&adapted);
        let mut full = params;
        full.switch.forwarding = Forwarding::StoreAndForward;
        let full = run(&experiment(tree.generate().unwrap(), full, jobs()), 1);
        assert!(report.totals.end > full.totals.end, "lower rates take longer");
        assert!(full.rates.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// A pause that waits for a frame at a low rate comes late, which the headroom counts on.
    #[test]
    fn pfc_loses_nothing_when_rates_change(bytes in 1u64..400_000, epoch in 2u64..40) {
        let mut params = adapting(roce(), epoch);
        params.flow_control = FlowControl::Pfc(Pfc::default());
        params.switch.buffer = Bytes::new(2_000_000);
        let jobs = vec![job(&permutation(8, bytes))];
        let report = run(&experiment(one_switch(8), params, jobs), 1);
        prop_assert_eq!(report.totals.dropped, 0);
    }
}
