//! GOAL binaries: little-endian, packed.
//!
//! ```text
//!   magic u64 │ ranks u32, most cpu u8, most nic u8 │ per rank: start u64, end u64, from behind the magic │ ranks
//!   rank:  nodes u32, roots u32 │ roots u32 each │ nodes of 39 B │ appendix: numbers of nodes, u32 each
//!   node:  waits u32, kind u8, peer u32, size u64, tag u32, cpu u8, nic u8,
//!          dependants on completion: count u32, place in the appendix u32; dependants on start: the same
//! ```
//!
//! Nothing is trusted: the reader takes places and counts only if they lie within the file, and counts itself what each
//! node waits for. What it makes takes at most 24 times the bytes that it reads.

use std::sync::Arc;

use etherweave_primitives::{Duration, InputError, Rank};

use super::writer::nanoseconds;
use super::{CALC_MAX, RANKS_MAX, cores};
use crate::limits::MESSAGE_MAX;
use crate::{Graph, GraphBuilder, GraphOp, NodeId};

/// A file, and one that LogGOPSim has used up.
const MAGIC: [u64; 2] = [4223, 2342];
const MAGIC_BYTES: usize = 8;
const HEADER_BYTES: usize = 6;
pub(super) const NODE_BYTES: usize = 39;
/// Any rank, any tag.
const ANY: u32 = u32::MAX;
const SEND: u8 = 1;
const RECEIVE: u8 = 2;
const CALC: u8 = 3;

/// Whether a file is a binary by its magic number.
pub(super) fn is_goal(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|first| MAGIC.contains(&u64::from_le_bytes(*first)))
}

/// The number of ranks in the header.
pub(super) fn announced_ranks(head: &[u8]) -> Option<u64> {
    Some(u64::from(u32::from_le_bytes(*head.get(MAGIC_BYTES..)?.first_chunk()?)))
}

/// A part of the file, which knows where it is.
#[derive(Clone, Copy)]
struct Part<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The error about a byte of the file.
fn byte_error(at: usize, found: impl std::fmt::Display, expected: impl std::fmt::Display) -> InputError {
    InputError::new("file", format!("byte {at}: {found}"), expected)
}

impl<'a> Part<'a> {
    /// So many bytes from a place on, which may be beyond the end.
    fn part(self, from: u64, length: u64, what: &str) -> Result<Part<'a>, InputError> {
        let end = from.checked_add(length).filter(|&end| end <= self.bytes.len() as u64);
        let Some(end) = end else {
            let found = format!("{what} of {length} bytes from {from} on, in {} bytes", self.bytes.len());
            return Err(byte_error(self.at, found, "a place within"));
        };
        Ok(Part { bytes: &self.bytes[from as usize..end as usize], at: self.at + from as usize })
    }

    /// A number of at most eight bytes, which lies within.
    fn number<const N: usize>(self, from: usize) -> u64 {
        let mut number = [0; 8];
        number[..N].copy_from_slice(&self.bytes[from..from + N]);
        u64::from_le_bytes(number)
    }

    fn u32(self, from: usize) -> u32 {
        self.number::<4>(from) as u32
    }
}

/// Reads a file that [`is_goal`].
///
/// # Errors
/// When a place or a count lies outside of it, or an operation is none; with the byte.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Graph>, InputError> {
    let file = Part { bytes: &bytes[MAGIC_BYTES..], at: MAGIC_BYTES };
    let header = file.part(0, HEADER_BYTES as u64, "a header")?;
    let ranks = u64::from(header.u32(0));
    if !(1..=RANKS_MAX).contains(&ranks) {
        return Err(byte_error(file.at, format!("{ranks} ranks"), format!("1 to {RANKS_MAX}")));
    }
    let places = file.part(HEADER_BYTES as u64, 16 * ranks, "places of ranks")?;
    // Ranks that lay on each other would take more memory than the file.
    let mut behind = HEADER_BYTES as u64 + 16 * ranks;
    let mut graphs = Vec::with_capacity(ranks as usize);
    for rank in 0..ranks as usize {
        let [start, end] = [places.number::<8>(16 * rank), places.number::<8>(16 * rank + 8)];
        if start < behind || end < start {
            let expected = format!("a start from {behind} on and an end behind it");
            return Err(byte_error(places.at + 16 * rank, format!("rank {rank} from {start} to {end}"), expected));
        }
        behind = end;
        let part = file.part(start, end - start, &format!("rank {rank}"))?;
        graphs.push(rank_graph(part, rank as u32, ranks as u32)?);
    }
    Ok(graphs)
}

