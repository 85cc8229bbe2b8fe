//! Bytes as a schedule, or why not.

use etherweave_primitives::{Duration, Rank};

use super::{
    BACKGROUND, ENDLESS, HEADER_BYTES, MAGIC, MEASURED, NESTED_MAX, OP_BYTES, STREAM_BYTES, Schedule, ScheduleError,
    VERSION, WARM_UP,
};
use crate::{Block, Loop, Op, Program, StreamSpec, Traffic};

type Read<T> = Result<T, ScheduleError>;

/// Bytes, and how far they have been read.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Loops of a section that have been read.
#[derive(Default)]
struct Nesting {
    loops: Vec<Loop>,
    /// Those that no later one has held so far, with how many there are within each other.
    outermost: Vec<(Loop, u32)>,
}

impl Nesting {
    /// Adds a loop, which holds those before it or stands behind them.
    fn add(&mut self, outer: Loop) -> Result<(), String> {
        let mut depth = 1;
        while let Some((_, inner)) =
            self.outermost.pop_if(|(last, _)| last.first >= outer.first && last.end <= outer.end)
        {
            depth = depth.max(inner + 1);
        }
        let is_behind = self.outermost.last().is_none_or(|(last, _)| last.end <= outer.first);
        let is_in_order = self.loops.last().is_none_or(|last| last.end <= outer.end);
        if !is_behind || !is_in_order || depth > NESTED_MAX {
            let Loop { first, end, .. } = outer;
            return Err(format!(
                "a loop of blocks {first} to {end}; expected loops in order, apart or at most {NESTED_MAX} within each \
                 other"
            ));
        }
        self.outermost.push((outer, depth));
        self.loops.push(outer);
        Ok(())
    }

    fn programs(self, parts: [Vec<Block>; 2]) -> [Program; 2] {
        let before = parts[0].len() as u32;
        let (warm_up, own): (Vec<Loop>, Vec<Loop>) = self.loops.into_iter().partition(|nested| nested.end <= before);
        let shifted =
            own.into_iter().map(|nested| Loop { first: nested.first - before, end: nested.end - before, ..nested });
        let [warm_up_blocks, blocks] = parts.map(Into::into);
        [Program { blocks: warm_up_blocks, loops: warm_up.into() }, Program { blocks, loops: shifted.collect() }]
    }
}

/// A loop [B].
const LOOP_BYTES: usize = 16;

struct ScheduleHeader {
    is_background: bool,
    ranks: u32,
    tags: u32,
    streams: u32,
    name: u32,
    times: [u64; 3],
}

impl Schedule {
    /// Reads a file.
    ///
    /// # Errors
    /// When these bytes are no schedule of this version, whole and well-formed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Schedule, ScheduleError> {
        let mut cursor = Cursor { bytes, at: 0 };
        let head = cursor.head()?;
        let name = cursor.name(head.name)?;
        let tags = cursor.tags(head.tags)?;
        let streams = cursor.streams(&head)?;
        let ends = cursor.section_ends(head.ranks)?;
        let (mut warm_up_programs, mut programs) = (Vec::new(), Vec::new());
        for (rank, end) in (0..head.ranks).zip(ends) {
            let [before, after] = cursor.section(rank, head.ranks, &tags)?;
            if cursor.at as u64 != end {
                return Err(cursor.error(format!("the section of rank {rank} ends here; expected its end at {end}")));
            }
            warm_up_programs.push(before);
            programs.push(after);
        }
        let is_empty = |program: &Program| program.blocks.is_empty();
        let has_programs = !programs.iter().chain(&warm_up_programs).all(is_empty);
        if !streams.is_empty() && has_programs {
            return Err(cursor.error("streams and programs; expected either"));
        }
        if warm_up_programs.iter().all(is_empty) {
            warm_up_programs.clear();
        }
        let [start, end, warm_up] = head.times;
        let traffic = if streams.is_empty() { Traffic::Ranks(programs) } else { Traffic::Streams(streams) };
        Ok(Schedule {
            name,
            start: Duration::from_ps(start),
            is_background: head.is_background,
            end: (end > 0).then(|| Duration::from_ps(end)),
            warm_up: Duration::from_ps(warm_up),
            traffic,
            warm_up_programs,
        })
    }
}

