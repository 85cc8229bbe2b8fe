//! GOAL binaries: little-endian, packed.
//!
//! ```text
//!   magic u64 │ ranks u32, most cpu u8, most nic u8 │ per rank: start u64, end u64, from behind the magic │ ranks
//!   rank:  nodes u32, roots u32 │ roots u32 each │ nodes of 39 B │ appendix: numbers of nodes, u32 each
//!   node:  waits u32, kind u8, peer u32, size u64, tag u32, cpu u8, nic u8,
//!          dependants on completion: count u32, place in the appendix u32; dependants on start: the same
//! ```
//!
//! Nothing is trusted: places and counts are taken only if they lie within the file, and every number of dependencies
//! is compared with the appendix before anything is simulated. Nodes stay in the file, and are read in blocks while
//! they are performed.

use std::io::{Seek, SeekFrom, Write};
use std::sync::Arc;

use etherweave_primitives::{Duration, InputError, Rank};

use super::{CALC_MAX, RANKS_MAX, writer::nanoseconds, writer::written};
use crate::graph::{BLOCK_NODES, GraphFacts, NodeLists, ReadNodes};
use crate::{ExecutionStream, Graph, GraphOp, TraceFile, limits::MESSAGE_MAX};

/// A file, and one whose numbers of dependencies LogGOPSim has used up.
const MAGIC: [u64; 2] = [4223, 2342];
pub(super) const MAGIC_BYTES: usize = 8;
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

pub(super) fn announced_ranks(head: &[u8]) -> Option<u64> {
    Some(u64::from(u32::from_le_bytes(*head.get(MAGIC_BYTES..)?.first_chunk()?)))
}

/// Nodes of a rank, and how many of them wait for nothing.
pub(super) struct RankCounts {
    pub nodes: u64,
    pub roots: u64,
}

/// Those of every rank, before anything is checked: none more than the file has room for.
///
/// # Errors
/// When the file ends before.
pub(super) fn counts(trace: &TraceFile) -> Result<Vec<RankCounts>, InputError> {
    let begin = MAGIC_BYTES + HEADER_BYTES;
    let ranks = announced_ranks(&trace.head(begin as u64)?).unwrap_or(0).min(trace.length() / 16);
    let places = trace.head(begin as u64 + 16 * ranks)?;
    let counts = |place: &[u8]| {
        let (mut counts, start) = ([0; 8], number::<8>(place, 0).min(trace.length()));
        trace.read_at(&mut counts, start + MAGIC_BYTES as u64)?;
        let nodes = u64::from(number_32(&counts, 0)).min(trace.length() / NODE_BYTES as u64);
        Ok(RankCounts { nodes, roots: u64::from(number_32(&counts, 4)).min(nodes) })
    };
    places.get(begin..).unwrap_or_default().chunks_exact(16).map(counts).collect()
}

#[derive(Clone, Copy, Debug)]
struct Part {
    at: u64,
    length: u64,
}

/// The error about a byte of the file.
fn byte_error(at: u64, mistake: impl std::fmt::Display, expected: impl std::fmt::Display) -> InputError {
    InputError::new("file", format!("byte {at}: {mistake}"), expected)
}

impl Part {
    /// So many bytes from a place on, which may be beyond the end.
    fn part(self, from: u64, length: u64, what: &str) -> Result<Part, InputError> {
        let is_within = from.checked_add(length).is_some_and(|end| end <= self.length);
        let mistake = format_args!("{what} of {length} bytes from {from} on, in {} bytes", self.length);
        if is_within {
            Ok(Part { at: self.at + from, length })
        } else {
            Err(byte_error(self.at, mistake, "a place within"))
        }
    }
}

fn expected_below(count: u32) -> String {
    format!("one below {count}")
}

/// A number of at most eight bytes, which lies within.
fn number<const N: usize>(bytes: &[u8], from: usize) -> u64 {
    let mut number = [0; 8];
    number[..N].copy_from_slice(&bytes[from..from + N]);
    u64::from_le_bytes(number)
}

fn number_32(bytes: &[u8], from: usize) -> u32 {
    number::<4>(bytes, from) as u32
}

