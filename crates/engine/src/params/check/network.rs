//! Switches, flow control, traffic classes.

use etherweave_primitives::{Bytes, Duration, InputErrors, Priority};

use super::{
    BUFFER_MAX, Checked, RATES, check_delay, check_low_power_idle, check_rate_adaptation, check_shaper, has_pauses,
    require, require_effect, require_within,
};
use crate::constants;
use crate::frame::size;
use crate::params::{
    Cells, Credits, EcnMarking, Ets, FlowControl, Forwarding, OuterHeader, PeerResponse, Pfc, PfcWatchdog,
    ReductionParams, SimParams, SwitchModel, SwitchParams, Threshold, Transport, Trimming,
};

const CELL_MAX: Bytes = Bytes::new(64 << 10);
/// Longest outer header: VXLAN over IPv6 has 70 B.
const HEADER_MAX: Bytes = Bytes::new(256);
/// Most addresses in a table, so that its memory is bounded.
const ENTRIES_MAX: u32 = 1 << 20;
/// Shortest frame that trimming leaves: 64 B on the wire with preamble and gap, as the reference simulator has.
const TRIMMED_MIN: Bytes = Bytes::new(44);
/// Most trees of a switch, and children in each.
const TREES_MAX: u32 = 1 << 16;
/// Longest frame that trimming leaves: that of jumbo frames in SONiC's test plan.
const TRIMMED_MAX: Bytes = Bytes::new(4_084);
/// Largest unit of credits.
const CREDIT_MAX: Bytes = Bytes::new(64 << 10);
/// Shortest time between two looks of a watchdog.
const WATCHDOG_POLL_MIN: Duration = Duration::from_us(1);
/// Longest time of a watchdog: SONiC's longest restoration.
const WATCHDOG_TIME_MAX: Duration = Duration::from_ms(60_000);

pub(super) fn check(params: &SimParams, errors: &mut InputErrors) {
    let frame = Bytes::new((constants::largest_frame(params) + constants::outer_header(params)).into());
    errors.check(check_switch(&params.switch, frame));
    errors.check(check_shaper("switch.shaper", params.switch.shaper.as_ref(), frame));
    let idle = params.switch.low_power_idle.as_ref();
    errors.check(check_low_power_idle("switch.low_power_idle", idle, &params.flow_control));
    errors.check(check_rate_adaptation("switch.rate_adaptation", params.switch.rate_adaptation.as_ref(), params));
    errors.check(check_learning(params));
    errors.check(params.switch.outer_header.map_or(Ok(()), check_outer_header));
    errors.check(check_use(params));
    errors.check(check_model(params, frame));
    errors.check(check_trimming(params));
    errors.check(params.switch.reduction.as_ref().map_or(Ok(()), check_reduction));
    errors.check(check_flow_control(params, frame));
    errors.check(check_ets(params));
}

/// Rejects a header longer than any that is in use, and a latency beyond all reason.
fn check_outer_header(header: OuterHeader) -> Checked {
    require_within(Bytes::new(1)..=HEADER_MAX, "switch.outer_header.bytes", header.bytes)?;
    check_delay("switch.outer_header.latency", header.latency)
}

/// Rejects tables without room or beyond all reason, and flow control: a frame is stored for each port that it is
/// flooded to, for which neither headroom nor credits have room.
fn check_learning(params: &SimParams) -> Checked {
    let Some(learning) = params.switch.learning else { return Ok(()) };
    require_within(1..=ENTRIES_MAX, "switch.learning.entries", learning.entries)?;
    let (least, most) = (Duration::from_us(1), Duration::from_ms(1_000_000_000));
    require_within(least..=most, "switch.learning.ageing", learning.ageing)?;
    let flow_control = match &params.flow_control {
        FlowControl::None {} => return Ok(()),
        FlowControl::GlobalPause(_) => "global_pause",
        FlowControl::Pfc(_) => "pfc",
        FlowControl::Credits(_) => "credits",
    };
    let expected = "flow_control.none with it: a frame is stored for each port that it is flooded to";
    require(false, "switch.learning", format!("beside flow_control.{flow_control}"), expected)
}

