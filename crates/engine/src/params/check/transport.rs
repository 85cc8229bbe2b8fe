//! RoCE and TCP.

use etherweave_primitives::Bytes;
use etherweave_transport::tcp::{SegmentLoss, TcpParams};

use super::{Checked, check_timer, require, require_effect, require_within};
use crate::params::{EcnMarking, Reliability, RoceParams, SimParams, Transport};

/// Packets that may be in flight: half of the 24-bit sequence numbers, so that old and new can be distinguished.
const PACKETS_MAX: u64 = 1 << 23;
/// Largest TCP payload in an IPv4 packet of 65,535 B with timestamps.
const MSS_MAX: Bytes = Bytes::new(65_535 - 20 - 20 - 12);
/// Twice the largest window (RFC 7323, section 2.3: 2^30 B), for half of a buffer is advertised.
const SOCKET_MAX: Bytes = Bytes::new(2 << 30);

/// Each transport by itself; marks are heeded by one of them at least.
pub(super) fn check(params: &SimParams) -> Checked {
    let ecn = params.switch.ecn.as_ref();
    let is_heeded = params.transports().any(Transport::heeds_marks);
    params.transports().try_for_each(|transport| {
        // Another may heed the marks that this one does not.
        let ecn = ecn.filter(|_| transport.heeds_marks() || !is_heeded);
        match transport {
            Transport::Roce(roce) => check_roce(roce, ecn),
            Transport::Tcp(tcp) => check_tcp(tcp, ecn),
        }
    })
}

fn check_roce(roce: &RoceParams, ecn: Option<&EcnMarking>) -> Checked {
    let mtu = roce.path_mtu;
    let is_legal = [256, 512, 1024, 2048, 4096].contains(&mtu.get());
    require(is_legal, "transport.roce.path_mtu", mtu, "\"256B\", \"512B\", \"1KiB\", \"2KiB\" or \"4KiB\"")?;
    require(roce.ack_every > 0, "transport.roce.ack_every", roce.ack_every, "1 or more packets")?;
    let least = mtu * u64::from(roce.ack_every);
    let expected = format!("at least ack_every packets, {least}: the responder would never acknowledge");
    require(roce.window >= least, "transport.roce.window", roce.window, expected)?;
    let most = format!("at most {}: 2^23 packets, half of the sequence numbers", mtu * PACKETS_MAX);
    require(roce.window <= mtu * PACKETS_MAX, "transport.roce.window", roce.window, most)?;
    check_timer("transport.roce.retransmission_timeout", roce.retransmission_timeout)?;
    check_selective(roce)?;
    check_congestion_controls(roce, ecn)?;
    roce.check_controls()
}

/// One at most; those of acknowledgements have what they need of them, and marks and what heeds them come together.
fn check_congestion_controls(roce: &RoceParams, ecn: Option<&EcnMarking>) -> Checked {
    let names = roce.congestion_controls();
    let Some(name) = names.last() else {
        let heeds = "transport.roce.dcqcn or dctcp: nothing heeds a mark";
        return require(ecn.is_none(), "switch.ecn", "marking switches", heeds);
    };
    let key = format!("transport.roce.{name}");
    require(names.len() == 1, &key, names[0], "one congestion control")?;
    let heeds_marks = roce.heeds_marks();
    require(!heeds_marks || ecn.is_some(), &key, "no switch.ecn", "marking switches: nothing would notify the sender")?;
    require(heeds_marks || ecn.is_none(), "switch.ecn", "marking switches", format!("none: {name} heeds no mark"))?;
    let is_echoed = roce.needs_echoes();
    let is_selective = roce.reliability == Reliability::SelectiveRepeat;
    let echoes = "selective_repeat: its acknowledgements echo what became of a packet";
    let value = format!("go_back_n beside {name}");
    require(!is_echoed || is_selective, "transport.roce.reliability", value, echoes)?;
    let every = "1: the window may hold less than that many packets";
    require(!is_echoed || roce.ack_every == 1, "transport.roce.ack_every", roce.ack_every, every)
}

fn check_selective(roce: &RoceParams) -> Checked {
    let default = RoceParams::default();
    let is_selective = roce.reliability == Reliability::SelectiveRepeat;
    let (range, probe) = ("transport.roce.psn_range", "transport.roce.tail_loss_probe_min");
    require_effect(is_selective, range, roce.psn_range, default.psn_range, "repeats selectively")?;
    let by_time = roce.finds_by_time();
    let effect = "time, the default: nothing here repeats selectively, so that it cannot take effect";
    require(is_selective || by_time, "transport.roce.loss_detection", "timeout", effect)?;
    let probes = is_selective && by_time;
    require_effect(probes, probe, roce.tail_loss_probe_min, default.tail_loss_probe_min, "sends probes")?;
    let expected = format!("at least ack_every, {}: the responder would never acknowledge", roce.ack_every);
    require(!is_selective || roce.psn_range >= roce.ack_every, range, roce.psn_range, expected)?;
    require(
        u64::from(roce.psn_range) <= PACKETS_MAX,
        range,
        roce.psn_range,
        "at most 2^23, half of the sequence numbers",
    )?;
    let most = format!("at most retransmission_timeout, {}", roce.retransmission_timeout);
    let fits = roce.tail_loss_probe_min <= roce.retransmission_timeout;
    require(!probes || fits, probe, roce.tail_loss_probe_min, most)
}