/// Opens a file that [`is_goal`]: checks every node, and leaves it where it is.
///
/// # Errors
/// When a place or a count lies outside of it, an operation is none, or numbers of dependencies are not those of the
/// appendix; with the byte.
pub(super) fn open(trace: &TraceFile) -> Result<Vec<Graph>, InputError> {
    if number::<8>(&trace.head(MAGIC_BYTES as u64)?, 0) != MAGIC[0] {
        let mistake = "a file that LogGOPSim has used up, as its first number says";
        return Err(byte_error(0, mistake, "one as txt2bin makes it"));
    }
    let file = Part { at: 0, length: trace.length() };
    let file = file.part(MAGIC_BYTES as u64, file.length - MAGIC_BYTES as u64, "a file")?;
    let mut header = [0; HEADER_BYTES];
    trace.read_at(&mut header, file.part(0, HEADER_BYTES as u64, "a header")?.at)?;
    let ranks = number_32(&header, 0);
    if !(1..=RANKS_MAX).contains(&ranks.into()) {
        return Err(byte_error(file.at, format!("{ranks} ranks"), format!("1 to {RANKS_MAX}")));
    }
    let mut behind = HEADER_BYTES as u64 + 16 * u64::from(ranks);
    let places = file.part(HEADER_BYTES as u64, behind - HEADER_BYTES as u64, "places of ranks")?;
    let mut graphs = Vec::with_capacity(ranks as usize);
    for rank in 0..ranks {
        let (mut place, at) = ([0; 16], places.at + 16 * u64::from(rank));
        trace.read_at(&mut place, at)?;
        let [start, end] = [0, 8].map(|from| number::<8>(&place, from));
        if start < behind || end < start {
            let expected = format!("a start from {behind} on and an end behind it");
            return Err(byte_error(at, format!("rank {rank} from {start} to {end}"), expected));
        }
        if end > file.length {
            let mistake = format!("rank {rank} from {start} to {end}, in {} bytes", file.length);
            return Err(byte_error(at, mistake, "a place within"));
        }
        behind = end;
        let part = file.part(start, end - start, &format!("rank {rank}"))?;
        graphs.push(RankNodes::new(trace, part, rank, ranks)?.graph()?);
    }
    if behind < file.length {
        let mistake = format!("{} bytes behind the last rank", file.length - behind);
        return Err(byte_error(file.at + behind, mistake, "the end of the file"));
    }
    Ok(graphs)
}

#[derive(Clone, Debug)]
struct RankNodes {
    trace: TraceFile,
    rank: u32,
    ranks: u32,
    count: u32,
    roots: Part,
    nodes: Part,
    appendix: Part,
}

impl RankNodes {
    fn new(trace: &TraceFile, part: Part, rank: u32, ranks: u32) -> Result<RankNodes, InputError> {
        let mut counts = [0; 8];
        trace.read_at(&mut counts, part.part(0, 8, "counts")?.at)?;
        let [count, roots] = [0, 4].map(|from| number_32(&counts, from));
        let roots = part.part(8, 4 * u64::from(roots), "roots")?;
        let nodes = part.part(8 + roots.length, u64::from(count) * NODE_BYTES as u64, "nodes")?;
        let from = 8 + roots.length + nodes.length;
        let appendix = part.part(from, part.length - from, "dependants")?;
        Ok(RankNodes { trace: trace.clone(), rank, ranks, count, roots, nodes, appendix })
    }

