//! Hosts with several ports: the paths of each connection, one of which every packet takes.
//!
//! Each port has a NIC of its own. An endpoint stands in the ring of the NIC by which it sends next, and moves when a
//! packet was sent and its path was chosen anew: to another port in turn, or away from one whose path does not work.

use std::{ops::Range, sync::Arc};

use etherweave_engine::{Wires, packet::Packet};
use etherweave_fluid::Links;
use etherweave_kernel::IndexVec;
use etherweave_kernel::indices::{EndpointIndex, HostIndex, PortIndex};
use etherweave_primitives::{Duration, Time};

use super::{Endpoint, Nics};

/// A path of a connection: from a port of its host to one of the other.
#[derive(Clone, Debug)]
pub struct PortPath {
    /// The port of its host.
    pub port: u8,
    /// First entry in the route table; where switches decide for every packet, its number among these.
    pub route: u32,
    /// The entry there, if routes are known beforehand.
    pub first_egress: PortIndex,
    /// Ports at both ends, as hosts of the fabric by port.
    pub ends: (u32, u32),
    /// Where the times stand for which a link on it fails.
    pub outages: Range<u32>,
}

/// Paths of all connections. Empty where hosts have one port.
#[derive(Debug, Default)]
pub struct PortPaths {
    /// Those of one end of a connection beside each other.
    pub paths: Vec<PortPath>,
    /// Begin and end of failures of links.
    pub outages: Vec<[Time; 2]>,
    /// Paths of each end of a connection, by its number.
    pub ends: Vec<PathChoice>,
    /// Whether packets take paths in turn.
    pub is_per_packet: bool,
    /// How long after a link has failed or returned hosts know it.
    pub detection: Duration,
    /// Links of each end of a connection in flow-level mode, by its number.
    pub links: Vec<Links>,
}

impl PortPaths {
    /// Adds an end with a single path, which is not known yet.
    pub fn add_only(&mut self) {
        let first = self.paths.len() as u32;
        let nic = HostIndex::NONE;
        self.ends.push(PathChoice { nic, first, count: 1, in_turn: 1, preferred: 0, last: 0 });
        self.paths.push(PortPath { port: 0, route: 0, first_egress: PortIndex::NONE, ends: (0, 0), outages: 0..0 });
    }

    /// Sets the only path of an end, by a port; nothing where hosts have one port.
    pub fn set_only(&mut self, end: usize, port: usize, (route, first_egress): (u32, PortIndex)) {
        if let Some(choice) = self.ends.get(end) {
            let path = &mut self.paths[choice.first as usize];
            (path.port, path.route, path.first_egress) = (port as u8, route, first_egress);
        }
    }

    /// Whether a path works, as far as its host knows.
    fn works(&self, path: &PortPath, now: Time) -> bool {
        let Range { start, end } = path.outages;
        let is_known = |&[from, until]: &[Time; 2]| {
            now.since(Time::ZERO) >= from.since(Time::ZERO) + self.detection
                && (until == Time::MAX || now < until + self.detection)
        };
        !self.outages[start as usize..end as usize].iter().any(is_known)
    }
}

/// The paths of one end of a connection, and which of them it takes.
#[derive(Clone, Copy, Debug)]
pub struct PathChoice {
    /// The NIC at the first port of its host.
    pub nic: HostIndex,
    /// The first of its paths.
    pub first: u32,
    /// How many it has: first those that packets take in turn, then others in case none of them works.
    pub count: u8,
    /// How many packets take in turn.
    pub in_turn: u8,
    /// The one that it takes as long as it works.
    pub preferred: u8,
    /// The one that the last packet took.
    pub last: u8,
}

impl PathChoice {
    /// The path of the next packet, among those of all connections.
    fn next(&mut self, all: &PortPaths, now: Time) -> u32 {
        let works = |&path: &u8| all.works(&all.paths[(self.first + u32::from(path)) as usize], now);
        let chosen = if all.is_per_packet {
            let (last, in_turn) = (self.last, self.in_turn);
            let turns = (1..=in_turn).map(|step| (last + step) % in_turn).chain(in_turn..self.count);
            turns.clone().find(works).or(turns.clone().next())
        } else {
            std::iter::once(self.preferred).chain(0..self.count).find(works)
        };
        let chosen = chosen.unwrap_or(self.preferred);
        if chosen < self.in_turn {
            self.last = chosen;
        }
        self.first + u32::from(chosen)
    }
}

/// Choices of ports for the endpoints of a shard.
#[derive(Default)]
pub struct SendingPorts {
    paths: Arc<PortPaths>,
    /// Empty where hosts have one port.
    choices: IndexVec<EndpointIndex, PathChoice>,
    /// Empty but in flow-level mode.
    links: IndexVec<EndpointIndex, Links>,
}

impl SendingPorts {
    /// Those of a shard without endpoints yet.
    pub fn of(paths: &Arc<PortPaths>) -> SendingPorts {
        SendingPorts { paths: Arc::clone(paths), choices: IndexVec::default(), links: IndexVec::default() }
    }

