//! Every state that packets can be in, from their hosts on.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use etherweave_primitives::{SwitchId, mix};

use super::matrix::Matrix;
use crate::Legality;
use crate::plan::{Aim, FRESH, Plan, Step};

/// Packets that are alike: where they are, how they came, where they go.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    at: SwitchId,
    phase: u32,
    aim: Aim,
}

/// States in the order of their discovery, each with the hops out of it.
pub(super) struct States<'a> {
    legality: &'a Legality,
    access: Vec<SwitchId>,
    list: Vec<State>,
    numbers: HashMap<State, u32, BuildHasherDefault<Mixed>>,
    /// Hops out of state `i` as a set in the form of the matrix, from `starts[i]` on.
    out: Vec<u64>,
    starts: Vec<usize>,
}

impl<'a> States<'a> {
    pub fn new(legality: &'a Legality) -> States<'a> {
        let (list, numbers, out, starts) = Default::default();
        States { legality, access: legality.access(), list, numbers, out, starts }
    }

    /// Follows all packets and notes their dependencies; gives the number of states.
    pub fn fill(mut self, matrix: &mut Matrix) -> u64 {
        if let Some(everything) = self.legality.plan.everything() {
            return self.follow(everything, matrix);
        }
        let destinations = self.access.clone();
        destinations.into_iter().map(|dst| self.follow(Aim::Switch(dst), matrix)).sum()
    }

    /// Packets with one aim, from all hosts.
    fn follow(&mut self, aim: Aim, matrix: &mut Matrix) -> u64 {
        self.list.clear();
        self.numbers.clear();
        self.out.clear();
        self.starts.clear();
        for index in 0..self.access.len() {
            let at = self.access[index];
            self.number(State { at, phase: FRESH, aim });
        }
        self.discover(matrix);
        self.connect(matrix);
        self.list.len() as u64
    }

    /// Lists all states, and the hops out of each.
    fn discover(&mut self, matrix: &Matrix) {
        let mut steps = Vec::new();
        let mut index = 0;
        while index < self.list.len() {
            let state = self.list[index];
            self.steps(state, &mut steps);
            let start = self.out.len();
            self.starts.push(start);
            self.out.resize(start + matrix.words_at(state.at), 0);
            for step in &steps {
                let bit = matrix.bit(matrix.row(step.joint, step.stage)) as usize;
                self.out[start + bit / 64] |= 1 << (bit % 64);
                self.number(self.after(step));
            }
            index += 1;
        }
    }

    /// Whoever takes a hop into a state may wait for every hop out of it. A second pass, since the hops out of a state
    /// are known only after some of those into it.
    fn connect(&self, matrix: &mut Matrix) {
        let mut steps = Vec::new();
        for &state in &self.list {
            self.steps(state, &mut steps);
            for step in &steps {
                let after = self.after(step);
                let start = self.starts[self.numbers[&after] as usize];
                let words = matrix.words_at(after.at);
                matrix.add(matrix.row(step.joint, step.stage), &self.out[start..start + words]);
            }
        }
    }

    fn steps(&self, state: State, steps: &mut Vec<Step>) {
        steps.clear();
        // Packets that are at their destination leave the fabric.
        if state.aim != Aim::Switch(state.at) {
            self.legality.plan.steps(state.at, state.phase, state.aim, steps);
        }
    }

    fn after(&self, step: &Step) -> State {
        let plan: &dyn Plan = &*self.legality.plan;
        let phase = plan.phase(step.joint, step.stage);
        State { at: plan.joints().to(step.joint), phase, aim: step.aim }
    }

    fn number(&mut self, state: State) {
        let next = self.list.len() as u32;
        if *self.numbers.entry(state).or_insert(next) == next {
            self.list.push(state);
        }
    }
}

/// A hash for keys of a few small numbers, which the standard one would spend most of the time on.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        mix(self.0)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        // Fractional digits of the golden ratio: an odd number without pattern.
        self.0 = (self.0.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
}
