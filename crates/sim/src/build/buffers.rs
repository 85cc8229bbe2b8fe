//! The packet memory of switches and NICs: how it is divided, for a simulation and for the configuration of real ones.

use etherweave_engine::params::{Credits, FlowControl, SimParams, SwitchModel, Threshold};
use etherweave_engine::{constants::RunConstants, constants::headroom, credits::PortCredits, frame::size};
use etherweave_host::NicTimes;
use etherweave_primitives::{Bytes, ChannelId, Duration, HostId, InputError, InputErrors, Port, SwitchId};
use etherweave_switch::buffer::BufferSizes;
use etherweave_topology::{Channel, LinkClass, Node, Topology, reverse};

use super::{delays::delay, delays::pause_delay, params};

/// The buffer of a switch port for each lossless priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortBuffer {
    /// The switch.
    pub switch: SwitchId,
    /// Its port.
    pub port: Port,
    /// Headroom of each lossless priority; 0 where nothing pauses.
    pub headroom: Bytes,
    /// Buffer of each priority under credits; 0 without.
    pub credits: Bytes,
    /// Memory that all ports and priorities of the switch share; reserves, headroom and buffers under credits taken
    /// off. None of an input-queued switch.
    pub pool: Bytes,
}

/// The memory of every port of every switch, by ids: the very sizes that a simulation builds, if `largest_packet`,
/// above Ethernet, is that of the transport. A real fabric may carry larger ones, up to its MTU.
///
/// # Errors
/// When parameters do not fit together, or a switch has too little memory.
pub fn port_buffers(
    topology: &Topology,
    params: &SimParams,
    largest_packet: Bytes,
) -> Result<Vec<PortBuffer>, InputErrors> {
    params::check(params)?;
    let mut constants = RunConstants::new(params, Duration::ZERO);
    constants.largest_frame = largest_packet.get() as u32 + size::wire_overhead(true);
    let is_lossless = constants.lossless_groups() > 0;
    let mut ports = Vec::with_capacity(topology.channels().len());
    for switch in (0..topology.switches()).map(SwitchId::from_index) {
        let pool = Bytes::new(buffer_sizes(topology, &constants, switch)?.pool.into());
        ports.extend(topology.out_channels(Node::Switch(switch)).iter().map(|&id| PortBuffer {
            switch,
            port: topology.channel(id).from.port,
            credits: credit_buffer(topology.channel(reverse(id)), &constants),
            headroom: Bytes::new(if is_lossless { headroom_of(topology, id, &constants) } else { 0 }),
            pool,
        }));
    }
    Ok(ports)
}

/// Room that the receive buffers of NICs need above XOFF for all that a switch still sends until it stops, in largest
/// frames of another connection each, less what drains meanwhile; at most, and at which host.
pub fn nic_headroom(topology: &Topology, params: &SimParams) -> Option<(Bytes, HostId)> {
    let constants = RunConstants::new(params, Duration::ZERO);
    let frame = Bytes::new(constants.largest_frame.into());
    let (rate, drain) = (NicTimes::new(&constants).rate, drain_time(&constants));
    let needed = |id: ChannelId| {
        let incoming = topology.channel(reverse(id));
        let pause = pause_delay(topology.channel(id), params);
        let sent = headroom(incoming.rate, delay(incoming, params), pause, frame);
        let taken = drain * sent.get().div_ceil(frame.get());
        let drained = incoming.rate.serialization_time(sent);
        rate.bytes_in(taken.max(drained) - drained).max(frame)
    };
    let hosts = (0..topology.hosts()).map(HostId::from_index);
    hosts.flat_map(|host| topology.host_channels(host).iter().map(move |&id| (needed(id), host))).max()
}

pub(super) fn credits(constants: &RunConstants) -> Option<&Credits> {
    match &constants.params.flow_control {
        FlowControl::None {} | FlowControl::GlobalPause(_) | FlowControl::Pfc(_) => None,
        FlowControl::Credits(credits) => Some(credits).filter(|_| constants.has_packets),
    }
}

/// The buffer at the end of `channel` for each priority under credits, in whole units; none without credits.
fn credit_buffer(channel: &Channel, constants: &RunConstants) -> Bytes {
    let Some(credits) = credits(constants) else { return Bytes::ZERO };
    let unit = credits.unit.get();
    let whole_units = |bytes: u64| Bytes::new(bytes / unit * unit);
    let nic = &constants.params.nic;
    match (credits.buffer_at(channel.class), channel.to.node) {
        (Some(buffer), _) => whole_units(buffer.get()),
        (None, Node::Host(_)) if constants.params.transports().any(|transport| transport.is_in_kernel()) => {
            whole_units(nic.receive_buffer.get() / (credits.priorities.len() as u64 + 1))
        }
        (None, Node::Host(_)) => frames_in(drain_time(constants) + round_trip(channel, constants), channel, constants),
        (None, Node::Switch(_)) => frames_in(round_trip(channel, constants), channel, constants),
    }
}

