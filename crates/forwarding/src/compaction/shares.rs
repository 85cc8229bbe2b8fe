//! Shares of the traffic that passes a switch, as even as patterns of addresses allow.
//!
//! Two measures: what a port carries of all that passes, as under uniform traffic, and what it carries of the packets
//! of one leaf, as when that leaf sends all to one other. Bits that divide the sources of every leaf alike come first,
//! then bits that divide leaves. Where the numbers do not divide, a source that two ports meet in is divided by bits of
//! the destination, as long as every destination still has all ports.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use etherweave_primitives::{HostId, SwitchId};
use etherweave_topology::Topology;

use crate::{AddressPlan, Ternary};

/// Shares are even when none is larger than an even one by more than this factor.
const EVEN: f64 = 1.05;
/// How far a share may exceed a port, as a part of the port: the finer, the more rules.
const TOLERANCES: [f64; 5] = [0.25, 0.12, 0.05, 0.02, 0.005];

/// Share of a port: packets of these sources to these destinations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Share {
    pub src: Ternary,
    pub dst: Ternary,
    /// The place of the port among those that share.
    pub port: usize,
}

/// Traffic that one source sends through a switch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flow {
    /// Address of the source.
    pub src: u64,
    /// Its switch.
    pub home: u32,
    /// The destinations for which it passes: of those of `homes` the ones in a pattern.
    pub dst: Ternary,
    /// The switches that it is for, a set of [`Destinations`].
    pub homes: HomeSet,
}

/// A set of switches with hosts, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HomeSet(usize);

impl HomeSet {
    /// All switches with hosts.
    pub const ALL: HomeSet = HomeSet(0);
}

impl Flow {
    /// The parts of a flow that each port takes.
    pub fn divided(self, shares: &[Share]) -> impl Iterator<Item = (usize, Flow)> {
        let matching = shares.iter().filter(move |share| share.src.matches(self.src));
        matching.filter_map(move |share| Some((share.port, Flow { dst: self.dst.and(share.dst)?, ..self })))
    }
}

/// Address bits that divide destinations, at most: those of the least significant field.
const DESTINATION_BITS_MAX: u32 = 8;

/// The hosts that traffic is for: how many have each value of the least significant address bits, which is what bits of
/// destinations divide, and how many are on which switches.
pub struct Destinations {
    counts: BTreeMap<u64, f64>,
    total: f64,
    bits: u32,
    /// Sets of switches, ascending, with their part of all hosts; none for all.
    sets: Vec<(Option<Vec<SwitchId>>, f64)>,
    numbers: HashMap<Vec<SwitchId>, HomeSet>,
    /// Hosts by switch.
    hosts: Vec<f64>,
}

impl Destinations {
    pub fn of(plan: &AddressPlan, topology: &Topology) -> Destinations {
        let low = plan.fields().last().map_or(0, |field| (1u64 << field.bits.min(DESTINATION_BITS_MAX)) - 1);
        let (mut counts, mut hosts) = (BTreeMap::new(), vec![0.0; topology.switches()]);
        for host in (0..plan.hosts()).map(HostId::from_index) {
            *counts.entry(plan.address(host) & low).or_default() += 1.0;
            hosts[topology.switch_of(host).index()] += 1.0;
        }
        let total = plan.hosts() as f64;
        Destinations { counts, total, bits: plan.bits(), sets: vec![(None, 1.0)], numbers: HashMap::new(), hosts }
    }

    /// The switches of two sets, of which the second ascends; none when there is none.
    pub fn both(&mut self, set: HomeSet, other: &[SwitchId]) -> Option<HomeSet> {
        let is_in = |at: &&SwitchId| self.sets[set.0].0.as_ref().is_none_or(|homes| homes.binary_search(at).is_ok());
        let both: Vec<SwitchId> = other.iter().filter(is_in).copied().collect();
        let weight = both.iter().map(|at| self.hosts[at.index()]).sum::<f64>() / self.total;
        let sets = &mut self.sets;
        (weight > 0.0).then(|| {
            *self.numbers.entry(both).or_insert_with_key(|both| {
                sets.push((Some(both.clone()), weight));
                HomeSet(sets.len() - 1)
            })
        })
    }

