//! Whether values fit together: what would silently change the physics is refused.

use std::fmt::Display;

use etherweave_primitives::{BitRate, Bytes, Duration};

use super::{
    Dcqcn, EcnMarking, Ets, FlowControl, NicParams, RoceParams, SimParams, SwitchParams, Threshold, Transport,
};
use crate::frame::size;
use crate::transport::tcp::TcpParams;

/// A value that does not fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// Dotted key in a scenario.
    pub key: String,
    /// What stands there.
    pub found: String,
    /// What would fit.
    pub expected: String,
}

type Checked = Result<(), Misfit>;

/// Refuses parameters that do not fit together.
///
/// # Errors
/// The first value that does not fit.
pub fn check(params: &SimParams) -> Checked {
    check_switch(&params.switch)?;
    check_flow_control(params)?;
    check_ets(&params.ets)?;
    check_nic(&params.nic)?;
    let offload = params.host.cpu.offload;
    demand(offload.get() >= 1, "host.cpu.offload", offload, "at least \"1B\"")?;
    match &params.transport {
        Transport::Roce(roce) => check_roce(roce, params.switch.ecn.as_ref()),
        Transport::Tcp(tcp) => check_tcp(tcp),
    }
}

/// The misfit of `key`, unless it fits.
fn demand(fits: bool, key: &str, found: impl Display, expected: impl Into<String>) -> Checked {
    let misfit = || Misfit { key: key.to_owned(), found: found.to_string(), expected: expected.into() };
    if fits { Ok(()) } else { Err(misfit()) }
}

fn check_switch(switch: &SwitchParams) -> Checked {
    let (header, buffer) = (switch.header, switch.buffer);
    demand((1..=size::SHORTEST_FRAME.into()).contains(&header.get()), "switch.header", header, "\"1B\" to \"64B\"")?;
    demand(buffer.get() < 1 << 32, "switch.buffer", buffer, "less than \"4GiB\"")?;
    demand(switch.reserve < buffer, "switch.reserve", switch.reserve, format!("less than switch.buffer, {buffer}"))?;
    check_threshold("switch.ingress_threshold", switch.ingress_threshold)?;
    check_threshold("switch.egress_threshold", switch.egress_threshold)?;
    if let Some(headroom) = switch.headroom {
        demand(headroom < buffer, "switch.headroom", headroom, format!("less than switch.buffer, {buffer}"))?;
    }
    let limit = match switch.ingress_threshold {
        Threshold::Static(limit) => limit + switch.reserve,
        Threshold::Alpha(_) => buffer,
    };
    let most = format!("at most the threshold, {limit}, or a paused port never goes on");
    demand(switch.xon_offset <= limit, "switch.xon_offset", switch.xon_offset, most)?;
    switch.ecn.as_ref().map_or(Ok(()), |ecn| check_ecn(ecn, buffer))
}

fn check_threshold(key: &str, threshold: Threshold) -> Checked {
    match threshold {
        Threshold::Alpha(factor) => {
            demand((1.0 / 128.0..=1024.0).contains(&factor), key, factor, "an alpha of 1/128 to 1024")
        }
        Threshold::Static(limit) => demand(limit.get() > 0, key, limit, "a threshold above 0"),
    }
}

fn check_ecn(ecn: &EcnMarking, buffer: Bytes) -> Checked {
    let (low, high) = (ecn.queue_min, ecn.queue_max);
    demand(low <= high, "switch.ecn.queue_min", low, format!("at most queue_max, {high}"))?;
    demand(high <= buffer, "switch.ecn.queue_max", high, format!("at most switch.buffer, {buffer}"))?;
    demand((0.0..=1.0).contains(&ecn.share_max), "switch.ecn.share_max", ecn.share_max, "a share of 0 to 1")
}

fn check_flow_control(params: &SimParams) -> Checked {
    match &params.flow_control {
        FlowControl::None {} => {
            let headroom = params.switch.headroom.map_or(String::new(), |bytes| bytes.to_string());
            let expected = "no headroom without flow control: it cannot take effect";
            demand(params.switch.headroom.is_none(), "switch.headroom", headroom, expected)
        }
        FlowControl::GlobalPause(pause) => check_quanta("flow_control.global_pause.quanta", pause.quanta),
        FlowControl::Pfc(pfc) => {
            check_quanta("flow_control.pfc.quanta", pfc.quanta)?;
            let key = "flow_control.pfc.priorities";
            let mut priorities = pfc.priorities.clone();
            priorities.sort_unstable();
            priorities.dedup();
            demand(!priorities.is_empty(), key, "none", "at least one priority, or flow_control.none")?;
            demand(priorities.len() == pfc.priorities.len(), key, "a priority twice", "each priority once")?;
            let found = format!("true with {} priority", priorities.len());
            let coupled = !pfc.coupled || priorities.len() > 1;
            demand(coupled, "flow_control.pfc.coupled", found, "two or more priorities to couple")
        }
    }
}

fn check_quanta(key: &str, quanta: u16) -> Checked {
    demand(quanta > 0, key, quanta, "1 to 65535; 0 would mean to go on")
}