fn check_tcp(tcp: &TcpParams, ecn: Option<&EcnMarking>) -> Checked {
    check_segments(tcp)?;
    check_buffers(tcp)?;
    check_timers(tcp)?;
    let is_timed = tcp.loss_detection == SegmentLoss::Time;
    let needs_sack =
        [("tail_loss_probe", tcp.tail_loss_probe), ("early_retransmit", tcp.early_retransmit && !is_timed)];
    require(!is_timed || tcp.sack, "transport.tcp.loss_detection", "\"time\" without sack", "\"duplicates\", or sack")?;
    for (name, is_on) in needs_sack {
        let key = format!("transport.tcp.{name}");
        require(!is_on || tcp.sack, &key, "true without sack", "false, or sack, without which it cannot take effect")?;
    }
    let (key, needs_marks) = ("transport.tcp.congestion_control", tcp.congestion_control.needs_marks());
    require(!needs_marks || tcp.ecn, key, "dctcp without ecn", "transport.tcp.ecn = true: it heeds marks")?;
    let heeds = "transport.tcp.ecn = true: nothing heeds a mark";
    require(!tcp.ecn || ecn.is_some(), "transport.tcp.ecn", "true without switch.ecn", "switches that mark")?;
    require(tcp.ecn || ecn.is_none(), "switch.ecn", "marking switches", heeds)
}

fn check_segments(tcp: &TcpParams) -> Checked {
    require_within(Bytes::new(1)..=MSS_MAX, "transport.tcp.mss", tcp.mss)?;
    require(tcp.initial_window > 0, "transport.tcp.initial_window", 0, "1 or more segments")?;
    require(tcp.delayed_ack_segments > 0, "transport.tcp.delayed_ack_segments", 0, "1 or more segments")
}

fn check_buffers(tcp: &TcpParams) -> Checked {
    let (mss, initial, largest) = (tcp.mss, tcp.receive_buffer_initial, tcp.receive_buffer);
    require(largest <= SOCKET_MAX, "transport.tcp.receive_buffer", largest, format!("at most {SOCKET_MAX}"))?;
    let most = format!("at most receive_buffer, {largest}");
    require(initial <= largest, "transport.tcp.receive_buffer_initial", initial, most)?;
    let least = format!("at least {}: half of it must hold a segment", mss * 2);
    require(initial >= mss * 2, "transport.tcp.receive_buffer_initial", initial, least)?;
    require_within(mss..=SOCKET_MAX, "transport.tcp.send_buffer", tcp.send_buffer)?;
    require(tcp.limit_output.get() > 0, "transport.tcp.limit_output", tcp.limit_output, "more than 0")
}

fn check_timers(tcp: &TcpParams) -> Checked {
    let default = TcpParams::default();
    check_timer("transport.tcp.rto_max", tcp.rto_max)?;
    for (name, timer) in [("rto_min", tcp.rto_min), ("rto_initial", tcp.rto_initial)] {
        let most = format!("more than 0 and at most rto_max, {}", tcp.rto_max);
        let fits = !timer.is_zero() && timer <= tcp.rto_max;
        require(fits, &format!("transport.tcp.{name}"), timer, most)?;
    }
    for (name, timer) in [("delayed_ack", tcp.delayed_ack), ("tail_loss_probe_min", tcp.tail_loss_probe_min)] {
        let most = format!("at most rto_max, {}", tcp.rto_max);
        require(timer <= tcp.rto_max, &format!("transport.tcp.{name}"), timer, most)?;
    }
    let (key, is_on) = ("transport.tcp.tail_loss_probe_min", tcp.tail_loss_probe);
    require_effect(
        is_on || tcp.loss_detection == SegmentLoss::Time,
        key,
        tcp.tail_loss_probe_min,
        default.tail_loss_probe_min,
        "probes",
    )?;
    check_timer("transport.tcp.hystart_clock", tcp.hystart_clock)?;
    let is_on = tcp.hystart && tcp.congestion_control.leaves_by_hystart();
    let key = "transport.tcp.hystart_clock";
    require_effect(is_on, key, tcp.hystart_clock, default.hystart_clock, "uses HyStart")
}
