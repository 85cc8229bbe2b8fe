//! Ultra Ethernet's transport, as others see it.

use etherweave_primitives::{Bytes, Duration, Priority};

use super::frame;
use super::params::{Delivery, FixedFrames, PDS_ACK, PDS_CONTROL, PDS_RUDI, UetFrames, UetParams};
use crate::entropy::{ENTROPIES_MAX, LoadBalancer, LoadBalancing, check_entropies};
use crate::frame::size::{IPV4, UDP, wire_bytes, wire_overhead};
use crate::packet::{FrameEnds, SideContent, TransportPacket};
use crate::params::{Checked, check_timer, require, require_effect, require_within};
use crate::transport::{ConnectionWindow, Headers, ResentCounts, TransportParams};

/// Most packets that the signed 16 bits of ack_psn_offset reach beyond the last acknowledged one.
const RANGE_MAX: u32 = (1 << 15) - 1;
/// Shortest fixed frame on the wire [B].
const FIXED_MIN: Bytes = Bytes::new(44);

impl TransportParams for UetParams {
    fn heeds_marks(&self) -> bool {
        self.nscc.is_some() || self.avoids_marked_paths()
    }

    fn slows_before_loss(&self, _do_switches_mark: bool) -> bool {
        self.nscc.is_some() || self.rccc.is_some()
    }

    fn places_any_order(&self) -> bool {
        self.delivery != Delivery::Rod
    }

    fn chooses_paths(&self) -> bool {
        self.places_any_order()
    }

    fn answers_trimmed(&self) -> bool {
        self.delivery != Delivery::Uud
    }

    fn control_priority(&self) -> Option<Priority> {
        self.control_priority
    }

    /// Returns the retransmissions that no loss explains: what was trimmed is sent again, and is no loss of a switch.
    /// Trimmed packets are sent again with reason; the timer takes each packet by itself.
    fn needless(&self, counts: &ResentCounts) -> (u64, &'static str) {
        let reason = "transport.uet.retransmission_timeout is shorter than their round trip";
        (counts.timeouts.min(counts.resent).saturating_sub(counts.lost), reason)
    }

    fn payload(&self) -> Bytes {
        self.payload_mtu
    }

    fn headers(&self) -> Headers {
        let above = |header| wire_bytes(true, IPV4 + UDP + header);
        let (data, ack, notification) = match self.frames {
            UetFrames::Udp => {
                let ack = if self.delivery == Delivery::Rudi { PDS_RUDI } else { PDS_ACK };
                (wire_overhead(true) + self.request_headers(), above(ack), above(PDS_CONTROL))
            }
            UetFrames::Fixed(FixedFrames { header, control }) => {
                let control = control.get() as u32;
                (header.get() as u32, control, control)
            }
        };
        Headers { first: data, later: data, edge: data, other: data, ack, notification, telemetry: 0, multiple: 1 }
    }

    fn packets_per_ack(&self) -> u32 {
        match self.delivery {
            Delivery::Rudi => 1,
            _ => self.ack_trigger.get().div_ceil(self.counted_packet()) as u32,
        }
    }

    fn window(&self) -> ConnectionWindow {
        let bytes = self.payload_mtu * u64::from(self.psn_range);
        ConnectionWindow { key: "transport.uet.psn_range", bytes }
    }

    fn first_timeout(&self) -> Duration {
        self.retransmission_timeout
    }

    fn check(&self, do_switches_mark: bool) -> Checked {
        check_frames(self)?;
        let range = "transport.uet.psn_range";
        require_within(2..=RANGE_MAX, range, self.psn_range)?;
        require_within(0..=RANGE_MAX, "transport.uet.reordering_packets", self.reordering_packets.unwrap_or(0))?;
        require_within(Bytes::new(1)..=Bytes::new(32 << 10), "transport.uet.ack_trigger", self.ack_trigger)?;
        require_within(Bytes::new(0)..=Bytes::new(2 << 10), "transport.uet.ack_packet_min", self.ack_packet_min)?;
        check_timer("transport.uet.retransmission_timeout", self.retransmission_timeout)?;
        require_within(0..=15, "transport.uet.timeout_doublings_max", self.timeout_doublings_max)?;
        let (key, count) = ("transport.uet.entropies", self.entropies);
        check_entropies(key, count, ENTROPIES_MAX)?;
        let (is_spread, default) = (self.delivery != Delivery::Rod, UetParams::default());
        require_effect(is_spread, key, count, default.entropies, "spreads packets of ordered delivery")?;
        let (key, scheme) = ("transport.uet.load_balancing", self.load_balancing);
        let expected = "mixed, the default: packets of ordered delivery take one path";
        require(is_spread || scheme == LoadBalancing::Mixed, key, "a scheme beside \"rod\"", expected)?;
        let expected = "mixed, the default: transport.uet.load_balancer chooses";
        require(self.load_balancer.is_none() || scheme == LoadBalancing::Mixed, key, "another scheme", expected)?;
        let expected = "delivery \"rud\": packets of ordered delivery take one path";
        require(is_spread || self.load_balancer.is_none(), "transport.uet.load_balancer", "rod", expected)?;
        check_delivery(self)?;
        check_congestion(self, do_switches_mark)
    }

