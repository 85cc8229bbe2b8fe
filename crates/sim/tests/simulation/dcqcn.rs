//! Controls by marks and notifications in whole simulations.

use etherweave_primitives::{Bytes, Duration, Time};
use etherweave_sim::Report;
use etherweave_sim::params::{Dcqcn, EcnMarking, InjectionDelay, MarkAt, RoceParams, Transport};
use etherweave_workload::{Incast, Workload};

use crate::common::{experiment, job, one_switch, roce, run};

/// Two senders of 10 MB each to one host at 100 Gb/s.
fn two_to_one(ecn: EcnMarking, set: impl FnOnce(&mut RoceParams)) -> Report {
    let mut params = roce();
    let Transport::Roce(roce) = &mut params.transport else { unreachable!("RoCE is asked for") };
    set(roce);
    params.switch.ecn = Some(ecn);
    let message = Bytes::new(10_000_000);
    let incast = Incast { sources: 2, message, outstanding: 1, messages: Some(1), ..Incast::default() };
    run(&experiment(one_switch(3), params, vec![job(&Workload::Incast(incast))]), 1)
}

fn completion(report: &Report) -> Duration {
    report.streams.iter().map(|stream| stream.end).max().unwrap().since(Time::ZERO)
}

/// 20 MB in packets of 4,096 B take 1.63 ms. Marking: that of `scenarios/dcqcn.toml`.
#[test]
fn two_senders_to_one_finish_near_the_ideal_with_the_defaults_of_nics() {
    let (queue_min, queue_max) = (Bytes::new(50_000), Bytes::new(200_000));
    let report = two_to_one(
        EcnMarking { queue_min, queue_max, share_max: 0.1, mark_at: MarkAt::Dequeue, last_hop: true },
        |roce| roce.dcqcn = Some(Dcqcn::default()),
    );
    let ideal = Duration::from_ps(20_000_000 * 80 * (4_096 + 82) / 4_096);
    let ratio = completion(&report).as_ps() as f64 / ideal.as_ps() as f64;
    assert!((1.0..1.3).contains(&ratio), "{ratio}");
}

/// Queues of 2 MB need no control; an index that rises by one for each mark keeps them near 50 kB. With five, as a
/// manager of fabrics has it, they are as short and the line half idle.
#[test]
fn two_senders_with_injection_delay_share_the_line_with_a_short_queue() {
    let queue_max = Bytes::new(50_000);
    let ideal = Duration::from_ps(20_000_000 * 80 * (4_096 + 82) / 4_096);
    for (index_increase, ratio_max) in [(1, 1.3), (5, 2.5)] {
        let (queue_min, share_max, mark_at) = (queue_max, 1.0, MarkAt::Dequeue);
        let ecn = EcnMarking { queue_min, queue_max, share_max, mark_at, last_hop: true };
        let own = InjectionDelay { index_increase, ..InjectionDelay::default() };
        let report = two_to_one(ecn, |roce| roce.injection_delay = Some(own));
        let ratio = completion(&report).as_ps() as f64 / ideal.as_ps() as f64;
        let queued = report.ports.iter().map(|row| row.occupancy_bytes_max).max().unwrap();
        assert!((1.0..ratio_max).contains(&ratio) && queued < 100_000, "{ratio}, {queued} B");
    }
}
