//! Paths of connections between hosts with several ports.

use std::collections::HashMap;

use etherweave_engine::{constants::RunConstants, params::PortChoice, params::PortKey};
use etherweave_fluid::{Branch, Links, PathSet};
use etherweave_host::{PathChoice, PortPath, PortPaths};
use etherweave_kernel::indices::{HostIndex, PortIndex};
use etherweave_primitives::{ChannelId, HostId, InputError, Purpose, Stream, Time};
use etherweave_routing::{FlowKey, Neighbourhood, path};
use etherweave_topology::{Topology, reverse};

use super::{
    Experiment, Paths, branches::BranchTable, connections::PlannedConnection, fluid, layout::Layout, too_large,
};

/// Rejects what knows one port of every host only.
pub(super) fn check(experiment: &Experiment) -> Result<(), InputError> {
    let topology = &experiment.topology;
    if let Paths::PerPacket(prepared) = &experiment.paths {
        let is_own = prepared.neighbourhood() == Neighbourhood::None && prepared.measures().is_none();
        let mistake = format!("{} on {} planes", prepared.name(), topology.planes());
        let expected = "one that goes by the queues of its own switch, where there are several planes";
        InputError::unless(is_own || topology.planes() == 1, "routing", mistake, expected)?;
    }
    Ok(())
}

/// Writes the paths of both directions of all connections; gives where the route of each end's first packet begins.
pub(super) fn plan(
    experiment: &Experiment,
    layout: &Layout,
    connections: &[PlannedConnection],
    (constants, all): (&mut RunConstants, &mut PortPaths),
) -> Result<Vec<[u32; 2]>, InputError> {
    let choice = experiment.params.ports.choice;
    all.is_per_packet = choice.is_per_packet();
    all.detection = experiment.params.ports.detection;
    let ranks = ranks_on_hosts(experiment);
    let branches = BranchTable::new(experiment, layout, constants);
    let mut table = Table { experiment, layout, branches, all, choice };
    let mut starts = Vec::with_capacity(connections.len());
    for (number, connection) in connections.iter().enumerate() {
        if connection.is_tree() {
            (0..2).for_each(|_| table.all.add_only());
            starts.push([0; 2]);
            continue;
        }
        let entropy = Stream::new(experiment.params.seed, Purpose::FlowEntropy, number as u64).bits();
        let ranks = connection.ranks.map(|rank| ranks[connection.job][rank as usize]);
        let ports = choice.ports(&PortKey { number: number as u64, ranks, hash: entropy });
        let [a, b] = connection.hosts(experiment);
        let ends = [([a, b], ports), ([b, a], [ports[1], ports[0]])];
        let mut start = [0; 2];
        for (direction, (hosts, ports)) in ends.into_iter().enumerate() {
            start[direction] = table.add_end(hosts, ports, (entropy, 2 * number as u64 + direction as u64))?;
        }
        starts.push(start);
        table.branches.check()?;
    }
    if fluid::is_used(experiment) {
        table.branches.finish();
    }
    Ok(starts)
}

/// Numbers of the ranks of each job on their hosts.
fn ranks_on_hosts(experiment: &Experiment) -> Vec<Vec<u32>> {
    let of_job = |hosts: &Vec<HostId>| {
        let mut next = HashMap::new();
        let number = |host: &HostId| {
            let next: &mut u32 = next.entry(*host).or_default();
            *next += 1;
            *next - 1
        };
        hosts.iter().map(number).collect()
    };
    experiment.jobs.iter().map(|job| of_job(&job.hosts)).collect()
}

struct Table<'a> {
    experiment: &'a Experiment,
    layout: &'a Layout,
    branches: BranchTable<'a>,
    all: &'a mut PortPaths,
    choice: PortChoice,
}

