//! Kernel TCP, as others see it.

use etherweave_primitives::{Bytes, Duration};

use super::{SegmentLoss, TcpParams, frame};
use crate::frame::size;
use crate::packet::{FrameEnds, SideContent, TransportPacket};
use crate::params::{Checked, check_timer, require, require_effect, require_within};
use crate::transport::{ConnectionWindow, Headers, ResentCounts, TransportParams};

/// Largest TCP payload in an IPv4 packet of 65,535 B with timestamps.
const MSS_MAX: Bytes = Bytes::new(65_535 - 20 - 20 - 12);
/// Twice the largest window (RFC 7323, section 2.3: 2^30 B), for half of a buffer is advertised.
const SOCKET_MAX: Bytes = Bytes::new(2 << 30);

impl TransportParams for TcpParams {
    fn heeds_marks(&self) -> bool {
        self.ecn
    }

    fn is_in_kernel(&self) -> bool {
        true
    }

    fn slows_before_loss(&self, do_switches_mark: bool) -> bool {
        self.ecn && do_switches_mark
    }

    fn needless(&self, counts: &ResentCounts) -> (u64, &'static str) {
        // Where something is lost, TCP may send again what merely came late.
        (if counts.lost > 0 { 0 } else { counts.resent }, "they came late")
    }

    fn payload(&self) -> Bytes {
        self.mss
    }

    fn payload_name(&self) -> &'static str {
        "transport.tcp.mss"
    }

    fn headers(&self) -> Headers {
        Headers::equal(size::IPV4 + size::TCP_TIMESTAMPS)
    }

    /// A receiver of TCP answers every second segment (RFC 9293, section 3.8.6.3).
    fn packets_per_ack(&self) -> u32 {
        2
    }

    fn window(&self) -> ConnectionWindow {
        ConnectionWindow { key: "transport.tcp.receive_buffer", bytes: self.receive_buffer }
    }

    fn initial_window(&self) -> Bytes {
        self.window().bytes.min(Bytes::new(self.initial_bytes()))
    }

    fn first_timeout(&self) -> Duration {
        self.rto_initial.max(self.rto_min)
    }

    fn check(&self, do_switches_mark: bool) -> Checked {
        check_tcp(self, do_switches_mark)
    }

    fn octets(&self, ends: &FrameEnds, packet: &TransportPacket, side: Option<&SideContent>) -> (u16, Vec<u8>) {
        frame::octets(ends, packet, side.map(|side| side.blocks))
    }
}

fn check_tcp(tcp: &TcpParams, do_switches_mark: bool) -> Checked {
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
    require(!tcp.ecn || do_switches_mark, "transport.tcp.ecn", "true without switch.ecn", "switches that mark")?;
    require(tcp.ecn || !do_switches_mark, "switch.ecn", "marking switches", heeds)
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
