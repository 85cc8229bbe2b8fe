//! Coordinates of a flattened butterfly or HyperX, and the ports along its dimensions.
//!
//! ```text
//!   ports of a switch:  hosts | dimension 0: to every other place, ascending | dimension 1 | ...
//!                                            `lag` ports to each
//! ```

use std::ops::Range;

use etherweave_primitives::{HostId, Port, SwitchId};
use etherweave_topology::{Node, Topology};

use super::{Divisor, FabricPlan, NextHop, unsuited};
use etherweave_primitives::InputError;

/// Most dimensions: places fit a word.
const DIMENSIONS_MAX: usize = 8;
/// Names of dimensions, first dimension first.
const AXES: [&str; 6] = ["x", "y", "z", "w", "v", "u"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GridDimension {
    size: u8,
    /// Ports to each other place.
    lag: u8,
    first: u8,
}

/// A coordinate per dimension, first dimension first, a byte each.
type Coordinates = u64;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ButterflyHost {
    pub switch: u32,
    /// Towards the host.
    pub hop: NextHop,
}

/// Where everything is on a flattened butterfly.
#[derive(Clone, Debug)]
pub struct ButterflyPlan {
    hosts_per_switch: Divisor,
    rows: Vec<GridDimension>,
    places: Vec<Coordinates>,
}

impl FabricPlan for ButterflyPlan {
    const FABRIC: &'static str = "a flattened butterfly or HyperX";

    /// # Errors
    /// When the fabric is not a grid of complete rows with equally many hosts on every switch.
    fn of(topology: &Topology) -> Result<ButterflyPlan, InputError> {
        let unsuited = |mistake: String| unsuited(mistake, ButterflyPlan::FABRIC);
        let axes = topology.axes();
        let is_grid = axes.len() <= AXES.len() && axes.iter().rev().eq(&AXES[..axes.len()]);
        let (hosts, switches) = (topology.hosts(), topology.switches());
        if !is_grid || axes.is_empty() || switches == 0 {
            return Err(unsuited("a fabric without rows".to_owned()));
        }
        let per_switch = hosts / switches;
        let is_small = switches < usize::from(u16::MAX) && hosts < Divisor::DIVIDEND_END as usize && per_switch < 256;
        if per_switch * switches != hosts || per_switch == 0 || !is_small {
            return Err(unsuited(format!("{hosts} hosts on {switches} switches")));
        }
        let Some(rows) = rows(topology, per_switch as u8) else {
            return Err(unsuited("a grid of other rows".to_owned()));
        };
        let places = switch_ids(topology).map(|at| place(topology, at)).collect();
        let plan = ButterflyPlan { hosts_per_switch: Divisor::new(per_switch as u32), rows, places };
        match switch_ids(topology).find(|&at| !plan.is_regular(topology, at)) {
            Some(at) => Err(unsuited(format!("one whose {} has other ports", topology.switch_name(at)))),
            None => Ok(plan),
        }
    }
}

fn switch_ids(topology: &Topology) -> impl Iterator<Item = SwitchId> {
    (0..topology.switches()).map(SwitchId::from_index)
}

fn place(topology: &Topology, at: SwitchId) -> Coordinates {
    topology.coordinates(at).iter().fold(0, |packed, &digit| packed << 8 | u64::from(digit))
}

/// The rows that a grid of this size has: all switches have as many ports to each neighbour as the first one. None
/// where it has too many ports.
fn rows(topology: &Topology, hosts_per_switch: u8) -> Option<Vec<GridDimension>> {
    let sizes = (0..topology.axes().len())
        .rev()
        .map(|axis| switch_ids(topology).map(|at| topology.coordinates(at)[axis]).max().map_or(0, |last| last + 1));
    let origin = SwitchId::new(0);
    let mut first = hosts_per_switch;
    let mut stride = 1;
    let mut rows = Vec::new();
    for size in sizes {
        let neighbour = Node::Switch(SwitchId::new(stride));
        let ends = topology.out_channels(origin).iter().map(|&id| topology.channel(id).to.node);
        let lag = if size > 1 { ends.filter(|&end| end == neighbour).count() } else { 0 };
        let size = u8::try_from(size).ok()?;
        rows.push(GridDimension { size, lag: u8::try_from(lag).ok()?, first });
        let ports = u32::from(size - 1) * lag as u32;
        first = u8::try_from(u32::from(first) + ports).ok()?;
        stride *= u32::from(size);
    }
    Some(rows)
}

impl ButterflyPlan {
    /// Whether a switch has exactly the ports that follow from its coordinates.
    fn is_regular(&self, topology: &Topology, at: SwitchId) -> bool {
        let ends = |ports: Range<u8>, node: Node| {
            { ports }.all(|port| {
                let channel = topology.out_channels(at).get(Port::new(u16::from(port)).index());
                channel.is_some_and(|&channel| topology.channel(channel).to.node == node)
            })
        };
        let hosts = self.hosts_per_switch.get();
        let is_host = |port: u32| {
            let host = HostId::new(at.get() * hosts + port);
            ends(port as u8..port as u8 + 1, Node::Host(host))
        };
        let mut stride = 1;
        let mut last = hosts as usize;
        for (dimension, row) in self.rows.iter().enumerate() {
            let own = self.coordinate(at.get(), dimension);
            let first_of_row = at.get() - u32::from(own) * stride;
            let is_neighbour = |to: u8| {
                let there = SwitchId::new(first_of_row + u32::from(to) * stride);
                row.lag > 0 && ends(self.ports(at.get(), dimension, to), Node::Switch(there))
            };
            if own >= row.size || !(0..row.size).filter(|&to| to != own).all(is_neighbour) {
                return false;
            }
            stride *= u32::from(row.size);
            last += usize::from(row.size - 1) * usize::from(row.lag);
        }
        stride as usize == self.places.len() && topology.out_channels(at).len() == last && (0..hosts).all(is_host)
    }

    /// How many switches there are, fewer than 65,535.
    pub(crate) fn switches(&self) -> u32 {
        self.places.len() as u32
    }

    /// How many dimensions have more than `size` places.
    pub(crate) fn dimensions_above(&self, size: u8) -> u8 {
        self.rows.iter().filter(|row| row.size > size).count() as u8
    }

    pub(crate) fn dimension_of(&self, port: u8) -> usize {
        self.rows.partition_point(|row| row.first <= port) - 1
    }

    pub(crate) fn size(&self, dimension: usize) -> u8 {
        self.rows[dimension].size
    }

    #[inline]
    pub(crate) fn home(&self, host: u32) -> ButterflyHost {
        let switch = self.hosts_per_switch.quotient(host);
        let port = (host - switch * self.hosts_per_switch.get()) as u8;
        ButterflyHost { switch, hop: NextHop { port, channel: 0 } }
    }

    #[inline]
    pub(crate) fn coordinate(&self, switch: u32, dimension: usize) -> u8 {
        (self.places[switch as usize] >> (8 * dimension)) as u8
    }

    /// The ports of a switch to another place of its row.
    #[inline]
    pub(crate) fn ports(&self, switch: u32, dimension: usize, to: u8) -> Range<u8> {
        let row = self.rows[dimension];
        let own = self.coordinate(switch, dimension);
        let first = row.first + (to - u8::from(to > own)) * row.lag;
        first..first + row.lag
    }

    /// The port by which packets of a host port leave the minimal path along a dimension, of several places in turn;
    /// none where there is no third place, or several links lead to each.
    pub(crate) fn aside(&self, dimension: usize, host_port: u8) -> Option<u8> {
        let row = self.rows[dimension];
        (row.size > 2 && row.lag == 1).then(|| row.first + host_port % (row.size - 1))
    }

    /// The last dimension with several places.
    pub(crate) fn last_dimension(&self) -> Option<usize> {
        self.rows.iter().rposition(|row| row.size > 1)
    }

    #[inline]
    pub(crate) fn apart(&self, from: u32, to: u32) -> DifferingDimensions {
        DifferingDimensions(self.places[from as usize] ^ self.places[to as usize])
    }

    /// The ports that lead nearer to another switch; none when it is the same.
    pub(crate) fn minimal_ports(&self, from: u32, to: u32) -> impl Iterator<Item = u8> {
        self.apart(from, to).flat_map(move |dimension| self.ports(from, dimension, self.coordinate(to, dimension)))
    }

    /// The ports by dimension order to another switch; none when it is the same.
    #[inline]
    pub(crate) fn in_order(&self, from: u32, to: u32) -> Option<Range<u8>> {
        let dimension = self.apart(from, to).next()?;
        Some(self.ports(from, dimension, self.coordinate(to, dimension)))
    }
}

/// Dimensions in which two places differ: their difference, bit by bit.
#[derive(Clone, Copy)]
pub(crate) struct DifferingDimensions(Coordinates);

impl Iterator for DifferingDimensions {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let dimension = self.0.trailing_zeros() as usize / 8;
        self.0 &= u64::MAX.checked_shl(8 * (dimension as u32 + 1)).unwrap_or(0);
        (dimension < DIMENSIONS_MAX).then_some(dimension)
    }
}