fn check_switch(switch: &SwitchParams, frame: Bytes) -> Checked {
    let buffer = switch.buffer;
    check_delay("switch.latency", switch.latency)?;
    let shortest = Bytes::new(size::SHORTEST_FRAME.into());
    require_within(Bytes::new(1)..=shortest, "switch.header", switch.header)?;
    require(buffer >= frame, "switch.buffer", buffer, format!("at least the largest frame on the wire, {frame}"))?;
    require(buffer <= BUFFER_MAX, "switch.buffer", buffer, "less than 4GiB")?;
    require(switch.reserve < buffer, "switch.reserve", switch.reserve, format!("less than switch.buffer, {buffer}"))?;
    check_threshold("switch.ingress_threshold", switch.ingress_threshold, buffer)?;
    check_threshold("switch.egress_threshold", switch.egress_threshold, buffer)?;
    if let Some(headroom) = switch.headroom {
        require(headroom < buffer, "switch.headroom", headroom, format!("less than switch.buffer, {buffer}"))?;
    }
    switch.cells.as_ref().map_or(Ok(()), check_cells)?;
    switch.threshold_rate.map_or(Ok(()), |rate| require_within(RATES, "switch.threshold_rate", rate))?;
    let limit = match switch.ingress_threshold {
        Threshold::Static(limit) => limit + switch.reserve,
        Threshold::Alpha(_) => buffer,
    };
    let most = format!("at most the threshold, {limit}: a paused port would wait until it is empty");
    require(switch.xon_offset <= limit, "switch.xon_offset", switch.xon_offset, most)?;
    switch.ecn.as_ref().map_or(Ok(()), |ecn| check_ecn(ecn, buffer))
}

fn check_threshold(key: &str, threshold: Threshold, buffer: Bytes) -> Checked {
    match threshold {
        Threshold::Alpha(factor) => {
            // In scientific notation: 1e300 need not fill five lines.
            let alpha = if factor.abs() < 1e6 { format!("{factor}") } else { format!("{factor:e}") };
            require((1.0 / 128.0..=1024.0).contains(&factor), key, alpha, "an alpha of 1/128 to 1024")
        }
        Threshold::Static(limit) => {
            let most = format!("more than 0 and at most switch.buffer, {buffer}");
            require(limit.get() > 0 && limit <= buffer, key, limit, most)
        }
    }
}

fn check_cells(cells: &Cells) -> Checked {
    require_within(Bytes::new(1)..=CELL_MAX, "switch.cells.size", cells.size)?;
    require((1.0..=16.0).contains(&cells.factor), "switch.cells.factor", cells.factor, "1 to 16")?;
    require(cells.fixed <= BUFFER_MAX, "switch.cells.fixed", cells.fixed, "less than 4GiB")?;
    if let Some(factor) = cells.response_factor {
        require((1.0..=16.0).contains(&factor), "switch.cells.response_factor", factor, "1 to 16")?;
        let has_response = cells.response != PeerResponse::None;
        require(has_response, "switch.cells.response", "none", "ieee_802_3 beside response_factor")?;
    }
    for row in &cells.rates {
        require_within(RATES, "switch.cells.rates.rate", row.rate)?;
    }
    let ascending = cells.rates.is_sorted_by_key(|row| row.rate);
    require(ascending, "switch.cells.rates", "rates in another order", "ascending rates")?;
    check_delay("switch.cells.delay", cells.delay)
}

fn check_ecn(ecn: &EcnMarking, buffer: Bytes) -> Checked {
    let (low, high) = (ecn.queue_min, ecn.queue_max);
    require(low <= high, "switch.ecn.queue_min", low, format!("at most queue_max, {high}"))?;
    require(high <= buffer, "switch.ecn.queue_max", high, format!("at most switch.buffer, {buffer}"))?;
    require((0.0..=1.0).contains(&ecn.share_max), "switch.ecn.share_max", ecn.share_max, "a share of 0 to 1")
}

