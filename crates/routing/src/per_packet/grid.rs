//! Coordinates of a torus or mesh, and the next hop along its dimensions.
//!
//! ```text
//!   ports of a switch:  hosts | to the places before and after in dimension 0, in any order | dimension 1 | ...
//!                                `lag` ports to each
//! ```
//!
//! Dateline: Dally and Seitz, "Deadlock-free message routing in multiprocessor interconnection networks", IEEE Trans.
//! Comput. 1987, section 4. In a ring, packets that have the link between the last and the first place still ahead
//! travel on channel 0, and on channel 1 once they have crossed it. Packets that never cross it stay on one of both:
//! channels of each direction rise from place to place, and from channel 0 to channel 1.

use std::ops::Range;

use etherweave_primitives::{HostId, InputError, SwitchId};
use etherweave_topology::{Node, Topology};

use super::{Divisor, FabricPlan, NextHop, OutputChannel, unsuited};

/// Shorter rings need no dateline: each direction takes a packet one link far.
const DATELINE_SIZE_MIN: u16 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GridLine {
    size: u16,
    /// Whether the last place is joined with the first.
    is_ring: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct LagPorts {
    first: u8,
    count: u8,
}

/// Direction of a packet along a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GridHop {
    first: u8,
    count: u8,
    /// The dateline channel.
    pub channel: u8,
}

impl GridHop {
    /// The ports to the next place, all alike.
    pub fn ports(self) -> Range<u8> {
        self.first..self.first + self.count
    }
}

/// The hop to the next place, or both that are equally near.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GridStep {
    pub hop: GridHop,
    /// The other direction, where the destination is opposite on a ring.
    pub other: Option<GridHop>,
    /// The dimension of both.
    pub dimension: usize,
}

/// Places on a torus or mesh, or a fabric between them.
#[derive(Clone, Debug)]
pub struct GridPlan {
    hosts_per_switch: Divisor,
    /// First dimension first.
    lines: Vec<GridLine>,
    /// Coordinate of each switch in each dimension.
    places: Vec<u16>,
    /// Port of each switch for each dimension and direction: down, up.
    ports: Vec<[LagPorts; 2]>,
}

impl FabricPlan for GridPlan {
    const FABRIC: &'static str = "a torus or mesh";

    /// # Errors
    /// When the switches do not fill a grid whose rows are rings or lines, some have other links, or hosts are not in
    /// their order, equally many on each switch.
    fn of(topology: &Topology) -> Result<GridPlan, InputError> {
        let unsuited = |mistake: &str| unsuited(mistake.to_owned(), GridPlan::FABRIC);
        let (hosts, switches) = (topology.hosts(), topology.switches());
        if topology.axes().last().is_none_or(|axis| axis != "x") || switches == 0 {
            return Err(unsuited("a fabric without rows"));
        }
        let per_switch = hosts / switches;
        let is_small = switches < usize::from(u16::MAX) && hosts < Divisor::DIVIDEND_END as usize && per_switch < 256;
        if per_switch * switches != hosts || per_switch == 0 || !is_small {
            return Err(unsuited(&format!("{hosts} hosts on {switches} switches")));
        }
        let ids = || (0..switches).map(SwitchId::from_index);
        let places = ids().flat_map(|at| topology.coordinates(at).iter().rev().map(|&place| place as u16));
        let mut plan = GridPlan {
            hosts_per_switch: Divisor::new(per_switch as u32),
            lines: Vec::new(),
            places: places.collect(),
            ports: Vec::new(),
        };
        let other_ports = |at: SwitchId| unsuited(&format!("one whose {} has other ports", topology.switch_name(at)));
        let numbers = plan.measure(topology).ok_or_else(|| unsuited("switches that do not fill a grid"))?;
        for at in ids() {
            plan.join(topology, at, &numbers).ok_or_else(|| other_ports(at))?;
        }
        Ok(plan)
    }
}

