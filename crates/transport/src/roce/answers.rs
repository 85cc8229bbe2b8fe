//! RoCE, as others see it.

use etherweave_primitives::{BitRate, Bytes, Duration};

use super::{frame, path_choice::ENTROPIES_MAX};
use crate::entropy::check_entropies;
use crate::packet::{FrameEnds, SideContent, TransportPacket, flags};
use crate::params::{
    Checked, CompletionOrder, LossDetection, Reliability, RoceParams, RoceVersion, check_timer, require, require_effect,
};
use crate::transport::{ConnectionWindow, FlowWindow, Headers, Overtaken, ResentCounts, Transport, TransportParams};
use crate::{frame::size::RoceSizes, prototype::Prototype};

/// Packets that may be in flight: half of the 24-bit sequence numbers, so that old and new can be distinguished.
const PACKETS_MAX: u64 = 1 << 23;

/// Wait for a sum, which takes as long as the slowest rank: no packet is lost.
const SUM_WAIT_MAX: Duration = Duration::from_ms(1_000_000_000);

impl TransportParams for RoceParams {
    fn heeds_marks(&self) -> bool {
        RoceParams::heeds_marks(self)
    }

    fn has_flow_level(&self) -> bool {
        self.load_balancing.is_none()
    }

    fn expects_no_loss(&self) -> bool {
        true
    }

    fn slows_before_loss(&self, _do_switches_mark: bool) -> bool {
        !self.congestion_controls().is_empty()
    }

    fn resends_overtaken(&self) -> bool {
        self.finds_by_time()
    }

    fn places_any_order(&self) -> bool {
        self.reliability == Reliability::SelectiveRepeat
    }

    fn chooses_paths(&self) -> bool {
        self.load_balancing.is_some()
    }

    fn path_choice_key(&self) -> Option<&'static str> {
        self.load_balancing.map(|_| "transport.roce.load_balancing")
    }

    fn overtaken(&self) -> Option<Overtaken> {
        let (key, value, remedy) = ("transport.roce.reliability", "go_back_n", "selective_repeat");
        (self.reliability == Reliability::GoBackN).then_some(Overtaken { key, value, remedy })
    }

    /// Each packet is acknowledged, and nothing but the window slows them down. Sums are placed in any order: those
    /// that wait in a switch and those that come from above may overtake each other before a crossbar.
    fn for_sums(&self, buffer: Bytes) -> Option<Transport> {
        let sums = RoceParams {
            version: self.version,
            path_mtu: self.path_mtu,
            ack_every: 1,
            window: buffer,
            retransmission_timeout: SUM_WAIT_MAX,
            reliability: Reliability::SelectiveRepeat,
            loss_detection: Some(LossDetection::Timeout),
            ..RoceParams::default()
        };
        Some(sums.into())
    }

    fn needless(&self, counts: &ResentCounts) -> (u64, &'static str) {
        let &ResentCounts { resent, lost, keeps_order, .. } = counts;
        let early = "transport.roce.retransmission_timeout is shorter than their wait in queues";
        let is_selective = self.reliability == Reliability::SelectiveRepeat;
        match is_selective {
            true if self.finds_by_time() && !keeps_order => {
                let reason = "others overtook them; transport.roce.loss_detection = \"timeout\" waits for them";
                (resent.saturating_sub(lost), reason)
            }
            true => (resent.saturating_sub(lost), early),
            // A loss makes go-back-N send all again that follows it.
            false if lost > 0 => (0, early),
            false if keeps_order => (resent, early),
            false => (resent, "others overtook them; transport.roce.reliability = \"selective_repeat\" places them"),
        }
    }

    fn timeouts(&self, count: u64) -> Option<String> {
        let timeout = self.retransmission_timeout;
        (!self.finds_by_time()).then(|| {
            format!(
                "transport.roce.loss_detection: \"timeout\" leaves losses to the retransmission timer, for which \
                 connections waited {count} times {timeout}; \"time\" finds them within a round trip"
            )
        })
    }

    /// Selective repeat finds losses by the timer alone where nothing can be lost and packets overtake each other, for
    /// then what is late has not been lost.
    fn complete(&mut self, is_late_only: bool) {
        let is_late_only = is_late_only && self.reliability == Reliability::SelectiveRepeat;
        self.loss_detection.get_or_insert(if is_late_only { LossDetection::Timeout } else { LossDetection::Time });
    }

    fn rates(&self) -> Vec<(String, BitRate)> {
        RoceParams::rates(self)
    }

    fn payload(&self) -> Bytes {
        self.path_mtu
    }

    fn control_cycle(&self) -> Duration {
        self.dcqcn.as_ref().map_or(Duration::ZERO, |dcqcn| dcqcn.rpg_time_reset.max(dcqcn.dce_tcp_rtt))
    }

    /// A packet that may arrive out of order names its place itself.
    fn headers(&self) -> Headers {
        let (sizes, bare) = (RoceSizes::of(self), RoceSizes::new(self.version, true));
        let (first, other) = (sizes.first_overhead(), sizes.middle_overhead());
        let is_placed = self.reliability == Reliability::SelectiveRepeat;
        Headers {
            first,
            later: if is_placed { first } else { other },
            edge: sizes.read_edge_overhead(),
            other,
            ack: sizes.acknowledgement(),
            notification: bare.congestion_notification(),
            telemetry: if RoceParams::telemetry_switches(self) > 0 { flags::TELEMETRY } else { 0 },
            multiple: 4,
        }
    }

    fn prototype(&mut self) -> Option<&mut Prototype> {
        self.prototype.as_mut()
    }

    fn telemetry_switches(&self) -> u8 {
        RoceParams::telemetry_switches(self)
    }

    fn packets_per_ack(&self) -> u32 {
        self.ack_every.max(1)
    }

    fn window(&self) -> ConnectionWindow {
        ConnectionWindow { key: "transport.roce.window", bytes: self.window }
    }

    fn flow_window(&self) -> Option<FlowWindow> {
        let window = self.window.get() as f64 / self.path_mtu.get() as f64;
        let is_tracked = self.reliability == Reliability::SelectiveRepeat;
        let packets = if is_tracked { window.min(f64::from(self.psn_range)) } else { window };
        let link_share_max = self.link_share_max();
        Some(FlowWindow { packets, packets_per_ack: self.ack_every, link_share_max })
    }

    fn first_timeout(&self) -> Duration {
        self.retransmission_timeout
    }

    fn check(&self, do_switches_mark: bool) -> Checked {
        check_roce(self, do_switches_mark)
    }

    fn octets(&self, ends: &FrameEnds, packet: &TransportPacket, side: Option<&SideContent>) -> (u16, Vec<u8>) {
        frame::octets(ends, packet, side, self)
    }
}