fn rank_graph(part: Part<'_>, rank: u32, ranks: u32) -> Result<Graph, InputError> {
    let counts = part.part(0, 8, "counts")?;
    let (count, roots) = (counts.u32(0), u64::from(counts.u32(4)));
    let nodes = part.part(8 + 4 * roots, u64::from(count) * NODE_BYTES as u64, "nodes")?;
    let from = 8 + 4 * roots + nodes.bytes.len() as u64;
    let appendix = part.part(from, part.bytes.len() as u64 - from, "dependants")?;
    let mut graph = GraphBuilder::default();
    let ids = (0..count as usize).map(|number| {
        let node =
            Part { bytes: &nodes.bytes[number * NODE_BYTES..][..NODE_BYTES], at: nodes.at + number * NODE_BYTES };
        let op = operation(node, rank, ranks)?;
        let cpu = node.bytes[21];
        cores(&mut graph, cpu);
        Ok(graph.add(cpu, op, &[]))
    });
    let ids: Vec<NodeId> = ids.collect::<Result<_, InputError>>()?;
    // Each entry of the appendix belongs to one node: more dependencies than entries would outgrow the file.
    let mut left = appendix.bytes.len() as u64 / 4;
    for (&on, node) in ids.iter().zip(nodes.bytes.chunks_exact(NODE_BYTES)) {
        let node = Part { bytes: node, at: nodes.at + NODE_BYTES * on.get() as usize };
        for (at, is_start) in [(23, false), (31, true)] {
            let (length, place) = (u64::from(node.u32(at)), u64::from(node.u32(at + 4)));
            if length == 0 {
                continue;
            }
            let beyond = || byte_error(node.at + at, format!("{length} dependants"), format!("at most {left} more"));
            left = left.checked_sub(length).ok_or_else(beyond)?;
            let list = appendix.part(4 * place, 4 * length, "dependants")?;
            for (index, entry) in list.bytes.chunks_exact(4).enumerate() {
                let number = u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]);
                let of = ids.get(number as usize).ok_or_else(|| {
                    byte_error(list.at + 4 * index, format!("operation {number}"), format!("one below {count}"))
                })?;
                if is_start { graph.after_start(*of, &[on]) } else { graph.after(*of, &[on]) }
            }
        }
    }
    graph.build().map_err(|cycle| {
        let found = "an operation that waits for itself through others";
        byte_error(nodes.at + NODE_BYTES * cycle.node as usize, found, "dependencies without a cycle")
    })
}

fn operation(node: Part<'_>, rank: u32, ranks: u32) -> Result<GraphOp, InputError> {
    let (kind, peer, size, tag) = (node.bytes[4], node.u32(5), node.number::<8>(9), node.u32(17));
    let named = |number: u32| Some(number).filter(|&number| number != ANY);
    let most = if kind == CALC { CALC_MAX } else { MESSAGE_MAX.get() };
    if size > most {
        return Err(byte_error(node.at + 9, format!("a size of {size}"), format!("at most {most}")));
    }
    let is_peer = (peer < ranks && peer != rank) || (peer == ANY && kind == RECEIVE);
    if kind != CALC && !is_peer {
        let found = format!("rank {rank} exchanges with {peer} in a job of {ranks} ranks");
        return Err(byte_error(node.at + 5, found, "another rank of the job"));
    }
    match (kind, named(tag)) {
        (SEND, Some(tag)) => Ok(GraphOp::Send { peer: Rank::new(peer), tag, bytes: size }),
        (SEND, None) => Err(byte_error(node.at + 17, "a send with any tag", "the number of a tag")),
        (RECEIVE, tag) => Ok(GraphOp::Receive { peer: named(peer).map(Rank::new), tag, bytes: size }),
        (CALC, _) => Ok(GraphOp::Compute { duration: Duration::from_ns(size) }),
        (other, _) => Err(byte_error(node.at + 4, format!("operation of kind {other}"), "1, 2 or 3")),
    }
}

/// Writes a file.
///
/// # Errors
/// When a time is no whole number of nanoseconds.
pub(super) fn write(graphs: &[Arc<Graph>]) -> Result<Vec<u8>, InputError> {
    let cpu_max = graphs.iter().map(|graph| graph.streams().len()).max().unwrap_or(0).saturating_sub(1) as u8;
    let mut bytes = MAGIC[0].to_le_bytes().to_vec();
    bytes.extend((graphs.len() as u32).to_le_bytes());
    bytes.extend([cpu_max, 0]);
    let places = bytes.len();
    bytes.resize(places + 16 * graphs.len(), 0);
    for (rank, graph) in graphs.iter().enumerate() {
        let start = bytes.len() - MAGIC_BYTES;
        write_rank(&mut bytes, graph)?;
        let end = bytes.len() - MAGIC_BYTES;
        for (word, value) in [start, end].into_iter().enumerate() {
            bytes[places + 16 * rank + 8 * word..][..8].copy_from_slice(&(value as u64).to_le_bytes());
        }
    }
    Ok(bytes)
}

fn write_rank(bytes: &mut Vec<u8>, graph: &Graph) -> Result<(), InputError> {
    let nodes = 0..graph.len() as u32;
    let roots: Vec<u32> = nodes.clone().filter(|&node| graph.waits()[node as usize] == 0).collect();
    bytes.extend([nodes.end, roots.len() as u32].into_iter().chain(roots).flat_map(u32::to_le_bytes));
    let mut place = 0;
    for node in nodes.clone() {
        let op = graph.op(node);
        let (kind, peer, size, tag) = match op {
            GraphOp::Send { peer, tag, bytes } => (SEND, peer.get(), bytes, tag),
            GraphOp::Receive { peer, tag, bytes } => (RECEIVE, peer.map_or(ANY, Rank::get), bytes, tag.unwrap_or(ANY)),
            GraphOp::Compute { .. } | GraphOp::Copy { .. } => (CALC, 0, nanoseconds(op)?, 0),
        };
        bytes.extend(graph.waits()[node as usize].to_le_bytes());
        bytes.push(kind);
        bytes.extend(peer.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(tag.to_le_bytes());
        bytes.extend([graph.stream(node), 0]);
        for list in [graph.after(node), graph.after_start(node)] {
            let count = list.len() as u32;
            bytes.extend([count, place].into_iter().flat_map(u32::to_le_bytes));
            place += count;
        }
    }
    let lists = nodes.flat_map(|node| graph.after(node).iter().chain(graph.after_start(node)));
    bytes.extend(lists.flat_map(|number| number.to_le_bytes()));
    Ok(())
}
