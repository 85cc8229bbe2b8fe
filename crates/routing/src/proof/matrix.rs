//! Which hop may wait for which, a bit each.

use etherweave_primitives::{Priority, SwitchId};

use crate::joints::Joints;
use crate::{Hop, Legality};

/// Dependencies between hops: row `joint · priorities + priority`, with one bit for each joint out of the switch that
/// it leads to and each priority, in the same order as rows.
pub(super) struct Matrix<'a> {
    joints: &'a Joints,
    by_stage: &'a [Priority],
    priorities: u32,
    bits: Vec<u64>,
    /// First word by joint; its rows follow one another.
    first: Vec<usize>,
    is_used: Vec<bool>,
}

impl<'a> Matrix<'a> {
    pub fn new(legality: &'a Legality) -> Matrix<'a> {
        let priorities = u32::from(crate::Routing::priorities(legality));
        let joints = legality.plan.joints();
        let mut first = Vec::with_capacity(joints.len() + 1);
        let mut words = 0;
        for joint in 0..joints.len() as u32 {
            first.push(words);
            words += words_at(joints, priorities, joints.to(joint)) * priorities as usize;
        }
        let is_used = vec![false; joints.len() * priorities as usize];
        Matrix { joints, by_stage: &legality.priorities, priorities, bits: vec![0; words], first, is_used }
    }

    /// Words of a row that leads to `at`, and of a set of hops out of it.
    pub fn words_at(&self, at: SwitchId) -> usize {
        words_at(self.joints, self.priorities, at)
    }

    /// The row of a hop.
    pub fn row(&self, joint: u32, stage: u8) -> u32 {
        joint * self.priorities + u32::from(self.by_stage[stage as usize].get())
    }

    /// The bit of a row in rows that lead to its start.
    pub fn bit(&self, row: u32) -> u32 {
        row - self.joints.leaving(self.joints.from(row / self.priorities)).start * self.priorities
    }

    /// Notes that packets take a hop and may wait for any of a set of hops next.
    pub fn add(&mut self, row: u32, next: &[u64]) {
        self.is_used[row as usize] = true;
        let start = self.start(row);
        self.bits[start..].iter_mut().zip(next).for_each(|(bits, next)| *bits |= next);
    }

    fn start(&self, row: u32) -> usize {
        let (joint, priority) = (row / self.priorities, row % self.priorities);
        self.first[joint as usize] + priority as usize * self.words_at(self.joints.to(joint))
    }

    pub fn rows(&self) -> usize {
        self.is_used.len()
    }

    /// The rows that a row may wait for, ascending.
    pub fn successors(&self, row: u32) -> impl Iterator<Item = u32> {
        let to = self.joints.to(row / self.priorities);
        let base = self.joints.leaving(to).start * self.priorities;
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
    pub fn hop(&self, row: u32) -> Hop {
        let priority = Priority::new((row % self.priorities) as u8);
        let stage = self.by_stage.iter().position(|&other| other == priority).unwrap_or_default() as u8;
        Hop { channel: self.joints.channels(row / self.priorities)[0], priority, stage }
    }
}

fn words_at(joints: &Joints, priorities: u32, at: SwitchId) -> usize {
    (joints.leaving(at).len() * priorities as usize).div_ceil(64)
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