impl Table<'_> {
    fn topology(&self) -> &Topology {
        &self.experiment.topology
    }

    /// Adds the paths of one end of a connection between two hosts, by these ports before others; the end has a number.
    fn add_end(
        &mut self,
        hosts: [HostId; 2],
        ports: [u64; 2],
        (entropy, number): (u64, u64),
    ) -> Result<u32, InputError> {
        let counts = hosts.map(|host| self.topology().host_channels(host).len());
        let [from, to] = [0, 1].map(|end| (ports[end] % counts[end] as u64) as usize);
        let (pairs, in_turn) = self.pairs(counts, [from, to]);
        let first = self.all.paths.len();
        let mut links = Vec::with_capacity(pairs.len());
        for &pair in &pairs {
            links.extend(self.add_path(hosts, pair, (entropy, number))?);
        }
        if !links.is_empty() {
            let links = self.branches.in_turn(&links);
            self.all.links.push(links);
        }
        let preferred = pairs.iter().position(|&pair| pair[0] == from && (pair[1] == to || self.has_planes()));
        let preferred = preferred.unwrap_or(0);
        let first = u32::try_from(first).map_err(|_| too_large("paths of connections"))?;
        self.all.ends.push(PathChoice {
            // Known when the shards are.
            nic: HostIndex::NONE,
            first,
            count: pairs.len() as u8,
            in_turn,
            preferred: preferred as u8,
            last: in_turn - 1,
        });
        Ok(self.all.paths[first as usize + preferred].route)
    }

    fn has_planes(&self) -> bool {
        self.topology().planes() > 1
    }

    /// Pairs of ports that may be used, and how many of them packets take in turn: a plane has one port of each host; a
    /// fabric joins all ports. Others than the preferred ones are kept where links fail.
    fn pairs(&self, [from, to]: [usize; 2], preferred: [usize; 2]) -> (Vec<[usize; 2]>, u8) {
        let shifts = if self.has_planes() { 1 } else { to };
        let straight = (0..from).map(|port| [port, port % to]);
        let all = (0..shifts).flat_map(|shift| (0..from).map(move |port| [port, (port + shift) % to]));
        match (self.choice.is_per_packet(), self.experiment.outages.is_empty()) {
            (true, true) => (straight.collect(), from as u8),
            (true, false) => (all.collect(), from as u8),
            (false, true) if self.has_planes() => (vec![[preferred[0]; 2]], 1),
            (false, true) => (vec![preferred], 1),
            (false, false) => (all.collect(), 1),
        }
    }

    /// Adds a path; gives its links in flow-level mode.
    fn add_path(
        &mut self,
        hosts: [HostId; 2],
        ports: [usize; 2],
        (entropy, number): (u64, u64),
    ) -> Result<Option<Links>, InputError> {
        let topology = &self.experiment.topology;
        let [src, dst] = [0, 1].map(|end| topology.port_host(hosts[end], ports[end]));
        let plane = topology.plane_of_port(ports[0]);
        let in_plane = |channel| topology.plane_channel(plane, channel);
        let layout = self.layout;
        let port = |channel| layout.port(topology, channel).1;
        let by_port = topology.by_port();
        let (route, channels) = match &self.experiment.paths {
            Paths::PerFlow { routing, selection } => {
                let routes = &mut self.branches.constants.routes;
                let route = u32::try_from(routes.len()).map_err(|_| too_large("hops of connections"))?;
                let channels = path(by_port, routing, selection, &FlowKey { src, dst, entropy });
                let channels = channels.map_err(|error| InputError::new("routing", error, ""))?;
                let channels: Vec<ChannelId> = channels.into_iter().map(in_plane).collect();
                routes.extend(channels[1..].iter().map(|&channel| port(channel)));
                (route, channels)
            }
            Paths::PerPacket(_) => {
                let ends = [by_port.host_channel(src), reverse(by_port.host_channel(dst))];
                (self.all.paths.len() as u32, ends.map(in_plane).to_vec())
            }
        };
        let first_egress = self.branches.constants.routes.get(route as usize).copied().unwrap_or_default();
        let outages = self.outages(&channels);
        let first_and_last = [channels[0], channels[channels.len() - 1]].map(port);
        let between = (route, channels.len() as u32 - 2);
        let links = fluid::is_used(self.experiment).then(|| {
            self.branches.plane = plane;
            self.links(first_and_last, between, ([src, dst], number))
        });
        let ends = (src.get(), dst.get());
        let path = PortPath { port: ports[0] as u8, route, first_egress, ends, outages };
        self.all.paths.push(path);
        Ok(links)
    }

    /// Links of a path between two ports, seen as hosts, in flow-level mode.
    fn links(
        &mut self,
        [first, last]: [PortIndex; 2],
        (route, count): (u32, u32),
        (seen, number): ([HostId; 2], u64),
    ) -> Links {
        let paths = match &self.experiment.paths {
            Paths::PerFlow { .. } => PathSet::One(Branch { route, count, weight: 1.0 }),
            Paths::PerPacket(prepared) => PathSet::Several(self.branches.between(prepared, seen, number)),
        };
        // The class is known to the end of the connection.
        Links { first, last, parts: [1.0; 2], paths, class: 0 }
    }

    /// The times for which a link of a path fails.
    fn outages(&mut self, channels: &[ChannelId]) -> std::ops::Range<u32> {
        let start = self.all.outages.len() as u32;
        for outage in &self.experiment.outages {
            if channels.iter().any(|&channel| [channel, reverse(channel)].contains(&outage.channel)) {
                let until = outage.until.map_or(Time::MAX, |until| Time::ZERO + until);
                self.all.outages.push([Time::ZERO + outage.from, until]);
            }
        }
        start..self.all.outages.len() as u32
    }
}
