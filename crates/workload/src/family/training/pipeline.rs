//! Order in which a stage of a pipeline computes its micro-batches: one forward, one backward (1F1B), with several
//! parts of the model in each stage (interleaved) or one.
//!
//! Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", SC 2021, section 2.2.

use etherweave_primitives::Duration;

use crate::GraphOp;

/// Fewest rounds that show a steady state: one that fills the pipeline, and two to compare.
const ROUNDS_MIN: u32 = 3;

/// A micro-batch on its way through a part of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pass {
    pub is_forward: bool,
    /// Number of the part of the model among the stage's.
    pub part: u32,
    pub micro_batch: u32,
}

/// A pipeline of stages that have so many parts of the model each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pipeline {
    pub stages: u32,
    pub parts: u32,
    /// Micro-batches, with several parts a multiple of `stages`.
    pub micro_batches: u32,
}

/// Repetition of a span, for micro-batches that are not simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Repetition {
    /// Passes backward of a round, and rounds until the end of the span. The first round fills the pipeline.
    round: u32,
    rounds: u32,
    /// Rounds that are left out, and those of the span.
    times: u32,
    per: u32,
}

impl Repetition {
    /// The operation of a stage before the pass backward of this number.
    pub fn before(&self, number: u32) -> Option<GraphOp> {
        let Repetition { round, rounds, times, per } = *self;
        let ends_round = number > 0 && number.is_multiple_of(round);
        match number / round {
            behind if behind == rounds => ends_round.then_some(GraphOp::Repeat { times, per }),
            behind => (ends_round && behind < rounds).then_some(GraphOp::Repeat { times: 0, per: 1 }),
        }
    }
}

impl Pipeline {
    /// Passes of a stage, in order.
    pub fn passes(&self, stage: u32) -> Vec<Pass> {
        let all = self.parts * self.micro_batches;
        let ahead = self.ahead(stage).min(all);
        let forward = |number: u32| self.pass(true, number);
        let backward = |number: u32| self.pass(false, number);
        let steady = (ahead..all).flat_map(|number| [forward(number), backward(number - ahead)]);
        (0..ahead).map(forward).chain(steady).chain((all - ahead..all).map(backward)).collect()
    }

    /// Passes forward of a stage before its first backward, if there are as many.
    fn ahead(&self, stage: u32) -> u32 {
        let behind = self.stages - 1 - stage;
        match self.parts {
            1 => behind,
            parts => 2 * behind + (parts - 1) * self.stages,
        }
    }

    /// The span that a pipeline of fewer micro-batches repeats for those of `all` that it leaves out: of the steady
    /// state of every stage, which ends when the first has no pass forward left. The time for which every stage
    /// is asked to wait begins at the same pass backward, so that no pass before it takes in what one behind it yields.
    /// The first round fills the pipeline and is no part of the span. Two more differ by what is not steady.
    ///
    /// # Errors
    /// Gives the fewest micro-batches that have three rounds.
    pub fn repetition(&self, all: u32) -> Result<Repetition, u32> {
        // Passes, and who waits for whom, come in rounds of as many micro-batches as there are stages.
        let (ahead, round) = (self.ahead(0), self.stages * self.parts);
        let rounds = (self.parts * self.micro_batches).saturating_sub(ahead + 1) / round;
        if rounds < ROUNDS_MIN {
            return Err((ahead + 1 + ROUNDS_MIN * round).div_ceil(round) * self.stages);
        }
        Ok(Repetition { round, rounds, times: (all - self.micro_batches) / self.stages, per: rounds.div_ceil(2) })
    }

    /// The pass of this number among those of its direction: as many micro-batches as there are stages take one part,
    /// then the next.
    fn pass(&self, is_forward: bool, number: u32) -> Pass {
        if self.parts == 1 {
            return Pass { is_forward, part: 0, micro_batch: number };
        }
        let round = self.stages * self.parts;
        let part = number % round / self.stages;
        let part = if is_forward { part } else { self.parts - 1 - part };
        Pass { is_forward, part, micro_batch: number / round * self.stages + number % self.stages }
    }

