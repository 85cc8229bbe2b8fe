//! BT-MZ, LU-MZ and SP-MZ: zones in rows and columns, closed to a ring along both axes. In an iteration zones hand each
//! other the faces that they share, then each is solved by its rank.
//!
//! Source: `zone_setup.f`, `mpi_setup.f` (`map_zones`), `exch_qbc.f` and `sys/setparams.c` of NPB 3.4-MZ.

use std::collections::BTreeMap;

use super::{Npb, NpbBenchmark, receive, send};
use crate::{Op, exact::power};

const VARIABLES: u64 = 5;
/// Zones are alike that differ by less than this part of their points.
const ALIKE: f64 = 0.05;

pub(super) struct Zones {
    ranks: u32,
    /// Points along each axis, of each column and row of zones.
    columns: Vec<u32>,
    rows: Vec<u32>,
    depth: u32,
    /// Rank of each zone, row after row.
    owners: Vec<usize>,
}

/// Zones along an axis.
pub(super) fn side(npb: &Npb) -> usize {
    if npb.benchmark == NpbBenchmark::LuMz { 4 } else { [2, 4, 4, 8, 16, 32, 64][(npb.class as usize).min(6)] }
}

/// Points of each of so many zones, of which the last has `ratio` times as many as the first.
fn cut(points: u32, zones: usize, ratio: f64) -> Vec<u32> {
    let growth = power(ratio, 1.0 / (zones - 1) as f64);
    let mut powers = vec![1.0];
    (0..zones).for_each(|zone| powers.push(powers[zone] * growth));
    let end = |zone: usize| match ratio == 1.0 {
        true => (zone * points as usize / zones) as u32,
        false => (f64::from(points) * (powers[zone] - 1.0) / (powers[zones] - 1.0) + 0.45) as u32,
    };
    (0..zones).map(|zone| end(zone + 1) - end(zone)).collect()
}

impl Zones {
    pub fn new(npb: &Npb) -> Zones {
        let sizes = [
            [24, 24, 6],
            [64, 64, 8],
            [128, 128, 16],
            [304, 208, 17],
            [480, 320, 28],
            [1_632, 1_216, 34],
            [4_224, 3_456, 92],
        ];
        let [width, height, depth] = sizes[(npb.class as usize).min(6)];
        let ratio = match (npb.benchmark, npb.class) {
            (NpbBenchmark::BtMz, super::NpbClass::S) => 3.0,
            (NpbBenchmark::BtMz, _) => 4.5,
            (_, _) => 1.0,
        };
        let (columns, rows) = (cut(width, side(npb), ratio), cut(height, side(npb), ratio));
        let mut zones = Zones { ranks: npb.ranks, columns, rows, depth, owners: Vec::new() };
        zones.owners = match zones.blocks() {
            Some(owners) if ratio == 1.0 => owners,
            _ => zones.packed(),
        };
        zones
    }

    fn side(&self) -> usize {
        self.columns.len()
    }

    /// Points of a zone along each axis.
    fn points(&self, zone: usize) -> [u32; 3] {
        [self.columns[zone % self.side()], self.rows[zone / self.side()], self.depth]
    }

    fn volume(&self, zone: usize) -> f64 {
        self.points(zone).map(f64::from).iter().product()
    }

    /// Neighbours in the west, east, south and north, with the points along the face.
    fn neighbours(&self, zone: usize) -> [(usize, u32); 4] {
        let (side, [width, height, _]) = (self.side(), self.points(zone));
        let (x, y) = (zone % side, zone / side);
        let (down, up) = (|at: usize| (at + side - 1) % side, |at: usize| (at + 1) % side);
        [
            (down(x) + y * side, height),
            (up(x) + y * side, height),
            (x + down(y) * side, width),
            (x + up(y) * side, width),
        ]
    }

