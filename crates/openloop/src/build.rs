//! Construction of the shards of a fabric.

use etherweave_kernel::{Division, QueueMeter, Worker};
use etherweave_primitives::{HostId, SwitchId};
use etherweave_topology::{LinkClass, Node, Topology, reverse};
use etherweave_workload::{HostArrivals, pattern::host_destinations};

use crate::port::{END, Input, Output, Pauses, Port};
use crate::{
    constants::RunConstants, host::Host, notification::Notifications, open_loops::OpenLoops, sources::Sources,
    switches::Switches, wires::ENTRIES_MAX, wires::Wires,
};
use etherweave_primitives::InputError;
use etherweave_routing::{Neighbourhood, PacketRouting};

/// Neighbourhoods are put together until a shard has this many switches: enough work for a window, few enough for a
/// core's own cache and for an even share of 1,000 hosts to each thread.
const SWITCHES_MIN: usize = 16;
/// The window of a fabric of one shard [ticks].
const WINDOW_ALONE: u32 = 1_024;

/// The shards of a fabric that one worker carries, and how long they run without hearing of each other.
pub(crate) struct Parts {
    pub shards: Vec<OpenLoops>,
    /// How shards are assigned to all workers.
    pub division: Division,
    /// Ports of every switch.
    pub radix: usize,
    /// No longer than from an event to what it does in another shard [ticks].
    pub window: u32,
}

/// # Errors
/// When hosts are not alike, or there are more ports, switches or shards than this engine counts.
pub(crate) fn parts<R: PacketRouting>(
    topology: &Topology,
    constants: &RunConstants<'_, R>,
    kind_numbers: &[u16],
    channels: u8,
    worker: Worker,
) -> Result<Parts, InputError> {
    check(topology)?;
    let cuts = match constants.routing.neighbourhood() {
        Neighbourhood::None | Neighbourhood::Group => cuts(topology),
        // Neighbours are anywhere: what a switch sees at once is in its shard.
        Neighbourhood::Adjacent | Neighbourhood::Fabric => vec![0, topology.switches()],
    };
    let radix = switches(topology).map(|at| topology.out_channels(at).len()).max().unwrap_or(0);
    let plan = Layout { topology, kind_numbers, cuts: &cuts, radix, channels: usize::from(channels) };
    // An event distinguishes both states of a channel, and there is no more than one host to a port.
    let entries = radix * plan.channels.next_power_of_two() * 2;
    let most = cuts.windows(2).map(|cut| (cut[1] - cut[0]) * entries).max().unwrap_or(0);
    if most >= ENTRIES_MAX || cuts.len() > usize::from(u16::MAX) {
        return Err(unsuited(format!("{} switches of {radix} ports", topology.switches())));
    }
    let across =
        topology.channels().iter().enumerate().filter(|(_, channel)| match (channel.from.node, channel.to.node) {
            (Node::Switch(from), Node::Switch(to)) => plan.shard_of(from) != plan.shard_of(to),
            _ => false,
        });
    let nearest = across.map(|(id, _)| constants.link(kind_numbers[id]).delay).min();
    // With credits a packet's departure is known before it has crossed.
    let known = if constants.has_pauses { 0 } else { constants.crossbar };
    let division = Division { shards: cuts.len() - 1, workers: worker.of };
    let shards = division.shards_of(worker.number).map(|number| plan.shard(constants, number)).collect();
    Ok(Parts { shards, division, radix, window: nearest.map_or(WINDOW_ALONE, |delay| delay + known) })
}

fn unsuited(mistake: String) -> InputError {
    let expected = "two hosts or more, switches of at most 255 ports".to_owned();
    InputError::new("topology", mistake, expected)
}

fn switches(topology: &Topology) -> impl Iterator<Item = SwitchId> {
    (0..topology.switches()).map(SwitchId::from_index)
}

/// Hosts are numbered in the order of their switches, so that a shard has consecutive ones.
fn check(topology: &Topology) -> Result<(), InputError> {
    let homes: Vec<SwitchId> = (0..topology.hosts()).map(|host| topology.switch_of(HostId::from_index(host))).collect();
    let widest = switches(topology).map(|at| topology.out_channels(at).len()).max().unwrap_or(0);
    if topology.hosts() < 2 || widest > 255 || !homes.is_sorted() {
        return Err(unsuited(format!("{} hosts on switches of up to {widest} ports", topology.hosts())));
    }
    Ok(())
}

/// The first switch of every shard, and the number of switches: neighbourhoods stay whole where there are any.
pub(crate) fn cuts(topology: &Topology) -> Vec<usize> {
    let is_new = |index: usize| {
        let area = |at: usize| topology.coordinates(SwitchId::from_index(at)).split_last().map(|(_, area)| area);
        area(index).is_none_or(<[u32]>::is_empty) || area(index) != area(index - 1)
    };
    let mut cuts = vec![0];
    for index in 1..topology.switches() {
        if index - cuts[cuts.len() - 1] >= SWITCHES_MIN && is_new(index) {
            cuts.push(index);
        }
    }
    cuts.push(topology.switches());
    cuts
}