    /// When the last pass ends, where each takes its time and begins as soon as that before it in its stage and that of
    /// its micro-batch in the stage before are complete.
    pub fn elapsed(&self, time: impl Fn(u32, Pass) -> Duration) -> Duration {
        let orders: Vec<Vec<Pass>> = (0..self.stages).map(|stage| self.passes(stage)).collect();
        let mut ends = PassEnds::new(self);
        let mut done = vec![(0, Duration::ZERO); orders.len()];
        while done.iter().zip(&orders).any(|((number, _), order)| *number < order.len()) {
            for (stage, (number, last)) in (0..).zip(&mut done) {
                while let Some(&pass) = orders[stage as usize].get(*number) {
                    let Some(ready) = ends.ready(self, stage, pass) else { break };
                    *last = ready.max(*last) + time(stage, pass);
                    ends.insert(stage, pass, *last);
                    *number += 1;
                }
            }
        }
        done.into_iter().map(|(_, end)| end).max().unwrap_or(Duration::ZERO)
    }

    /// The stage and part before a part of a stage, in the order of layers.
    pub fn before(&self, stage: u32, part: u32) -> Option<(u32, u32)> {
        match (stage, part) {
            (0, 0) => None,
            (0, part) => Some((self.stages - 1, part - 1)),
            (stage, part) => Some((stage - 1, part)),
        }
    }

    /// The stage and part behind a part of a stage.
    pub fn behind(&self, stage: u32, part: u32) -> Option<(u32, u32)> {
        let is_last = stage + 1 == self.stages;
        match part + 1 == self.parts {
            true if is_last => None,
            _ if is_last => Some((0, part + 1)),
            _ => Some((stage + 1, part)),
        }
    }
}

struct PassEnds {
    parts: u32,
    micro_batches: u32,
    /// Backward and forward, by stage, part and micro-batch.
    ends: [Vec<Option<Duration>>; 2],
}

impl PassEnds {
    fn new(pipeline: &Pipeline) -> PassEnds {
        let Pipeline { stages, parts, micro_batches } = *pipeline;
        let none = vec![None; (stages * parts) as usize * micro_batches as usize];
        PassEnds { parts, micro_batches, ends: [none.clone(), none] }
    }

    fn place(&self, stage: u32, pass: Pass) -> usize {
        (stage * self.parts + pass.part) as usize * self.micro_batches as usize + pass.micro_batch as usize
    }

    fn insert(&mut self, stage: u32, pass: Pass, end: Duration) {
        let place = self.place(stage, pass);
        self.ends[usize::from(pass.is_forward)][place] = Some(end);
    }

