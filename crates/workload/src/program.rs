//! The schedule of one rank: blocks of operations, each block repeated, and loops around several of them.

mod loops;
mod rounds;

use std::sync::Arc;

use etherweave_primitives::{Duration, Rank};

pub use loops::LoopPlace;
pub use rounds::divide_rounds;

/// One step of a rank. A rank performs its steps in order, on one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Posts a non-blocking send; the request joins the rank's outstanding set.
    Isend {
        /// The receiving rank. The rank itself, of a collective: switches add up what all that do so send, and send the
        /// sum to each.
        peer: Rank,
        /// Tag that the receive must carry to match, besides the source.
        tag: u32,
        /// Payload [B].
        bytes: u64,
    },
    /// Posts a non-blocking receive; the request joins the rank's outstanding set.
    Irecv {
        /// The sending rank. The rank itself: switches.
        peer: Rank,
        /// Tag that the send must carry to match, besides the source.
        tag: u32,
        /// Payload [B].
        bytes: u64,
    },
    /// Reaches into the memory of a peer, which takes no part; joins the rank's outstanding set, so that
    /// [`Op::WaitAll`] is its flush.
    OneSided {
        /// Operation on the memory.
        access: Access,
        /// The rank whose memory it is, never the rank itself.
        peer: Rank,
        /// Payload [B], 1 or more.
        bytes: u64,
    },
    /// Waits until every outstanding request of this rank is complete.
    WaitAll,
    /// Copies what the rank sends to itself.
    Copy {
        /// Payload [B].
        bytes: u64,
    },
    /// Begins a reduction: copies what the rank adds to where the result will be, and takes a temporary buffer for what
    /// it will receive.
    Prepare {
        /// Bytes that are copied [B].
        copied: u64,
        /// Length of the temporary buffer [B].
        temporary: u64,
    },
    /// Adds up what the rank has received in a collective.
    Reduce {
        /// Bytes that are added [B].
        bytes: u64,
        /// Length of the vector of which they are a part [B].
        vector: u64,
    },
    /// Looks for messages, as `MPI_Test` does, and finds none: what has arrived is handled in the next wait.
    Poll {
        /// How often.
        times: u32,
    },
    /// Computes on a busy core.
    Compute {
        /// How long [ps].
        duration: Duration,
    },
    /// Sleeps as `nanosleep` does: the host adds its timer slack.
    Sleep {
        /// How long at least [ps].
        duration: Duration,
    },
    /// An iteration of the application starts here.
    IterationStart,
    /// An iteration of the application ends here: in a measured block this is worth a row
    /// (rank, iteration, start, end). Iterations count from 0 over the measured blocks of a rank.
    IterationEnd,
}

impl Op {
    /// A message with two ends: whether it is sent, the rank at the other end, tag and payload [B].
    pub fn message(&self) -> Option<(bool, Rank, u32, u64)> {
        match *self {
            Op::Isend { peer, tag, bytes } => Some((true, peer, tag, bytes)),
            Op::Irecv { peer, tag, bytes } => Some((false, peer, tag, bytes)),
            Op::OneSided { .. }
            | Op::WaitAll
            | Op::Copy { .. }
            | Op::Prepare { .. }
            | Op::Reduce { .. }
            | Op::Poll { .. }
            | Op::Compute { .. }
            | Op::Sleep { .. }
            | Op::IterationStart
            | Op::IterationEnd => None,
        }
    }

    /// The other rank of a message or a one-sided operation.
    pub fn peer(&self) -> Option<Rank> {
        if let Op::OneSided { peer, .. } = *self { Some(peer) } else { self.message().map(|(_, peer, ..)| peer) }
    }

    /// The tag of a message with two ends.
    pub fn tag(&self) -> Option<u32> {
        self.message().map(|(_, _, tag, _)| tag)
    }

