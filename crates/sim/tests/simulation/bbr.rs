//! BBR in whole simulations.

use etherweave_primitives::{BitRate, Bytes, Duration};
use etherweave_sim::params::{FlowControl, SimParams, TokenBucket, Transport};
use etherweave_sim::{Report, transport::tcp::CongestionControl};
use etherweave_workload::{Incast, Workload};

use crate::common::{experiment, job, one_switch, run, tcp};

/// Bytes of a sender.
const MESSAGE: u64 = 20_000_000;

/// `sources` hosts of 10 Gb/s send to one of 100 Gb/s whose switch loses nothing.
fn senders(sources: u32, congestion_control: CongestionControl) -> Report {
    let mut params: SimParams = tcp();
    params.flow_control = FlowControl::None {};
    params.nic.shaper = Some(TokenBucket { rate: BitRate::from_gbps(10), burst: Bytes::new(9_000) });
    let Transport::Tcp(tcp) = &mut params.transport else { unreachable!("kernel TCP") };
    tcp.congestion_control = congestion_control;
    let incast = Incast { sources, message: Bytes::new(MESSAGE), messages: Some(1), ..Incast::default() };
    run(&experiment(one_switch(sources + 1), params, vec![job(&Workload::Incast(incast))]), 1)
}

fn end(report: &Report) -> Duration {
    report.streams.iter().map(|row| row.end.since(row.start)).max().unwrap()
}

/// 20 MB at 10 Gb/s take 16.2 ms with headers, as the shaper counts them: CUBIC and BBR come within a tenth of that.
#[test]
fn a_sender_fills_its_link() {
    let ideal = Duration::from_ps(MESSAGE * 800 * (4_448 + 66) / 4_448).as_ps() as f64;
    for congestion_control in [CongestionControl::Cubic, CongestionControl::Bbr] {
        let report = senders(1, congestion_control);
        let ratio = end(&report).as_ps() as f64 / ideal;
        assert!((1.0..1.1).contains(&ratio), "{ratio} with {congestion_control:?}");
        assert_eq!(report.totals.dropped, 0);
    }
}

/// Senders whose links do not meet a full one take as long together as alone.
#[test]
fn six_senders_take_as_long_as_one() {
    let (one, six) = (senders(1, CongestionControl::Bbr), senders(6, CongestionControl::Bbr));
    assert!(end(&six) < end(&one) * 11 / 10, "{} and {}", end(&six), end(&one));
}
