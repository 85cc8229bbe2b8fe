//! A routing as a table: for every switch and every switch with hosts, a set of channels.
//!
//! Sets repeat (all far destinations share a leaf's uplinks), so an entry is the number of a set: 4 bytes for each
//! pair of a switch and a switch with hosts, 160 KiB for 1,024 hosts on 320 switches.

use std::collections::{BTreeMap, HashMap};

use etherweave_primitives::{ChannelId, HostId, InputError, SwitchId};
use etherweave_topology::{Node, Topology, reverse};

use crate::plan::{DestinationSet, FRESH, RoutingPlan, RoutingStep};
use crate::{ChannelHop, Legality, Routing, adjacencies::Adjacencies, path::dead_end};

/// Entries of the largest table: 1 GiB.
pub(crate) const ENTRIES_MAX: u64 = 1 << 28;

/// Pairs of a switch and a switch with hosts that plans for any fabric list, so that a proof can follow every packet.
pub(crate) const LISTED_MAX: u64 = 1 << 24;

/// Legal channels by switch and destination.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoutingTable {
    /// The set of each entry, by switch, then by destination column.
    entries: Vec<u32>,
    columns: usize,
    /// Set `i` is `channels[starts[i]..starts[i + 1]]`; set 0 is empty.
    starts: Vec<u32>,
    channels: Vec<ChannelId>,
    hosts: Vec<HostColumn>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct HostColumn {
    switch: SwitchId,
    column: u32,
    last: ChannelId,
}

impl RoutingTable {
    /// The channels that a packet for `dst` may take out of switch `at`; channels to one next hop side by side.
    pub fn legal(&self, at: SwitchId, dst: HostId) -> &[ChannelId] {
        let place = &self.hosts[dst.index()];
        if place.switch == at {
            return std::slice::from_ref(&place.last);
        }
        self.set(at, place.column)
    }

    fn set(&self, at: SwitchId, column: u32) -> &[ChannelId] {
        let set = self.entries[at.index() * self.columns + column as usize] as usize;
        &self.channels[self.starts[set] as usize..self.starts[set + 1] as usize]
    }

    /// Fills a table destination by destination: `distances` measures from a destination to all switches, `is_legal`
    /// decides by that whether a packet at the start of a channel may take it.
    pub(crate) fn fill<Distances>(
        topology: &Topology,
        distances: impl Fn(SwitchId) -> Distances,
        is_legal: impl Fn(&Distances, ChannelId) -> bool,
    ) -> Result<RoutingTable, InputError> {
        let (hosts, destinations) = places(topology);
        let mut sets = Sets::new();
        let mut entries = vec![0; entries(topology, destinations.len())?];
        let mut set = Vec::new();
        for (column, &dst) in destinations.iter().enumerate() {
            let distances = distances(dst);
            for at in (0..topology.switches()).map(SwitchId::from_index).filter(|&at| at != dst) {
                set.clear();
                set.extend(onward(topology, at).filter(|&channel| is_legal(&distances, channel)));
                entries[at.index() * destinations.len() + column] = sets.number(topology, &mut set);
            }
        }
        let table = sets.table(entries, destinations.len(), hosts);
        table.check(topology, &destinations)?;
        Ok(table)
    }

    /// Tabulates a routing row by row: destinations with the same `key` at a switch share its set of channels there.
    pub(crate) fn by_key<Key: Ord>(
        topology: &Topology,
        key: impl Fn(SwitchId, SwitchId) -> Key,
        channels: impl Fn(SwitchId, SwitchId, &mut Vec<ChannelId>),
    ) -> Result<RoutingTable, InputError> {
        let (hosts, destinations) = places(topology);
        let mut sets = Sets::new();
        let mut entries = vec![0; entries(topology, destinations.len())?];
        let mut set = Vec::new();
        for (at, row) in entries.chunks_mut(destinations.len()).enumerate() {
            let at = SwitchId::from_index(at);
            let mut numbers: BTreeMap<Key, u32> = BTreeMap::new();
            for (entry, &dst) in row.iter_mut().zip(&destinations).filter(|&(_, &dst)| dst != at) {
                *entry = *numbers.entry(key(at, dst)).or_insert_with(|| {
                    set.clear();
                    channels(at, dst, &mut set);
                    sets.number(topology, &mut set)
                });
            }
        }
        let table = sets.table(entries, destinations.len(), hosts);
        table.check(topology, &destinations)?;
        Ok(table)
    }