    /// Payload that leaves the rank [B]; none of operations that send nothing.
    pub fn sent(&self) -> Option<u64> {
        match *self {
            Op::OneSided { access, bytes, .. } => Some(access.payload(bytes).0),
            _ => self.message().filter(|(is_send, ..)| *is_send).map(|(.., bytes)| bytes),
        }
    }

    /// Computation or sleep.
    pub fn rest(&self) -> Duration {
        if let Op::Compute { duration } | Op::Sleep { duration } = *self { duration } else { Duration::ZERO }
    }
}

/// Kind of a one-sided operation (MPI: chapter *One-Sided Communications*).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Writes (`MPI_Put`).
    #[default]
    Put,
    /// Reads (`MPI_Get`).
    Get,
    /// Adds to what is there (`MPI_Accumulate`).
    Accumulate,
    /// Adds to a word and gives what was there (`MPI_Fetch_and_op`).
    FetchAndOp,
    /// Gives what was there, and adds to it (`MPI_Get_accumulate`).
    GetAccumulate,
    /// Writes a word where another one was there, and gives what was (`MPI_Compare_and_swap`).
    CompareAndSwap,
}

impl Access {
    /// Payload of `bytes` that leaves the rank, and that comes to it [B].
    pub fn payload(self, bytes: u64) -> (u64, u64) {
        match self {
            Access::Put => (bytes, 0),
            Access::Get => (0, bytes),
            Access::Accumulate | Access::GetAccumulate | Access::FetchAndOp | Access::CompareAndSwap => (bytes, bytes),
        }
    }

    /// Whether it works on a word of 8 B alone.
    pub fn is_of_a_word(self) -> bool {
        matches!(self, Access::FetchAndOp | Access::CompareAndSwap)
    }
}

/// Operations that are performed `repeat` times over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// One repetition. Blocks may share it.
    pub ops: Arc<[Op]>,
    /// How often, 1 or more.
    pub repeat: u32,
    /// Whether its iteration marks count; `false` for warm-up and barriers.
    pub measured: bool,
}

/// Blocks that are performed one after another, `times` over. Loops stand within each other or apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loop {
    /// The first of its blocks.
    pub first: u32,
    /// The block behind its last.
    pub end: u32,
    /// How often, 1 or more.
    pub times: u32,
}

/// Operations of one rank from start to end. Copies share their blocks: whoever performs, writes or counts a program
/// reads the same ones.
///
/// ```text
///   blocks   0: A   1: B, 100 times   2: C, 100 times   3: D        loops   blocks 1 to 3, 5 times
///   steps    A  (B B B ...  C C C ...  D)  (B B B ...  C C C ...  D)  ...
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Program {
    /// Blocks in order.
    pub blocks: Arc<[Block]>,
    /// Loops by their ends, those within others first.
    pub loops: Arc<[Loop]>,
}

/// A block, or several that are repeated together: what a program is made of.
#[derive(Clone, Debug)]
pub enum Part {
    /// Operations.
    Block(Block),
    /// Parts that are performed one after another, so many times over.
    Repeated(Vec<Part>, u32),
}

/// A place in a program, which goes through it.
#[derive(Clone, Default, Debug)]
pub struct ProgramCursor {
    block: u32,
    repetition: u32,
    op: u32,
    /// Number of times that each loop has been performed.
    passes: Box<[u32]>,
}

impl Block {
    /// A block that is performed once and not measured: start-up, barriers.
    pub fn unmeasured(ops: impl Into<Arc<[Op]>>) -> Block {
        Block { ops: ops.into(), repeat: 1, measured: false }
    }

    /// A block of measured iterations.
    pub fn measured(ops: impl Into<Arc<[Op]>>, repeat: u32) -> Block {
        Block { ops: ops.into(), repeat, measured: true }
    }
}

impl From<Block> for Part {
    fn from(block: Block) -> Part {
        Part::Block(block)
    }
}