    /// Adds the next endpoint, which is end `number` of all connections; its host has its first port at `nic`.
    pub fn add(&mut self, number: usize, nic: HostIndex) {
        if let Some(choice) = self.paths.ends.get(number) {
            self.choices.push(PathChoice { nic, ..*choice });
        }
        if let Some(&links) = self.paths.links.get(number) {
            self.links.push(links);
        }
    }

    /// The links to the other end of an endpoint in flow-level mode, but for its class; none where hosts have one port.
    pub(super) fn links(&self, index: EndpointIndex) -> Option<&Links> {
        self.links.get(index)
    }

    /// Whether hosts have several.
    #[inline(always)]
    pub fn are_several(&self) -> bool {
        !self.choices.is_empty()
    }

    /// Chooses the path of an endpoint that stands in no ring.
    #[cold]
    #[inline(never)]
    pub(super) fn choose(&mut self, now: Time, index: EndpointIndex, end: &mut Endpoint) {
        let (nic, path) = self.next(now, index);
        (end.host, end.route, end.first_egress) = (nic, path.route, path.first_egress);
    }

    /// Gives a control packet a path of its own; returns the NIC that sends it.
    #[cold]
    #[inline(never)]
    pub(super) fn choose_for(&mut self, now: Time, index: EndpointIndex, packet: &mut Packet) -> HostIndex {
        let (nic, path) = self.next(now, index);
        (packet.route, packet.ingress) = (path.route, path.first_egress);
        nic
    }

    fn next(&mut self, now: Time, index: EndpointIndex) -> (HostIndex, &PortPath) {
        let choice = &mut self.choices[index];
        let path = &self.paths.paths[choice.next(&self.paths, now) as usize];
        (HostIndex::new(choice.nic.get() + u32::from(path.port)), path)
    }

    /// The NIC at the first port of an endpoint's host, where its threads and receive queues are.
    pub fn first_nic(&self, index: EndpointIndex, end: &Endpoint) -> HostIndex {
        self.choices.get(index).map_or(end.host, |choice| choice.nic)
    }

    /// Ports at both ends of the path of a packet, as hosts of the fabric by port, where switches decide for every
    /// packet.
    #[cold]
    #[inline(never)]
    pub(super) fn ends_of(&self, packet: &Packet) -> (u32, u32) {
        self.paths.paths[packet.route as usize].ends
    }
}

impl Nics {
    /// Moves the first of a NIC's ring, whose packet was taken, to the end of the ring of the NIC by which it sends
    /// next, or removes it when it has nothing more to send.
    #[cold]
    #[inline(never)]
    pub(super) fn pass_turn_among_ports(
        &mut self,
        wires: &mut Wires,
        nic: HostIndex,
        class: usize,
        first: EndpointIndex,
    ) {
        let has_more = std::mem::take(&mut self.endpoints[first].is_in_ring);
        self.pass_turn(nic, class, first);
        if has_more {
            let end = &mut self.endpoints[first];
            end.is_in_ring = true;
            self.ports.choose(wires.now, first, end);
            let next = end.host;
            self.join_ring(next, class, first);
            if next != nic {
                wires.ask_again(self.hosts[next].port);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = |ms| Time::ZERO + Duration::from_ms(ms);

    /// Four paths, two of which packets take in turn; the second fails from 10 to 20 ms, which is known 5 ms later.
    fn paths(is_per_packet: bool) -> PortPaths {
        let path = |port: u8| PortPath {
            port,
            route: 0,
            first_egress: PortIndex::new(0),
            ends: (0, 0),
            outages: if port == 1 { 0..1 } else { 1..1 },
        };
        let paths = (0..4).map(path).collect();
        let outages = vec![[MS(10), MS(20)]];
        let detection = Duration::from_ms(5);
        PortPaths { paths, outages, ends: Vec::new(), is_per_packet, detection, links: Vec::new() }
    }

    fn choice(preferred: u8) -> PathChoice {
        PathChoice { nic: HostIndex::new(0), first: 0, count: 4, in_turn: 2, preferred, last: 1 }
    }

    fn check(is_per_packet: bool, ms: u64, expected: [u32; 3]) {
        let (paths, mut choice) = (paths(is_per_packet), choice(1));
        assert_eq!([(); 3].map(|()| choice.next(&paths, MS(ms))), expected, "at {ms} ms");
    }

    #[test]
    fn packets_take_the_paths_in_turn_that_are_known_to_work() {
        check(true, 12, [0, 1, 0]);
        check(true, 15, [0, 0, 0]);
        check(true, 24, [0, 0, 0]);
        check(true, 25, [0, 1, 0]);
    }

    #[test]
    fn a_connection_leaves_its_path_when_the_failure_is_known_and_returns_with_it() {
        check(false, 14, [1, 1, 1]);
        check(false, 15, [0, 0, 0]);
        check(false, 25, [1, 1, 1]);
    }

    #[test]
    fn a_connection_without_a_path_that_works_stays_where_it_is() {
        let mut paths = paths(false);
        paths.paths.iter_mut().for_each(|path| path.outages = 0..1);
        assert_eq!(choice(1).next(&paths, MS(15)), 1);
    }
}
