//! Aggregation trees of jobs that reduce in the network: their switches, and the routes of their packets.
//!
//! A tree spans the switches above the hosts of a job, or of one of its communicators where these have connections of
//! their own, as NCCL's have. Its root is one of the lowest switches that all of them reach by
//! going up; each connection of a rank to itself has a tree, which takes the root and the links that the fewest have.

use std::collections::{BTreeMap, BTreeSet};

use etherweave_engine::aggregation::{AggregationTrees, TreeHop};
use etherweave_engine::constants::RunConstants;
use etherweave_engine::params::{FlowControl, ReductionParams};
use etherweave_host::PortPaths;
use etherweave_primitives::{Bytes, ChannelId, HostId, InputError, InputErrors, SwitchId};
use etherweave_switch::aggregation::Aggregation;
use etherweave_topology::{Node, Topology, reverse};
use etherweave_workload::Traffic;

use super::connections::{self, PlannedConnection};
use super::layout::Layout;
use super::{Experiment, Paths, fluid, too_large};
use crate::shard::Shard;

/// Key of what switches have for it.
const KEY: &str = "switch.reduction";

/// Ranks that reduce together: those of a job, or of a communicator where each has connections of its own.
type Group = (usize, Option<u8>);

fn group_of(connection: &PlannedConnection) -> Group {
    (connection.job, connection.communicator)
}

/// Groups of ranks that reduce in the network.
fn groups(connections: &[PlannedConnection]) -> BTreeSet<Group> {
    connections.iter().filter(|connection| connection.is_tree()).map(group_of).collect()
}

/// Jobs whose ranks reduce in the network.
fn jobs(connections: &[PlannedConnection]) -> BTreeSet<usize> {
    groups(connections).into_iter().map(|(job, _)| job).collect()
}

/// Rejects what would lose packets, send them elsewhere, or has no packets.
pub(super) fn check(experiment: &Experiment, connections: &[PlannedConnection]) -> Result<(), InputErrors> {
    let params = &experiment.params;
    let mut errors = InputErrors::default();
    for number in jobs(connections) {
        let job = &experiment.jobs[number];
        let is_lossless = match &params.flow_control {
            FlowControl::None {} => false,
            FlowControl::GlobalPause(_) => true,
            FlowControl::Pfc(pfc) => pfc.priorities.contains(&job.priority),
            FlowControl::Credits(credits) => credits.priorities.contains(&job.priority),
        };
        let transport = params.transport_of(job.transport);
        let payload = transport.payload();
        let room = params.switch.reduction.as_ref().map_or(payload, |reduction| reduction.buffer);
        let has_ports_apart = experiment.topology.is_single_homed() || experiment.topology.planes() > 1;
        // Beside planes, flow-level mode counts links of every connection.
        let has_links = !experiment.topology.is_single_homed() && fluid::is_used(experiment);
        let is_by_packet = experiment.fidelity(job).is_packet() && !has_links;
        let is_by_rank = |own: &PlannedConnection| own.job != number || !own.is_tree() || own.communicator.is_some();
        let is_grouped = matches!(job.traffic, Traffic::Ranks(_)) || connections.iter().all(is_by_rank);
        let conditions = [
            ("job.connections", "the same of all communicators", "\"per communicator\"", is_grouped),
            (KEY, "none", "a table, of switches that add up", params.switch.reduction.is_some()),
            ("transport", transport.name(), "roce", transport.for_sums(room).is_some()),
            ("flow_control", "a priority that loses packets", "a lossless priority of the job", is_lossless),
            (
                "routing",
                "a decision for every packet",
                "one by flow",
                matches!(experiment.paths, Paths::PerFlow { .. }),
            ),
            ("host_ports", "several ports in a fabric", "one, or one in each of several planes", has_ports_apart),
            ("run.fidelity", "flow", "packet", is_by_packet),
            ("switch.learning", "addresses that are learnt", "none", params.switch.learning.is_none()),
            (
                "faults",
                "links that lose packets",
                "none",
                experiment.degraded.is_empty() && experiment.outages.is_empty(),
            ),
            ("switch.reduction.buffer", "less than a packet", "room for a packet", room >= payload),
        ];
        for (key, value, expected, holds) in conditions {
            let expected = format!("{expected}, for job.{number} reduces in the network");
            errors.check(InputError::unless(holds, key, value, expected));
        }
    }
    errors.into_result()
}

