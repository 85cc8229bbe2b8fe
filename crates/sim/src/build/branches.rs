//! Flow-level mode where switches decide for every packet: the branches of every connection.
//!
//! A routing that looks at no queue splits a connection by exact shares. For one that does, its own decisions say which
//! paths there are: those on an idle fabric, a branch each, and those that are not minimal where the former are full.
//! These are one branch by shares, since what a routing sees are queues near the source, and not the load further on.

use std::collections::BTreeMap;

use etherweave_engine::constants::RunConstants;
use etherweave_fluid::{Branch, BranchRange, Branches, LATENCIES, Links, PathLatency, PathSet, Tables};
use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{Bytes, ChannelId, HostId, InputError, SwitchId, mix};
use etherweave_routing::{HashScope, RoutedPacket, bounds::PathShares};
use etherweave_switch::per_packet::{PreparedRouting, SampledPath};
use etherweave_topology::{Node, Topology};

use super::{Experiment, Paths, connections::PlannedConnection, delays::delay, layout::Layout, too_large};

/// Packets that are followed on the idle fabric, and again where their paths are full: a power of two, so that weights
/// are exact.
const SAMPLES: u32 = LATENCIES as u32;

pub(super) fn add(
    experiment: &Experiment,
    prepared: &PreparedRouting,
    layout: &Layout,
    connections: &[PlannedConnection],
    constants: &mut RunConstants,
) -> Result<(), InputError> {
    let mut table = BranchTable::new(experiment, layout, constants);
    for (number, connection) in connections.iter().enumerate() {
        let [a, b] = connection.hosts(experiment);
        for (side, (src, dst)) in [(a, b), (b, a)].into_iter().enumerate() {
            let range = table.between(prepared, [src, dst], 2 * number as u64 + side as u64);
            table.branches.of_ends.push(range);
        }
        table.check()?;
    }
    table.finish();
    Ok(())
}

/// Hashes from any beginning, spread over all, as routings may use them in order.
fn spread(seed: u64) -> impl Iterator<Item = u16> + Clone {
    let first = mix(seed) as u16;
    (0..SAMPLES).map(move |sample| first.wrapping_add(((sample << 16) / SAMPLES) as u16))
}

pub(super) struct BranchTable<'a> {
    topology: &'a Topology,
    layout: &'a Layout,
    pub constants: &'a mut RunConstants,
    branches: Branches,
    /// Where hosts have several ports, in which of several equal fabrics paths lie.
    pub plane: usize,
    seed: u64,
    shares: Option<PathShares<'a>>,
    /// Ranges by the properties that paths depend on: the plane, and the switches of both hosts or the host that sends
    /// and the switch of the other.
    known: BTreeMap<(usize, u32, SwitchId), BranchRange>,
}