    fn weight(&self, flow: &Flow) -> f64 {
        let of_homes = self.sets[flow.homes.0].1;
        if flow.dst == Ternary::ANY {
            return of_homes;
        }
        let matching = self.counts.iter().filter(|(value, _)| flow.dst.matches(**value));
        matching.map(|(_, count)| count).sum::<f64>() / self.total * of_homes
    }

    fn low_bits(&self) -> impl Iterator<Item = u64> {
        let all = self.counts.keys().fold(0, |all, value| all | value);
        (0..self.bits).map(|place| 1 << place).filter(move |bit| all & bit != 0)
    }

    /// Whether every destination has every port.
    fn have_all(&self, shares: &[Share], ports: usize) -> bool {
        let ports_of = |value: u64| -> BTreeSet<usize> {
            shares.iter().filter(|share| share.dst.matches(value)).map(|share| share.port).collect()
        };
        self.counts.keys().all(|&value| ports_of(value).len() == ports)
    }
}

/// The shares of some ports in what passes: `published`, a pattern for each port, where they are even; otherwise the
/// most even of several, in at most `room` rules.
pub fn shares(flows: &[Flow], published: Vec<Share>, room: usize, destinations: &Destinations) -> Vec<Share> {
    let ports = published.len();
    let division = Division::of(flows, ports, destinations);
    let mut best = (division.unevenness(&published), published);
    let in_turn = TOLERANCES.iter().filter(|_| room > ports).map(|&tolerance| Some(tolerance));
    let mut candidates = std::iter::once(None).chain(in_turn);
    while best.0 > EVEN
        && let Some(tolerance) = candidates.next()
    {
        let shares = tolerance.map_or_else(|| division.one_each(), |tolerance| division.in_turn(tolerance));
        let is_possible = shares.len() <= room.max(ports) && destinations.have_all(&shares, ports);
        let unevenness = division.unevenness(&shares);
        if is_possible && unevenness < best.0 - 1e-9 {
            best = (unevenness, shares);
        }
    }
    best.1
}

/// Flows to be divided among ports.
struct Division<'a> {
    flows: Vec<(Flow, f64)>,
    ports: usize,
    destinations: &'a Destinations,
    total: f64,
}

