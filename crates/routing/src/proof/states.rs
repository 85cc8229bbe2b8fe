//! Every state that packets can be in, from their hosts on.

use etherweave_primitives::SwitchId;

use super::matrix::Matrix;
use crate::Legality;
use crate::plan::{DestinationSet, FRESH, RoutingPlan, RoutingStep};

/// Packets that are alike: where they are, how they arrived, where they go.
#[derive(Clone, Copy)]
struct PacketState {
    at: SwitchId,
    phase: u32,
    destinations: DestinationSet,
}

/// States in the order of their discovery, each with the hops out of it.
pub(super) struct PacketStates<'a> {
    legality: &'a Legality,
    access: Vec<SwitchId>,
    list: Vec<PacketState>,
    /// Places in the list by switch, ascending by phase and destinations. Neighbours' states are looked up repeatedly:
    /// they stay in the cache, where one table of all states would not.
    numbers: Vec<Vec<(u32, DestinationSet, u32)>>,
    /// Hops out of state `i` as a set in the form of the matrix, from `starts[i]` on.
    out: Vec<u64>,
    starts: Vec<usize>,
    /// Stage and destinations that led into the hop of each row last, when states were listed and when they were
    /// connected. Most states of a switch lead to the same few beyond it; what was added last is not looked up again.
    numbered: Vec<Option<HopUse>>,
    connected: Vec<Option<HopUse>>,
}

/// Stage and destinations with which packets took a hop; with the hop, they determine the state that packets are in
/// then.
type HopUse = (u8, DestinationSet);

impl<'a> PacketStates<'a> {
    /// Returns the memory for an adjacency that leads to a switch with so many others, about [B]: one state.
    pub fn memory_bytes(next: u64, priorities: u8) -> u64 {
        let words = (next * u64::from(priorities)).div_ceil(64) * size_of::<u64>() as u64;
        let state = size_of::<PacketState>() + size_of::<(u32, DestinationSet, u32)>() + size_of::<usize>();
        words + state as u64 + u64::from(priorities) * 2 * size_of::<Option<HopUse>>() as u64
    }

    pub fn new(legality: &'a Legality, matrix: &Matrix) -> PacketStates<'a> {
        let (list, out, starts) = Default::default();
        let numbers = vec![Vec::new(); legality.plan.adjacencies().switches()];
        let [numbered, connected] = [(); 2].map(|()| vec![None; matrix.rows()]);
        PacketStates { legality, access: legality.access(), list, numbers, out, starts, numbered, connected }
    }

    /// Follows all packets and notes their dependencies; gives the number of states.
    pub fn fill(mut self, matrix: &mut Matrix) -> u64 {
        if let Some(everything) = self.legality.plan.everything() {
            return self.follow(everything, matrix);
        }
        let destinations = self.access.clone();
        destinations.into_iter().map(|dst| self.follow(DestinationSet::Switch(dst), matrix)).sum()
    }

    fn follow(&mut self, destinations: DestinationSet, matrix: &mut Matrix) -> u64 {
        self.list.clear();
        self.numbers.iter_mut().for_each(Vec::clear);
        self.out.clear();
        self.starts.clear();
        for index in 0..self.access.len() {
            let at = self.access[index];
            if destinations != DestinationSet::Switch(at) {
                self.number(PacketState { at, phase: FRESH, destinations });
            }
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
                let row = matrix.row(step.adjacency, step.stage);
                let bit = matrix.bit(row) as usize;
                self.out[start + bit / 64] |= 1 << (bit % 64);
                if is_new(&mut self.numbered, row, step)
                    && let Some(after) = self.after(step)
                {
                    self.number(after);
                }
            }
            index += 1;
        }
    }

    /// A packet that takes a hop into a state may wait for every hop out of it. A second pass, since the hops out of a
    /// state are known only after some of those into it.
    fn connect(&mut self, matrix: &mut Matrix) {
        let mut steps = Vec::new();
        for index in 0..self.list.len() {
            self.steps(self.list[index], &mut steps);
            for step in &steps {
                let row = matrix.row(step.adjacency, step.stage);
                if is_new(&mut self.connected, row, step) {
                    matrix.add(row, self.after(step).map_or(&[], |after| self.out_of(after)));
                }
            }
        }
    }

    /// The hops out of a known state.
    fn out_of(&self, state: PacketState) -> &[u64] {
        let known = &self.numbers[state.at.index()];
        let place = self.place(state).expect("all states are known");
        let number = known[place].2 as usize;
        let end = self.starts.get(number + 1).copied().unwrap_or(self.out.len());
        &self.out[self.starts[number]..end]
    }

    /// Where a state is among those of its switch, or would be.
    fn place(&self, state: PacketState) -> Result<usize, usize> {
        self.numbers[state.at.index()]
            .binary_search_by_key(&(state.phase, state.destinations), |&(phase, destinations, _)| (phase, destinations))
    }

    fn steps(&self, state: PacketState, steps: &mut Vec<RoutingStep>) {
        steps.clear();
        self.legality.plan.steps(state.at, state.phase, state.destinations, steps);
    }

    /// The state that a step leads to; none at the destination, where packets leave the fabric.
    fn after(&self, step: &RoutingStep) -> Option<PacketState> {
        let plan: &dyn RoutingPlan = &*self.legality.plan;
        let at = plan.adjacencies().to(step.adjacency);
        let state =
            || PacketState { at, phase: plan.phase(step.adjacency, step.stage), destinations: step.destinations };
        (step.destinations != DestinationSet::Switch(at)).then(state)
    }

    fn number(&mut self, state: PacketState) {
        if let Err(place) = self.place(state) {
            let next = self.list.len() as u32;
            self.numbers[state.at.index()].insert(place, (state.phase, state.destinations, next));
            self.list.push(state);
        }
    }
}

/// Whether a hop is taken with another stage or set of destinations than last time; notes the new one. Sets of one
/// switch never recur, so that what is left of another destination is never mistaken for this one.
fn is_new(last: &mut [Option<HopUse>], row: u32, step: &RoutingStep) -> bool {
    let entry = Some((step.stage, step.destinations));
    std::mem::replace(&mut last[row as usize], entry) != entry
}