impl Program {
    /// The program of these parts; empty ones and those that never run are dropped.
    pub fn new(parts: impl IntoIterator<Item = impl Into<Part>>) -> Program {
        let (mut blocks, mut loops) = (Vec::new(), Vec::new());
        parts.into_iter().for_each(|part| put(part.into(), &mut blocks, &mut loops));
        Program { blocks: blocks.into(), loops: loops.into() }
    }

    /// How many measured iterations it records.
    pub fn iterations(&self) -> u64 {
        let ends = |block: &Block| block.ops.iter().filter(|op| **op == Op::IterationEnd).count() as u64;
        self.counted().filter(|(block, _)| block.measured).map(|(block, times)| ends(block).saturating_mul(times)).sum()
    }

    /// Every block, with how often it is performed.
    pub fn counted(&self) -> impl Iterator<Item = (&Block, u64)> {
        (0..).zip(self.blocks.iter()).map(|(number, block)| {
            let around = self.loops.iter().filter(move |outer| (outer.first..outer.end).contains(&number));
            (block, around.fold(u64::from(block.repeat), |times, outer| times.saturating_mul(outer.times.into())))
        })
    }

    /// Every operation once, however often it is performed.
    pub fn distinct_ops(&self) -> impl Iterator<Item = &Op> {
        self.blocks.iter().flat_map(|block| block.ops.iter())
    }

    /// Every operation as often as it is performed, while whoever asks goes on: nothing is written out.
    pub fn ops(&self) -> impl Iterator<Item = &Op> {
        let mut cursor = ProgramCursor::new(self);
        std::iter::from_fn(move || {
            let op = cursor.op(self);
            op.inspect(|_| _ = cursor.advance(self))
        })
    }

    /// The same, with each block and each loop at most so many times.
    #[must_use]
    pub fn shortened(&self, times_max: u32) -> Program {
        let block = |block: &Block| Block { repeat: block.repeat.min(times_max), ..block.clone() };
        let nested = |nested: &Loop| Loop { times: nested.times.min(times_max), ..*nested };
        Program { blocks: self.blocks.iter().map(block).collect(), loops: self.loops.iter().map(nested).collect() }
    }

    /// The same without measured iterations.
    #[must_use]
    pub fn unmeasured(&self) -> Program {
        let block = |block: &Block| Block { measured: false, ..block.clone() };
        Program { blocks: self.blocks.iter().map(block).collect(), loops: self.loops.clone() }
    }
}

impl ProgramCursor {
    /// The start of a program.
    pub fn new(program: &Program) -> ProgramCursor {
        ProgramCursor { passes: vec![0; program.loops.len()].into(), ..ProgramCursor::default() }
    }

    /// The present block; none at the end.
    #[inline]
    pub fn block<'a>(&self, program: &'a Program) -> Option<&'a Block> {
        program.blocks.get(self.block as usize)
    }

    /// The place of the present operation in its block.
    #[inline]
    pub fn place(&self) -> usize {
        self.op as usize
    }

    /// The present operation; none at the end.
    #[inline]
    pub fn op<'a>(&self, program: &'a Program) -> Option<&'a Op> {
        self.block(program).map(|block| &block.ops[self.op as usize])
    }

    /// Goes to the next operation; returns whether it is the first of a block.
    #[inline]
    pub fn advance(&mut self, program: &Program) -> bool {
        let present = &program.blocks[self.block as usize];
        self.op += 1;
        if (self.op as usize) < present.ops.len() {
            return false;
        }
        (self.op, self.repetition) = (0, self.repetition + 1);
        if self.repetition == present.repeat {
            (self.repetition, self.block) = (0, self.next_block(&program.loops));
        }
        true
    }

    /// The block behind the present one: the first of the innermost loop that ends here and is not over.
    fn next_block(&mut self, loops: &[Loop]) -> u32 {
        let next = self.block + 1;
        let ending = loops.partition_point(|inner| inner.end < next);
        let passes = &mut self.passes[ending..];
        for (inner, passes) in loops[ending..].iter().zip(passes).take_while(|(inner, _)| inner.end == next) {
            *passes += 1;
            if *passes < inner.times {
                return inner.first;
            }
            *passes = 0;
        }
        next
    }
}