/// The first of `0..count` for which something does not hold that holds for all before it.
fn partition_point(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Before it no switch has a global port.
fn first_global(ports: &[Port], radix: usize) -> usize {
    let global = ports.iter().enumerate().filter(|(_, port)| port.class == LinkClass::Global);
    global.map(|(index, _)| index % radix).min().unwrap_or(radix)
}

struct Layout<'a> {
    topology: &'a Topology,
    /// Values of links, by channel.
    kind_numbers: &'a [u16],
    cuts: &'a [usize],
    radix: usize,
    channels: usize,
}

impl Layout<'_> {
    fn shard_of(&self, switch: SwitchId) -> usize {
        self.cuts.partition_point(|&first| first <= switch.index()) - 1
    }

    /// A port counted within the shard of its switch.
    fn port(&self, switch: SwitchId, port: usize) -> u32 {
        ((switch.index() - self.cuts[self.shard_of(switch)]) * self.radix + port) as u32
    }

    fn shard<R>(&self, constants: &RunConstants<'_, R>, number: usize) -> OpenLoops {
        let own = self.cuts[number]..self.cuts[number + 1];
        let shift = self.channels.next_power_of_two().trailing_zeros();
        let mut ports = vec![Port::unused(); own.len() * self.radix];
        for (home, at) in own.clone().enumerate() {
            let at = SwitchId::from_index(at);
            for port in 0..self.radix {
                let state = &mut ports[home * self.radix + port];
                *state = Port { home: home as u16, ..self.wire(constants, at, port) };
            }
        }
        let credits = |index: usize| constants.room(ports[index >> shift].class);
        let outputs = (0..ports.len() << shift).map(|index| Output { credits: credits(index), first: END, last: END });
        let hosts = self.hosts(constants, number);
        let by_service = constants.params.arbiter.notes_service();
        let switches = Switches {
            wires: Wires::new(number as u16, constants.horizon().max(WINDOW_ALONE)),
            first_switch: own.start as u32,
            radix: self.radix,
            first_global: first_global(&ports, self.radix),
            channels: self.channels,
            shift,
            served: vec![0; if by_service { ports.len() * self.radix } else { 0 }],
            inputs: vec![Input::EMPTY; ports.len() << shift],
            outputs: outputs.collect(),
            ports,
            pauses: if constants.has_pauses {
                Pauses::new(own.len() * self.radix, (own.len() * self.radix) << shift)
            } else {
                Pauses::default()
            },
            notifications: Notifications::new(
                constants.notifications.as_ref(),
                own.len() * self.radix,
                (own.len() * self.radix) << shift,
            ),
            to_allocate: Vec::new(),
            asking: Vec::new(),
            meters: QueueMeter::several(own.len() * self.radix),
            arrivals_watched: Vec::new(),
        };
        let sources = Sources {
            first_host: hosts.first().map_or(0, |&(host, _)| host),
            hosts: hosts.into_iter().map(|(_, state)| state).collect(),
            flowlets: Vec::new(),
        };
        OpenLoops { switches, sources, steps: None }
    }

    fn wire<R>(&self, constants: &RunConstants<'_, R>, at: SwitchId, port: usize) -> Port {
        let Some(&channel) = self.topology.out_channels(at).get(port) else { return Port::unused() };
        let there = self.topology.channel(reverse(channel)).from;
        let number = self.kind_numbers[channel.index()];
        let kind = constants.link(number);
        let fails = constants.outages.concern(at.get(), port);
        let port = Port { link: number, delay: kind.delay as u16, class: kind.class, fails, ..Port::unused() };
        let Node::Switch(switch) = there.node else { return port };
        Port { peer: self.port(switch, there.port.index()), peer_shard: self.shard_of(switch) as u16, ..port }
    }

    fn hosts<R>(&self, constants: &RunConstants<'_, R>, number: usize) -> Vec<(u32, Host)> {
        let first_at = |switch: usize| {
            partition_point(self.topology.hosts(), |host| {
                self.topology.switch_of(HostId::from_index(host)).index() < switch
            })
        };
        let near = (first_at(self.cuts[number])..first_at(self.cuts[number + 1])).map(HostId::from_index);
        near.map(|host| {
            let end = self.topology.channel(self.topology.host_channel(host)).to;
            let port = self.port(self.topology.switch_of(host), end.port.index());
            let arrivals = HostArrivals::new(constants.seed, host);
            let destinations = host_destinations(constants.seed, host);
            (host.get(), Host { next: 0, arrivals, destinations, port, wanted: 0, made: 0 })
        })
        .collect()
    }
}
