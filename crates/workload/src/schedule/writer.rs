//! A schedule as bytes.

use etherweave_primitives::InputError;
use std::collections::BTreeMap;

use super::{
    BACKGROUND, ENDLESS, HEADER_BYTES, MAGIC, MEASURED, OP_BYTES, STREAM_BYTES, Schedule, TAGS_MAX, VERSION, WARM_UP,
};
use crate::{Block, Op, Program, StreamSpec, Traffic};

impl Schedule {
    /// The file.
    ///
    /// # Errors
    /// When there are more tags, or longer lists, than the format counts.
    pub fn to_bytes(&self) -> Result<Vec<u8>, InputError> {
        let (programs, streams): (&[Program], &[StreamSpec]) = match &self.traffic {
            Traffic::Ranks(programs) => (programs, &[]),
            Traffic::Streams(streams) => (&[], streams),
            Traffic::Graphs { .. } => {
                let expected = "programs or streams, which the executor performs";
                return Err(InputError::new("", "graphs of operations", expected));
            }
        };
        let ranks = self.traffic.ranks() as usize;
        let has_flows = streams.iter().any(|stream| stream.flow_start.is_some());
        let expected = "streams that start with their job, as the executor performs them";
        InputError::unless(!has_flows, "", "flows that start later", expected)?;
        super::refuse_simulated(&self.warm_up_programs, "the executor")?;
        super::refuse_simulated(programs, "the executor")?;
        let tags = tags(self.warm_up_programs.iter().chain(programs))?;
        let nothing = Program::default();
        let program = |list: &[Program], rank: usize| list.get(rank).unwrap_or(&nothing).clone();
        let sections: Result<Vec<Vec<u8>>, InputError> = (0..ranks)
            .map(|rank| section(&program(&self.warm_up_programs, rank), &program(programs, rank), &tags))
            .collect();
        self.assembled(&tags, streams, &sections?)
    }

    fn assembled(
        &self,
        tags: &BTreeMap<u32, u32>,
        streams: &[StreamSpec],
        sections: &[Vec<u8>],
    ) -> Result<Vec<u8>, InputError> {
        let mut lists = padded(self.name.as_bytes().to_vec());
        lists.extend(padded(tags.keys().flat_map(|tag| tag.to_le_bytes()).collect()));
        lists.extend(streams.iter().flat_map(stream));
        let mut at = (HEADER_BYTES + lists.len() + 8 * (sections.len() + 1)) as u64;
        let mut offsets = at.to_le_bytes().to_vec();
        for section in sections {
            at += section.len() as u64;
            offsets.extend(at.to_le_bytes());
        }
        let counts = [sections.len(), tags.len(), streams.len(), self.name.len()].map(|count| counted("ranks", count));
        let mut bytes = MAGIC.to_vec();
        for word in [Ok(VERSION), Ok(u32::from(self.is_background) * BACKGROUND)].into_iter().chain(counts) {
            bytes.extend(word?.to_le_bytes());
        }
        for word in [at, self.start.as_ps(), self.end.map_or(0, |end| end.as_ps()), self.warm_up.as_ps()] {
            bytes.extend(word.to_le_bytes());
        }
        debug_assert_eq!(bytes.len(), HEADER_BYTES, "the header has its length");
        bytes.extend(lists);
        bytes.extend(offsets);
        bytes.extend(sections.iter().flatten());
        Ok(bytes)
    }
}

fn counted(key: &'static str, count: usize) -> Result<u32, InputError> {
    u32::try_from(count).map_err(|_| InputError::new(key, count.to_string(), format!("at most {}", u32::MAX)))
}

/// Filled up with zeros to whole words of eight bytes.
fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// Every tag with its place in the list.
fn tags<'a>(programs: impl Iterator<Item = &'a Program>) -> Result<BTreeMap<u32, u32>, InputError> {
    let mut places: BTreeMap<u32, u32> =
        programs.flat_map(Program::distinct_ops).filter_map(Op::tag).map(|tag| (tag, 0)).collect();
    if places.len() > TAGS_MAX {
        return Err(InputError::new("tag", format!("{} different ones", places.len()), format!("at most {TAGS_MAX}")));
    }
    places.values_mut().zip(0..).for_each(|(place, number)| *place = number);
    Ok(places)
}

