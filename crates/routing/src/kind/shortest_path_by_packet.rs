//! Shortest paths on any fabric, by tables that are computed anew after links have failed or returned.

use std::collections::VecDeque;

use etherweave_primitives::{ChannelId, Duration, HostId, InputError, SwitchId, mix};
use etherweave_topology::{Node, Topology, reverse};

use crate::per_packet::{
    FabricOf, InputChannel, LoadView, NextHop, Oblivious, Outage, OutputChannel, PacketRouting, RoutedPacket,
    RoutingBasis, WalkTarget, unsuited,
};

/// More switches would take too large tables.
const SWITCHES_MAX: usize = 4_096;
const CHANNELS_MAX: u32 = 8;

/// Any next hop on a shortest path, by hash; the channel rises with every hop, so that no channel waits for itself.
///
/// A packet that is in flight while tables change has taken part of an old path and takes a whole new one at most:
/// there are channels for both.
pub struct ShortestPath {
    /// Tables in order of time.
    epochs: Vec<TableEpoch>,
    homes: Vec<(u32, u8)>,
    switches: usize,
    channels: u8,
}

struct TableEpoch {
    /// [ns]
    from: u64,
    /// Ports to switch `d` at switch `s` are `starts[s * switches + d]` and on, up to the next start.
    starts: Vec<u32>,
    ports: Vec<u8>,
    /// Links between the farthest two switches.
    diameter: u32,
}

impl RoutingBasis for ShortestPath {
    const FABRIC: &'static str = "any fabric of at most 4,096 switches";

    fn of(fabric: FabricOf<'_>) -> Result<ShortestPath, InputError> {
        let topology = fabric.topology;
        if topology.switches() > SWITCHES_MAX {
            return Err(unsuited(format!("one of {} switches", topology.switches()), Self::FABRIC));
        }
        let mut epochs = vec![TableEpoch::of(topology, 0, |_| false, None)];
        for (at, learnt) in changes(&fabric) {
            let is_down = |id: ChannelId| fabric.outages.iter().any(|outage| is_cut(outage, id, learnt));
            epochs.push(TableEpoch::of(topology, at, is_down, epochs.last()));
        }
        let longest = epochs.iter().map(|epoch| epoch.diameter).max().unwrap_or(0);
        let changing = epochs.windows(2).map(|pair| pair[0].diameter + pair[1].diameter.max(1) - 1).max().unwrap_or(0);
        let channels = longest.max(changing).max(1);
        if channels > CHANNELS_MAX {
            let mistake = format!("one with paths of {longest} links, of {channels} while tables change");
            return Err(unsuited(mistake, "one with paths of at most 8 links, one priority each"));
        }
        let home = |host: usize| {
            let end = topology.channel(topology.host_channel(HostId::from_index(host))).to;
            (topology.switch_of(HostId::from_index(host)).get(), end.port.index() as u8)
        };
        let homes = (0..topology.hosts()).map(home).collect();
        Ok(ShortestPath { epochs, homes, switches: topology.switches(), channels: channels as u8 })
    }
}

/// When tables change [ns], and when the state that they know was [ns]: a stated time after each failure and return.
fn changes(fabric: &FabricOf<'_>) -> Vec<(u64, u64)> {
    let Some(delay) = fabric.reroute_after else { return Vec::new() };
    let instants = |outage: &Outage| [Some(outage.from), outage.until].into_iter().flatten();
    let mut learnt: Vec<u64> = fabric.outages.iter().flat_map(instants).map(ns).collect();
    learnt.sort_unstable();
    learnt.dedup();
    learnt.into_iter().map(|at| (at + ns(delay), at)).collect()
}

fn ns(span: Duration) -> u64 {
    span.as_ps() / 1_000
}

/// Whether a channel is down at an instant [ns].
fn is_cut(outage: &Outage, id: ChannelId, at: u64) -> bool {
    let is_on = ns(outage.from) <= at && outage.until.is_none_or(|until| at < ns(until));
    is_on && (id == outage.channel || id == reverse(outage.channel))
}