impl GridPlan {
    /// Finds the size of every dimension, and whether its first row is a ring; returns the switch at each number, which
    /// counts the first dimension fastest. None unless every place has one switch.
    fn measure(&mut self, topology: &Topology) -> Option<Vec<u32>> {
        let (axes, switches) = (topology.axes().len(), topology.switches());
        let size = |axis: usize| self.places.iter().skip(axis).step_by(axes).max().map_or(1, |&last| last + 1);
        let sizes: Vec<u16> = (0..axes).map(size).collect();
        let count = sizes.iter().try_fold(1_usize, |count, &size| count.checked_mul(usize::from(size)))?;
        self.lines = sizes.iter().map(|&size| GridLine { size, is_ring: false }).collect();
        if count != switches {
            return None;
        }
        let mut numbers = vec![u32::MAX; switches];
        for at in 0..switches as u32 {
            let number = self.number((0..axes).map(|dimension| self.place(at, dimension)));
            if std::mem::replace(&mut numbers[number], at) != u32::MAX {
                return None;
            }
        }
        let mut stride = 1;
        for (dimension, size) in sizes.into_iter().enumerate() {
            let last = numbers[stride * usize::from(size - 1)];
            let first = SwitchId::new(numbers[0]);
            let ends = topology.out_channels(first).iter().map(|&id| topology.channel(id).to.node);
            let is_joined = { ends }.any(|end| end == Node::Switch(SwitchId::new(last)));
            self.lines[dimension].is_ring = size > 2 && is_joined;
            stride *= usize::from(size);
        }
        Some(numbers)
    }

    fn number(&self, places: impl Iterator<Item = u16>) -> usize {
        let mut stride = 1;
        let mut number = 0;
        for (place, line) in places.zip(&self.lines) {
            number += usize::from(place) * stride;
            stride *= usize::from(line.size);
        }
        number
    }

    /// Adds the ports of a switch; none where it has others than those of a grid.
    fn join(&mut self, topology: &Topology, at: SwitchId, numbers: &[u32]) -> Option<()> {
        let out = topology.out_channels(at);
        let hosts = self.hosts_per_switch.get();
        let end = |port: usize| out.get(port).map(|&id| topology.channel(id).to.node);
        let is_host = |port: u32| end(port as usize) == Some(Node::Host(HostId::new(at.get() * hosts + port)));
        if out.len() > 255 || !(0..hosts).all(is_host) {
            return None;
        }
        let mut known = hosts as usize;
        for dimension in 0..self.lines.len() {
            let mut both = [LagPorts::default(); 2];
            for (ports, is_up) in both.iter_mut().zip([false, true]) {
                let Some(next) = self.neighbour(at.get(), dimension, is_up) else { continue };
                let places = (0..self.lines.len())
                    .map(|other| if other == dimension { next } else { self.place(at.get(), other) });
                let there = Node::Switch(SwitchId::new(numbers[self.number(places)]));
                let first = (0..out.len()).position(|port| end(port) == Some(there))?;
                let count = (first..out.len()).take_while(|&port| end(port) == Some(there)).count();
                *ports = LagPorts { first: first as u8, count: count as u8 };
                known += count;
            }
            self.ports.push(both);
        }
        (known == out.len()).then_some(())
    }

    /// The next place in a direction; none at the end of a line.
    fn neighbour(&self, at: u32, dimension: usize, is_up: bool) -> Option<u16> {
        let GridLine { size, is_ring } = self.lines[dimension];
        let place = self.place(at, dimension);
        let is_end = place == if is_up { size - 1 } else { 0 };
        match (is_end, is_up) {
            (false, true) => Some(place + 1),
            (false, false) => Some(place - 1),
            (true, true) => is_ring.then_some(0),
            (true, false) => is_ring.then_some(size - 1),
        }
    }

    /// How many switches there are, fewer than 65,535.
    pub(crate) fn switches(&self) -> u32 {
        (self.places.len() / self.lines.len()) as u32
    }

    /// Channels that the dateline needs.
    pub(crate) fn channels(&self) -> u8 {
        if self.lines.iter().any(GridLine::has_dateline) { 2 } else { 1 }
    }

    #[inline]
    pub(crate) fn place(&self, switch: u32, dimension: usize) -> u16 {
        self.places[switch as usize * self.lines.len() + dimension]
    }

