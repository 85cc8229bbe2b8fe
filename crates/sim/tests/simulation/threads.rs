//! The number of threads changes how long a run takes and nothing else.

use crate::common::{experiment, job, job_of, roce, run, tcp};
use etherweave_primitives::{Bytes, Priority};
use etherweave_sim::params::{FlowControl, SimParams};
use etherweave_sim::{Experiment, Report};
use etherweave_topology::{Family, FatTree};
use etherweave_workload::{Fft, Permutation, Workload};

pub fn assert_same_on_any_threads(experiment: &Experiment) -> Report {
    let alone = run(experiment, 1);
    for threads in [2, 3, 7] {
        let together = run(experiment, threads);
        assert_eq!(together.fingerprint, alone.fingerprint, "{threads} threads");
        assert_eq!(together.iterations, alone.iterations, "{threads} threads");
        assert_eq!(together.ports, alone.ports, "{threads} threads");
        assert_eq!(together.flows, alone.flows, "{threads} threads");
        assert_eq!(together.totals.end, alone.totals.end, "{threads} threads");
        assert_eq!(together.totals.packet_hops, alone.totals.packet_hops, "{threads} threads");
    }
    alone
}

fn permutation(params: SimParams) -> Experiment {
    let topology = FatTree::default().generate().unwrap();
    let permutation = Permutation { ranks: 96, bytes: Bytes::new(200_000), ..Permutation::default() };
    experiment(topology, params, vec![job(&Workload::Permutation(permutation))])
}

#[test]
fn roce_with_pfc_is_the_same_on_any_threads() {
    let report = assert_same_on_any_threads(&permutation(roce()));
    assert_eq!(report.totals.dropped, 0);
}

#[test]
fn tcp_with_losses_is_the_same_on_any_threads() {
    let mut params = SimParams { flow_control: FlowControl::None {}, ..tcp() };
    params.host.receive.ring = 8;
    let report = assert_same_on_any_threads(&permutation(params));
    assert!(report.totals.dropped > 0, "a ring with so few buffers loses packets");
}

#[test]
fn two_jobs_are_the_same_on_any_threads() {
    let topology = FatTree::default().generate().unwrap();
    let fft = Workload::Fft(Fft { iterations: 3, ..Fft::default() });
    let halo = Workload::Permutation(Permutation { ranks: 48, bytes: Bytes::new(1 << 20), ..Permutation::default() });
    let mut second = job_of(halo.traffic(2).unwrap(), Priority::new(1));
    second.hosts.iter_mut().for_each(|host| *host = etherweave_primitives::HostId::new(host.get() * 2 + 1));
    second.is_background = true;
    assert_same_on_any_threads(&experiment(topology, roce(), vec![job(&fft), second]));
}