    fn load_balancer(&mut self) -> Option<&mut LoadBalancer> {
        self.load_balancer.as_mut()
    }

    fn octets(&self, ends: &FrameEnds, packet: &TransportPacket, _side: Option<&SideContent>) -> (u16, Vec<u8>) {
        frame::octets(ends, packet, self)
    }
}

fn check_frames(uet: &UetParams) -> Checked {
    let (mtu, key) = (uet.payload_mtu, "transport.uet.payload_mtu");
    match uet.frames {
        UetFrames::Udp => {
            let is_legal = [1024, 2048, 4096, 8192].contains(&mtu.get());
            require(is_legal, key, mtu, "\"1KiB\", \"2KiB\", \"4KiB\" or \"8KiB\"")
        }
        UetFrames::Fixed(FixedFrames { header, control }) => {
            require_within(Bytes::new(256)..=Bytes::new(64 << 10), key, mtu)?;
            require_within(FIXED_MIN..=Bytes::new(1 << 10), "transport.uet.frames.fixed.header", header)?;
            require_within(FIXED_MIN..=Bytes::new(1 << 10), "transport.uet.frames.fixed.control", control)
        }
    }
}

/// RUDI and UUD keep no context: what acts on it has no effect.
fn check_delivery(uet: &UetParams) -> Checked {
    let (is_answered, default) = (uet.delivery != Delivery::Uud, UetParams::default());
    let infers = matches!(uet.delivery, Delivery::Rud | Delivery::Rudi);
    if let Some(packets) = uet.reordering_packets {
        let expected = "none: receivers of \"rod\" report gaps, and nobody repeats datagrams of \"uud\"";
        require(infers, "transport.uet.reordering_packets", packets, expected)?;
    }
    if matches!(uet.delivery, Delivery::Rud | Delivery::Rod) {
        return Ok(());
    }
    let (key, trigger) = ("transport.uet.ack_trigger", uet.ack_trigger);
    require_effect(false, key, trigger, default.ack_trigger, "coalesces acknowledgements of \"rud\" and \"rod\"")?;
    let expected = "delivery \"rud\" or \"rod\": no other has requests with a target of credits";
    require(uet.rccc.is_none(), "transport.uet.rccc", "a delivery without contexts", expected)?;
    let expected = "another delivery: nobody answers datagrams";
    require(is_answered || uet.nscc.is_none(), "transport.uet.nscc", "uud", expected)?;
    let (key, timeout) = ("transport.uet.retransmission_timeout", uet.retransmission_timeout);
    require_effect(is_answered, key, timeout, default.retransmission_timeout, "repeats what is acknowledged")
}

fn check_congestion(uet: &UetParams, do_switches_mark: bool) -> Checked {
    if let Some(rccc) = &uet.rccc {
        rccc.check().map_err(|error| error.within("transport.uet.rccc"))?;
        let (key, ratio) = ("transport.uet.rccc.oversubscription", rccc.oversubscription);
        let expected = "1 beside transport.uet.nscc, whose window heeds the core";
        require(uet.nscc.is_none() || ratio == 1.0, key, ratio, expected)?;
    }
    let Some(nscc) = &uet.nscc else {
        let expected =
            "none, or transport.uet.nscc, or a load_balancing that avoids marked paths: nothing heeds a mark";
        let is_heeded = uet.avoids_marked_paths();
        return require(is_heeded || !do_switches_mark, "switch.ecn", "marking switches", expected);
    };
    let expected = "marking switches: nothing would distinguish a queue from an empty path";
    require(do_switches_mark, "transport.uet.nscc", "no switch.ecn", expected)?;
    nscc.check(uet.counted_packet()).map_err(|error| error.within("transport.uet.nscc"))
}