/// Most full packets that a rank of a job has in a tree: the window lets another go while it is not full.
fn window(experiment: &Experiment, job: usize) -> u32 {
    let params = &experiment.params;
    let payload = params.transport_of(experiment.jobs[job].transport).payload().get();
    let buffer = params.switch.reduction.as_ref().map_or(Bytes::ZERO, |reduction| reduction.buffer);
    buffer.get().div_ceil(payload) as u32 + 1
}

/// The number of the transport of a connection.
pub(super) fn transport(experiment: &Experiment, constants: &RunConstants, connection: &PlannedConnection) -> u8 {
    let trees = constants.trees.as_ref().filter(|_| connection.is_tree());
    trees.map_or(experiment.jobs[connection.job].transport, |trees| trees.transports[&connection.job])
}

/// Switches of one tree.
struct Tree {
    root: SwitchId,
    /// The port of its hosts: their plane, where there are several.
    port: usize,
    /// The channel by which each switch below the root sends up.
    up: BTreeMap<SwitchId, ChannelId>,
    /// Children of each switch.
    children: BTreeMap<SwitchId, u32>,
}

/// The channels to switches further from the hosts.
fn ups(topology: &Topology, from: SwitchId) -> impl Iterator<Item = (ChannelId, SwitchId)> {
    topology.out_channels(from).iter().filter_map(move |&channel| match topology.channel(channel).to.node {
        Node::Switch(to) if topology.level(to) > topology.level(from) => Some((channel, to)),
        Node::Switch(_) | Node::Host(_) => None,
    })
}

/// A switch and all that it reaches by going up.
fn above(topology: &Topology, from: SwitchId) -> BTreeSet<SwitchId> {
    let (mut reached, mut last) = (BTreeSet::from([from]), vec![from]);
    while let Some(at) = last.pop() {
        last.extend(ups(topology, at).map(|(_, to)| to).filter(|&to| reached.insert(to)));
    }
    reached
}

/// The switch at a port of a host.
fn leaf_of(topology: &Topology, host: HostId, port: usize) -> SwitchId {
    match topology.channel(topology.host_channels(host)[port]).to.node {
        Node::Switch(leaf) => leaf,
        Node::Host(_) => unreachable!("a link of a host leads to a switch"),
    }
}

/// The lowest switches that all leaves reach by going up.
fn roots(topology: &Topology, leaves: &BTreeSet<SwitchId>) -> Vec<SwitchId> {
    let mut common: Option<BTreeSet<SwitchId>> = None;
    for &leaf in leaves {
        let own = above(topology, leaf);
        common = Some(common.map_or_else(|| own.clone(), |common| &common & &own));
    }
    let common = common.unwrap_or_default();
    let lowest = common.iter().map(|&root| topology.level(root)).min();
    common.into_iter().filter(|&root| Some(topology.level(root)) == lowest).collect()
}

/// Trees that have a switch as their root, and that climb a channel, of all jobs so far.
#[derive(Default)]
struct TreeLoads {
    roots: BTreeMap<SwitchId, u32>,
    channels: BTreeMap<ChannelId, u32>,
}

impl TreeLoads {
    /// Trees of the busiest link of the hosts by a port.
    fn busiest(&self, topology: &Topology, hosts: &[HostId], port: usize) -> Option<u32> {
        hosts.iter().filter_map(|&host| self.channels.get(&topology.host_channels(host)[port]).copied()).max()
    }

    fn add(&mut self, topology: &Topology, hosts: &[HostId], port: usize, root: SwitchId) {
        *self.roots.entry(root).or_default() += 1;
        for &host in hosts {
            *self.channels.entry(topology.host_channels(host)[port]).or_default() += 1;
        }
    }
}

