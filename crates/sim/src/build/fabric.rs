//! Ports, switches and buffers of every shard.

use std::sync::Arc;

use etherweave_engine::constants::RunConstants;
use etherweave_engine::credits::CreditCounters;
use etherweave_engine::decided_ahead::FarEnd;
use etherweave_engine::params::{FlowControl, NicParams};
use etherweave_engine::port::{Owner, Peer, PeerLink, Port};
use etherweave_engine::queue::EventQueue;
use etherweave_engine::shaper::Shaper;
use etherweave_engine::sleep::SleepingTransmitter;
use etherweave_engine::stepped::SteppedTransmitter;
use etherweave_host::{Contexts, Host, Initiators};
use etherweave_kernel::indices::PortIndex;
use etherweave_kernel::memory::prefer_huge_pages;
use etherweave_kernel::on_threads;
use etherweave_primitives::{ChannelId, Duration, InputError, SwitchId};
use etherweave_switch::Switch;
use etherweave_switch::buffer::{Group, SharedBuffer};
use etherweave_topology::{Channel, Node, Topology, reverse};

use super::buffers::{
    buffer_sizes, check_counters, check_nic, credit_delay, credits, headroom_of, outer_header, port_credits,
};
use super::crossbars;
use super::delays::{delay, pause_delay};
use super::layout::{Layout, nodes};
use crate::shard::Shard;

/// Events in the microsecond ahead, per port, about: sizes the queue's buckets. Credits and crossbars have as many.
const EVENTS_PER_PORT: u64 = 2;
/// How often buckets are halved where a cache holds all ports, so that nothing is fetched ahead bucket by bucket: fewer
/// events are sorted in less time.
const CACHED_DOUBLINGS: u32 = 1;

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
    topology.channels().iter().try_for_each(|channel| check_counters(channel, constants))?;
    nodes(topology).try_for_each(|node| match node {
        Node::Host(host) => check_nic(topology, host, constants),
        Node::Switch(switch) => buffer_sizes(topology, constants, switch).map(drop),
    })
}

/// Shards with all their ports, hosts and switches, without connections.
pub(super) fn shards(topology: &Topology, layout: &Layout, constants: &Arc<RunConstants>) -> Vec<Shard> {
    let mut shards: Vec<Shard> = (0..layout.shards).map(|id| Shard::new(id as u32, layout.shards, constants)).collect();
    shards.iter_mut().for_each(|shard| shard.switches.crossbars = crossbars::crossbars(constants));
    if let Some(credits) = credits(constants) {
        for shard in &mut shards {
            shard.wires.credits = CreditCounters::new(credits.mask(), credits.unit.get() as u32);
        }
    }
    let NicParams { command_stall, context_cache, dynamic_connections, .. } = &constants.params.nic;
    let stall = command_stall.as_ref();
    on_threads(&mut shards, |own, shard| {
        let nodes = || nodes(topology).filter(|&node| layout.shard(node) == own);
        make_room(shard, nodes().map(|node| topology.out_channels(node).len()).sum());
        for node in nodes() {
            crossbars::add(shard, topology, node);
            match node {
                Node::Host(host) => {
                    for &channel in topology.host_channels(host) {
                        let nic = Host::new(host.get(), shard.wires.ports.next_index(), stall, constants.params.seed);
                        let owner = Owner::Host(shard.hosts.nics.hosts.push(nic));
                        add_port(shard, topology, layout, channel, owner);
                    }
                }
                Node::Switch(switch) => add_switch(shard, topology, layout, switch),
            }
        }
        shard.hosts.nics.contexts = Contexts::new(context_cache.as_ref(), shard.hosts.nics.hosts.len());
        shard.hosts.nics.initiators = dynamic_connections.as_ref().map(Initiators::new);
        let doublings =
            u32::from(shard.wires.credits.are_used()) + CACHED_DOUBLINGS * u32::from(shard.has_cached_ports());
        shard.wires.queue = EventQueue::new((shard.wires.ports.len() as u64 * EVENTS_PER_PORT) << doublings);
    });
    shards
}