impl TableEpoch {
    /// Tables without the channels that are down; where there is no path, those of `before`.
    fn of(
        topology: &Topology,
        from: u64,
        is_down: impl Fn(ChannelId) -> bool,
        before: Option<&TableEpoch>,
    ) -> TableEpoch {
        let switches = topology.switches();
        let up: Vec<Vec<(u8, usize)>> = (0..switches).map(|at| neighbours(topology, at, &is_down)).collect();
        // Links are down in both directions, so that distances to a switch are those from it.
        let distances: Vec<Vec<u32>> = (0..switches).map(|dst| distances(&up, dst)).collect();
        let mut epoch = TableEpoch { from, starts: vec![0], ports: Vec::new(), diameter: 0 };
        for at in 0..switches {
            for (dst, far) in distances.iter().enumerate() {
                let nearer = |&&(_, next): &&(u8, usize)| far[at] != u32::MAX && far[next] + 1 == far[at];
                epoch.ports.extend(up[at].iter().filter(nearer).map(|&(port, _)| port));
                if far[at] == u32::MAX {
                    epoch.ports.extend(before.map_or(&[][..], |before| before.next_hops(switches, at, dst)));
                } else {
                    epoch.diameter = epoch.diameter.max(far[at]);
                }
                epoch.starts.push(epoch.ports.len() as u32);
            }
        }
        epoch
    }

    fn next_hops(&self, switches: usize, at: usize, dst: usize) -> &[u8] {
        let pair = at * switches + dst;
        &self.ports[self.starts[pair] as usize..self.starts[pair + 1] as usize]
    }
}

/// Ports of a switch to others, by channels that are not down.
fn neighbours(topology: &Topology, at: usize, is_down: impl Fn(ChannelId) -> bool) -> Vec<(u8, usize)> {
    let leaving = topology.out_channels(SwitchId::from_index(at)).iter().enumerate();
    let up = leaving.filter(|&(_, &id)| !is_down(id));
    up.filter_map(|(port, &id)| match topology.channel(id).to.node {
        Node::Switch(there) => Some((port as u8, there.index())),
        Node::Host(_) => None,
    })
    .collect()
}

/// Links from each switch to one; `u32::MAX` where there is no path.
fn distances(up: &[Vec<(u8, usize)>], dst: usize) -> Vec<u32> {
    let mut distances = vec![u32::MAX; up.len()];
    distances[dst] = 0;
    let mut reached = VecDeque::from([dst]);
    while let Some(at) = reached.pop_front() {
        for &(_, next) in &up[at] {
            if distances[next] == u32::MAX {
                distances[next] = distances[at] + 1;
                reached.push_back(next);
            }
        }
    }
    distances
}

impl PacketRouting for ShortestPath {
    fn channels(&self) -> u8 {
        self.channels
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(u32::from(out.channel))
    }

    /// Valid as long as tables do not change.
    fn oblivious(&self) -> Option<&dyn Oblivious> {
        (self.epochs.len() == 1).then_some(self as &dyn Oblivious)
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let (home, port) = self.homes[packet.dst as usize];
        if home == at.switch {
            return NextHop { port, channel: 0 };
        }
        let epoch = match &self.epochs[..] {
            [epoch] => epoch,
            epochs => {
                let now = load.now_ns();
                epochs.iter().rev().find(|epoch| epoch.from <= now).expect("the first begins at 0")
            }
        };
        let next_hops = epoch.next_hops(self.switches, at.switch as usize, home as usize);
        let port = drawn(next_hops, at.switch, packet.hash);
        let port = port.expect("a connected fabric has a path between any two switches");
        NextHop { port, channel: packet.hops.min(self.channels - 1) }
    }
}

/// One of several ports of a switch, by hash; none of none.
fn drawn(ports: &[u8], at: u32, hash: u16) -> Option<u8> {
    let hash = mix(u64::from(at) << 16 | u64::from(hash)) >> 32;
    ports.get(((hash * ports.len() as u64) >> 32) as usize).copied()
}

impl ShortestPath {
    pub(super) fn home(&self, host: u32) -> (u32, u8) {
        self.homes[host as usize]
    }

    /// The ports of a switch on shortest paths to another; none to itself.
    pub(super) fn ports(&self, at: u32, to: u32) -> &[u8] {
        self.epochs[0].next_hops(self.switches, at as usize, to as usize)
    }

    pub(super) fn port(&self, at: u32, to: u32, hash: u16) -> Option<u8> {
        drawn(self.ports(at, to), at, hash)
    }
}

/// All ports on shortest paths alike.
impl Oblivious for ShortestPath {
    fn hops(&self, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
        let (WalkTarget::Via(to) | WalkTarget::Switch(to)) = target;
        if at != to {
            let ports = self.ports(at, to);
            ports.iter().for_each(|&port| each(port, 1.0 / ports.len() as f64));
        }
    }
}