    /// When what a pass takes in is there.
    fn ready(&self, pipeline: &Pipeline, stage: u32, pass: Pass) -> Option<Duration> {
        let from = if pass.is_forward { pipeline.before(stage, pass.part) } else { pipeline.behind(stage, pass.part) };
        let Some((stage, part)) = from else { return Some(Duration::ZERO) };
        self.ends[usize::from(pass.is_forward)][self.place(stage, Pass { part, ..pass })]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elapsed(pipeline: Pipeline, forward: impl Fn(u32) -> u64) -> Duration {
        pipeline.elapsed(|stage, pass| Duration::from_us(forward(stage) * if pass.is_forward { 1 } else { 2 }))
    }

    /// Time of s stages, where each pass of m micro-batches takes F forward and B backward: (m + s - 1) (F + B), with v
    /// parts (m v + s - 1) (F + B) (Narayanan et al., section 2.2).
    #[test]
    fn equal_stages_wait_for_the_bubble_of_the_formula() {
        for (stages, parts, micro_batches) in [(1, 1, 3), (4, 1, 9), (4, 1, 4), (4, 3, 8), (2, 2, 4)] {
            let pipeline = Pipeline { stages, parts, micro_batches };
            let expected = u64::from(micro_batches * parts + stages - 1) * 3;
            assert_eq!(elapsed(pipeline, |_| 1), Duration::from_us(expected), "{pipeline:?}");
        }
    }

    /// Each micro-batch takes 3 us in three stages and 6 us in the last: 8 · 6 + 3 · 3.
    #[test]
    fn the_slowest_stage_limits_all_of_them() {
        let pipeline = Pipeline { stages: 4, parts: 1, micro_batches: 8 };
        assert_eq!(elapsed(pipeline, |stage| 1 + u64::from(stage == 3)), Duration::from_us(57));
    }

    fn text(pipeline: Pipeline, stage: u32) -> String {
        let pass_text = |pass: Pass| {
            let letter = if pass.is_forward { 'F' } else { 'B' };
            format!("{letter}{}{}", pass.micro_batch, ["", "'"][pass.part as usize])
        };
        pipeline.passes(stage).into_iter().map(pass_text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn one_forward_one_backward_after_as_many_as_stages_follow() {
        let pipeline = Pipeline { stages: 3, parts: 1, micro_batches: 4 };
        assert_eq!(text(pipeline, 0), "F0 F1 F2 B0 F3 B1 B2 B3");
        assert_eq!(text(pipeline, 1), "F0 F1 B0 F2 B1 F3 B2 B3");
        assert_eq!(text(pipeline, 2), "F0 B0 F1 B1 F2 B2 F3 B3");
    }

    /// Two stages of two parts each, four micro-batches, worked out by hand.
    #[test]
    fn interleaved_parts_take_turns() {
        let pipeline = Pipeline { stages: 2, parts: 2, micro_batches: 4 };
        assert_eq!(text(pipeline, 0), "F0 F1 F0' F1' F2 B0' F3 B1' F2' B0 F3' B1 B2' B3' B2 B3");
        assert_eq!(text(pipeline, 1), "F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3");
        let places = [(0, 0), (1, 0), (0, 1), (1, 1)];
        assert!(places.windows(2).all(|pair| pipeline.behind(pair[0].0, pair[0].1) == Some(pair[1])));
        assert!(places.windows(2).all(|pair| pipeline.before(pair[1].0, pair[1].1) == Some(pair[0])));
        assert_eq!((pipeline.before(0, 0), pipeline.behind(1, 1)), (None, None));
    }

    /// Stage 0 of 4 has 3 passes ahead: of 16, the span ends before the 13th backward at the latest, after three rounds
    /// of four. With 2 parts a round has 8 passes and 10 are ahead: 20 micro-batches have three rounds before the last
    /// pass forward.
    #[test]
    fn repetitions_lie_in_the_steady_state_of_all_stages() {
        let pipeline = |parts, micro_batches| Pipeline { stages: 4, parts, micro_batches };
        assert_eq!(pipeline(1, 16).repetition(100), Ok(Repetition { round: 4, rounds: 3, times: 21, per: 2 }));
        assert_eq!(pipeline(2, 20).repetition(100), Ok(Repetition { round: 8, rounds: 3, times: 20, per: 2 }));
        assert_eq!([pipeline(1, 12), pipeline(2, 16)].map(|few| few.repetition(100)), [Err(16), Err(20)]);
        let Ok(repetition) = pipeline(2, 20).repetition(100) else { unreachable!("it has one") };
        let (mark, end) = (Some(GraphOp::Repeat { times: 0, per: 1 }), Some(GraphOp::Repeat { times: 20, per: 2 }));
        let expected = [None, mark, None, mark, end, None, None];
        assert_eq!([0, 8, 9, 16, 24, 25, 32].map(|number| repetition.before(number)), expected);
    }

    #[test]
    fn every_pass_is_taken_once() {
        for (stages, parts, micro_batches) in [(1, 1, 3), (4, 1, 2), (4, 1, 9), (4, 3, 8), (3, 2, 3)] {
            let pipeline = Pipeline { stages, parts, micro_batches };
            for stage in 0..stages {
                let mut passes: Vec<_> = pipeline.passes(stage).into_iter().map(|pass| format!("{pass:?}")).collect();
                passes.sort();
                passes.dedup();
                assert_eq!(passes.len() as u32, 2 * parts * micro_batches);
            }
        }
    }
}
