//! Ports, switches and buffers of every shard.

use std::sync::Arc;

use etherweave_primitives::{Bytes, ChannelId, Duration, InputError, SwitchId};
use etherweave_topology::{Channel, Node, Topology, reverse};

use super::buffers::{check_nic, credit_delay, credit_memory, credits, port_credits};
use super::crossbars;
use super::layout::{Layout, nodes};
use crate::constants::{RunConstants, headroom};
use crate::engine::{Shard, Switch};
use crate::host::Host;
use crate::params::{FlowControl, SimParams, SwitchModel, Threshold};
use crate::switch::buffer::{BufferSizes, Group, SharedBuffer};
use crate::switch::credits::CreditCounters;
use crate::switch::port::{Owner, Peer, PeerLink, Port};
use crate::switch::shaper::Shaper;

/// Events in the microsecond ahead, per port, about: sizes the queue's buckets.
const EVENTS_PER_PORT: u64 = 2;

/// From the last bit sent into a channel to service at its end.
pub(super) fn delay(channel: &Channel, params: &SimParams) -> Duration {
    let sender = match channel.from.node {
        Node::Host(_) => params.nic.transmit_latency,
        Node::Switch(_) => Duration::ZERO,
    };
    let receiver = match channel.to.node {
        Node::Host(_) => params.nic.receive_latency,
        Node::Switch(_) => params.switch.latency,
    };
    sender + channel.length.propagation_time() + receiver
}

/// From the last bit of a pause frame sent into a channel to the stop of the transmitter at its end.
fn pause_delay(channel: &Channel, params: &SimParams) -> Duration {
    let reaction = match &params.flow_control {
        FlowControl::None {} | FlowControl::Credits(_) => Duration::ZERO,
        FlowControl::GlobalPause(pause) => pause.reaction,
        FlowControl::Pfc(pfc) => pfc.reaction,
    };
    channel.length.propagation_time() + reaction
}

/// The shortest time in which one shard can affect another: over links between switches, or from host to host.
pub(super) fn lookahead(topology: &Topology, constants: &RunConstants) -> Result<Duration, InputError> {
    let params = &constants.params;
    let is_host = |channel: &&Channel| matches!(channel.from.node, Node::Host(_));
    let to_host = |channel: &&Channel| matches!(channel.to.node, Node::Host(_));
    let least = |channels: &mut dyn Iterator<Item = Duration>| channels.min().unwrap_or(Duration::ZERO);
    let channels = || topology.channels().iter();
    let mut up = channels().filter(is_host).map(|channel| delay(channel, params));
    let mut down = channels().filter(to_host).map(|channel| delay(channel, params));
    let mut shortest = least(&mut up) + least(&mut down);
    let has_pauses = matches!(params.flow_control, FlowControl::GlobalPause(_) | FlowControl::Pfc(_));
    let has_credits = credits(constants).is_some();
    for channel in channels().filter(|channel| !is_host(channel) && !to_host(channel)) {
        shortest = shortest.min(delay(channel, params));
        if has_pauses {
            shortest = shortest.min(pause_delay(channel, params));
        }
        if has_credits && credit_delay(channel, constants).is_zero() {
            let expected = "a latency, or a cable of some length between all switches";
            return Err(InputError::new("flow_control.credits.return_latency", Duration::ZERO, expected));
        }
        if has_credits {
            shortest = shortest.min(credit_delay(channel, constants));
        }
    }
    if shortest.is_zero() {
        let expected = "a latency or a cable of some length";
        return Err(InputError::new("switch.latency", "links and switches without any delay", expected));
    }
    Ok(shortest)
}

/// Whether all links are equally fast.
pub(super) fn has_one_rate(topology: &Topology) -> bool {
    topology.channels().windows(2).all(|pair| pair[0].rate == pair[1].rate)
}

/// Rejects a fabric whose switches or NICs have too little memory for its packets.
pub(super) fn check(topology: &Topology, constants: &RunConstants) -> Result<(), InputError> {
    nodes(topology).try_for_each(|node| match node {
        Node::Host(host) => check_nic(topology, host, constants),
        Node::Switch(switch) => buffer_sizes(topology, constants, switch).map(drop),
    })
}

/// Shards with all their ports, hosts and switches, without connections.
pub(super) fn shards(
    topology: &Topology,
    layout: &Layout,
    constants: &Arc<RunConstants>,
) -> Result<Vec<Shard>, InputError> {
    let mut shards: Vec<Shard> = (0..layout.shards).map(|id| Shard::new(id as u32, layout.shards, constants)).collect();
    shards.iter_mut().for_each(|shard| shard.crossbars = crossbars::crossbars(constants));
    if let Some(credits) = credits(constants) {
        for shard in &mut shards {
            shard.credits = CreditCounters::new(credits.mask(), credits.unit.get() as u32);
        }
    }
    let stall = constants.params.nic.command_stall.as_ref();
    for node in nodes(topology) {
        let shard = &mut shards[layout.shard(node)];
        crossbars::add(shard, topology, node);
        match node {
            Node::Host(host) => {
                let owner = Owner::Host(shard.hosts.push(Host::new(host.get(), shard.ports.next_index(), stall)));
                add_ports(shard, topology, layout, node, owner);
            }
            Node::Switch(switch) => add_switch(shard, topology, layout, switch)?,
        }
    }
    for shard in &mut shards {
        shard.queue = crate::engine::queue::EventQueue::new(shard.ports.len() as u64 * EVENTS_PER_PORT);
    }
    Ok(shards)
}