impl Tree {
    /// A tree over the switches of `hosts`, of which a host has several ranks where it comes again.
    fn new(topology: &Topology, hosts: &[HostId], loads: &mut TreeLoads) -> Option<Tree> {
        let leaves = |port| BTreeSet::from_iter(hosts.iter().map(|&host| leaf_of(topology, host, port)));
        let planes = Vec::from_iter((0..topology.planes()).map(leaves));
        let of_plane = |(port, leaves)| {
            let busiest = loads.busiest(topology, hosts, port);
            let of_root = |root| (busiest, loads.roots.get(&root).copied(), port, root);
            roots(topology, leaves).into_iter().map(of_root).min()
        };
        let (.., port, root) = planes.iter().enumerate().filter_map(of_plane).min()?;
        loads.add(topology, hosts, port, root);
        let mut tree = Tree { root, port, up: BTreeMap::new(), children: BTreeMap::new() };
        for &host in hosts {
            *tree.children.entry(leaf_of(topology, host, port)).or_default() += 1;
        }
        let leaves = &planes[port];
        leaves.iter().for_each(|&leaf| tree.join(topology, leaf, &mut loads.channels));
        Some(tree)
    }

    /// Joins a switch to the root: by switches that the tree has already, and by the links that the fewest trees have.
    fn join(&mut self, topology: &Topology, mut at: SwitchId, loads: &mut BTreeMap<ChannelId, u32>) {
        while at != self.root && !self.up.contains_key(&at) {
            let leads = |&(_, to): &(ChannelId, SwitchId)| above(topology, to).contains(&self.root);
            let choices: BTreeMap<_, _> = ups(topology, at).filter(leads).collect();
            let key =
                |(channel, to): &(ChannelId, SwitchId)| (!self.children.contains_key(to), loads.get(channel).copied());
            let (channel, to) = choices.into_iter().min_by_key(key).expect("the root is above its leaves");
            *loads.entry(channel).or_default() += 1;
            self.up.insert(at, channel);
            *self.children.entry(to).or_default() += 1;
            at = to;
        }
    }

    /// The channels from a leaf to the root.
    fn climb(&self, topology: &Topology, leaf: SwitchId) -> Vec<ChannelId> {
        let next = |&channel: &ChannelId| match topology.channel(channel).to.node {
            Node::Switch(at) => self.up.get(&at).copied(),
            Node::Host(_) => None,
        };
        std::iter::successors(self.up.get(&leaf).copied(), next).collect()
    }
}

/// Need of a switch for the aggregation trees of all jobs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeCost {
    /// The switch.
    pub switch: SwitchId,
    /// Trees that it is part of.
    pub trees: u32,
    /// Entries of its groups: the ports of children, and that of the parent.
    pub entries: u32,
    /// Packets that it may keep until a segment is complete, a full one of each child.
    pub segment_packets: u32,
    /// Memory for all open segments.
    pub buffer: Bytes,
}

/// The need of every switch of a tree, by ids, as a simulation has it.
///
/// # Errors
/// When a job cannot reduce in the network, or a switch has too few trees.
pub fn tree_costs(experiment: &Experiment) -> Result<Vec<TreeCost>, InputErrors> {
    let (connections, _) = connections::plan(experiment)?;
    check(experiment, &connections)?;
    let mut costs: BTreeMap<SwitchId, TreeCost> = BTreeMap::new();
    for ((job, _), trees) in trees_of_groups(experiment, &connections)? {
        let payload = experiment.params.transport_of(experiment.jobs[job].transport).payload();
        let open = payload * u64::from(window(experiment, job));
        for (tree, (&switch, &children)) in
            trees.iter().flat_map(|tree| tree.children.iter().map(move |own| (tree, own)))
        {
            let none = TreeCost { switch, trees: 0, entries: 0, segment_packets: 0, buffer: Bytes::ZERO };
            let cost = costs.entry(switch).or_insert(none);
            cost.trees += 1;
            cost.entries += children + u32::from(switch != tree.root);
            cost.segment_packets += children;
            cost.buffer += open * u64::from(children);
        }
    }
    Ok(costs.into_values().collect())
}