    /// Tabulates a routing whose packets stay on priority 0 wherever they go, whatever their arrival.
    pub(crate) fn of(topology: &Topology, legality: &Legality) -> Result<RoutingTable, InputError> {
        let priorities = legality.priorities();
        if priorities > 1 || legality.plan.has_memory() {
            return Err(not_a_table(priorities));
        }
        let (hosts, destinations) = places(topology);
        let mut sets = Sets::new();
        let mut entries = vec![0; entries(topology, destinations.len())?];
        let (mut steps, mut set) = (Vec::new(), Vec::new());
        for (column, &dst) in destinations.iter().enumerate() {
            for at in (0..topology.switches()).map(SwitchId::from_index).filter(|&at| at != dst) {
                steps.clear();
                set.clear();
                legality.plan.steps(at, FRESH, DestinationSet::Switch(dst), &mut steps);
                set.extend(steps.iter().flat_map(|step| legality.plan.adjacencies().channels(step.adjacency)));
                entries[at.index() * destinations.len() + column] = sets.number(topology, &mut set);
            }
        }
        let table = sets.table(entries, destinations.len(), hosts);
        table.check(topology, &destinations)?;
        Ok(table)
    }

    /// Checks that from every switch with hosts there is a path to every other.
    fn check(&self, topology: &Topology, destinations: &[SwitchId]) -> Result<(), InputError> {
        for &at in destinations {
            let row = &self.entries[at.index() * self.columns..][..self.columns];
            let gap = row.iter().zip(destinations).find(|&(&set, &dst)| set == 0 && dst != at);
            if let Some((_, &dst)) = gap {
                return Err(dead_end(topology.switch_name(at), topology.switch_name(dst)));
            }
        }
        Ok(())
    }
}

impl Routing for RoutingTable {
    fn candidates(&self, at: SwitchId, dst: HostId, out: &mut Vec<ChannelId>) {
        out.extend_from_slice(self.legal(at, dst));
    }

    fn hops(&self, at: SwitchId, _arrival: Option<ChannelHop>, dst: HostId, out: &mut Vec<ChannelHop>) {
        out.extend(self.legal(at, dst).iter().copied().map(ChannelHop::first));
    }
}

/// The error of a routing that changes priorities or depends on the port of arrival.
fn not_a_table(priorities: u8) -> InputError {
    let mistake = match priorities {
        0 | 1 => "the routing decides by the port of arrival".to_owned(),
        several => format!("the routing changes among {several} priorities"),
    };
    let expected = "one that decides by the destination only: up_down, shortest_path, or dimension_order without rings";
    InputError::new("", mistake, expected)
}

/// How many entries a table has, when they are not too many.
pub(crate) fn entries(topology: &Topology, destinations: usize) -> Result<usize, InputError> {
    let entries = topology.switches() as u64 * destinations as u64;
    if entries > ENTRIES_MAX {
        let mistake = format!("the routing's table would have {entries} entries");
        return Err(InputError::new("", mistake, format!("at most {ENTRIES_MAX}")));
    }
    Ok(entries as usize)
}

/// A table as a plan, destination by destination.
pub(crate) struct TabulatedPlan {
    adjacencies: Adjacencies,
    table: RoutingTable,
    /// The column of every switch with hosts.
    columns: Vec<u32>,
    hops_max: u32,
}

impl TabulatedPlan {
    pub fn new(topology: &Topology, table: RoutingTable) -> TabulatedPlan {
        let mut columns = vec![u32::MAX; topology.switches()];
        table.hosts.iter().for_each(|place| columns[place.switch.index()] = place.column);
        let mut plan = TabulatedPlan { adjacencies: Adjacencies::of(topology), table, columns, hops_max: 0 };
        plan.hops_max = plan.longest_path(&destinations(topology));
        plan
    }

