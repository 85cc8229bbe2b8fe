//! Writes that are larger than the send buffer.

use etherweave_primitives::{Bytes, Rank};
use etherweave_sim::{params::SimParams, params::Transport, transport::tcp::TcpParams};
use etherweave_workload::{Block, Op, Program, StreamSpec, Traffic};

use crate::common::{experiment, job_of, one_message, one_switch, run, tcp};

fn goodput_gbps(params: TcpParams) -> f64 {
    let stream = StreamSpec { messages: Some(2), ..one_message(0, 1, 4_000_000) };
    let params = SimParams { transport: Transport::Tcp(params), ..tcp() };
    let job = job_of(Traffic::Streams(vec![stream]), Default::default());
    run(&experiment(one_switch(2), params, vec![job]), 1).streams[0].goodput_gbps()
}

/// An MTU of 1500: ten segments, twice over, are less than the 64 KiB of one write.
#[test]
fn small_segments_start_although_a_write_exceeds_the_first_send_buffer() {
    assert!(goodput_gbps(TcpParams { mss: Bytes::new(1_448), ..TcpParams::default() }) > 10.0);
}

#[test]
fn a_send_buffer_smaller_than_a_write_slows_a_stream_down_and_does_not_stop_it() {
    let small = goodput_gbps(TcpParams { send_buffer: Bytes::new(32 << 10), ..TcpParams::default() });
    assert!(small > 1.0 && small < goodput_gbps(TcpParams::default()), "{small} Gb/s");
}

/// 4 MB in eager messages are more than the send buffer: the sender is done before the last of them is in it.
#[test]
fn a_rank_that_has_ended_still_sends_what_waited_for_its_socket() {
    let program = |op: Op| Program::new([Block::unmeasured([vec![op; 100], vec![Op::WaitAll]].concat())]);
    let (tag, bytes) = (1, 40_000);
    let send = program(Op::Isend { peer: Rank::new(1), tag, bytes });
    let receive = program(Op::Irecv { peer: Rank::new(0), tag, bytes });
    let job = job_of(Traffic::Ranks(vec![send, receive]), Default::default());
    let report = run(&experiment(one_switch(2), tcp(), vec![job]), 1);
    assert!(report.flows.iter().any(|flow| flow.bytes > 100 * bytes), "{:?}", report.flows);
}