impl Division<'_> {
    fn of<'a>(flows: &[Flow], ports: usize, destinations: &'a Destinations) -> Division<'a> {
        let flows: Vec<(Flow, f64)> = flows.iter().map(|&flow| (flow, destinations.weight(&flow))).collect();
        let total = flows.iter().map(|(_, weight)| weight).sum();
        Division { flows, ports, destinations, total }
    }

    /// The most that a port carries against an even share, of all flows or of those of one leaf, whichever is worse. No
    /// share is smaller than the largest source.
    fn unevenness(&self, shares: &[Share]) -> f64 {
        let (mut by_port, mut by_home) = (vec![0.0; self.ports], BTreeMap::<u32, (f64, Vec<f64>)>::new());
        for &(flow, weight) in &self.flows {
            let (sum, of_home) = by_home.entry(flow.home).or_insert_with(|| (0.0, vec![0.0; self.ports]));
            *sum += weight;
            for (port, part) in flow.divided(shares) {
                let weight = self.destinations.weight(&part);
                by_port[port] += weight;
                of_home[port] += weight;
            }
        }
        let most = |loads: &[f64]| loads.iter().copied().fold(0.0, f64::max);
        let largest = self.flows.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
        let even = |sum: f64| (sum / self.ports as f64).max(largest).max(f64::MIN_POSITIVE);
        let home_sum = by_home.values().map(|(sum, _)| *sum).fold(0.0, f64::max);
        let home_most = by_home.values().map(|(_, loads)| most(loads)).fold(0.0, f64::max);
        let [all, home] = [most(&by_port) / even(self.total), home_most / even(home_sum)];
        all.max(home) + 0.001 * (all + home)
    }

    /// A pattern for each port.
    fn one_each(&self) -> Vec<Share> {
        let mut shares = Vec::with_capacity(self.ports);
        self.halve(&self.flows, Ternary::ANY, 0..self.ports, &mut shares);
        shares
    }

    fn halve(&self, flows: &[(Flow, f64)], src: Ternary, ports: std::ops::Range<usize>, shares: &mut Vec<Share>) {
        let free = (0..self.destinations.bits).map(|place| 1 << place).find(|bit| src.mask() & bit == 0);
        let bit = self.source_bit(flows, src).map(|(_, bit)| bit).or(free);
        let (true, Some(bit)) = (ports.len() > 1, bit) else {
            shares.push(Share { src, dst: Ternary::ANY, port: ports.start });
            return;
        };
        let [low, high] = [0, bit].map(|side| part(flows, |flow| flow.src & bit == side));
        let [low_sum, high_sum] = [&low, &high].map(|flows| flows.iter().map(|(_, weight)| weight).sum::<f64>());
        let wanted = (ports.len() as f64 * low_sum / (low_sum + high_sum).max(f64::MIN_POSITIVE)).round() as usize;
        let middle = ports.start + wanted.clamp(1, ports.len() - 1);
        let [zero, one] = src.halves(bit);
        self.halve(&low, zero, ports.start..middle, shares);
        self.halve(&high, one, middle..ports.end, shares);
    }

    /// Ports one after the other, each filled before the next; several patterns for a port where needed.
    fn in_turn(&self, tolerance: f64) -> Vec<Share> {
        let mut shares = Vec::new();
        let all = Share { src: Ternary::ANY, dst: Ternary::ANY, port: 0 };
        self.fill(&self.flows, all, 0.0, tolerance, &mut shares);
        shares
    }

    /// Divides the flows of a pattern, of which the first meets the ports at `start`; returns where the next ones do.
    fn fill(&self, flows: &[(Flow, f64)], all: Share, start: f64, tolerance: f64, shares: &mut Vec<Share>) -> f64 {
        let span = flows.iter().map(|(_, weight)| weight).sum::<f64>() * self.ports as f64 / self.total;
        let end = start + span;
        let [first, last] = [start + tolerance, end - tolerance].map(|place| place.max(0.0) as usize);
        let bit = if first >= last { None } else { self.bit(flows, all, span) };
        let Some((is_source, bit)) = bit else {
            let middle = (start + end) / 2.0;
            let port = if first >= last { first } else { middle as usize };
            shares.push(Share { port: port.min(self.ports - 1), ..all });
            return end;
        };
        let mut at = start;
        for (half, side) in [0, bit].into_iter().enumerate() {
            let share = match is_source {
                true => Share { src: all.src.halves(bit)[half], ..all },
                false => Share { dst: all.dst.halves(bit)[half], ..all },
            };
            let flows = match is_source {
                true => part(flows, |flow| flow.src & bit == side),
                false => self.towards(flows, share.dst),
            };
            at = self.fill(&flows, share, at, tolerance, shares);
        }
        at
    }

    /// The bit that divides flows best, and whether it is one of the source: of the destination only where two ports
    /// meet.
    fn bit(&self, flows: &[(Flow, f64)], all: Share, span: f64) -> Option<(bool, u64)> {
        let source = self.source_bit(flows, all.src);
        let free = self.destinations.low_bits().filter(|bit| span < 1.0 && all.dst.mask() & bit == 0);
        let scored = free.filter_map(|bit| {
            let low = self.towards(flows, all.dst.halves(bit)[0]);
            Some((deviation(flows, &low)?, bit))
        });
        let destination = scored.min_by(|a, b| a.0.total_cmp(&b.0));
        match (source, destination) {
            (Some((source, _)), Some((other, bit))) if other < source - 1e-9 => Some((false, bit)),
            (Some((_, bit)), _) => Some((true, bit)),
            (None, destination) => destination.map(|(_, bit)| (false, bit)),
        }
    }

    /// The bit that divides the sources of each leaf best, and how well.
    fn source_bit(&self, flows: &[(Flow, f64)], src: Ternary) -> Option<(f64, u64)> {
        let free = (0..self.destinations.bits).map(|place| 1 << place).filter(|bit| src.mask() & bit == 0);
        let scored = free.filter_map(|bit| {
            let low = part(flows, |flow| flow.src & bit == 0);
            Some((deviation(flows, &low)?, bit))
        });
        scored.min_by(|a, b| a.0.total_cmp(&b.0))
    }

    fn towards(&self, flows: &[(Flow, f64)], dst: Ternary) -> Vec<(Flow, f64)> {
        let part = |&(flow, _): &(Flow, f64)| {
            let flow = Flow { dst: flow.dst.and(dst)?, ..flow };
            Some((flow, self.destinations.weight(&flow)))
        };
        flows.iter().filter_map(part).filter(|(_, weight)| *weight > 0.0).collect()
    }
}