    /// The most hops between two of the switches with hosts. Every hop of a table that was filled by distances is one
    /// closer, so that the first channel of a set gives the length.
    fn longest_path(&self, destinations: &[SwitchId]) -> u32 {
        let mut lengths = vec![None; self.adjacencies.switches()];
        let mut path = Vec::new();
        let mut most = 0;
        for &dst in destinations {
            lengths.fill(None);
            lengths[dst.index()] = Some(0);
            for &src in destinations {
                let mut at = src;
                let mut length = loop {
                    match lengths[at.index()] {
                        Some(length) => break length,
                        None => path.push(at),
                    }
                    at = self.next(at, dst);
                };
                while let Some(at) = path.pop() {
                    length += 1;
                    lengths[at.index()] = Some(length);
                }
                most = most.max(length);
            }
        }
        most
    }

    fn next(&self, at: SwitchId, dst: SwitchId) -> SwitchId {
        let channel = self.table.set(at, self.columns[dst.index()])[0];
        let adjacency = self.adjacencies.adjacency_of(channel).expect("tables lead over links between switches");
        self.adjacencies.to(adjacency)
    }
}

impl RoutingPlan for TabulatedPlan {
    fn adjacencies(&self) -> &Adjacencies {
        &self.adjacencies
    }

    fn stages(&self) -> u32 {
        1
    }

    fn hops_max(&self) -> u32 {
        self.hops_max
    }

    fn steps(&self, at: SwitchId, _: u32, destinations: DestinationSet, out: &mut Vec<RoutingStep>) {
        let DestinationSet::Switch(dst) = destinations else { unreachable!("tables have single destinations only") };
        let set = self.table.set(at, self.columns[dst.index()]);
        let adjacencies = set.iter().filter_map(|&channel| self.adjacencies.adjacency_of(channel));
        out.extend(adjacencies.map(|adjacency| RoutingStep { adjacency, stage: 0, destinations }));
        out.dedup();
    }
}

pub(crate) fn onward(topology: &Topology, at: SwitchId) -> impl Iterator<Item = ChannelId> {
    let leaving = topology.out_channels(at).iter().copied();
    leaving.filter(|&channel| matches!(topology.channel(channel).to.node, Node::Switch(_)))
}

/// The switches with hosts, ascending.
pub(crate) fn destinations(topology: &Topology) -> Vec<SwitchId> {
    let mut destinations: Vec<SwitchId> =
        (0..topology.hosts()).map(|host| topology.switch_of(HostId::from_index(host))).collect();
    destinations.sort_unstable();
    destinations.dedup();
    destinations
}

/// Every host's place, and the switches with hosts in ascending order.
fn places(topology: &Topology) -> (Vec<HostColumn>, Vec<SwitchId>) {
    let all = || (0..topology.hosts()).map(HostId::from_index);
    let destinations = destinations(topology);
    let place = |host| {
        let switch = topology.switch_of(host);
        let column = destinations.binary_search(&switch).expect("a switch with hosts is a destination") as u32;
        HostColumn { switch, column, last: reverse(topology.host_channel(host)) }
    };
    (all().map(place).collect(), destinations)
}

struct Sets {
    starts: Vec<u32>,
    channels: Vec<ChannelId>,
    numbers: HashMap<Vec<ChannelId>, u32>,
}

impl Sets {
    fn new() -> Sets {
        Sets { starts: vec![0, 0], channels: Vec::new(), numbers: HashMap::from([(Vec::new(), 0)]) }
    }

    fn table(self, entries: Vec<u32>, columns: usize, hosts: Vec<HostColumn>) -> RoutingTable {
        RoutingTable { entries, columns, starts: self.starts, channels: self.channels, hosts }
    }

    /// The number of a set, which is put in order: by port channel, then by port.
    fn number(&mut self, topology: &Topology, set: &mut [ChannelId]) -> u32 {
        set.sort_by_key(|&channel| topology.port_channel(channel));
        if let Some(&number) = self.numbers.get(&*set) {
            return number;
        }
        let number = self.starts.len() as u32 - 1;
        self.channels.extend_from_slice(set);
        self.starts.push(self.channels.len() as u32);
        self.numbers.insert(set.to_vec(), number);
        number
    }
}