/// Makes room for all ports of a shard at once, in huge pages from the first touch on: to move them there later is a
/// copy.
fn make_room(shard: &mut Shard, ports: usize) {
    let (wires, switches) = (&mut shard.wires, &mut shard.switches);
    wires.ports.reserve_exact(ports);
    wires.channels.reserve_exact(ports);
    switches.groups.reserve_exact(ports * wires.constants.group_count);
    prefer_huge_pages(&wires.ports);
    prefer_huge_pages(&switches.groups);
}

fn add_port(shard: &mut Shard, topology: &Topology, layout: &Layout, id: ChannelId, owner: Owner) {
    let channel = topology.channel(id);
    let (peer_shard, port) = layout.port(topology, reverse(id));
    let is_host = matches!(channel.to.node, Node::Host(_));
    let is_from_host = matches!(channel.from.node, Node::Host(_));
    let outer_header = outer_header(channel, &shard.wires.constants);
    let peer = Peer { link: PeerLink::to_shard(peer_shard as u32), port, is_host, link_class: channel.class };
    let params = &shard.wires.constants.params;
    let rate = match channel.from.node {
        Node::Host(host) => params.nic.clocked(channel.rate, params.seed, host.get()),
        Node::Switch(_) => channel.rate,
    };
    let mut transmitter = Port::new(rate, owner, peer, delay(channel, params), pause_delay(channel, params));
    if shard.wires.constants.is_cut_through && matches!(channel.to.node, Node::Switch(_)) {
        transmitter.header_time = transmitter.serialization_time(shard.wires.constants.header_bytes + outer_header);
    }
    if let Some(credits) = port_credits(topology, id, &shard.wires.constants) {
        transmitter.paused_classes = u8::MAX;
        shard.wires.credits.ports.push(credits);
    }
    let (bucket, idle, rates) = match is_from_host {
        true => (params.nic.shaper, params.nic.low_power_idle, params.nic.rate_adaptation.clone()),
        false => (params.switch.shaper, params.switch.low_power_idle, params.switch.rate_adaptation.clone()),
    };
    let index = shard.wires.ports.push(transmitter);
    if let Some(bucket) = bucket {
        let shaper = Shaper::new(&bucket, shard.wires.constants.largest_frame + outer_header);
        shard.wires.impaired_link(index).shaper = Some(shaper);
    }
    if let Some(times) = idle {
        shard.wires.impaired_link(index).sleep = Some(SleepingTransmitter::new(times));
    }
    if let Some(rates) = rates {
        shard.wires.impaired_link(index).rates = Some(SteppedTransmitter::new(rates));
    }
    shard.wires.channels.push(id);
    if shard.wires.constants.decisions_ahead.is_some() {
        shard.wires.far_ends.push(match channel.to.node {
            Node::Switch(switch) => FarEnd {
                switch: topology.switch_in_plane(switch).get(),
                first_port: PortIndex::new(port.get() - u32::from(channel.to.port.get())),
            },
            Node::Host(_) => FarEnd::default(),
        });
    }
    // More than 32 bits hold is more than any buffer: `add_switch` rejects it.
    let headroom_limit = u32::try_from(headroom_of(topology, id, &shard.wires.constants)).unwrap_or(u32::MAX);
    let extra = Group::extra(channel.rate, shard.wires.constants.threshold_rate);
    let group = |group| Group {
        headroom_limit: shard.wires.constants.headroom_limit(group, headroom_limit),
        extra,
        ..Group::default()
    };
    shard.switches.groups.extend((0..shard.wires.constants.group_count).map(group));
}

fn add_switch(shard: &mut Shard, topology: &Topology, layout: &Layout, switch: SwitchId) {
    let (owner, first_port) = (Owner::Switch(shard.switches.switches.next_index()), shard.wires.ports.next_index());
    topology.out_channels(switch).iter().for_each(|&channel| add_port(shard, topology, layout, channel, owner));
    let sizes = buffer_sizes(topology, &shard.wires.constants, switch)
        .expect("`check` has rejected buffers that are too small");
    let (number, ports) = (switch.get(), (shard.wires.ports.next_index().get() - first_port.get()) as u16);
    let in_plane = topology.switch_in_plane(switch).get();
    shard.switches.switches.push(Switch { number, in_plane, first_port, ports, buffer: SharedBuffer::new(sizes) });
}