/// Options of the switch that something must ask for.
fn check_use(params: &SimParams) -> Checked {
    let (switch, default) = (&params.switch, SwitchParams::default());
    let is_cut_through = switch.forwarding == Forwarding::CutThrough;
    require_effect(is_cut_through, "switch.header", switch.header, default.header, "cuts through")?;
    let pauses = has_pauses(params);
    require_effect(pauses, "switch.xon_offset", switch.xon_offset, default.xon_offset, "pauses")?;
    if let Some(headroom) = switch.headroom {
        let expected = "none: nothing here pauses, so that it cannot take effect";
        require(pauses, "switch.headroom", headroom, expected)?;
    }
    let (loses, lossless) = match &params.flow_control {
        FlowControl::None {} | FlowControl::Pfc(_) => (true, ""),
        FlowControl::GlobalPause(_) => (false, "global_pause"),
        FlowControl::Credits(credits) => (credits.priorities.len() < Priority::COUNT, "credits"),
    };
    let is_default = switch.egress_threshold == default.egress_threshold;
    let expected = format!("none with flow_control.{lossless}: all priorities are lossless, it cannot take effect");
    require(loses || is_default, "switch.egress_threshold", "a threshold of lossy queues", expected)
}

/// Trimming where packets may be lost, their priority among them, and receivers report what was trimmed.
fn check_trimming(params: &SimParams) -> Checked {
    let Some(trimming) = params.switch.trimming else { return Ok(()) };
    let Trimming { size, priority, .. } = trimming;
    require_within(TRIMMED_MIN..=TRIMMED_MAX, "switch.trimming.size", size)?;
    let is_shared = params.switch.model == SwitchModel::SharedBuffer;
    let expected = "none with input_queued, whose packets wait for credits";
    require(is_shared, "switch.trimming", "trimming", expected)?;
    let is_lossy = |priority: Priority| match &params.flow_control {
        FlowControl::None {} => true,
        FlowControl::Pfc(pfc) => !pfc.priorities.contains(&priority),
        FlowControl::Credits(credits) => !credits.priorities.contains(&priority),
        FlowControl::GlobalPause(_) => false,
    };
    let expected = "a priority that flow control leaves lossy";
    require(is_lossy(priority), "switch.trimming.priority", priority.get(), expected)?;
    check_code_points(trimming)?;
    let is_of = |priority: &Priority| Some(params.ets.class_of_priority[priority.index()]) == trimming.queue;
    let expected = "a class, 0 to 7, of lossy priorities";
    let has_room = trimming.queue.is_none_or(|queue| queue < 8 && Priority::all().filter(is_of).all(is_lossy));
    require(has_room, "switch.trimming.queue", trimming.queue.unwrap_or_default(), expected)?;
    params.transports().try_for_each(check_reports)
}

/// Rejects a transport whose receivers report no trimmed packet.
fn check_reports(transport: &Transport) -> Checked {
    let (beside, expected) = match transport.uet() {
        Some(_) => ("uet.delivery = \"uud\"", "another delivery: nobody reports a trimmed datagram"),
        None => (transport.name(), "transport.uet: receivers of no other transport report a trimmed packet"),
    };
    let mistake = format!("trimming beside transport.{beside}");
    require(transport.answers_trimmed(), "switch.trimming", mistake, expected)
}

/// Code points that other switches map to the priority of trimmed packets, by class selectors (RFC 2474).
fn check_code_points(trimming: Trimming) -> Checked {
    let first = 8 * trimming.priority.get();
    let stated = [
        ("switch.trimming.code_point", trimming.code_point),
        ("switch.trimming.last_hop_code_point", trimming.last_hop_code_point),
    ];
    let stated = stated.into_iter().filter_map(|(key, code_point)| Some((key, code_point?)));
    for (key, code_point) in stated {
        require_within(first..=first + 7, key, code_point)?;
    }
    Ok(())
}

