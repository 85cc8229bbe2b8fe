//! DT: arrays that pass a graph from its sources to its sinks; each rank is a node. A node takes an array from each
//! that sends to it, one after another, combines them, and sends the result to each that it sends to. Sinks report to
//! rank 0.
//!
//! Source: `DT/dt.c` of NPB 3.3 (`buildBH`, `buildSH`, `buildWH`, `GetFeatureNum`, `SendResults`), `sys/setparams.c`.

use etherweave_primitives::Rank;

use super::{DOUBLE, Npb, NpbBenchmark};
use crate::Op;

/// Most nodes that a node of a tree receives from.
const DEGREE_MAX: u32 = 4;
/// Doubles of a feature.
const FIELDS: u64 = 4;

/// Nodes and arcs, from tail to head, in the order of the source.
pub(super) struct Graph {
    pub nodes: u32,
    arcs: Vec<(u32, u32)>,
    /// Features of a source in the mean, and their spread.
    samples: u64,
    deviation: i32,
    /// Features of the array of each node.
    lengths: Vec<u64>,
}

impl Graph {
    pub fn new(npb: &Npb) -> Graph {
        let class = npb.class as usize;
        let samples = 1_728 * [1, 8, 64, 512, 4_096, 32_768][class.min(5)];
        let (arcs, lengths) = (Vec::new(), Vec::new());
        let mut graph = Graph { nodes: 4 << class, arcs, samples, deviation: 128 << class, lengths };
        match npb.benchmark {
            NpbBenchmark::DtSh => graph.add_butterfly(),
            _ => graph.add_tree(),
        }
        if npb.benchmark == NpbBenchmark::DtWh {
            let last = graph.nodes - 1;
            graph.arcs.iter_mut().for_each(|(tail, head)| (*tail, *head) = (last - *head, last - *tail));
        }
        graph.measure();
        graph
    }

    /// Layers that are as wide as the sources, in each of which nodes receive of pairs at a distance that doubles.
    fn add_butterfly(&mut self) {
        let width = self.nodes;
        for layer in 0..width.trailing_zeros() {
            let (first, distance) = (layer * width, 1 << layer);
            for node in 0..width {
                let lower = first + (node & !distance);
                self.arcs.extend([lower, lower + distance].map(|tail| (tail, first + width + node)));
            }
        }
        self.nodes = width * (1 + width.trailing_zeros());
    }

    /// Layers of nodes that receive from four each, down to a sink.
    fn add_tree(&mut self) {
        let (mut first, mut width) = (0, self.nodes);
        while width > 1 {
            let next = if width > DEGREE_MAX { width.div_ceil(DEGREE_MAX) } else { 1 };
            self.arcs.extend((0..width).map(|node| (first + node, first + width + node / DEGREE_MAX)));
            (first, width) = (first + width, next);
        }
        self.nodes = first + 1;
    }

    fn tags(&self, is_of: impl Fn(&(u32, u32)) -> bool) -> Vec<u32> {
        (0..).zip(&self.arcs).filter(|(_, arc)| is_of(arc)).map(|(tag, _)| tag).collect()
    }

    /// Finds the lengths: of a source a number of its own, of others the longest that it combines.
    fn measure(&mut self) {
        for node in 0..self.nodes {
            let tails = self.arcs.iter().filter(|arc| arc.1 == node).map(|arc| self.lengths[arc.0 as usize]);
            let longest = tails.max().map(|longest| longest.max(self.samples));
            let own = || self.samples - self.deviation as u64 + self.spread(node);
            self.lengths.push(longest.unwrap_or_else(own));
        }
    }

    /// A number of a source below twice the spread: a power of its first random number, in 32 bits that wrap around.
    fn spread(&self, source: u32) -> u64 {
        let (mut exponent, modulus) = (2 * source + 1, 2 * self.deviation);
        let inverse = (1_u64 << 46) / (u64::from(exponent) * 314_159_265);
        let (mut power, mut rest) = ((inverse as i32).wrapping_mul(i32::from(b'S')), 1_i32);
        while exponent > 1 {
            if exponent.is_multiple_of(2) {
                (power, exponent) = (power.wrapping_mul(power) % modulus, exponent / 2);
            } else {
                (rest, exponent) = (rest.wrapping_mul(power) % modulus, exponent - 1);
            }
        }
        (rest.wrapping_mul(power) % modulus).unsigned_abs().into()
    }

    /// Numbers of an array, as the benchmark counts them for each arc.
    fn features(&self) -> f64 {
        (self.samples * FIELDS) as f64
    }

    /// Numbers of the arrays of all arcs.
    pub fn operations(&self) -> f64 {
        self.features() * self.arcs.len() as f64
    }

    /// Operations of a rank: none behind the last node.
    pub fn iteration(&self, npb: &Npb, rank: u32) -> Vec<Op> {
        let length = |node: u32| DOUBLE * FIELDS * self.lengths[node as usize];
        let send = |peer, tag, bytes| [Op::Isend { peer: Rank::new(peer), tag, bytes }, Op::WaitAll];
        let receive = |peer, tag, bytes| [Op::Irecv { peer: Rank::new(peer), tag, bytes }, Op::WaitAll];
        let (into, out) = (self.tags(|arc| arc.1 == rank), self.tags(|arc| arc.0 == rank));
        let mut ops = Vec::new();
        for &tag in &into {
            let (tail, _) = self.arcs[tag as usize];
            // The length goes before the array.
            [4, length(tail)].iter().for_each(|&bytes| ops.extend(receive(tail, tag, bytes)));
        }
        ops.extend(npb.time_of(self.features() * into.len() as f64));
        for &tag in &out {
            let (_, head) = self.arcs[tag as usize];
            [4, length(rank)].iter().for_each(|&bytes| ops.extend(send(head, tag, bytes)));
        }
        let report = |sink: u32| self.arcs.len() as u32 + sink;
        if out.is_empty() && rank < self.nodes {
            ops.extend(send(0, report(rank), DOUBLE));
        }
        if rank == 0 {
            let sinks = (0..self.nodes).filter(|&node| self.arcs.iter().all(|arc| arc.0 != node));
            sinks.for_each(|sink| ops.extend(receive(sink, report(sink), DOUBLE)));
        }
        ops
    }
}