impl<'a> BranchTable<'a> {
    pub fn new(experiment: &'a Experiment, layout: &'a Layout, constants: &'a mut RunConstants) -> BranchTable<'a> {
        let (topology, seed) = (&experiment.topology, experiment.params.seed);
        let shares = match &experiment.paths {
            Paths::PerPacket(prepared) => prepared.oblivious(),
            Paths::PerFlow { .. } => None,
        };
        let shares = shares.map(|routing| PathShares::new(topology.by_port(), routing));
        let (branches, known) = (Branches::default(), BTreeMap::new());
        BranchTable { topology, layout, constants, branches, plane: 0, seed, shares, known }
    }

    /// Rejects too many links.
    ///
    /// # Errors
    /// When there are.
    pub fn check(&self) -> Result<(), InputError> {
        if self.constants.routes.len() > u32::MAX as usize { Err(too_large("links of connections")) } else { Ok(()) }
    }

    /// Hands the table over to the run, unless each connection has one path.
    pub fn finish(self) {
        self.constants.branches = Some(self.branches).filter(|branches| branches.most > 0);
    }

    /// The branches of an end of a connection, which has this number, between two hosts of the fabric by port.
    pub fn between(&mut self, prepared: &PreparedRouting, [src, dst]: [HostId; 2], end: u64) -> BranchRange {
        let [from, to] = [src, dst].map(|host| self.topology.by_port().switch_of(host));
        if prepared.hash_scope() == HashScope::PerFlow {
            let hash = mix(self.seed ^ !end) as u16;
            return self.add_samples(prepared, [src, dst], [hash].into_iter());
        }
        let source = if self.shares.is_some() { from.get() } else { src.get() };
        let key = (self.plane, source, to);
        if let Some(&range) = self.known.get(&key) {
            return range;
        }
        let hashes = spread(self.seed ^ u64::from(source) << 32 ^ u64::from(to.get()));
        let shares = self.shares.as_mut().map(|shares| shares.between(from, to));
        let range = match shares {
            Some(shares) => {
                let paths = counted(self.paths(prepared, [src, dst], hashes, &[]));
                self.add_shares(&shares, &paths)
            }
            None => self.add_samples(prepared, [src, dst], hashes),
        };
        self.known.insert(key, range);
        range
    }

    /// The links of packets that take these in turn: what goes by each is an equal part of all. Of the branches of
    /// each, those are one that stand at the same place by their weights; they grow together until a link of them is
    /// full. Of equal planes they are the same path in each.
    pub fn in_turn(&mut self, all: &[Links]) -> Links {
        let [first, others @ ..] = all else { panic!("a connection has links") };
        if others.is_empty() {
            return *first;
        }
        let ends = [first.first, first.last];
        let (preferred, other) = {
            let tables = Tables { routes: &self.constants.routes, branches: Some(&self.branches) };
            let together = |branches: &[Vec<Branch>]| links_together(all, branches, tables);
            let preferred =
                side_by_side(all, tables).into_iter().map(|(branches, weight)| (together(&branches), weight));
            let other = others_of_all(all, tables).map(|branches| together(&branches));
            (preferred.collect::<Vec<_>>(), other)
        };
        let part =
            |end: PortIndex| preferred[0].0.iter().find(|(port, _)| *port == end).map_or(0.0, |(_, share)| *share);
        let parts = ends.map(|end| part(end) as f32);
        let (count, others) = (preferred.len(), usize::from(other.is_some()));
        for (links, weight) in preferred.into_iter().chain(other.map(|links| (links, 1.0))) {
            let between = links.into_iter().filter(|(port, _)| !ends.contains(port));
            let (ports, shares): (Vec<_>, Vec<_>) = between.map(|(port, share)| (port, share as f32)).unzip();
            self.branches.shares.resize(self.constants.routes.len(), 1.0);
            self.branches.shares.extend(shares);
            self.add_ports(ports.into_iter(), weight);
        }
        let range = self.range(count, count + others, &[]);
        // Latencies differ by planes as little as their paths do.
        let (latency, latencies) = match first.paths {
            PathSet::One(_) => (range.latency, 0),
            PathSet::Several(BranchRange { latency, latencies, .. }) => (latency, latencies),
        };
        Links { parts, paths: PathSet::Several(BranchRange { latency, latencies, ..range }), ..*first }
    }

    /// One branch that is split; some of its paths say how their latencies differ.
    fn add_shares(&mut self, shares: &[(ChannelId, f64)], paths: &[(SampledPath, u32)]) -> BranchRange {
        self.add_split(shares);
        self.range(1, 1, paths)
    }

    /// The paths of packets with these hashes, where some ports are full.
    fn paths(
        &self,
        prepared: &PreparedRouting,
        [src, dst]: [HostId; 2],
        hashes: impl Iterator<Item = u16>,
        full: &[(u32, u8)],
    ) -> Vec<SampledPath> {
        let path = |hash| {
            let packet = RoutedPacket { src: src.get(), dst: dst.get(), hash, ..RoutedPacket::default() };
            prepared.path(self.topology.by_port(), packet, full)
        };
        hashes.map(path).collect()
    }

    /// Branches by the paths of packets with these hashes.
    fn add_samples(
        &mut self,
        prepared: &PreparedRouting,
        hosts: [HostId; 2],
        hashes: impl Iterator<Item = u16> + Clone,
    ) -> BranchRange {
        let paths = |full: &[(u32, u8)]| self.paths(prepared, hosts, hashes.clone(), full);
        let preferred = counted(paths(&[]));
        let full: Vec<(u32, u8)> =
            preferred.iter().flat_map(|(path, _)| &path.channels).map(|&channel| self.port(channel)).collect();
        // A path by another place may be a minimal one all the same.
        let is_minimal = |path: &SampledPath| preferred.iter().any(|(other, _)| other.channels == path.channels);
        let others = paths(&full).into_iter().filter(|path| path.is_misrouted && !is_minimal(path));
        let others: Vec<SampledPath> = others.collect();
        let all = hashes.clone().count() as f32;
        for (path, packets) in &preferred {
            self.add_branch(path.channels.iter().copied(), *packets as f32 / all);
        }
        let mut shares = BTreeMap::new();
        for &channel in others.iter().flat_map(|path| &path.channels) {
            *shares.entry(channel).or_insert(0.0) += 1.0 / others.len() as f64;
        }
        let has_others = usize::from(!others.is_empty());
        if has_others > 0 {
            self.add_split(&shares.into_iter().collect::<Vec<_>>());
        }
        self.range(preferred.len(), preferred.len() + has_others, &preferred)
    }

    fn add_split(&mut self, shares: &[(ChannelId, f64)]) {
        self.branches.shares.resize(self.constants.routes.len(), 1.0);
        self.branches.shares.extend(shares.iter().map(|&(_, share)| share as f32));
        self.add_branch(shares.iter().map(|&(channel, _)| channel), 1.0);
    }

    fn add_branch(&mut self, channels: impl Iterator<Item = ChannelId>, weight: f32) {
        let (topology, layout, plane) = (self.topology, self.layout, self.plane);
        let port = |channel| layout.port(topology, topology.plane_channel(plane, channel)).1;
        self.add_ports(channels.map(port), weight);
    }

    fn add_ports(&mut self, ports: impl Iterator<Item = PortIndex>, weight: f32) {
        let routes = &mut self.constants.routes;
        let route = routes.len() as u32;
        routes.extend(ports);
        self.branches.branches.push(Branch { route, count: routes.len() as u32 - route, weight });
    }

    /// The latency of a full packet between the switches of its hosts, on an idle path [ps].
    fn latency(&self, path: &SampledPath) -> u64 {
        let constants = &*self.constants;
        let bytes = if constants.is_cut_through { constants.header_bytes } else { constants.largest_frame };
        let hop = |&channel: &ChannelId| {
            let channel = self.topology.by_port().channel(channel);
            let time = channel.rate.serialization_time(Bytes::new(u64::from(bytes)));
            (time + delay(channel, &constants.params)).as_ps()
        };
        path.channels.iter().map(hop).sum()
    }

    /// Adds the latencies of paths, each of so many packets, unless they are equal; says how many there are.
    fn add_latencies(&mut self, paths: &[(SampledPath, u32)]) -> u16 {
        let mut packets = BTreeMap::new();
        for (path, count) in paths {
            *packets.entry(self.latency(path)).or_insert(0.0) += f64::from(*count);
        }
        let all: f64 = packets.values().sum();
        let mean = packets.iter().map(|(&latency, count)| latency as f64 * count).sum::<f64>() / all;
        let several = if packets.len() > 1 { packets } else { BTreeMap::new() };
        let latencies = several
            .iter()
            .map(|(&latency, count)| PathLatency { above_mean: latency as f64 - mean, share: count / all });
        self.branches.latencies.extend(latencies);
        several.len() as u16
    }

    /// The last branches, packets of which take some paths on an idle fabric.
    fn range(&mut self, preferred: usize, count: usize, paths: &[(SampledPath, u32)]) -> BranchRange {
        let latency = self.branches.latencies.len() as u32;
        let latencies = self.add_latencies(paths);
        self.branches.most = self.branches.most.max(count);
        let first = (self.branches.branches.len() - count) as u32;
        BranchRange { first, preferred: preferred as u16, count: count as u16, latency, latencies }
    }

    fn port(&self, channel: ChannelId) -> (u32, u8) {
        let from = self.topology.by_port().channel(channel).from;
        let Node::Switch(switch) = from.node else { unreachable!("paths lie between switches") };
        (switch.get(), from.port.get() as u8)
    }
}

/// Equal paths once, with how many there are.
fn counted(mut paths: Vec<SampledPath>) -> Vec<(SampledPath, u32)> {
    paths.sort();
    paths.chunk_by(|a, b| a == b).map(|same| (same[0].clone(), same.len() as u32)).collect()
}

/// Branches that are used first, of each of several parts of a connection, which stand at the same place by their
/// weights; with the weight that they have in common.
fn side_by_side(all: &[Links], tables: Tables<'_>) -> Vec<(Vec<Vec<Branch>>, f32)> {
    let branches: Vec<&[Branch]> = all.iter().map(|links| links.branches(tables).0).collect();
    let (mut places, mut left) = (vec![0; all.len()], branches.iter().map(|own| own[0].weight).collect::<Vec<f32>>());
    let mut together = Vec::new();
    loop {
        let weight = left.iter().copied().fold(f32::INFINITY, f32::min);
        let present = branches.iter().zip(&places).map(|(own, &place): (_, &usize)| vec![own[place]]);
        together.push((present.collect(), weight));
        for ((own, place), left) in branches.iter().zip(&mut places).zip(&mut left) {
            *left -= weight;
            if *left > 0.0 {
                continue;
            }
            *place += 1;
            let Some(next) = own.get(*place) else { return together };
            *left = next.weight;
        }
    }
}

/// Branches that are not used first, of each of several parts of a connection, if any has some; those of the others are
/// used then, too.
fn others_of_all(all: &[Links], tables: Tables<'_>) -> Option<Vec<Vec<Branch>>> {
    let branches = all.iter().map(|links| links.branches(tables));
    let has_any = branches.clone().any(|(_, others)| !others.is_empty());
    let others =
        branches.map(|(preferred, others)| if others.is_empty() { preferred.to_vec() } else { others.to_vec() });
    has_any.then(|| others.collect())
}

/// Links of branches of several parts of a connection, each of which takes an equal part of it, hop after hop; each
/// with its share of the connection.
fn links_together(all: &[Links], branches: &[Vec<Branch>], tables: Tables<'_>) -> Vec<(PortIndex, f64)> {
    let hops = |(links, own): (&Links, &Vec<Branch>)| {
        let weight: f64 = own.iter().map(|branch| f64::from(branch.weight)).sum::<f64>() * all.len() as f64;
        let flows = own.iter().map(|&branch| links.flow(branch).links(tables));
        flows.flatten().map(|(port, share)| (PortIndex::new(port), share / weight)).collect::<Vec<_>>()
    };
    let hops: Vec<_> = all.iter().zip(branches).map(hops).collect();
    let (mut places, mut together) = (BTreeMap::new(), Vec::new());
    for hop in 0..hops.iter().map(Vec::len).max().unwrap_or(0) {
        for &(port, share) in hops.iter().filter_map(|own| own.get(hop)) {
            let place = *places.entry(port).or_insert(together.len());
            if place == together.len() {
                together.push((port, 0.0));
            }
            together[place].1 += share;
        }
    }
    together
}