fn check_reduction(reduction: &ReductionParams) -> Checked {
    require_within(1..=TREES_MAX, "switch.reduction.trees", reduction.trees)?;
    require_within(2..=TREES_MAX, "switch.reduction.radix", reduction.radix)?;
    require_within(Bytes::new(4 << 10)..=BUFFER_MAX, "switch.reduction.buffer", reduction.buffer)?;
    check_delay("switch.reduction.latency", reduction.latency)
}

/// Options of one model of the switch beside the other.
fn check_model(params: &SimParams, frame: Bytes) -> Checked {
    let (switch, default) = (&params.switch, SwitchParams::default());
    let is_queued = switch.model == SwitchModel::InputQueued;
    require_within(1..=16, "switch.speed_up", switch.speed_up)?;
    require_effect(is_queued, "switch.speed_up", switch.speed_up, default.speed_up, "is input_queued")?;
    let arbiter = "an order of inputs";
    let expected = "none: nothing here is input_queued, so that it cannot take effect";
    require(is_queued || switch.arbiter == default.arbiter, "switch.arbiter", arbiter, expected)?;
    let queue = switch.output_queue;
    let zero = if is_queued { "0, or " } else { "" };
    let least = format!("{zero}at least the largest frame on the wire, {frame}");
    let is_default = queue == default.output_queue;
    require(is_default || is_queued && queue.get() == 0 || queue >= frame, "switch.output_queue", queue, least)?;
    require(queue <= BUFFER_MAX, "switch.output_queue", queue, "less than 4GiB")?;
    if !is_queued {
        return Ok(());
    }
    let mode = match &params.flow_control {
        FlowControl::None {} => "none",
        FlowControl::GlobalPause(_) => "global_pause",
        FlowControl::Pfc(_) => "pfc",
        FlowControl::Credits(_) => return check_shares_nothing(switch),
    };
    require(
        false,
        "switch.model",
        format!("input_queued with flow_control.{mode}"),
        "input_queued with flow_control.credits: its queues are what the credits stand for",
    )
}

/// Options of a shared buffer where there is none.
fn check_shares_nothing(switch: &SwitchParams) -> Checked {
    let (default, has) = (SwitchParams::default(), "has a shared buffer");
    require_effect(false, "switch.buffer", switch.buffer, default.buffer, has)?;
    require_effect(false, "switch.reserve", switch.reserve, default.reserve, has)?;
    let expected = "none: nothing here has a shared buffer, so that it cannot take effect";
    let is_default = switch.ingress_threshold == default.ingress_threshold;
    require(is_default, "switch.ingress_threshold", "a threshold", expected)?;
    require(switch.egress_threshold == default.egress_threshold, "switch.egress_threshold", "a threshold", expected)?;
    require(switch.cells.is_none(), "switch.cells", "cells of a shared memory", expected)?;
    require(switch.ecn.is_none(), "switch.ecn", "marks by the queue of an output", expected)?;
    require(switch.threshold_rate.is_none(), "switch.threshold_rate", "a rate", expected)
}

fn check_flow_control(params: &SimParams, frame: Bytes) -> Checked {
    match &params.flow_control {
        FlowControl::None {} => Ok(()),
        FlowControl::GlobalPause(pause) => {
            check_delay("flow_control.global_pause.reaction", pause.reaction)?;
            check_quanta("flow_control.global_pause.quanta", pause.quanta)
        }
        FlowControl::Pfc(pfc) => check_pfc(pfc),
        FlowControl::Credits(credits) => check_credits(credits, frame),
    }
}

fn check_pfc(pfc: &Pfc) -> Checked {
    check_delay("flow_control.pfc.reaction", pfc.reaction)?;
    check_quanta("flow_control.pfc.quanta", pfc.quanta)?;
    check_lossless("flow_control.pfc.priorities", &pfc.priorities)?;
    let mistake = format!("true with {} priority", pfc.priorities.len());
    let coupled = !pfc.coupled || pfc.priorities.len() > 1;
    require(coupled, "flow_control.pfc.coupled", mistake, "two or more priorities to couple")?;
    pfc.watchdog.as_ref().map_or(Ok(()), check_watchdog)?;
    let expected =
        "none: pauses of a run are those of a shared buffer, only open loops have buffers of inputs with them";
    for (key, buffer) in [("buffer", pfc.buffer), ("global_buffer", pfc.global_buffer)] {
        require(buffer.is_none(), &format!("flow_control.pfc.{key}"), buffer.unwrap_or_default(), expected)?;
    }
    Ok(())
}

