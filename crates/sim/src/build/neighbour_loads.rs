//! Switches that know each other's queues.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use etherweave_engine::frame::size::PREAMBLE_AND_GAP;
use etherweave_primitives::{Duration, Priority, SwitchId};
use etherweave_routing::{Neighbourhood, Saturation};
use etherweave_switch::{neighbour_loads::NeighbourLoads, neighbour_loads::QueueNumbers, per_packet::PreparedRouting};
use etherweave_topology::{Channel, LinkClass, Node, Topology};

use super::{Experiment, Paths, delays::delay, layout::Layout};
use crate::shard::Shard;

/// Gives shards what a routing needs that compares the queues of several switches.
pub(super) fn add(experiment: &Experiment, layout: &Layout, shards: &mut [Shard]) {
    let Paths::PerPacket(prepared) = &experiment.paths else { return };
    let Some(seen) = SeenLinks::of(prepared.neighbourhood()) else { return };
    let topology = &experiment.topology;
    let numbers = Arc::new(numbers(experiment, seen, prepared, shards[0].wires.constants.scheduler.class_of_priority));
    let frame = shards[0].wires.constants.largest_frame - PREAMBLE_AND_GAP;
    let saturation =
        prepared.saturation().map(|saturation| Saturation { packets: saturation.packets * frame, ..saturation });
    let delay = (report_delay(experiment, seen) * seen.links).max(shards[0].wires.constants.lookahead);
    for shard in shards {
        let others = |number: u32| neighbour_shards(topology, layout, seen, SwitchId::new(number), shard.wires.id);
        let others = shard.switches.switches.iter().map(|switch| others(switch.number)).collect();
        shard.switches.neighbour_loads = Some(Box::new(NeighbourLoads::new(&numbers, delay, saturation, others)));
    }
}

/// The classes of links whose queues are seen, and over which.
#[derive(Clone, Copy)]
struct SeenLinks {
    ports: &'static [LinkClass],
    /// Neighbours at the far ends of links of these classes.
    over: &'static [LinkClass],
    /// So many links away; beyond one, by all switches.
    links: u64,
    /// Whether of all channels of the routing; otherwise of its first.
    are_all_channels: bool,
}

impl SeenLinks {
    fn of(neighbourhood: Neighbourhood) -> Option<SeenLinks> {
        const BETWEEN_SWITCHES: &[LinkClass] = &[LinkClass::Local, LinkClass::Global];
        let adjacent = SeenLinks { ports: BETWEEN_SWITCHES, over: BETWEEN_SWITCHES, links: 1, are_all_channels: false };
        match neighbourhood {
            Neighbourhood::None => None,
            Neighbourhood::Group => {
                Some(SeenLinks { ports: &[LinkClass::Global], over: &[LinkClass::Local], ..adjacent })
            }
            Neighbourhood::Adjacent => Some(adjacent),
            Neighbourhood::Fabric => Some(SeenLinks { links: 2, are_all_channels: true, ..adjacent }),
        }
    }
}

/// The longest delay over a link that reports take.
fn report_delay(experiment: &Experiment, seen: SeenLinks) -> Duration {
    let over = experiment.topology.channels().iter().filter(|channel| seen.over.contains(&channel.class));
    over.map(|channel| delay(channel, &experiment.params)).max().unwrap_or(Duration::ZERO)
}

/// The ports of all switches that others see, with the classes of the jobs' priorities.
fn numbers(
    experiment: &Experiment,
    seen: SeenLinks,
    prepared: &PreparedRouting,
    class_of_priority: [u8; 8],
) -> QueueNumbers {
    let channels = if seen.are_all_channels { prepared.priorities().into() } else { 1 };
    let priorities = experiment.jobs.iter().flat_map(|job| Priority::all().skip(job.priority.index()).take(channels));
    let classes = priorities.map(|priority| class_of_priority[priority.index()]);
    let classes = classes.fold(0_u8, |mask, class| mask | 1 << class);
    let topology = &experiment.topology;
    let mut first = 0;
    let switches = (0..topology.switches()).map(|at| {
        let ports = seen_ports(topology, seen, SwitchId::from_index(at));
        let number = first;
        first += ports.len() as u32 * classes.count_ones();
        (number, ports)
    });
    QueueNumbers { switches: switches.collect(), classes }
}

fn seen_ports(topology: &Topology, seen: SeenLinks, at: SwitchId) -> Range<u8> {
    let is_seen = |&&(_, id): &&(u8, &_)| seen.ports.contains(&topology.channel(*id).class);
    let ports: Vec<(u8, _)> = (0..).zip(topology.out_channels(at)).collect();
    let mut seen = ports.iter().filter(is_seen).map(|&(port, _)| port);
    let first = seen.next();
    first.map_or(0..0, |first| first..seen.next_back().unwrap_or(first) + 1)
}

fn neighbour_shards(topology: &Topology, layout: &Layout, seen: SeenLinks, at: SwitchId, own: u32) -> Vec<u32> {
    if seen.links > 1 {
        let all = (0..topology.switches()).map(|switch| layout.shard(SwitchId::from_index(switch).into()) as u32);
        return all.filter(|&shard| shard != own).collect::<BTreeSet<u32>>().into_iter().collect();
    }
    let ends = topology.out_channels(at).iter().map(|&id| topology.channel(id));
    let end = |channel: &Channel| match channel.to.node {
        Node::Switch(there) if seen.over.contains(&channel.class) => Some(layout.shard(there.into()) as u32),
        _ => None,
    };
    let shards: BTreeSet<u32> = ends.filter_map(end).filter(|&shard| shard != own).collect();
    shards.into_iter().collect()
}