fn add_ports(shard: &mut Shard, topology: &Topology, layout: &Layout, node: Node, owner: Owner) {
    for &id in topology.out_channels(node) {
        let channel = topology.channel(id);
        let (peer_shard, port) = layout.port(topology, reverse(id));
        let is_host = matches!(channel.to.node, Node::Host(_));
        let is_from_host = matches!(channel.from.node, Node::Host(_));
        let peer = Peer { link: PeerLink::to_shard(peer_shard as u32), port, is_host };
        let params = &shard.constants.params;
        let rate = match channel.from.node {
            Node::Host(host) => params.nic.clocked(channel.rate, params.seed, host.get()),
            Node::Switch(_) => channel.rate,
        };
        let mut port = Port::new(rate, owner, peer, delay(channel, params), pause_delay(channel, params));
        if shard.constants.is_cut_through && matches!(channel.to.node, Node::Switch(_)) {
            port.header_time = port.serialization_time(shard.constants.header_bytes);
        }
        if let Some(credits) = port_credits(topology, id, &shard.constants) {
            port.paused_classes = u8::MAX;
            shard.credits.ports.push(credits);
        }
        let bucket = if is_from_host { params.nic.shaper } else { params.switch.shaper };
        let index = shard.ports.push(port);
        if let Some(bucket) = bucket {
            let shaper = Shaper::new(&bucket, shard.constants.largest_frame);
            shard.impaired_link(index).shaper = Some(shaper);
        }
        shard.channels.push(id);
        // More than 32 bits hold is more than any buffer: `add_switch` rejects it.
        let headroom_limit = u32::try_from(headroom_of(topology, id, &shard.constants)).unwrap_or(u32::MAX);
        let group =
            |group| Group { headroom_limit: shard.constants.headroom_limit(group, headroom_limit), ..Group::default() };
        shard.groups.extend((0..shard.constants.group_count).map(group));
    }
}

fn add_switch(shard: &mut Shard, topology: &Topology, layout: &Layout, switch: SwitchId) -> Result<(), InputError> {
    let (owner, first_port) = (Owner::Switch(shard.switches.next_index()), shard.ports.next_index());
    add_ports(shard, topology, layout, switch.into(), owner);
    let sizes = buffer_sizes(topology, &shard.constants, switch)?;
    let (number, ports) = (switch.get(), (shard.ports.next_index().get() - first_port.get()) as u16);
    shard.switches.push(Switch { number, first_port, ports, buffer: SharedBuffer::new(sizes) });
    Ok(())
}

/// How the memory of a switch is divided.
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
    let Some(sizes) = constants.buffer_sizes(ports, headroom + credits) else {
        let (needed, buffer) = (constants.reserved(ports, headroom + credits), constants.params.switch.buffer.get());
        let switch = topology.switch_name(switch);
        if credits > 0 {
            let found = format!("{buffer} B; buffers under credits of {switch} take {credits} B");
            let expected = format!("at least {needed} B with reserves, or a smaller flow_control.credits.buffer");
            return Err(InputError::new("switch.buffer", found, expected));
        }
        let found = format!("reserves and headroom of {switch} take {needed} B of {buffer} B");
        let expected = "a larger buffer, fewer lossless priorities, or less headroom";
        return Err(InputError::new("switch.buffer", found, expected));
    };
    check_thresholds(&sizes, topology.switch_name(switch), constants)?;
    Ok(sizes)
}

/// Rejects a threshold that the pool of a switch can never reach, or below the size of a frame.
fn check_thresholds(sizes: &BufferSizes, switch: &str, constants: &RunConstants) -> Result<(), InputError> {
    let params = &constants.params.switch;
    let frame = u64::from(constants.largest_frame).next_multiple_of(sizes.cell.into());
    let thresholds = [
        ("ingress_threshold", params.ingress_threshold, sizes.ingress),
        ("egress_threshold", params.egress_threshold, sizes.egress),
    ];
    for (name, threshold, limit) in thresholds {
        let most = limit.bytes(sizes.pool);
        let rejected =
            |found: String, expected: String| Err(InputError::new(format!("switch.{name}"), found, expected));
        if matches!(threshold, Threshold::Static(_)) && most > u64::from(sizes.pool) {
            let expected = format!("at most {} B, the pool of {switch} beside reserves and headroom", sizes.pool);
            return rejected(format!("{most} B"), expected);
        }
        if most + u64::from(sizes.reserve) < frame {
            let found = format!("{most} B of {switch}'s pool, {} B, and a reserve of {} B", sizes.pool, sizes.reserve);
            return rejected(found, format!("room for a frame, {frame} B"));
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
            let frame = Bytes::new(u64::from(constants.largest_frame));
            headroom(incoming.rate, delay(incoming, params), pause_delay(outgoing, params), frame)
        }
    };
    params.switch.headroom.unwrap_or_else(computed).get()
}
