//! Flow-level mode where switches decide for every packet: the branches of every connection.
//!
//! A routing that looks at no queue splits a connection by exact shares. For one that does, its own decisions say which
//! paths there are: those on an idle fabric, a branch each, and those that are not minimal where the former are full.
//! These are one branch by shares, since what a routing sees are queues near the source, and not the load further on.

use std::collections::BTreeMap;

use etherweave_engine::constants::RunConstants;
use etherweave_fluid::{Branch, BranchRange, Branches, LATENCIES, PathLatency};
use etherweave_primitives::{Bytes, ChannelId, HostId, InputError, mix};
use etherweave_routing::bounds::PathShares;
use etherweave_routing::{HashScope, RoutedPacket};
use etherweave_switch::per_packet::{PreparedRouting, SampledPath};
use etherweave_topology::{Node, Topology};

use super::connections::PlannedConnection;
use super::delays::delay;
use super::layout::Layout;
use super::{Experiment, too_large};

/// Packets that are followed on the idle fabric, and again where their paths are full: a power of two, so that weights
/// are exact.
const SAMPLES: u32 = LATENCIES as u32;

/// Writes the branches of both directions of all connections.
pub(super) fn add(
    experiment: &Experiment,
    prepared: &PreparedRouting,
    layout: &Layout,
    connections: &[PlannedConnection],
    constants: &mut RunConstants,
) -> Result<(), InputError> {
    let (topology, seed) = (&experiment.topology, experiment.params.seed);
    let mut table = Table { topology, layout, constants, branches: Branches::default() };
    let mut shares = prepared.oblivious().map(|routing| PathShares::new(topology, routing));
    // By what paths depend on: the switches of both hosts, or the host that sends and the switch of the other.
    let mut known = BTreeMap::new();
    for (number, connection) in connections.iter().enumerate() {
        let [a, b] = connection.hosts(experiment);
        for (side, (src, dst)) in [(a, b), (b, a)].into_iter().enumerate() {
            let [from, to] = [src, dst].map(|host| topology.switch_of(host));
            let range = if prepared.hash_scope() == HashScope::PerFlow {
                let hash = mix(seed ^ !(2 * number as u64 + side as u64)) as u16;
                table.add_samples(prepared, [src, dst], [hash].into_iter())
            } else if let Some(shares) = &mut shares {
                let hashes = spread(seed ^ u64::from(from.get()) << 32 ^ u64::from(to.get()));
                *known.entry((from.get(), to)).or_insert_with(|| {
                    let paths = counted(table.paths(prepared, [src, dst], hashes, &[]));
                    table.add_shares(&shares.between(from, to), &paths)
                })
            } else {
                let hashes = spread(seed ^ u64::from(src.get()) << 32 ^ u64::from(to.get()));
                *known.entry((src.get(), to)).or_insert_with(|| table.add_samples(prepared, [src, dst], hashes))
            };
            table.branches.of_ends.push(range);
        }
        if table.constants.routes.len() > u32::MAX as usize {
            return Err(too_large("links of connections"));
        }
    }
    let branches = table.branches;
    constants.branches = Some(branches);
    Ok(())
}

/// Hashes from any beginning, spread over all, as routings may use them in order.
fn spread(seed: u64) -> impl Iterator<Item = u16> + Clone {
    let first = mix(seed) as u16;
    (0..SAMPLES).map(move |sample| first.wrapping_add(((sample << 16) / SAMPLES) as u16))
}

struct Table<'a> {
    topology: &'a Topology,
    layout: &'a Layout,
    constants: &'a mut RunConstants,
    branches: Branches,
}

impl Table<'_> {
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
            prepared.path(self.topology, packet, full)
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

    /// A branch that is split.
    fn add_split(&mut self, shares: &[(ChannelId, f64)]) {
        self.branches.shares.resize(self.constants.routes.len(), 1.0);
        self.branches.shares.extend(shares.iter().map(|&(_, share)| share as f32));
        self.add_branch(shares.iter().map(|&(channel, _)| channel), 1.0);
    }

    fn add_branch(&mut self, channels: impl Iterator<Item = ChannelId>, weight: f32) {
        let routes = &mut self.constants.routes;
        let route = routes.len() as u32;
        routes.extend(channels.map(|channel| self.layout.port(self.topology, channel).1));
        self.branches.branches.push(Branch { route, count: routes.len() as u32 - route, weight });
    }

    /// The latency of a full packet between the switches of its hosts, on an idle path [ps].
    fn latency(&self, path: &SampledPath) -> u64 {
        let constants = &*self.constants;
        let bytes = if constants.is_cut_through { constants.header_bytes } else { constants.largest_frame };
        let hop = |&channel: &ChannelId| {
            let channel = self.topology.channel(channel);
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

    /// The switch that sends into a channel, and its port.
    fn port(&self, channel: ChannelId) -> (u32, u8) {
        let from = self.topology.channel(channel).from;
        let Node::Switch(switch) = from.node else { unreachable!("paths lie between switches") };
        (switch.get(), from.port.get() as u8)
    }
}

/// Equal paths once, with how many there are.
fn counted(mut paths: Vec<SampledPath>) -> Vec<(SampledPath, u32)> {
    paths.sort();
    paths.chunk_by(|a, b| a == b).map(|same| (same[0].clone(), same.len() as u32)).collect()
}