fn part(flows: &[(Flow, f64)], is_in: impl Fn(&Flow) -> bool) -> Vec<(Flow, f64)> {
    flows.iter().filter(|(flow, _)| is_in(flow)).copied().collect()
}

/// How far a part of flows is from the half of each leaf's, 0..=0.5 of all; none where it is all or nothing.
fn deviation(flows: &[(Flow, f64)], low: &[(Flow, f64)]) -> Option<f64> {
    let mut by_home = BTreeMap::<u32, f64>::new();
    flows.iter().for_each(|(flow, weight)| *by_home.entry(flow.home).or_default() += weight / 2.0);
    low.iter().for_each(|(flow, weight)| *by_home.entry(flow.home).or_default() -= weight);
    let [all, sum] = [flows, low].map(|flows| flows.iter().map(|(_, weight)| weight).sum::<f64>());
    let apart: f64 = by_home.values().map(|apart| apart.abs()).sum();
    (sum > 0.0 && sum < all * (1.0 - 1e-9)).then_some(apart / all)
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Family, FatTree};

    use super::*;
    use crate::PlanKind;

    /// The shares of some ports in what some hosts of each of 8 leaves send, and what each port carries.
    fn check(hosts: impl Iterator<Item = u32> + Clone, ports: usize, room: usize) -> (usize, Vec<f64>) {
        let topology = FatTree::default().generate().unwrap();
        let plan = PlanKind::Coordinates.plan(&topology).unwrap();
        let flow = |leaf: u32, host: u32| Flow {
            src: plan.address(HostId::new(12 * leaf + host)),
            home: leaf,
            dst: Ternary::ANY,
            homes: HomeSet::ALL,
        };
        let flows: Vec<Flow> = (0..8).flat_map(|leaf| hosts.clone().map(move |host| flow(leaf, host))).collect();
        // A share for all, and none for the other ports.
        let mut published = vec![Share { src: Ternary::new(1 << 20, 1 << 20), dst: Ternary::ANY, port: 0 }; ports];
        published[0].src = Ternary::ANY;
        let destinations = Destinations::of(&plan, &topology);
        let shares = shares(&flows, published, room, &destinations);
        let mut loads = vec![0.0; ports];
        for (port, part) in flows.iter().flat_map(|flow| flow.divided(&shares)) {
            loads[port] += destinations.weight(&part);
        }
        (shares.len(), loads)
    }

    #[test]
    fn a_bit_that_divides_every_leaf_is_taken() {
        // 12 hosts of each leaf by the two lowest bits: 3 for each port.
        assert_eq!(check(0..12, 4, 4), (4, vec![24.0; 4]));
        // Of the first 3 hosts of each leaf no bit gives halves; with one rule for each port, one carries two.
        assert_eq!(check(0..3, 2, 2), (2, vec![16.0, 8.0]));
    }

    #[test]
    fn with_room_for_more_rules_a_source_is_divided_by_destinations() {
        let (rules, loads) = check(0..3, 2, 8);
        assert!(rules > 2 && rules <= 8, "{rules}");
        assert!(loads.iter().all(|load| (load - 12.0).abs() < 0.05 * 12.0), "{loads:?}");
    }

    #[test]
    fn a_division_never_takes_more_rules_than_there_is_room_for() {
        for (ports, room) in (2..12).flat_map(|ports| [1, 9, 20].map(|room| (ports, room))) {
            let (rules, loads) = check(0..7, ports, room);
            assert!(rules <= room.max(ports), "{rules} rules for {ports} ports in {room}");
            assert!((loads.iter().sum::<f64>() - 56.0).abs() < 1e-9, "all is carried once: {loads:?}");
        }
    }
}