    /// Reads all nodes once, in blocks.
    fn graph(self) -> Result<Graph, InputError> {
        let (mut nodes, mut facts, mut roots) = (NodeLists::default(), GraphFacts::default(), Roots::default());
        let (mut cpu_max, mut waits, mut left) = (0, 0_u64, self.appendix.length / 4);
        for first in (0..self.count).step_by(BLOCK_NODES as usize) {
            self.read_within(first, BLOCK_NODES.min(self.count - first), &mut nodes, &mut left)?;
            for (place, op) in nodes.ops().enumerate() {
                facts.add(op);
                cpu_max = cpu_max.max(nodes.stream(place as u32));
                waits += u64::from(nodes.waits()[place]);
                roots.check(&self, first + place as u32, nodes.waits()[place] == 0)?;
            }
        }
        roots.check_end(&self)?;
        let dependants = self.appendix.length / 4 - left;
        if waits != dependants {
            let mistake = format!("nodes that wait for {waits} operations in all, and {dependants} dependants");
            return Err(byte_error(self.nodes.at, mistake, "equal numbers"));
        }
        let streams = vec![ExecutionStream::Core; if self.count == 0 { 0 } else { usize::from(cpu_max) + 1 }];
        let count = self.count;
        Ok(Graph::in_file(streams, facts.finished(), Arc::new(self), count))
    }

    /// Reads nodes as [`ReadNodes::read`] does, with at most so many dependants, of which those that are read are
    /// taken.
    fn read_within(&self, first: u32, count: u32, nodes: &mut NodeLists, left: &mut u64) -> Result<(), InputError> {
        let mut bytes = [0; BLOCK_NODES as usize * NODE_BYTES];
        let bytes = &mut bytes[..count as usize * NODE_BYTES];
        let at = self.nodes.at + u64::from(first) * NODE_BYTES as u64;
        self.trace.read_at(bytes, at)?;
        nodes.clear();
        let mut entries = Entries::new(self);
        for (place, node) in bytes.chunks_exact(NODE_BYTES).enumerate() {
            let at = at + (place * NODE_BYTES) as u64;
            nodes.push(operation(node, at, self.rank, self.ranks)?, node[21], number_32(node, 0));
            for (from, is_start) in [(23, false), (31, true)] {
                let [length, place] = [from, from + 4].map(|from| u64::from(number_32(node, from)));
                if length == 0 {
                    continue;
                }
                let beyond =
                    || byte_error(at + from as u64, format!("{length} dependants"), format!("at most {left} more"));
                *left = left.checked_sub(length).ok_or_else(beyond)?;
                entries.put([4 * place, 4 * length], is_start, nodes)?;
            }
        }
        Ok(())
    }
}

impl ReadNodes for RankNodes {
    fn read(&self, first: u32, count: u32, nodes: &mut NodeLists) -> Result<(), InputError> {
        self.read_within(first, count, nodes, &mut (self.appendix.length / 4))
    }

    fn read_roots(&self, from: u32, roots: &mut Vec<u32>) -> Result<(), InputError> {
        let from = 4 * u64::from(from);
        let mut bytes = [0; 4 * BLOCK_NODES as usize];
        let length = (self.roots.length - from).min(bytes.len() as u64) as usize;
        self.trace.read_at(&mut bytes[..length], self.roots.at + from)?;
        roots.extend(bytes[..length].chunks_exact(4).map(|entry| number_32(entry, 0)));
        match roots.iter().find(|&&root| root >= self.count) {
            Some(root) => Err(byte_error(self.roots.at, format!("root {root}"), expected_below(self.count))),
            None => Ok(()),
        }
    }
}

/// The list of roots, compared with the nodes that wait for nothing.
#[derive(Default)]
struct Roots {
    /// Read and not compared.
    read: std::vec::IntoIter<u32>,
    compared: u32,
}

impl Roots {
    /// Compares a node, the lowest first.
    fn check(&mut self, of: &RankNodes, node: u32, waits_for_nothing: bool) -> Result<(), InputError> {
        if !waits_for_nothing {
            return Ok(());
        }
        match self.next(of)? {
            Some(root) if root == node => Ok(()),
            other => {
                let mistake = other.map_or_else(|| "the end of the roots".to_owned(), |root| format!("root {root}"));
                let at = of.roots.at + 4 * u64::from(self.compared - u32::from(other.is_some()));
                Err(byte_error(at, mistake, format!("{node}, which waits for nothing")))
            }
        }
    }

    fn check_end(&mut self, of: &RankNodes) -> Result<(), InputError> {
        let at = of.roots.at + 4 * u64::from(self.compared);
        let rest = self.next(of)?;
        rest.map_or(Ok(()), |root| Err(byte_error(at, format!("root {root}"), "the end of the roots")))
    }