impl Cursor<'_> {
    fn error(&self, message: impl Into<String>) -> ScheduleError {
        ScheduleError { byte: self.at, message: message.into() }
    }

    /// An error about the word of `size` bytes that has just been read.
    fn before(&self, size: usize, message: impl Into<String>) -> ScheduleError {
        ScheduleError { byte: self.at - size, message: message.into() }
    }

    fn take(&mut self, count: usize) -> Read<&[u8]> {
        let left = self.bytes.len() - self.at;
        if count > left {
            return Err(self.error(format!("the file ends after {left} bytes; expected {count} more")));
        }
        self.at += count;
        Ok(&self.bytes[self.at - count..self.at])
    }

    fn word(&mut self) -> Read<u32> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes")))
    }

    fn long(&mut self) -> Read<u64> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("eight bytes")))
    }

    fn zero(&mut self, size: usize) -> Read<()> {
        if self.take(size)?.iter().all(|&byte| byte == 0) { Ok(()) } else { Err(self.before(size, "expected zeros")) }
    }

    fn flags(&mut self, known: u32) -> Read<u32> {
        let flags = self.word()?;
        let message = || format!("flags {flags:#x}; expected at most {known:#x}");
        if flags & !known == 0 { Ok(flags) } else { Err(self.before(4, message())) }
    }

    fn head(&mut self) -> Read<ScheduleHeader> {
        if self.take(8)? != MAGIC.as_slice() {
            return Err(self.before(8, "no schedule; expected one that Etherweave wrote"));
        }
        let version = self.word()?;
        if version != VERSION {
            return Err(self.before(4, format!("version {version}; expected {VERSION}")));
        }
        let is_background = self.flags(BACKGROUND)? == BACKGROUND;
        let [ranks, tags, streams, name] = [self.word()?, self.word()?, self.word()?, self.word()?];
        let length = self.long()?;
        if length != self.bytes.len() as u64 {
            return Err(self.before(8, format!("a file of {length} bytes; expected {}", self.bytes.len())));
        }
        let head = ScheduleHeader {
            is_background,
            ranks,
            tags,
            streams,
            name,
            times: [self.long()?, self.long()?, self.long()?],
        };
        debug_assert_eq!(self.at, HEADER_BYTES, "the header has its length");
        Ok(head)
    }

    fn pad(&mut self) -> Read<()> {
        self.zero(self.at.next_multiple_of(8) - self.at)
    }

    fn name(&mut self, length: u32) -> Read<String> {
        let text = self.take(length as usize)?.to_vec();
        let name = String::from_utf8(text).map_err(|_| self.before(length as usize, "a name; expected UTF-8"))?;
        self.pad()?;
        Ok(name)
    }

    fn tags(&mut self, count: u32) -> Read<Vec<u32>> {
        let mut tags: Vec<u32> = Vec::new();
        for _ in 0..count {
            let tag = self.word()?;
            if tags.last().is_some_and(|last| *last >= tag) {
                return Err(self.before(4, format!("tag {tag}; expected one above the last")));
            }
            tags.push(tag);
        }
        self.pad()?;
        Ok(tags)
    }

    fn streams(&mut self, head: &ScheduleHeader) -> Read<Vec<StreamSpec>> {
        let mut streams = Vec::new();
        for _ in 0..head.streams {
            streams.push(self.stream(head.ranks)?);
        }
        let last = streams.iter().map(|stream| stream.src_rank.max(stream.dst_rank).get()).max();
        if last.is_some_and(|last| last + 1 != head.ranks) {
            return Err(self.error(format!("{} ranks; expected a stream of the last", head.ranks)));
        }
        Ok(streams)
    }

    fn stream(&mut self, ranks: u32) -> Read<StreamSpec> {
        let [source, destination, stream, outstanding] = [self.word()?, self.word()?, self.word()?, self.word()?];
        let (bytes_per_message, messages) = (self.long()?, self.long()?);
        if source >= ranks || destination >= ranks || source == destination {
            let mistake = format!("a stream from rank {source} to {destination}; expected two of {ranks}");
            return Err(self.before(STREAM_BYTES, mistake));
        }
        if outstanding == 0 || bytes_per_message == 0 {
            return Err(self.before(STREAM_BYTES, "an empty stream; expected a window and messages of 1 or more"));
        }
        Ok(StreamSpec {
            src_rank: Rank::new(source),
            dst_rank: Rank::new(destination),
            stream,
            bytes_per_message,
            outstanding,
            messages: (messages != ENDLESS).then_some(messages),
            flow_start: None,
        })
    }

    /// Where the section of each rank ends: they follow this list, one after another, to the end of the file.
    fn section_ends(&mut self, ranks: u32) -> Read<Vec<u64>> {
        let first = self.at as u64 + 8 * (u64::from(ranks) + 1);
        let start = self.long()?;
        if start != first {
            return Err(self.before(8, format!("the first section at byte {start}; expected {first}")));
        }
        let mut ends = Vec::new();
        for _ in 0..ranks {
            ends.push(self.long()?);
        }
        let (last, whole) = (ends.last().copied().unwrap_or(first), self.bytes.len() as u64);
        let message = format!("the last section ends at byte {last}; expected {whole}, the end of the file");
        if last == whole { Ok(ends) } else { Err(self.before(8, message)) }
    }

    fn section(&mut self, rank: u32, ranks: u32, tags: &[u32]) -> Read<[Program; 2]> {
        let (blocks, loops) = (self.word()?, self.word()?);
        let mut parts = [Vec::new(), Vec::new()];
        for _ in 0..blocks {
            let flags = self.flags(MEASURED | WARM_UP)?;
            let part = usize::from(flags & WARM_UP == 0);
            if flags == MEASURED | WARM_UP || (part == 0 && !parts[1].is_empty()) {
                return Err(self.before(4, "a warm-up block; expected it first and not measured"));
            }
            let block = self.block(flags, rank, ranks, tags)?;
            parts[part].push(block);
        }
        let mut nesting = Nesting::default();
        for _ in 0..loops {
            let nested = self.a_loop(&parts)?;
            nesting.add(nested).map_err(|message| self.before(LOOP_BYTES, message))?;
        }
        Ok(nesting.programs(parts))
    }

    fn a_loop(&mut self, parts: &[Vec<Block>; 2]) -> Read<Loop> {
        let (first, end, times) = (self.word()?, self.word()?, self.word()?);
        self.zero(4)?;
        let [before, all] = [parts[0].len(), parts[0].len() + parts[1].len()];
        let (from, to) = (first as usize, end as usize);
        if from >= to || to > all || times == 0 || (from < before && to > before) {
            let message = format!("a loop of blocks {first} to {end}, {times} times; expected some of {all}");
            return Err(self.before(LOOP_BYTES, message));
        }
        let mut inside = parts.iter().flatten().skip(from).take(to - from);
        if inside.any(|block| block.ops.contains(&Op::WaitAll)) {
            return Ok(Loop { first, end, times });
        }
        Err(self.before(LOOP_BYTES, "a loop without a wait; expected one in its blocks"))
    }

    fn block(&mut self, flags: u32, rank: u32, ranks: u32, tags: &[u32]) -> Read<Block> {
        let (repeat, count) = (self.word()?, self.word()?);
        if repeat == 0 || count == 0 {
            return Err(self.before(8, "an empty block; expected operations and repetitions"));
        }
        self.zero(4)?;
        let mut ops = Vec::new();
        for _ in 0..count {
            ops.push(self.op(rank, ranks, tags)?);
        }
        Ok(Block { ops: ops.into(), repeat, measured: flags & MEASURED != 0 })
    }

    fn op(&mut self, rank: u32, ranks: u32, tags: &[u32]) -> Read<Op> {
        let (word, peer, amount) = (self.word()?, self.word()?, self.long()?);
        let (kind, place) = (word & 0xff, word >> 8);
        let duration = Duration::from_ps(amount);
        let op = match kind {
            0 | 1 => return self.exchange(kind, [place, peer], amount, (rank, ranks, tags)),
            2 if amount == 0 => Op::WaitAll,
            3 => Op::Compute { duration },
            4 => Op::Sleep { duration },
            5 if amount == 0 => Op::IterationStart,
            6 if amount == 0 => Op::IterationEnd,
            7 => Op::Copy { bytes: amount },
            _ => return Err(self.before(OP_BYTES, format!("operation {kind} of {amount}; expected one of 0 to 7"))),
        };
        let is_plain = place == 0 && peer == 0;
        if is_plain { Ok(op) } else { Err(self.before(OP_BYTES, "a peer or a tag; expected none here")) }
    }

    fn exchange(&self, kind: u32, [place, peer]: [u32; 2], bytes: u64, of: (u32, u32, &[u32])) -> Read<Op> {
        let (rank, ranks, tags) = of;
        if peer >= ranks || peer == rank {
            return Err(self.before(OP_BYTES, format!("peer {peer} of rank {rank}; expected another of {ranks}")));
        }
        let Some(&tag) = tags.get(place as usize) else {
            return Err(self.before(OP_BYTES, format!("tag {place}; expected one of {}", tags.len())));
        };
        let peer = Rank::new(peer);
        Ok(if kind == 0 { Op::Isend { peer, tag, bytes } } else { Op::Irecv { peer, tag, bytes } })
    }
}