fn check_ets(ets: &Ets) -> Checked {
    let worst = ets.class_of_priority.iter().copied().max().unwrap_or(0);
    demand(worst < 8, "ets.class_of_priority", worst, "classes 0 to 7")?;
    let sum: u32 = ets.weights.iter().map(|&weight| u32::from(weight)).sum();
    demand(sum == 100 || sum == 0, "ets.weights", format!("a sum of {sum} %"), "a sum of 100 %, or all strict (0)")
}

fn check_nic(nic: &NicParams) -> Checked {
    let NicParams { receive_buffer, xoff, xon, drain_rate, .. } = nic;
    demand(*drain_rate > BitRate::from_bps(0), "nic.drain_rate", drain_rate, "more than 0")?;
    demand(xon <= xoff, "nic.xon", xon, format!("at most nic.xoff, {xoff}"))?;
    demand(xoff < receive_buffer, "nic.xoff", xoff, format!("less than nic.receive_buffer, {receive_buffer}"))
}

fn check_roce(roce: &RoceParams, ecn: Option<&EcnMarking>) -> Checked {
    let mtu = roce.path_mtu;
    let is_legal = [256, 512, 1024, 2048, 4096].contains(&mtu.get());
    demand(is_legal, "transport.roce.path_mtu", mtu, "\"256B\", \"512B\", \"1KiB\", \"2KiB\" or \"4KiB\"")?;
    demand(roce.ack_every > 0, "transport.roce.ack_every", roce.ack_every, "1 or more packets")?;
    let least = mtu * u64::from(roce.ack_every);
    let expected = format!("at least ack_every packets, {least}: the responder would never acknowledge");
    demand(roce.window >= least, "transport.roce.window", roce.window, expected)?;
    let timeout = roce.retransmission_timeout;
    demand(timeout > Duration::ZERO, "transport.roce.retransmission_timeout", timeout, "more than 0")?;
    let is_useful = roce.dcqcn.is_none() || ecn.is_some();
    demand(is_useful, "transport.roce.dcqcn", "no switch.ecn", "marking switches: nothing would notify the sender")?;
    roce.dcqcn.as_ref().map_or(Ok(()), check_dcqcn)
}

fn check_dcqcn(dcqcn: &Dcqcn) -> Checked {
    let key = |name: &str| format!("transport.roce.dcqcn.{name}");
    for (name, timer) in [("alpha_timer", dcqcn.alpha_timer), ("rate_timer", dcqcn.rate_timer)] {
        demand(timer > Duration::ZERO, &key(name), timer, "more than 0: it would expire without end")?;
    }
    demand(dcqcn.rate_bytes.get() > 0, &key("rate_bytes"), dcqcn.rate_bytes, "more than 0")?;
    demand(
        dcqcn.gain_shift <= 16,
        &key("gain_shift"),
        dcqcn.gain_shift,
        "0 to 16: the gain is 2 to the power of minus it",
    )?;
    let (least, step) = (dcqcn.rate_min, dcqcn.rate_step);
    demand(least > BitRate::from_bps(0), &key("rate_min"), least, "more than 0: a stopped sender would never start")?;
    demand(step > BitRate::from_bps(0), &key("rate_step"), step, "more than 0: a cut rate would never grow")
}

fn check_tcp(tcp: &TcpParams) -> Checked {
    let misfit = |text: String| {
        let (found, expected) = text.split_once("; expected ").unwrap_or((&text, "values that fit together"));
        Misfit { key: "transport.tcp".to_owned(), found: found.to_owned(), expected: expected.to_owned() }
    };
    tcp.check().map_err(misfit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn misfit(change: impl FnOnce(&mut SimParams)) -> String {
        let mut params = SimParams::default();
        change(&mut params);
        check(&params).expect_err("it does not fit").key
    }

    #[test]
    fn defaults_fit_for_both_transports() {
        assert_eq!(check(&SimParams::default()), Ok(()));
        let tcp = Transport::Tcp(TcpParams::default());
        assert_eq!(check(&SimParams { transport: tcp, ..SimParams::default() }), Ok(()));
    }

    #[test]
    fn what_would_silently_change_the_physics_is_named() {
        assert_eq!(misfit(|params| params.nic.xon = Bytes::new(1 << 20)), "nic.xon");
        assert_eq!(misfit(|params| params.switch.headroom = Some(Bytes::new(17 << 20))), "switch.headroom");
        assert_eq!(misfit(|params| params.ets.weights = [50, 49, 0, 0, 0, 0, 0, 0]), "ets.weights");
        assert_eq!(misfit(|params| params.switch.xon_offset = Bytes::new(1 << 30)), "switch.xon_offset");
        let still = Dcqcn { alpha_timer: Duration::ZERO, ..Dcqcn::default() };
        let roce = RoceParams { dcqcn: Some(still), ..RoceParams::default() };
        let ecn = EcnMarking { queue_min: Bytes::new(1), queue_max: Bytes::new(2), share_max: 1.0 };
        let endless = misfit(|params| {
            params.switch.ecn = Some(ecn);
            params.transport = Transport::Roce(roce);
        });
        assert_eq!(endless, "transport.roce.dcqcn.alpha_timer");
        let roce = RoceParams { dcqcn: Some(Default::default()), ..RoceParams::default() };
        assert_eq!(misfit(|params| params.transport = Transport::Roce(roce)), "transport.roce.dcqcn");
    }
}