    fn next(&mut self, of: &RankNodes) -> Result<Option<u32>, InputError> {
        if self.read.as_slice().is_empty() {
            let mut roots = Vec::new();
            of.read_roots(self.compared, &mut roots)?;
            self.read = roots.into_iter();
        }
        let next = self.read.next();
        self.compared += u32::from(next.is_some());
        Ok(next)
    }
}

/// Reads lists of the appendix: mostly each begins where the one before ends.
struct Entries<'a> {
    of: &'a RankNodes,
    bytes: [u8; 1024],
    /// Range of the appendix that has been read.
    begin: u64,
    end: u64,
}

impl<'a> Entries<'a> {
    fn new(of: &'a RankNodes) -> Entries<'a> {
        Entries { of, bytes: [0; 1024], begin: 0, end: 0 }
    }

    /// Adds a list of so many bytes from a place on to the last of `nodes`.
    fn put(&mut self, [from, length]: [u64; 2], is_start: bool, nodes: &mut NodeLists) -> Result<(), InputError> {
        let (of, list) = (self.of, self.of.appendix.part(from, length, "dependants")?);
        let mut failure = None;
        let entries = (0..length / 4).map_while(|index| {
            let entry = self.entry(from + 4 * index).and_then(|number| {
                let mistake =
                    || byte_error(list.at + 4 * index, format!("operation {number}"), expected_below(of.count));
                Some(number).filter(|&number| number < of.count).ok_or_else(mistake)
            });
            entry.map_err(|error| failure = Some(error)).ok()
        });
        nodes.extend(is_start, entries);
        failure.map_or(Ok(()), Err)
    }

    /// The entry at a place within.
    fn entry(&mut self, from: u64) -> Result<u32, InputError> {
        if from < self.begin || from >= self.end {
            let length = (self.of.appendix.length - from).min(self.bytes.len() as u64) / 4 * 4;
            self.of.trace.read_at(&mut self.bytes[..length as usize], self.of.appendix.at + from)?;
            (self.begin, self.end) = (from, from + length);
        }
        Ok(number_32(&self.bytes, (from - self.begin) as usize))
    }
}

/// The operation of a node that begins at byte `at`.
fn operation(node: &[u8], at: u64, rank: u32, ranks: u32) -> Result<GraphOp, InputError> {
    let (kind, peer, size, tag) = (node[4], number_32(node, 5), number::<8>(node, 9), number_32(node, 17));
    let named = |number: u32| Some(number).filter(|&number| number != ANY);
    let most = if kind == CALC { CALC_MAX } else { MESSAGE_MAX.get() };
    if size > most {
        return Err(byte_error(at + 9, format!("a size of {size}"), format!("at most {most}")));
    }
    let is_peer = (peer < ranks && peer != rank) || (peer == ANY && kind == RECEIVE);
    if kind != CALC && peer == rank {
        let expected = "another rank of the job; in a text such messages are copies";
        return Err(byte_error(at + 5, format!("a message of rank {rank} to itself"), expected));
    }
    if kind != CALC && !is_peer {
        let mistake = format!("rank {rank} exchanges with {peer} in a job of {ranks} ranks");
        return Err(byte_error(at + 5, mistake, "another rank of the job"));
    }
    match (kind, named(tag)) {
        (SEND, Some(tag)) => Ok(GraphOp::Send { peer: Rank::new(peer), tag, bytes: size }),
        (SEND, None) => Err(byte_error(at + 17, "a send with any tag", "the number of a tag")),
        (RECEIVE, tag) => Ok(GraphOp::Receive { peer: named(peer).map(Rank::new), tag, bytes: size }),
        (CALC, _) => Ok(GraphOp::Compute { duration: Duration::from_ns(size) }),
        (other, _) => Err(byte_error(at + 4, format!("operation of kind {other}"), "1, 2 or 3")),
    }
}

/// Writes a file, rank by rank.
pub(super) struct BinaryWriter<W> {
    out: W,
    /// Where ranks begin and end, from behind the magic number.
    places: Vec<[u64; 2]>,
    cpu_max: u8,
}

impl<W: Write + Seek> BinaryWriter<W> {
    /// Begins a file for so many ranks.
    pub fn new(mut out: W, ranks: u32) -> Result<BinaryWriter<W>, InputError> {
        let header = [&MAGIC[0].to_le_bytes()[..], &ranks.to_le_bytes(), &[0, 0]].concat();
        written(out.write_all(&header).and_then(|()| out.write_all(&vec![0; 16 * ranks as usize])))?;
        Ok(BinaryWriter { out, places: Vec::with_capacity(ranks as usize), cpu_max: 0 })
    }