fn stream(stream: &StreamSpec) -> [u8; STREAM_BYTES] {
    let mut bytes = [0; STREAM_BYTES];
    let words = [stream.src_rank.get(), stream.dst_rank.get(), stream.stream, stream.outstanding];
    words.iter().zip(bytes.chunks_exact_mut(4)).for_each(|(word, place)| place.copy_from_slice(&word.to_le_bytes()));
    bytes[16..24].copy_from_slice(&stream.bytes_per_message.to_le_bytes());
    bytes[24..].copy_from_slice(&stream.messages.unwrap_or(ENDLESS).to_le_bytes());
    bytes
}

fn section(warm_up_programs: &Program, program: &Program, tags: &BTreeMap<u32, u32>) -> Result<Vec<u8>, InputError> {
    let blocks = counted("blocks", warm_up_programs.blocks.len() + program.blocks.len())?;
    let loops = counted("loops", warm_up_programs.loops.len() + program.loops.len())?;
    let mut bytes: Vec<u8> = [blocks, loops].into_iter().flat_map(u32::to_le_bytes).collect();
    let flagged = warm_up_programs.blocks.iter().map(|block| (block, WARM_UP));
    for (block, flag) in flagged.chain(program.blocks.iter().map(|block| (block, 0))) {
        put_block(&mut bytes, block, flag, tags)?;
    }
    let before = warm_up_programs.blocks.len() as u32;
    let shifted = program.loops.iter().map(|nested| [before + nested.first, before + nested.end, nested.times, 0]);
    let loops = warm_up_programs.loops.iter().map(|nested| [nested.first, nested.end, nested.times, 0]).chain(shifted);
    bytes.extend(loops.flatten().flat_map(u32::to_le_bytes));
    Ok(bytes)
}

fn put_block(bytes: &mut Vec<u8>, block: &Block, flag: u32, tags: &BTreeMap<u32, u32>) -> Result<(), InputError> {
    let flags = flag | if block.measured { MEASURED } else { 0 };
    // The executor receives, adds up nothing, and looks for messages when it waits.
    let is_written = |op: &&Op| !matches!(op, Op::Prepare { .. } | Op::Reduce { .. } | Op::Poll { .. });
    let ops = || block.ops.iter().filter(is_written);
    for word in [flags, block.repeat, counted("operations", ops().count())?, 0] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(ops().flat_map(|op| put_op(op, tags)));
    Ok(())
}

fn put_op(op: &Op, tags: &BTreeMap<u32, u32>) -> [u8; OP_BYTES] {
    let (kind, peer, amount) = match *op {
        Op::Isend { peer, bytes, .. } => (0, peer.get(), bytes),
        Op::Irecv { peer, bytes, .. } => (1, peer.get(), bytes),
        Op::WaitAll => (2, 0, 0),
        Op::Compute { duration } => (3, 0, duration.as_ps()),
        Op::Sleep { duration } => (4, 0, duration.as_ps()),
        Op::IterationStart => (5, 0, 0),
        Op::IterationEnd => (6, 0, 0),
        Op::Copy { bytes } => (7, 0, bytes),
        Op::OneSided { .. } => unreachable!("refused before anything is written"),
        Op::Prepare { .. } | Op::Reduce { .. } | Op::Poll { .. } => unreachable!("left out"),
    };
    let word: u32 = kind | op.tag().map_or(0, |tag| tags[&tag]) << 8;
    let mut bytes = [0; OP_BYTES];
    bytes[..4].copy_from_slice(&word.to_le_bytes());
    bytes[4..8].copy_from_slice(&peer.to_le_bytes());
    bytes[8..].copy_from_slice(&amount.to_le_bytes());
    bytes
}