impl DoubleEndedIterator for DifferingDimensions {
    #[inline]
    fn next_back(&mut self) -> Option<usize> {
        let dimension = (DIMENSIONS_MAX - 1).checked_sub(self.0.leading_zeros() as usize / 8)?;
        self.0 &= (1 << (8 * dimension)) - 1;
        Some(dimension)
    }
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Dimension, Family, FlattenedButterfly, HyperX, Mesh, Torus};

    use super::*;

    fn check(topology: Result<Topology, etherweave_primitives::InputErrors>, expected: &str) {
        let error = ButterflyPlan::of(&topology.unwrap()).unwrap_err().to_string();
        assert_eq!(error, expected);
    }

    #[test]
    fn every_member_of_both_families_has_a_plan() {
        let butterflies = FlattenedButterfly::examples().into_iter().map(|family| family.generate());
        let all = butterflies.chain(HyperX::examples().into_iter().map(|family| family.generate()));
        for topology in all {
            ButterflyPlan::of(&topology.unwrap()).unwrap();
        }
    }

    #[test]
    fn ports_of_a_dimension_follow_places_and_lags() {
        // 2 hosts; 2 neighbours by one link each, 1 by three.
        let dimensions = vec![Dimension::of(3), Dimension { lag: 3, ..Dimension::of(2) }];
        let topology = HyperX { hosts_per_switch: 2, dimensions, ..HyperX::default() }.generate().unwrap();
        let plan = ButterflyPlan::of(&topology).unwrap();
        // Switch 4 is at x 1, y 1.
        assert_eq!((plan.ports(4, 0, 0), plan.ports(4, 0, 2), plan.ports(4, 1, 0)), (2..3, 3..4, 4..7));
        assert_eq!(plan.apart(4, 2).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(plan.apart(4, 2).rev().collect::<Vec<_>>(), [1, 0]);
        // Hosts take the two other places of x in turn; y has none but the minimal one.
        assert_eq!([0, 1].map(|host| plan.aside(0, host)), [Some(2), Some(3)]);
        assert_eq!((plan.aside(1, 0), plan.last_dimension()), (None, Some(1)));
        assert_eq!((plan.in_order(4, 1), plan.in_order(4, 4)), (Some(4..7), None));
        assert_eq!((plan.home(9).switch, plan.home(9).hop.port), (4, 1));
    }

    #[test]
    fn other_grids_are_rejected() {
        let expected = "expected a flattened butterfly or HyperX";
        check(Torus::default().generate(), &format!("topology: one whose switch0.0.0 has other ports; {expected}"));
        check(Mesh::default().generate(), &format!("topology: one whose switch0.0 has other ports; {expected}"));
        let dragonfly = etherweave_topology::Dragonfly::default().generate();
        check(dragonfly, &format!("topology: a fabric without rows; {expected}"));
    }
}