fn check_watchdog(watchdog: &PfcWatchdog) -> Checked {
    let PfcWatchdog { detection, restoration, poll, .. } = *watchdog;
    require_within(WATCHDOG_POLL_MIN..=WATCHDOG_TIME_MAX, "flow_control.pfc.watchdog.poll", poll)?;
    for (key, time) in [("detection", detection), ("restoration", restoration)] {
        let expected = format!("{poll}, which flow_control.pfc.watchdog.poll is, to {WATCHDOG_TIME_MAX}");
        let is_polled = (poll..=WATCHDOG_TIME_MAX).contains(&time);
        require(is_polled, &format!("flow_control.pfc.watchdog.{key}"), time, expected)?;
    }
    Ok(())
}

fn check_lossless(key: &str, listed: &[Priority]) -> Checked {
    let mut priorities = listed.to_vec();
    priorities.sort_unstable();
    priorities.dedup();
    require(!priorities.is_empty(), key, "none", "at least one priority, or flow_control.none")?;
    require(priorities.len() == listed.len(), key, "a priority twice", "each priority once")
}

fn check_credits(credits: &Credits, frame: Bytes) -> Checked {
    check_lossless("flow_control.credits.priorities", &credits.priorities)?;
    check_delay("flow_control.credits.return_latency", credits.return_latency)?;
    require_within(Bytes::new(1)..=CREDIT_MAX, "flow_control.credits.unit", credits.unit)?;
    if let Some(spacing) = credits.update_spacing {
        require_within(Bytes::new(400)..=Bytes::new(17_296), "flow_control.credits.update_spacing", spacing)?;
    }
    let unit = credits.unit.get();
    let frame = Bytes::new((frame.get() - u64::from(size::PREAMBLE_AND_GAP)).next_multiple_of(unit));
    let least = format!("at least {frame}: the largest frame, in units of {unit} B");
    for (key, buffer) in [("buffer", credits.buffer), ("global_buffer", credits.global_buffer)] {
        let (key, Some(buffer)) = (format!("flow_control.credits.{key}"), buffer) else { continue };
        require(buffer.get() / unit * unit >= frame.get(), &key, buffer, &*least)?;
        require(buffer <= BUFFER_MAX, &key, buffer, "less than 4GiB")?;
    }
    Ok(())
}

fn check_quanta(key: &str, quanta: u16) -> Checked {
    require(quanta > 0, key, quanta, "1 to 65535; 0 would mean to go on")
}

fn check_ets(params: &SimParams) -> Checked {
    let ets = &params.ets;
    let worst = ets.class_of_priority.iter().copied().max().unwrap_or(0);
    require(worst < 8, "ets.class_of_priority", worst, "classes 0 to 7")?;
    let sum: u32 = ets.weights.iter().map(|&weight| u32::from(weight)).sum();
    require(sum == 100 || sum == 0, "ets.weights", format!("a sum of {sum} %"), "a sum of 100 %, or all strict (0)")?;
    let of_trimmed = params.switch.trimming.and_then(|trimming| trimming.queue);
    let is_idle = |&class: &u8| Some(class) != of_trimmed && !ets.class_of_priority.contains(&class);
    let idle = (0..Priority::COUNT as u8).filter(is_idle).find(|&class| ets.weights[usize::from(class)] > 0);
    let is_default = ets.weights == Ets::default().weights;
    let share = format!("a share for class {}", idle.unwrap_or_default());
    require(
        idle.is_none() || is_default,
        "ets.weights",
        share,
        "shares of classes that a priority maps to, or that switch.trimming.queue names",
    )
}