/// How long a NIC with kernel bypass keeps a largest frame.
fn drain_time(constants: &RunConstants) -> Duration {
    let nic = NicTimes::new(constants);
    nic.rate.serialization_time(Bytes::new(constants.largest_frame.into())) + nic.context_switch + nic.context_miss
}

/// Returns the time from the last bit sent into a channel to the return of its credits, if the far end frees the room
/// at once.
fn round_trip(channel: &Channel, constants: &RunConstants) -> Duration {
    delay(channel, &constants.params) + credit_delay(channel, constants)
}

/// Returns the time from the moment when room is free to the arrival of its credits over a cable.
pub(super) fn credit_delay(channel: &Channel, constants: &RunConstants) -> Duration {
    let Some(credits) = credits(constants) else { return channel.length.propagation_time() };
    let wait = credits.update_spacing.map_or(Duration::ZERO, |spacing| channel.rate.serialization_time(spacing));
    let (propagation, codes) = (channel.length.propagation_time(), &constants.params.fec);
    codes.adjust(propagation + credits.return_latency, channel) + wait
}

/// Rejects a buffer with more credits than messages about them count.
pub(super) fn check_counters(channel: &Channel, constants: &RunConstants) -> Result<(), InputError> {
    let Some(credits) = credits(constants) else { return Ok(()) };
    let buffer = credit_buffer(channel, constants);
    let expected = format!("units of which a buffer of {buffer} has less than 2^15, as messages count");
    InputError::unless(credits.counts(buffer), "flow_control.credits.unit", credits.unit, expected)
}

/// Bytes of the outer header of frames on a channel.
pub(super) fn outer_header(channel: &Channel, constants: &RunConstants) -> u32 {
    if channel.class == LinkClass::Host { 0 } else { constants.outer_header }
}

/// Room for all largest frames that a channel carries in `span`, and two more.
fn frames_in(span: Duration, channel: &Channel, constants: &RunConstants) -> Bytes {
    let frame = u64::from(constants.largest_frame + outer_header(channel, constants));
    let frames = channel.rate.bytes_in(span).get().div_ceil(frame) + 2;
    frame_room(channel, constants) * frames
}

/// Returns the room that a largest frame on a channel takes of a buffer under credits.
fn frame_room(channel: &Channel, constants: &RunConstants) -> Bytes {
    let unit = credits(constants).map_or(1, |credits| credits.unit.get());
    let largest = constants.largest_frame + outer_header(channel, constants);
    let stored = u64::from(largest - size::PREAMBLE_AND_GAP);
    Bytes::new(stored.next_multiple_of(unit))
}

/// Returns the memory that buffers under credits take behind `ports`, which send into these channels.
pub(crate) fn credit_memory(topology: &Topology, ports: &[ChannelId], constants: &RunConstants) -> Bytes {
    let priorities = credits(constants).map_or(0, |credits| credits.priorities.len() as u64);
    let buffer = |&id: &ChannelId| credit_buffer(topology.channel(reverse(id)), constants);
    ports.iter().map(buffer).sum::<Bytes>() * priorities
}

/// Rejects buffers under credits that a NIC does not have room for, or that have none for a frame.
pub(super) fn check_nic(topology: &Topology, host: HostId, constants: &RunConstants) -> Result<(), InputError> {
    let name = topology.host_name(host);
    topology.host_channels(host).iter().try_for_each(|&channel| {
        let (memory, needed) = (constants.params.nic.receive_buffer, credit_memory(topology, &[channel], constants));
        let least = format!("at least {needed}, the buffers under credits of {name}");
        InputError::unless(needed <= memory, "nic.receive_buffer", memory, least)?;
        let room = credit_buffer(topology.channel(reverse(channel)), constants);
        let frame = frame_room(topology.channel(reverse(channel)), constants);
        let least = format!("room for a frame under credits at {name}, {frame}; it gets {room}");
        let is_enough = credits(constants).is_none() || room >= frame;
        InputError::unless(is_enough, "nic.receive_buffer", memory, least)
    })
}

/// Room for packets that wait for sums at the end of a channel, beside its buffer.
fn memory_of_sums(id: ChannelId, channel: &Channel, constants: &RunConstants) -> Bytes {
    let packets = constants.trees.as_ref().and_then(|trees| trees.waiting_max.get(&id)).copied();
    frame_room(channel, constants) * u64::from(packets.unwrap_or_default())
}