fn check_roce(roce: &RoceParams, do_switches_mark: bool) -> Checked {
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
    check_paths(roce)?;
    check_congestion_controls(roce, do_switches_mark)?;
    roce.check_controls()
}

/// One at most; those of acknowledgements have what they need of them, and marks and what heeds them come together.
fn check_congestion_controls(roce: &RoceParams, do_switches_mark: bool) -> Checked {
    let names = roce.congestion_controls();
    let Some(name) = names.last() else {
        let heeds = "transport.roce.dcqcn, dctcp, injection_delay or load_balancing: nothing heeds a mark";
        return require(!do_switches_mark || roce.heeds_marks(), "switch.ecn", "marking switches", heeds);
    };
    let key = format!("transport.roce.{name}");
    require(names.len() == 1, &key, names[0], "one congestion control")?;
    let heeds_marks = roce.heeds_marks();
    require(
        !roce.controls_heed_marks() || do_switches_mark,
        &key,
        "no switch.ecn",
        "marking switches: nothing would notify the sender",
    )?;
    require(heeds_marks || !do_switches_mark, "switch.ecn", "marking switches", format!("none: {name} heeds no mark"))?;
    let is_echoed = roce.needs_echoes();
    let is_selective = roce.reliability == Reliability::SelectiveRepeat;
    let echoes = "selective_repeat: its acknowledgements echo what became of a packet";
    let value = format!("go_back_n beside {name}");
    require(!is_echoed || is_selective, "transport.roce.reliability", value, echoes)?;
    let every = "1: the window may hold less than that many packets";
    require(!is_echoed || roce.ack_every == 1, "transport.roce.ack_every", roce.ack_every, every)
}

/// Entropy values are source ports of UDP, and packets that they spread overtake each other.
fn check_paths(roce: &RoceParams) -> Checked {
    let (key, is_chosen) = ("transport.roce.load_balancing", roce.load_balancing.is_some());
    let is_selective = roce.reliability == Reliability::SelectiveRepeat;
    let expected = "reliability \"selective_repeat\": go_back_n takes packets for lost that others overtake";
    require(is_selective || !is_chosen, key, "a choice of paths beside go_back_n", expected)?;
    let expected = "version \"v2\": no other has a UDP port that switches hash";
    require(roce.version == RoceVersion::V2 || !is_chosen, key, "a choice of paths beside v1", expected)?;
    let (key, default) = ("transport.roce.entropies", RoceParams::default());
    require_effect(is_chosen, key, roce.entropies, default.entropies, "chooses paths")?;
    check_entropies(key, roce.entropies, ENTROPIES_MAX)
}

fn check_selective(roce: &RoceParams) -> Checked {
    let default = RoceParams::default();
    let is_selective = roce.reliability == Reliability::SelectiveRepeat;
    let (range, probe) = ("transport.roce.psn_range", "transport.roce.tail_loss_probe_min");
    require_effect(is_selective, range, roce.psn_range, default.psn_range, "repeats selectively")?;
    let by_time = roce.finds_by_time();
    let (order, any) = ("transport.roce.completion_order", roce.completion_order == CompletionOrder::Any);
    let posted = "posted, the default: go_back_n keeps nothing that comes behind a gap";
    require(is_selective || !any, order, "any", posted)?;
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