    #[inline]
    pub(crate) fn home(&self, host: u32) -> (u32, NextHop) {
        let switch = self.hosts_per_switch.quotient(host);
        let port = (host - switch * self.hosts_per_switch.get()) as u8;
        (switch, NextHop { port, channel: 0 })
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn rings(&self) -> u32 {
        self.lines.iter().filter(|line| line.is_ring).count() as u32
    }

    pub(crate) fn size(&self, dimension: usize) -> u16 {
        self.lines[dimension].size
    }

    /// Places in rows of all dimensions together.
    pub(crate) fn sizes(&self) -> u32 {
        self.lines.iter().map(|line| u32::from(line.size)).sum()
    }

    /// The ports of a switch in a direction of a dimension; none at the end of a line.
    pub(crate) fn ports(&self, switch: u32, dimension: usize, is_up: bool) -> Range<u8> {
        let LagPorts { first, count } = self.ports[switch as usize * self.lines.len() + dimension][usize::from(is_up)];
        first..first + count
    }

    /// The dimension of a port to another switch, and whether it leads up.
    pub(crate) fn direction(&self, switch: u32, port: u8) -> (usize, bool) {
        let all = (0..self.lines.len()).flat_map(|dimension| [(dimension, false), (dimension, true)]);
        let mut leading = all.filter(|&(dimension, is_up)| self.ports(switch, dimension, is_up).contains(&port));
        leading.next().expect("a port to a switch")
    }

    /// Links from the first place of a row in a direction.
    pub(crate) fn progress(&self, switch: u32, dimension: usize, is_up: bool) -> u16 {
        let place = self.place(switch, dimension);
        if is_up { place } else { self.lines[dimension].size - 1 - place }
    }

    /// Whether packets may go down, and up, in a dimension to get to another switch in the fewest hops.
    #[inline]
    pub(crate) fn directions(&self, from: u32, to: u32, dimension: usize) -> [bool; 2] {
        let GridLine { size, is_ring } = self.lines[dimension];
        let (place, end) = (self.place(from, dimension), self.place(to, dimension));
        if !is_ring || place == end {
            return [end < place, end > place];
        }
        let upward = if end > place { end - place } else { size + end - place };
        [2 * upward >= size, 2 * upward <= size]
    }

    /// The next step to another switch by dimension order, of packets that went by dimension order since `start`; none
    /// when it is the same.
    #[inline]
    pub(crate) fn in_order(&self, start: u32, from: u32, to: u32) -> Option<GridStep> {
        let dimension = (0..self.lines.len()).find(|&it| self.place(from, it) != self.place(to, it))?;
        let line = self.lines[dimension];
        let [first, place, end] = [start, from, to].map(|switch| self.place(switch, dimension));
        let hop = |is_up: bool| {
            let ports = self.ports(from, dimension, is_up);
            let channel = match (is_up != (end > place), is_up != (end > first)) {
                _ if !line.has_dateline() => 0,
                (true, _) => 0,
                (false, true) => 1,
                // Half of them on each.
                (false, false) => ((first ^ end) & 1) as u8,
            };
            GridHop { first: ports.start, count: ports.end - ports.start, channel }
        };
        let [down, up] = self.directions(from, to, dimension);
        Some(GridStep { hop: hop(up), other: (down && up).then(|| hop(false)), dimension })
    }

    /// Whether packets between two switches that are opposite on a ring go down. Half of the pairs of each switch do,
    /// and all packets of a pair.
    #[inline]
    pub(crate) fn goes_down(&self, from: u32, to: u32, dimension: usize) -> bool {
        let others = (0..self.lines.len()).filter(|&other| other != dimension);
        let sum = |switch: u32| others.clone().map(|other| u32::from(self.place(switch, other))).sum::<u32>();
        (u32::from(self.place(from, dimension)) + sum(from) + sum(to)) % 2 == 1
    }

    /// Dimension after dimension, in each from channel 0 to channel 1, in both from place to place.
    pub(crate) fn rank(&self, out: OutputChannel) -> u32 {
        let (dimension, is_up) = self.direction(out.switch, out.port);
        let size = u32::from(self.lines[dimension].size);
        let before: u32 = self.lines[..dimension].iter().map(|line| 2 * u32::from(line.size)).sum();
        before + u32::from(out.channel) * size + u32::from(self.progress(out.switch, dimension, is_up))
    }

    /// Links between the farthest two switches.
    pub(crate) fn diameter(&self) -> u32 {
        let of = |line: &GridLine| if line.is_ring { line.size / 2 } else { line.size - 1 };
        self.lines.iter().map(|line| u32::from(of(line))).sum()
    }

    pub(crate) fn rank_end(&self) -> u32 {
        2 * self.sizes()
    }
}

impl GridLine {
    fn has_dateline(&self) -> bool {
        self.is_ring && self.size >= DATELINE_SIZE_MIN
    }
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Dimension, Dragonfly, Family, FlattenedButterfly, Mesh, Torus};