/// A tree, and the number of each of its switches among all places.
type PlacedTree = (Tree, BTreeMap<SwitchId, u32>);

/// Appends the routes of connections of ranks to themselves, and writes where those of both ends begin: up and down the
/// tree, and to the leaf and back for acknowledgements.
pub(super) fn plan(
    experiment: &Experiment,
    layout: &Layout,
    connections: &[PlannedConnection],
    constants: &mut RunConstants,
    (starts, port_paths): (&mut [[u32; 2]], &mut PortPaths),
) -> Result<(), InputError> {
    let is_used = connections.iter().any(PlannedConnection::is_tree);
    let (Some(reduction), true) = (&experiment.params.switch.reduction, is_used) else { return Ok(()) };
    let topology = &experiment.topology;
    let mut planned = AggregationTrees {
        first_route: u32::try_from(constants.routes.len()).map_err(|_| too_large("hops of connections"))?,
        hops: Vec::new(),
        children: Vec::new(),
        latency: reduction.latency,
        waiting_max: BTreeMap::new(),
        transports: BTreeMap::new(),
    };
    for job in jobs(connections) {
        let own = experiment.params.transport_of(experiment.jobs[job].transport);
        let sums = own.for_sums(reduction.buffer).expect("it adds up, as checked");
        planned.transports.insert(job, constants.add_transport(sums));
    }
    let mut placed: BTreeMap<Group, Vec<PlacedTree>> = BTreeMap::new();
    for (group, trees) in trees_of_groups(experiment, connections)? {
        let (packets, hosts) = (window(experiment, group.0), hosts_of(experiment, connections, group));
        for tree in trees {
            let of_hosts = hosts.iter().map(|&host| topology.host_channels(host)[tree.port]);
            for channel in of_hosts.chain(tree.up.values().copied()) {
                *planned.waiting_max.entry(channel).or_default() += packets;
            }
            // The number of each of its switches among all places.
            let places = tree.children.keys().copied().zip(planned.children.len() as u32..).collect();
            planned.children.extend(tree.children.values());
            placed.entry(group).or_default().push((tree, places));
        }
    }
    let all = connections.iter().zip(starts).enumerate();
    for (number, (connection, start)) in all.filter(|(_, (connection, _))| connection.is_tree()) {
        let (tree, places) = &placed[&group_of(connection)][tree_number(connection)];
        let [host, _] = connection.hosts(experiment);
        let routes = [round_trip(topology, tree, places, host), acknowledgement(topology, tree, host)];
        for (side, (start, route)) in start.iter_mut().zip(routes).enumerate() {
            *start = u32::try_from(constants.routes.len()).map_err(|_| too_large("hops of connections"))?;
            for (channel, hop) in route {
                constants.routes.push(layout.port(topology, channel).1);
                planned.hops.push(hop);
            }
            port_paths.set_only(2 * number + side, tree.port, (*start, constants.routes[*start as usize]));
        }
    }
    (constants.trees, constants.rewrites_packets) = (Some(planned), true);
    Ok(())
}

/// Number of a connection's tree among those of its group: a communicator has one.
fn tree_number(connection: &PlannedConnection) -> usize {
    connection.communicator.map_or(connection.number as usize, |_| 0)
}

/// Hosts of the ranks of a group that reduce.
fn hosts_of(experiment: &Experiment, connections: &[PlannedConnection], group: Group) -> Vec<HostId> {
    let own = connections.iter().filter(|own| own.is_tree() && group_of(own) == group && tree_number(own) == 0);
    own.map(|connection| connection.hosts(experiment)[0]).collect()
}

