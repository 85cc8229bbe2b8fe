//! Matrix of the dependencies between hops, one bit each.

use etherweave_primitives::{Priority, SwitchId};

use crate::{ChannelHop, Legality, adjacencies::Adjacencies};

/// Dependencies between hops: row `adjacency · priorities + priority`, with one bit for each adjacency out of the
/// switch that it leads to and each priority, in the same order as rows.
pub(super) struct Matrix<'a> {
    adjacencies: &'a Adjacencies,
    by_stage: &'a [Priority],
    priorities: u32,
    bits: Vec<u64>,
    /// First word by adjacency; its rows follow one another.
    first: Vec<usize>,
    is_used: Vec<bool>,
}

impl<'a> Matrix<'a> {
    pub fn new(legality: &'a Legality) -> Matrix<'a> {
        let priorities = u32::from(crate::Routing::priorities(legality));
        let adjacencies = legality.plan.adjacencies();
        let mut first = Vec::with_capacity(adjacencies.len() + 1);
        let mut words = 0;
        for adjacency in 0..adjacencies.len() as u32 {
            first.push(words);
            words += words_at(adjacencies, priorities, adjacencies.to(adjacency)) * priorities as usize;
        }
        let is_used = vec![false; adjacencies.len() * priorities as usize];
        Matrix { adjacencies, by_stage: &legality.priorities, priorities, bits: vec![0; words], first, is_used }
    }

    /// Returns the memory for an adjacency that leads to a switch with so many others, about [B]; with what looking for
    /// a cycle takes.
    pub fn memory_bytes(next: u64, priorities: u8) -> u64 {
        let words = (next * u64::from(priorities)).div_ceil(64);
        let row = words * size_of::<u64>() as u64 + (2 * size_of::<bool>() + 2 * size_of::<u32>()) as u64;
        row * u64::from(priorities) + size_of::<usize>() as u64
    }

    /// Words of a row that leads to `at`, and of a set of hops out of it.
    pub fn words_at(&self, at: SwitchId) -> usize {
        words_at(self.adjacencies, self.priorities, at)
    }

    /// The row of a hop.
    pub fn row(&self, adjacency: u32, stage: u8) -> u32 {
        adjacency * self.priorities + u32::from(self.by_stage[stage as usize].get())
    }

    /// The bit of a row in rows that lead to its start.
    pub fn bit(&self, row: u32) -> u32 {
        row - self.adjacencies.leaving(self.adjacencies.from(row / self.priorities)).start * self.priorities
    }

    /// Notes that packets take a hop and may wait for any of a set of hops next.
    pub fn add(&mut self, row: u32, next: &[u64]) {
        self.is_used[row as usize] = true;
        let start = self.start(row);
        self.bits[start..].iter_mut().zip(next).for_each(|(bits, next)| *bits |= next);
    }

    fn start(&self, row: u32) -> usize {
        let (adjacency, priority) = (row / self.priorities, row % self.priorities);
        self.first[adjacency as usize] + priority as usize * self.words_at(self.adjacencies.to(adjacency))
    }

    pub fn rows(&self) -> usize {
        self.is_used.len()
    }

    /// The rows that a row may wait for, ascending.
    pub fn successors(&self, row: u32) -> impl Iterator<Item = u32> {
        let to = self.adjacencies.to(row / self.priorities);
        let base = self.adjacencies.leaving(to).start * self.priorities;
        let start = self.start(row);
        let words = (0..).map(|word| word * 64).zip(&self.bits[start..start + self.words_at(to)]);
        words.flat_map(move |(offset, &word)| Ones(word).map(move |bit| base + offset + bit))
    }

    pub fn used(&self) -> u64 {
        self.is_used.iter().filter(|&&used| used).count() as u64
    }

    pub fn dependencies(&self) -> u64 {
        self.bits.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The hop of a row, on the first of parallel channels.
    pub fn hop(&self, row: u32) -> ChannelHop {
        let priority = Priority::new((row % self.priorities) as u8);
        let stage = self.by_stage.iter().position(|&other| other == priority).unwrap_or_default() as u8;
        ChannelHop { channel: self.adjacencies.channels(row / self.priorities)[0], priority, stage }
    }
}

fn words_at(adjacencies: &Adjacencies, priorities: u32, at: SwitchId) -> usize {
    (adjacencies.leaving(at).len() * priorities as usize).div_ceil(64)
}

/// The places of the ones in a word, lowest first.
struct Ones(u64);

impl Iterator for Ones {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let place = (self.0 != 0).then(|| self.0.trailing_zeros())?;
        self.0 &= self.0 - 1;
        Some(place)
    }
}