    use super::*;

    fn torus(sizes: &[u32]) -> GridPlan {
        let dimensions = sizes.iter().map(|&size| Dimension::of(size)).collect();
        GridPlan::of(&Torus { dimensions, ..Torus::default() }.generate().unwrap()).unwrap()
    }

    #[test]
    fn every_torus_and_mesh_has_a_plan() {
        let tori = Torus::examples().into_iter().map(|family| family.generate());
        let all = tori.chain(Mesh::examples().into_iter().map(|family| family.generate()));
        all.for_each(|topology| drop(GridPlan::of(&topology.unwrap()).unwrap()));
    }

    #[test]
    fn a_packet_takes_the_shorter_direction_and_crosses_the_dateline_on_channel_0() {
        let plan = torus(&[10]);
        let channel =
            |start, from, to| plan.in_order(start, from, to).map(|step| (step.hop.channel, step.other.is_some()));
        // Up from 8 to 2 over the dateline, and beyond it; down from 2 to 8 over it; opposite from 0 to 5.
        let (ahead, opposite) = (Some((0, false)), Some((1, true)));
        assert_eq!([channel(8, 8, 2), channel(8, 9, 2), channel(2, 2, 8)], [ahead; 3]);
        assert_eq!((channel(8, 0, 2), channel(0, 0, 5), channel(4, 4, 4)), (Some((1, false)), opposite, None));
        // What never crosses it stays on its channel.
        assert_eq!([1, 2, 3].map(|at| channel(1, at, 4)), [Some((1, false)); 3]);
        assert_eq!([1, 2, 3].map(|at| channel(1, at, 5)), [ahead; 3]);
        let ports = |from, to| plan.in_order(from, from, to).unwrap().hop.ports();
        assert_eq!((ports(1, 5), ports(8, 2)), (ports(1, 2), ports(8, 9)));
        assert_ne!(ports(2, 8), ports(2, 3));
    }

    #[test]
    fn packets_of_all_pairs_use_all_links_of_a_dimension_alike() {
        let plan = torus(&[4, 6]);
        let mut loads = std::collections::BTreeMap::new();
        for (src, dst) in (0..24).flat_map(|src| (0..24).map(move |dst| (src, dst))) {
            let mut at = src;
            while let Some(step) = plan.in_order(src, at, dst) {
                let other = step.other.filter(|_| plan.goes_down(src, dst, step.dimension));
                let port = other.unwrap_or(step.hop).first;
                let is_up = plan.ports[2 * at as usize + step.dimension][1].first == port;
                *loads.entry((step.dimension, at, is_up)).or_insert(0) += 1;
                let next = plan.neighbour(at, step.dimension, is_up).unwrap();
                let stride = if step.dimension == 0 { 1 } else { 4 };
                at = at - u32::from(plan.place(at, step.dimension)) * stride + u32::from(next) * stride;
            }
        }
        // Packets go k/4 links far on average in a ring of k: 24 · 24 pairs over 24 links in each direction.
        let expected = |dimension: usize| [4, 6][dimension] * 24 * 24 / 4 / (24 * 2);
        assert_eq!(loads.len(), 24 * 4);
        loads.iter().for_each(|(channel, &load)| assert_eq!(load, expected(channel.0), "{channel:?}"));
    }

    #[test]
    fn other_fabrics_are_rejected() {
        let error = |topology| GridPlan::of(&topology).unwrap_err().to_string();
        let dragonfly = error(Dragonfly::default().generate().unwrap());
        assert_eq!(dragonfly, "topology: a fabric without rows; expected a torus or mesh");
        let butterfly = error(FlattenedButterfly::default().generate().unwrap());
        assert!(butterfly.ends_with("has other ports; expected a torus or mesh"), "{butterfly}");
    }
}