/// The trees of each group, one for each connection of its ranks to themselves. All of them spread over the roots and
/// links that they may have.
fn trees_of_groups(
    experiment: &Experiment,
    connections: &[PlannedConnection],
) -> Result<BTreeMap<Group, Vec<Tree>>, InputError> {
    let topology = &experiment.topology;
    let mut of_groups = BTreeMap::new();
    let mut loads = TreeLoads::default();
    for group in groups(connections) {
        let hosts = hosts_of(experiment, connections, group);
        let own = connections.iter().filter(|own| own.is_tree() && group_of(own) == group);
        let count = own.map(|connection| tree_number(connection) + 1).max().unwrap_or(0);
        let trees: Option<Vec<Tree>> = (0..count).map(|_| Tree::new(topology, &hosts, &mut loads)).collect();
        let trees = trees.ok_or_else(|| {
            let fabric = format!("job.{} reduces in the network, and no switch is above all of its hosts", group.0);
            InputError::new("topology", fabric, "a tree, or hosts of one switch")
        })?;
        of_groups.insert(group, trees);
    }
    if let Some(reduction) = &experiment.params.switch.reduction {
        check_limits(topology, reduction, &of_groups)?;
    }
    Ok(of_groups)
}

/// Egress channels of a packet that climbs a tree and comes back, with what the switch does there.
fn round_trip(
    topology: &Topology,
    tree: &Tree,
    places: &BTreeMap<SwitchId, u32>,
    host: HostId,
) -> Vec<(ChannelId, TreeHop)> {
    let climb = tree.climb(topology, leaf_of(topology, host, tree.port));
    let from = |channel: ChannelId| match topology.channel(channel).from.node {
        Node::Switch(switch) => places[&switch],
        Node::Host(_) => unreachable!("a tree climbs from switch to switch"),
    };
    let levels = climb.len() as u32;
    let up = |(level, &channel): (u32, &ChannelId)| {
        (channel, TreeHop::Up { place: from(channel), to_down: 2 * (levels - level) })
    };
    let mut route: Vec<_> = (0..).zip(&climb).map(up).collect();
    let downs = climb.iter().rev().map(|&channel| reverse(channel)).chain([to_host(topology, tree, host)]);
    route.extend(downs.map(|channel| (channel, TreeHop::Down(from(channel)))));
    route[climb.len()].1 = TreeHop::Root(places[&tree.root]);
    route
}

/// The path of an acknowledgement: the leaf answers for the tree.
fn acknowledgement(topology: &Topology, tree: &Tree, host: HostId) -> Vec<(ChannelId, TreeHop)> {
    vec![(to_host(topology, tree, host), TreeHop::None)]
}

/// The channel from a leaf of a tree to a host.
fn to_host(topology: &Topology, tree: &Tree, host: HostId) -> ChannelId {
    reverse(topology.host_channels(host)[tree.port])
}

/// Rejects more trees than a switch has, and more children.
fn check_limits(
    topology: &Topology,
    reduction: &ReductionParams,
    of_groups: &BTreeMap<Group, Vec<Tree>>,
) -> Result<(), InputError> {
    let (mut trees_of, mut children_max) = (BTreeMap::new(), BTreeMap::new());
    for (&switch, &children) in of_groups.values().flatten().flat_map(|tree| &tree.children) {
        *trees_of.entry(switch).or_insert(0) += 1;
        let most = children_max.entry(switch).or_insert(children);
        *most = children.max(*most);
    }
    let limits = [("trees", reduction.trees, trees_of), ("radix", reduction.radix, children_max)];
    limits.into_iter().try_for_each(|(key, limit, needed)| {
        let Some((&switch, &most)) = needed.iter().max_by_key(|(_, count)| **count) else { return Ok(()) };
        let (key, name) = (format!("{KEY}.{key}"), topology.switch_name(switch));
        InputError::unless(most <= limit, key, limit, format!("at least {most}, which {name} needs"))
    })
}

pub(super) fn add(shards: &mut [Shard]) {
    for shard in shards {
        let places = shard.wires.constants.trees.as_ref().map(|trees| trees.children.len());
        shard.switches.aggregation = places.map(|places| Box::new(Aggregation::new(places)));
    }
}
