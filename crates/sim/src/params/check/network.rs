//! Switches, flow control, traffic classes.

use etherweave_primitives::{Bytes, Priority};

use super::{BUFFER_MAX, Checked, check_delay, check_shaper, demand, demand_effect, demand_within, has_pauses};
use crate::constants;
use crate::frame::size;
use crate::params::{EcnMarking, Ets, FlowControl, Forwarding, Pfc, SimParams, SwitchParams, Threshold};

pub(super) fn check(params: &SimParams) -> Checked {
    let frame = Bytes::new(constants::largest_frame(&params.transport).into());
    check_switch(&params.switch, frame)?;
    check_shaper("switch.shaper", params.switch.shaper.as_ref(), frame)?;
    check_use(params)?;
    check_flow_control(params)?;
    check_ets(&params.ets)
}

fn check_switch(switch: &SwitchParams, frame: Bytes) -> Checked {
    let buffer = switch.buffer;
    check_delay("switch.latency", switch.latency)?;
    let shortest = Bytes::new(size::SHORTEST_FRAME.into());
    demand_within(Bytes::new(1)..=shortest, "switch.header", switch.header)?;
    demand(buffer >= frame, "switch.buffer", buffer, format!("at least the largest frame on the wire, {frame}"))?;
    demand(buffer <= BUFFER_MAX, "switch.buffer", buffer, "less than 4GiB")?;
    demand(switch.reserve < buffer, "switch.reserve", switch.reserve, format!("less than switch.buffer, {buffer}"))?;
    check_threshold("switch.ingress_threshold", switch.ingress_threshold, buffer)?;
    check_threshold("switch.egress_threshold", switch.egress_threshold, buffer)?;
    if let Some(headroom) = switch.headroom {
        demand(headroom < buffer, "switch.headroom", headroom, format!("less than switch.buffer, {buffer}"))?;
    }
    let limit = match switch.ingress_threshold {
        Threshold::Static(limit) => limit + switch.reserve,
        Threshold::Alpha(_) => buffer,
    };
    let most = format!("at most the threshold, {limit}: a paused port would wait until it is empty");
    demand(switch.xon_offset <= limit, "switch.xon_offset", switch.xon_offset, most)?;
    switch.ecn.as_ref().map_or(Ok(()), |ecn| check_ecn(ecn, buffer))
}

fn check_threshold(key: &str, threshold: Threshold, buffer: Bytes) -> Checked {
    match threshold {
        Threshold::Alpha(factor) => {
            // In scientific notation: 1e300 need not fill five lines.
            let found = if factor.abs() < 1e6 { format!("{factor}") } else { format!("{factor:e}") };
            demand((1.0 / 128.0..=1024.0).contains(&factor), key, found, "an alpha of 1/128 to 1024")
        }
        Threshold::Static(limit) => {
            let most = format!("more than 0 and at most switch.buffer, {buffer}");
            demand(limit.get() > 0 && limit <= buffer, key, limit, most)
        }
    }
}

fn check_ecn(ecn: &EcnMarking, buffer: Bytes) -> Checked {
    let (low, high) = (ecn.queue_min, ecn.queue_max);
    demand(low <= high, "switch.ecn.queue_min", low, format!("at most queue_max, {high}"))?;
    demand(high <= buffer, "switch.ecn.queue_max", high, format!("at most switch.buffer, {buffer}"))?;
    demand((0.0..=1.0).contains(&ecn.share_max), "switch.ecn.share_max", ecn.share_max, "a share of 0 to 1")
}

/// Options of the switch that something must ask for.
fn check_use(params: &SimParams) -> Checked {
    let (switch, default) = (&params.switch, SwitchParams::default());
    let is_cut_through = switch.forwarding == Forwarding::CutThrough;
    demand_effect(is_cut_through, "switch.header", switch.header, default.header, "cuts through")?;
    let pauses = has_pauses(params);
    demand_effect(pauses, "switch.xon_offset", switch.xon_offset, default.xon_offset, "pauses")?;
    if let Some(headroom) = switch.headroom {
        let expected = "no headroom without flow control: it cannot take effect";
        demand(pauses, "switch.headroom", headroom, expected)?;
    }
    let loses = !matches!(params.flow_control, FlowControl::GlobalPause(_));
    let is_default = switch.egress_threshold == default.egress_threshold;
    let expected = "none with flow_control.global_pause: all priorities are lossless, it cannot take effect";
    demand(loses || is_default, "switch.egress_threshold", "a threshold of lossy queues", expected)
}

fn check_flow_control(params: &SimParams) -> Checked {
    match &params.flow_control {
        FlowControl::None {} => Ok(()),
        FlowControl::GlobalPause(pause) => {
            check_delay("flow_control.global_pause.reaction", pause.reaction)?;
            check_quanta("flow_control.global_pause.quanta", pause.quanta)
        }
        FlowControl::Pfc(pfc) => check_pfc(pfc),
    }
}

fn check_pfc(pfc: &Pfc) -> Checked {
    check_delay("flow_control.pfc.reaction", pfc.reaction)?;
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

fn check_quanta(key: &str, quanta: u16) -> Checked {
    demand(quanta > 0, key, quanta, "1 to 65535; 0 would mean to go on")
}

fn check_ets(ets: &Ets) -> Checked {
    let worst = ets.class_of_priority.iter().copied().max().unwrap_or(0);
    demand(worst < 8, "ets.class_of_priority", worst, "classes 0 to 7")?;
    let sum: u32 = ets.weights.iter().map(|&weight| u32::from(weight)).sum();
    demand(sum == 100 || sum == 0, "ets.weights", format!("a sum of {sum} %"), "a sum of 100 %, or all strict (0)")?;
    let idle = (0..Priority::COUNT as u8)
        .find(|&class| ets.weights[usize::from(class)] > 0 && !ets.class_of_priority.contains(&class));
    let is_default = ets.weights == Ets::default().weights;
    let found = format!("a share for class {}", idle.unwrap_or_default());
    demand(idle.is_none() || is_default, "ets.weights", found, "shares of classes that a priority maps to")
}
