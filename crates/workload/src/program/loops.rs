//! Places in long loops, of which repetitions may be skipped.

use super::{Loop, Op, Program, ProgramCursor};

/// Place in a loop: repetitions that are complete, of those that the loop has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopPlace {
    /// Number of the first block of the loop.
    pub first: u32,
    /// Repetitions in all.
    pub times: u32,
    /// Complete repetitions.
    pub done: u32,
}

impl LoopPlace {
    /// Fewest repetitions of a loop of which some may be skipped.
    pub const TIMES_MIN: u32 = 16;

    /// The place, of a loop with enough repetitions.
    pub fn long(first: u32, times: u32, done: u32) -> Option<LoopPlace> {
        (times >= LoopPlace::TIMES_MIN).then_some(LoopPlace { first, times, done })
    }

    /// Repetitions behind the present one.
    pub fn left(self) -> u32 {
        self.times - self.done - 1
    }
}

impl Program {
    /// Repetitions of its longest loop.
    pub fn repetitions_max(&self) -> u32 {
        let times = self.blocks.iter().map(|block| block.repeat).chain(self.loops.iter().map(|each| each.times));
        times.max().unwrap_or(0)
    }

    /// Whether a loop has so many repetitions that some may be skipped.
    pub fn has_long_loop(&self) -> bool {
        self.repetitions_max() >= LoopPlace::TIMES_MIN
    }
}

impl ProgramCursor {
    /// The outermost long loop around the present operation: its number, or none of a block that is repeated by itself.
    fn long_loop(&self, program: &Program) -> Option<(Option<usize>, LoopPlace)> {
        let present = self.block(program)?;
        let around = program.loops.iter().enumerate().rev();
        let mut around = around.filter(|(_, each)| (each.first..each.end).contains(&self.block));
        let place = |(number, each): (usize, &Loop)| {
            Some((Some(number), LoopPlace::long(each.first, each.times, self.passes[number])?))
        };
        let alone = || Some((None, LoopPlace::long(self.block, present.repeat, self.repetition)?));
        around.find_map(place).or_else(alone)
    }

    /// The place in the outermost long loop; none outside of loops of [`LoopPlace::TIMES_MIN`] repetitions.
    pub fn loop_place(&self, program: &Program) -> Option<LoopPlace> {
        self.long_loop(program).map(|(_, place)| place)
    }

    /// Measured iterations in a repetition of that loop; 0 outside of loops.
    pub fn loop_iterations(&self, program: &Program) -> u64 {
        let Some((number, place)) = self.long_loop(program) else { return 0 };
        let end = number.map_or(place.first + 1, |number| program.loops[number].end);
        let blocks = (place.first..end).filter(|&block| program.blocks[block as usize].measured);
        let iterations = blocks.map(|at| {
            let block = &program.blocks[at as usize];
            let ends = block.ops.iter().filter(|op| **op == Op::IterationEnd).count() as u64;
            let within =
                program.loops[..number.unwrap_or(0)].iter().filter(|each| (each.first..each.end).contains(&at));
            let repeat = if number.is_some() { block.repeat.into() } else { 1 };
            within.fold(ends * repeat, |ends, each| ends * u64::from(each.times))
        });
        iterations.sum()
    }

    /// Whether long loops come behind that one, or it comes again.
    pub fn has_later_loops(&self, program: &Program) -> bool {
        let Some((number, place)) = self.long_loop(program) else { return program.has_long_loop() };
        let end = number.map_or(place.first + 1, |number| program.loops[number].end);
        let blocks = program.blocks.iter().zip(0..).map(|(block, at)| (at, block.repeat));
        let mut later = blocks.chain(program.loops.iter().map(|each| (each.first, each.times)));
        let is_around = |each: &Loop| each.first <= place.first && end <= each.end;
        later.any(|(first, times)| first >= end && times >= LoopPlace::TIMES_MIN)
            || program.loops.iter().zip(0..).any(|(each, other)| Some(other) != number && is_around(each))
    }

    /// Skips repetitions of that loop, of those behind the present one.
    ///
    /// # Panics
    /// Outside of loops.
    pub fn skip(&mut self, program: &Program, repetitions: u32) {
        let (number, place) = self.long_loop(program).expect("repetitions of a loop are skipped");
        assert!(repetitions <= place.left(), "the present repetition is the last or before it");
        match number {
            Some(number) => self.passes[number] += repetitions,
            None => self.repetition += repetitions,
        }
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Duration;

    use super::*;
    use crate::program::{Block, Part, iteration};

    fn rest(ps: u64) -> Part {
        Block::measured([Op::Compute { duration: Duration::from_ps(ps) }], 1).into()
    }

    #[test]
    fn repetitions_of_the_outermost_long_loop_are_skipped() {
        let inner = Part::Repeated(vec![rest(2), rest(3)], 20);
        let program = Program::new([Part::Repeated(vec![rest(1), inner], 3), rest(5)]);
        let mut cursor = ProgramCursor::new(&program);
        assert_eq!(cursor.loop_place(&program), None, "three repetitions are few");
        cursor.advance(&program);
        assert_eq!(cursor.loop_place(&program), Some(LoopPlace { first: 1, times: 20, done: 0 }));
        assert!(cursor.advance(&program));
        cursor.skip(&program, 18);
        let left: Vec<u64> = std::iter::from_fn(|| {
            let op = cursor.op(&program).copied();
            op.inspect(|_| _ = cursor.advance(&program))
        })
        .map(|op| if let Op::Compute { duration } = op { duration.as_ps() } else { 0 })
        .take(5)
        .collect();
        assert_eq!(left, [3, 2, 3, 1, 2]);
        let marked = Block::measured(iteration([Op::WaitAll]), 2);
        let nested = Program::new([Part::Repeated(vec![rest(1), Part::Repeated(vec![marked.into(), rest(2)], 3)], 16)]);
        assert_eq!(ProgramCursor::new(&nested).loop_iterations(&nested), 6);
        let block = Program::new([Block::measured(iteration([Op::WaitAll]), 40)]);
        let cursor = ProgramCursor::new(&block);
        assert_eq!((cursor.loop_iterations(&block), cursor.loop_place(&block).unwrap().left()), (1, 39));
    }

    #[test]
    fn later_long_loops_stand_behind_the_present_one_or_around_it() {
        let has_later = |parts: Vec<Part>| {
            let program = Program::new(parts);
            ProgramCursor::new(&program).has_later_loops(&program)
        };
        let long = |ps: u64| Part::Repeated(vec![rest(ps), rest(2)], 20);
        assert!(!has_later(vec![long(1), rest(3)]) && has_later(vec![long(1), long(3)]));
        assert!(has_later(vec![Part::Repeated(vec![long(1)], 3)]), "it comes again");
        assert!(has_later(vec![rest(1), long(1)]) && !has_later(vec![rest(1)]), "none is present");
    }
}
