//! Stops of reception for commands to the firmware of a NIC.

use etherweave_primitives::{Bytes, Duration, Priority};
use etherweave_sim::Report;
use etherweave_sim::params::{CommandStall, FlowControl, Pcie, RoceParams, SimParams, Transport};
use etherweave_workload::{StreamSpec, Traffic};

use crate::common::{experiment, job_of, one_message, one_switch, roce, run_for};

/// Packets at line rate for 10 ms into a NIC that stops for `micros` once each millisecond.
fn stopped(micros: u64, flow_control: FlowControl) -> Report {
    stopped_with(roce(), micros, flow_control)
}

fn stopped_with(mut params: SimParams, micros: u64, flow_control: FlowControl) -> Report {
    params.flow_control = flow_control;
    params.nic.command_stall = Some(CommandStall {
        duration: Duration::from_us(micros),
        statistics_period: Duration::from_ms(1),
        statistics_commands: 1,
    });
    let stream = StreamSpec { outstanding: 64, messages: None, ..one_message(0, 1, 1 << 20) };
    let job = job_of(Traffic::Streams(vec![stream]), Priority::new(0));
    run_for(&experiment(one_switch(2), params, vec![job]), Duration::from_ms(10))
}

fn pauses(micros: u64) -> u32 {
    let report = stopped(micros, FlowControl::default());
    assert_eq!(report.totals.dropped, 0);
    report.ports.iter().filter(|row| row.node.starts_with("host")).map(|row| row.tx_pauses.xoff).sum()
}

/// The link brings 100 of the 107 Gb/s at which the buffer drains: 131,072 B of XOFF, 9.8 us to drain, are there after
/// 9.8 * 107 / 100 = 10.5 us. Ten stops fall into 10 ms.
#[test]
fn a_stop_pauses_the_link_when_it_lasts_until_xoff() {
    assert_eq!(pauses(10), 0);
    assert_eq!(pauses(11), 10);
}

/// Without flow control the buffer of 262,016 B overflows after 21 us.
#[test]
fn a_stop_loses_packets_when_it_lasts_until_the_buffer_is_full() {
    assert_eq!(stopped(20, FlowControl::None {}).totals.dropped, 0);
    assert!(stopped(22, FlowControl::None {}).totals.dropped > 0);
}

/// Packets that go out over the bus while reception stands still are not in the buffer: acknowledgements 170 us apart
/// come into stops of 300 us, and find room.
#[test]
fn sending_during_a_stop_fills_no_buffer() {
    let transport =
        Transport::Roce(RoceParams { ack_every: 512, window: Bytes::new(4 << 20), ..RoceParams::default() });
    let mut params = SimParams { transport, ..SimParams::default() };
    params.nic.pcie = Some(Pcie::default());
    let report = stopped_with(params, 300, FlowControl::default());
    assert_eq!(report.totals.dropped, 0);
}