/// The credits of the port that sends into `id`, if they are used.
pub(super) fn port_credits(topology: &Topology, id: ChannelId, constants: &RunConstants) -> Option<PortCredits> {
    let credits = credits(constants)?;
    let (out, back) = (topology.channel(id), topology.channel(reverse(id)));
    // What does not fit is more than any memory: it has been rejected.
    let units = |id: ChannelId, channel: &Channel| {
        let buffer = credit_buffer(channel, constants) + memory_of_sums(id, channel, constants);
        (buffer.get() / credits.unit.get()) as u32
    };
    let [out_units, back_units] = [units(id, out), units(reverse(id), back)];
    Some(PortCredits::new(credits.mask(), out_units, back_units, credit_delay(out, constants)))
}

pub(super) fn buffer_sizes(
    topology: &Topology,
    constants: &RunConstants,
    switch: SwitchId,
) -> Result<BufferSizes, InputError> {
    if constants.params.switch.model == SwitchModel::InputQueued || !constants.has_packets {
        return Ok(BufferSizes::NONE);
    }
    let out = topology.out_channels(Node::Switch(switch));
    let headroom: u64 = out.iter().map(|&id| headroom_of(topology, id, constants)).sum();
    let headroom = headroom * constants.lossless_groups() as u64;
    let ports = out.len() as u64;
    let credits = credit_memory(topology, out, constants).get();
    let Some(sizes) = BufferSizes::of(constants, ports, headroom + credits) else {
        let (needed, buffer) = (constants.reserved(ports, headroom + credits), constants.params.switch.buffer.get());
        let switch = topology.switch_name(switch);
        if credits > 0 {
            let mistake = format!("{buffer} B; buffers under credits of {switch} take {credits} B");
            let expected = format!("at least {needed} B with reserves, or a smaller flow_control.credits.buffer");
            return Err(InputError::new("switch.buffer", mistake, expected));
        }
        let mistake = format!("reserves and headroom of {switch} take {needed} B of {buffer} B");
        let expected = "a larger buffer, fewer lossless priorities, or less headroom";
        return Err(InputError::new("switch.buffer", mistake, expected));
    };
    check_thresholds(&sizes, topology.switch_name(switch), constants)?;
    Ok(sizes)
}

/// Rejects a threshold that the pool of a switch can never reach, or below the size of a frame.
fn check_thresholds(sizes: &BufferSizes, switch: &str, constants: &RunConstants) -> Result<(), InputError> {
    let params = &constants.params.switch;
    let frame = u64::from(constants.largest_on_wire()).next_multiple_of(sizes.cell.into());
    let thresholds = [
        ("ingress_threshold", params.ingress_threshold, sizes.ingress),
        ("egress_threshold", params.egress_threshold, sizes.egress),
    ];
    for (name, threshold, limit) in thresholds {
        let most = limit.bytes(sizes.pool);
        let rejected =
            |mistake: String, expected: String| Err(InputError::new(format!("switch.{name}"), mistake, expected));
        if matches!(threshold, Threshold::Static(_)) && most > u64::from(sizes.pool) {
            let expected = format!("at most {} B, the pool of {switch} beside reserves and headroom", sizes.pool);
            return rejected(format!("{most} B"), expected);
        }
        if most + u64::from(sizes.reserve) < frame {
            let mistake =
                format!("{most} B of {switch}'s pool, {} B, and a reserve of {} B", sizes.pool, sizes.reserve);
            return rejected(mistake, format!("room for a frame, {frame} B"));
        }
    }
    Ok(())
}

/// Headroom of the port that sends into `channel`, for what comes in by it.
pub(super) fn headroom_of(topology: &Topology, channel: ChannelId, constants: &RunConstants) -> u64 {
    let incoming = topology.channel(reverse(channel));
    let outgoing = topology.channel(channel);
    let params = &constants.params;
    let computed = || match &params.switch.cells {
        Some(cells) => cells.headroom(incoming.rate, incoming.length),
        None => {
            let frame = Bytes::new(u64::from(constants.largest_frame + outer_header(incoming, constants)));
            // A pause frame may have to wake its link first, or wait for a frame at the lowest rate.
            let wake = params.switch.low_power_idle.map_or(Duration::ZERO, |idle| idle.wait_max());
            let frames = outgoing.rate.serialization_time(frame + Bytes::new(u64::from(size::pause_wire_bytes())));
            let slow = params.switch.rate_adaptation.as_ref().map_or(Duration::ZERO, |rates| rates.wait_max(frames));
            let wake = wake + slow;
            headroom(incoming.rate, delay(incoming, params), pause_delay(outgoing, params) + wake, frame)
        }
    };
    params.switch.headroom.unwrap_or_else(computed).get()
}