    /// Writes the next rank.
    ///
    /// # Errors
    /// When nothing can be written.
    pub fn rank(&mut self, graph: &Graph) -> Result<(), InputError> {
        self.cpu_max = self.cpu_max.max(graph.streams().len().saturating_sub(1) as u8);
        let start = self.place()?;
        self.put(&graph.nodes()?)?;
        let end = self.place()?;
        self.places.push([start, end]);
        Ok(())
    }

    fn place(&mut self) -> Result<u64, InputError> {
        written(self.out.stream_position()).map(|position| position - MAGIC_BYTES as u64)
    }

    fn put(&mut self, graph: &NodeLists) -> Result<(), InputError> {
        let nodes = 0..graph.len() as u32;
        let roots: Vec<u32> = nodes.clone().filter(|&node| graph.waits()[node as usize] == 0).collect();
        self.numbers([nodes.end, roots.len() as u32].into_iter().chain(roots))?;
        let mut place = 0;
        for node in nodes.clone() {
            written(self.out.write_all(&node_bytes(graph, node, &mut place)))?;
        }
        self.numbers(nodes.flat_map(|node| graph.after(node).iter().chain(graph.after_start(node)).copied()))
    }

    fn numbers(&mut self, numbers: impl IntoIterator<Item = u32>) -> Result<(), InputError> {
        numbers.into_iter().try_for_each(|number| written(self.out.write_all(&number.to_le_bytes())))
    }

    /// Writes where the ranks are.
    pub fn finish(mut self) -> Result<(), InputError> {
        let places: Vec<u8> = self.places.iter().flatten().flat_map(|place| place.to_le_bytes()).collect();
        let header = [&[self.cpu_max, 0][..], &places].concat();
        let begin = SeekFrom::Start((MAGIC_BYTES + HEADER_BYTES - 2) as u64);
        written(self.out.seek(begin).and_then(|_| self.out.write_all(&header)).and_then(|()| self.out.flush()))
    }
}

/// A node; `place` is that of the next dependant in the appendix.
fn node_bytes(graph: &NodeLists, node: u32, place: &mut u32) -> [u8; NODE_BYTES] {
    let op = graph.op(node);
    let (kind, peer, size, tag) = match op {
        GraphOp::Send { peer, tag, bytes } => (SEND, peer.get(), bytes, tag),
        GraphOp::Receive { peer, tag, bytes } => (RECEIVE, peer.map_or(ANY, Rank::get), bytes, tag.unwrap_or(ANY)),
        GraphOp::Compute { .. } | GraphOp::Copy { .. } | GraphOp::Transfer { .. } | GraphOp::Repeat { .. } => {
            (CALC, 0, nanoseconds(op), 0)
        }
    };
    let [after, after_start] = [graph.after(node), graph.after_start(node)].map(|list| {
        let count = list.len() as u32;
        *place += count;
        [count, *place - count]
    });
    let mut bytes = [0; NODE_BYTES];
    bytes[..4].copy_from_slice(&graph.waits()[node as usize].to_le_bytes());
    bytes[4] = kind;
    bytes[5..9].copy_from_slice(&peer.to_le_bytes());
    bytes[9..17].copy_from_slice(&size.to_le_bytes());
    bytes[17..21].copy_from_slice(&tag.to_le_bytes());
    bytes[21] = graph.stream(node);
    let lists = after.into_iter().chain(after_start).zip(bytes[23..].chunks_exact_mut(4));
    lists.for_each(|(number, place)| place.copy_from_slice(&number.to_le_bytes()));
    bytes
}