/// Adds a part. What is performed once needs no loop, and a block that is alone in its loop is repeated.
fn put(part: Part, blocks: &mut Vec<Block>, loops: &mut Vec<Loop>) {
    let (parts, times) = match part {
        Part::Block(block) => {
            return blocks.extend(Some(block).filter(|block| !block.ops.is_empty() && block.repeat > 0));
        }
        Part::Repeated(parts, times) => (parts, times),
    };
    if times == 0 {
        return;
    }
    let (first, inner) = (blocks.len(), loops.len());
    parts.into_iter().for_each(|part| put(part, blocks, loops));
    match &mut blocks[first..] {
        [] => {}
        [alone] if loops.len() == inner && alone.repeat.checked_mul(times).is_some() => alone.repeat *= times,
        _ if times == 1 => {}
        several => loops.push(Loop { first: first as u32, end: (first + several.len()) as u32, times }),
    }
}

/// `ops` between the marks of one iteration.
pub(crate) fn iteration(ops: impl IntoIterator<Item = Op>) -> Vec<Op> {
    let mut marked = vec![Op::IterationStart];
    marked.extend(ops);
    marked.push(Op::IterationEnd);
    marked
}

/// Parts between the marks of an iteration, measured so many times.
pub(crate) fn iterations(parts: impl IntoIterator<Item = Part>, times: u32) -> Part {
    let mark = |op: Op| Part::Block(Block::measured([op], 1));
    let start = std::iter::once(mark(Op::IterationStart));
    Part::Repeated(start.chain(parts).chain([mark(Op::IterationEnd)]).collect(), times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(ps: u64) -> Part {
        Block::measured([Op::Compute { duration: Duration::from_ps(ps) }], 1).into()
    }

    fn rests(program: &Program) -> Vec<u64> {
        let duration = |op: &Op| if let Op::Compute { duration } = op { duration.as_ps() } else { 0 };
        program.ops().map(duration).collect()
    }

    #[test]
    fn loops_within_loops_are_performed_in_order_and_written_once() {
        let inner = Part::Repeated(vec![rest(2), rest(3)], 2);
        let outer = Part::Repeated(vec![rest(1), inner, Part::Repeated(vec![rest(4)], 3)], 2);
        let program = Program::new([outer, rest(5)]);
        assert_eq!(rests(&program), [1, 2, 3, 2, 3, 4, 4, 4, 1, 2, 3, 2, 3, 4, 4, 4, 5]);
        assert_eq!((program.blocks.len(), program.loops.len()), (5, 2));
        let times: Vec<_> = program.counted().map(|(_, times)| times).collect();
        assert_eq!(times, [2, 4, 4, 6, 1]);
        assert_eq!(rests(&program.shortened(1)), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn loops_that_end_together_are_performed_from_within() {
        let inner = Part::Repeated(vec![rest(2), rest(3)], 2);
        let program = Program::new([Part::Repeated(vec![rest(1), inner], 2)]);
        assert_eq!(rests(&program), [1, 2, 3, 2, 3, 1, 2, 3, 2, 3]);
    }

    #[test]
    fn what_is_empty_or_never_runs_is_dropped() {
        let empty = Part::Repeated(vec![Block::unmeasured([]).into()], 7);
        let never = Part::Repeated(vec![rest(1)], 0);
        assert_eq!(Program::new([empty, never, Part::Repeated(Vec::new(), 2)]), Program::default());
    }

    #[test]
    fn iterations_of_loops_are_counted() {
        let steps = iterations([Part::Repeated(vec![rest(1), rest(2)], 10)], 4);
        assert_eq!(Program::new([steps]).iterations(), 4);
    }
}