    /// Rectangles of zones that are alike, where ranks divide rows and columns.
    fn blocks(&self) -> Option<Vec<usize>> {
        let (side, ranks) = (self.side(), self.ranks as usize);
        // The last of the grids that are as near to a square.
        let fits =
            |wide: usize| ranks.is_multiple_of(wide) && side.is_multiple_of(wide) && side.is_multiple_of(ranks / wide);
        let wide = (1..=ranks).take_while(|&wide| wide <= ranks / wide).filter(|&wide| fits(wide)).last()?;
        let (width, height) = (side / wide, side / (ranks / wide));
        Some((0..side * side).map(|zone| zone % side / width + zone / side / height * wide).collect())
    }

    /// The largest zones first, each to the rank with the fewest points; of alike ones that with the longest faces to
    /// zones of the rank.
    fn packed(&self) -> Vec<usize> {
        let count = self.side().pow(2);
        let mut order: Vec<usize> = (0..count).collect();
        for place in 0..count {
            let largest = (place..count).rev().max_by(|&a, &b| self.volume(order[a]).total_cmp(&self.volume(order[b])));
            order.swap(place, largest.unwrap_or(place));
        }
        let (mut owners, mut loads) = (vec![usize::MAX; count], vec![0.0_f64; self.ranks as usize]);
        for place in 0..count {
            while owners[order[place]] == usize::MAX {
                let rank = (0..loads.len()).min_by(|&a, &b| loads[a].total_cmp(&loads[b])).unwrap_or(0);
                let largest = self.volume(order[place]);
                let shared = |zone: usize| -> u32 {
                    let own = self.neighbours(zone).into_iter().filter(|&(other, _)| owners[other] == rank);
                    own.map(|(_, points)| points).sum()
                };
                let alike = order[place..].iter().copied();
                let alike = alike.take_while(|&zone| (largest - self.volume(zone)) / largest <= ALIKE);
                let free: Vec<usize> = alike.filter(|&zone| owners[zone] == usize::MAX).collect();
                let zone = free.into_iter().rev().max_by_key(|&zone| shared(zone)).unwrap_or(order[place]);
                owners[zone] = rank;
                loads[rank] += self.volume(zone);
            }
        }
        owners
    }

    fn own(&self, rank: u32) -> impl Iterator<Item = usize> {
        (0..self.owners.len()).filter(move |&zone| self.owners[zone] == rank as usize)
    }

    fn operations_of(&self, npb: &Npb, zones: impl Iterator<Item = usize>) -> f64 {
        zones.map(|zone| npb.solve(self.points(zone).map(f64::from))).sum()
    }

    /// Operations of all zones.
    pub fn operations(&self, npb: &Npb) -> f64 {
        self.operations_of(npb, 0..self.owners.len())
    }

    /// Faces to all ranks with neighbours, one rank after another, and the solution.
    pub fn iteration(&self, npb: &Npb, rank: u32) -> Vec<Op> {
        let mut faces: BTreeMap<u32, u64> = BTreeMap::new();
        for (zone, (other, points)) in self.own(rank).flat_map(|zone| self.neighbours(zone).map(|face| (zone, face))) {
            let (peer, [_, _, depth]) = (self.owners[other] as u32, self.points(zone));
            if peer != rank {
                *faces.entry(peer).or_default() += VARIABLES * u64::from(points - 2) * u64::from(depth - 2);
            }
        }
        let mut ops = Vec::new();
        for peer in (1..self.ranks.next_power_of_two()).map(|bits| rank ^ bits) {
            let Some(&doubles) = faces.get(&peer) else { continue };
            let exchange = [send(peer, 1, doubles), receive(peer, 1, doubles)];
            // Of two ranks that are both odd or both even the lower one sends first, of others the even one.
            let is_even = rank.is_multiple_of(2);
            let is_first = is_even != (is_even == peer.is_multiple_of(2) && rank > peer);
            ops.extend(if is_first { exchange } else { [exchange[1], exchange[0]] });
            ops.push(Op::WaitAll);
        }
        ops.extend(npb.time_of(self.operations_of(npb, self.own(rank))));
        ops
    }
}
