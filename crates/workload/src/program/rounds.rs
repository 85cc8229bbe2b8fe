//! Equal rounds within a block, such as steps of a ring, as loops of which repetitions may be skipped.

use super::{Block, Loop, LoopPlace, Op, Program};

/// Most operations of a round: messages both ways to two peers, and what is computed with them.
const LENGTH_MAX: usize = 8;
/// Longest message of a round [B], divided by the number of rounds. With longer messages, skips within them leave less
/// to simulate: these leave some hundred packets of a message, skips of rounds about seven rounds.
const BYTES_MAX: u64 = 128 << 10;

/// Makes equal rounds of programs blocks that are repeated, unless some of them have a long loop already: ranks skip
/// loops together, and are in the same ones where these begin at the same place.
pub fn divide_rounds(programs: &mut [Program]) {
    if !programs.iter().any(Program::has_long_loop) {
        programs.iter_mut().for_each(|program| *program = program.with_rounds());
    }
}

impl Program {
    /// The same operations with each long row of equal rounds as a block that is repeated.
    fn with_rounds(&self) -> Program {
        let (mut blocks, mut loops, mut starts) = (Vec::new(), Vec::new(), Vec::new());
        let mut around = self.loops.iter().peekable();
        for (number, block) in (0..).zip(self.blocks.iter()) {
            let first = blocks.len() as u32;
            starts.push(first);
            let parts = parts(block);
            let is_divided = parts.iter().any(|part| part.ops.len() < block.ops.len());
            blocks.extend(parts);
            let end = blocks.len() as u32;
            if is_divided && block.repeat > 1 {
                loops.push(Loop { first, end, times: block.repeat });
            }
            while let Some(each) = around.next_if(|each| each.end == number + 1) {
                loops.push(Loop { first: starts[each.first as usize], end, times: each.times });
            }
        }
        Program { blocks: blocks.into(), loops: loops.into() }
    }
}

/// A block, or its rounds and what stands between them.
fn parts(block: &Block) -> Vec<Block> {
    let ops = &block.ops;
    let part = |ops: &[Op], repeat: u32| Block { ops: ops.into(), repeat, measured: block.measured };
    let (mut parts, mut plain, mut at) = (Vec::new(), 0, 0);
    while at < ops.len() {
        let Some((length, times)) = rounds(&ops[at..]) else {
            at += 1;
            continue;
        };
        parts.extend((plain < at).then(|| part(&ops[plain..at], 1)));
        parts.push(part(&ops[at..at + length], times));
        at += length * times as usize;
        plain = at;
    }
    if parts.is_empty() {
        return vec![block.clone()];
    }
    parts.extend((plain < ops.len()).then(|| part(&ops[plain..], 1)));
    parts
}

/// Operations of the round that begins here, and how often it comes, if that is often.
fn rounds(ops: &[Op]) -> Option<(usize, u32)> {
    (1..=LENGTH_MAX).find_map(|length| {
        let round = ops.get(..length).filter(|round| is_complete(round))?;
        let times = ops.chunks_exact(length).take_while(|own| *own == round).count() as u32;
        let longest = round.iter().filter_map(|op| op.message()).map(|(.., bytes)| bytes).max().unwrap_or(0);
        let is_short = longest <= BYTES_MAX.saturating_mul(times.into());
        (times >= LoopPlace::TIMES_MIN && is_short).then_some((length, times))
    })
}

/// Whether all messages of a round are complete at its end.
fn is_complete(round: &[Op]) -> bool {
    let last = round.iter().rposition(|op| *op == Op::WaitAll);
    last.is_some_and(|last| round[last..].iter().all(|op| op.peer().is_none()))
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::{Duration, Rank};

    use super::*;
    use crate::program::{Part, iteration};

    fn rest(ps: u64) -> Op {
        Op::Compute { duration: Duration::from_ps(ps) }
    }

    fn step() -> [Op; 3] {
        let (peer, tag, bytes) = (Rank::new(1), 0, 8);
        [Op::Irecv { peer, tag, bytes }, Op::Isend { peer, tag, bytes }, Op::WaitAll]
    }

    fn shape(program: &Program) -> Vec<(usize, u32)> {
        program.blocks.iter().map(|block| (block.ops.len(), block.repeat)).collect()
    }

    #[test]
    fn steps_of_a_ring_are_a_block_that_is_repeated() {
        let ring = iteration([rest(1)].into_iter().chain([step(); 20].concat()).chain([rest(2)]));
        let program = Program::new([Part::Repeated(vec![Block::measured(ring, 3).into()], 2), rest_of(5)]);
        let divided = program.with_rounds();
        assert_eq!(shape(&divided), [(2, 1), (3, 20), (2, 1), (1, 5)]);
        assert_eq!(divided.loops[..], [Loop { first: 0, end: 3, times: 6 }]);
        assert!(divided.ops().eq(program.ops()));
        assert_eq!(divided.iterations(), program.iterations());
    }

    fn rest_of(times: u32) -> Part {
        Part::Block(Block::measured([rest(3)], times))
    }

    #[test]
    fn loops_around_blocks_stay_around_their_rounds() {
        let block = |count: usize| Part::Block(Block::unmeasured(vec![step(); count].concat()));
        let inner = Part::Repeated(vec![block(16), rest_of(2)], 3);
        let program = Program::new([rest_of(1), Part::Repeated(vec![inner, block(17)], 2)]);
        let divided = program.with_rounds();
        assert_eq!(shape(&divided), [(1, 1), (3, 16), (1, 2), (3, 17)]);
        assert_eq!(divided.loops, program.loops);
        assert!(divided.ops().eq(program.ops()));
    }

    #[test]
    fn a_block_of_rounds_alone_is_repeated_as_before() {
        let program = Program::new([Block::unmeasured(vec![step(); 20].concat()), rest_block()]);
        let program = Program { blocks: program.blocks.iter().map(thrice).collect(), loops: program.loops };
        let divided = program.with_rounds();
        assert_eq!(shape(&divided), [(3, 20), (1, 3)]);
        assert_eq!(divided.loops[..], [Loop { first: 0, end: 1, times: 3 }]);
        assert!(divided.ops().eq(program.ops()));
    }

    fn rest_block() -> Block {
        Block::unmeasured([rest(3)])
    }

    fn thrice(block: &Block) -> Block {
        Block { repeat: 3, ..block.clone() }
    }

    #[test]
    fn few_rounds_posts_without_a_wait_and_long_messages_stay() {
        let posts = [step()[0]; 40];
        let long = step().map(|op| if let Op::Isend { peer, tag, .. } = op { send(peer, tag, 3 << 20) } else { op });
        let blocks = [vec![step(); 15].concat(), posts.to_vec(), vec![long; 20].concat()];
        for block in blocks.map(Block::unmeasured) {
            let program = Program::new([block]);
            assert_eq!(program.with_rounds(), program);
        }
    }

    fn send(peer: Rank, tag: u32, bytes: u64) -> Op {
        Op::Isend { peer, tag, bytes }
    }

    #[test]
    fn programs_of_which_some_have_a_long_loop_stay() {
        let ring = Program::new([Block::unmeasured(vec![step(); 20].concat())]);
        let long = Program::new([Block::unmeasured(vec![step(); 15].concat()), Block::measured([rest(1)], 16)]);
        let (mut alone, mut beside) = ([ring.clone(), ring.clone()], [ring.clone(), long.clone()]);
        divide_rounds(&mut alone);
        divide_rounds(&mut beside);
        assert_eq!(alone.map(|program| shape(&program)), [[(3, 20)], [(3, 20)]]);
        assert_eq!(beside, [ring, long]);
    }
}
