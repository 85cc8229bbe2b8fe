//! Entropy values of packets, which senders of RoCE and Ultra Ethernet choose, and paths of ECMP.

use etherweave_primitives::Priority;
use etherweave_routing::RoutingKind;
use etherweave_sim::params::{FlowControl, Reliability, RoceParams, SimParams, Transport};
use etherweave_sim::{Experiment, Paths, PreparedRouting, Report};
use etherweave_topology::{Family, FatTree, Topology};
use etherweave_transport::entropy::LoadBalancing;
use etherweave_transport::uet::{Delivery, UetParams};
use etherweave_workload::{StreamSpec, Traffic};

use crate::common::{experiment, job_of, one_message, run};

const SCHEMES: [LoadBalancing; 4] =
    [LoadBalancing::Oblivious, LoadBalancing::Bitmap, LoadBalancing::Reps, LoadBalancing::Mixed];

fn tree() -> Topology {
    FatTree { leaves: 4, hosts_per_leaf: 4, cores: 4, links_per_core: 1, ..FatTree::default() }.generate().unwrap()
}

/// Traffic on four leaves of four hosts below four cores, whose switches hash every packet to a path.
pub fn by_ecmp(params: SimParams, traffic: Traffic) -> Experiment {
    let prepared = PreparedRouting::new(RoutingKind::Ecmp, &tree()).unwrap();
    let experiment = experiment(tree(), params, vec![job_of(traffic, Priority::new(0))]);
    Experiment { paths: Paths::PerPacket(prepared), ..experiment }
}

fn stream([src, dst]: [u32; 2], packets: u64) -> StreamSpec {
    one_message(src, dst, 4096 * packets)
}

/// RoCE with selective repeat by these choices of paths.
fn roce(load_balancing: Option<LoadBalancing>, entropies: u32) -> Transport {
    let (reliability, ack_every) = (Reliability::SelectiveRepeat, 4);
    Transport::Roce(RoceParams { load_balancing, entropies, reliability, ack_every, ..RoceParams::default() })
}

/// Packets of one connection from leaf 1 to leaf 2, by link up, the fewest first.
fn packets_up(transport: Transport) -> Vec<u64> {
    let params = SimParams { transport, flow_control: FlowControl::None {}, ..SimParams::default() };
    let report = run(&by_ecmp(params, Traffic::Streams(vec![stream([4, 8], 400)])), 1);
    let data = report.ports.iter().filter(|row| row.node == "leaf1" && row.port >= 4);
    let mut sent: Vec<u64> = data.map(|row| row.tx_packets).filter(|&count| count > 0).collect();
    sent.sort_unstable();
    sent
}

#[test]
fn entropy_values_spread_the_packets_of_a_connection() {
    let ultra_ethernet = |uet| packets_up(Transport::Uet(uet));
    for load_balancing in SCHEMES {
        let of_uet = ultra_ethernet(UetParams { load_balancing, entropies: 256, ..UetParams::default() });
        for sent in [of_uet, packets_up(roce(Some(load_balancing), 256))] {
            assert_eq!((sent.len(), sent.iter().sum::<u64>()), (4, 400), "{load_balancing:?}");
            assert!(sent[0] > 50, "{load_balancing:?}: {sent:?}");
        }
    }
    assert_eq!(ultra_ethernet(UetParams { delivery: Delivery::Rod, ..UetParams::default() }), [400]);
    assert_eq!(ultra_ethernet(UetParams { entropies: 1, ..UetParams::default() }), [400]);
    assert_eq!([packets_up(roce(Some(LoadBalancing::Mixed), 1)), packets_up(roce(None, 64))], [[400], [400]]);
}

/// Every host sends to the host at its place on the next leaf.
fn permutation(transport: Transport) -> Report {
    let params = SimParams { transport, ..SimParams::default() };
    let streams = (0..16).map(|host| stream([host, (host + 4) % 16], 400)).collect();
    let experiment = by_ecmp(params, Traffic::Streams(streams));
    let report = run(&experiment, 1);
    assert_eq!(report.ports, run(&experiment, 3).ports);
    report
}

/// Time at which the last flow was acknowledged [ps].
fn last(report: &Report) -> u64 {
    report.flows.iter().map(|row| row.acknowledged.as_ps()).max().unwrap()
}

/// Several connections of a leaf share a link up where each takes one path; links up carry as much as hosts send.
#[test]
fn a_permutation_gains_by_every_choice_of_paths() {
    let one_path = permutation(roce(None, 64));
    for load_balancing in SCHEMES {
        let spread = permutation(roce(Some(load_balancing), 64));
        assert!(
            last(&spread) < last(&one_path) / 4 * 3,
            "{load_balancing:?}: {} of {}",
            last(&spread),
            last(&one_path)
        );
    }
}
