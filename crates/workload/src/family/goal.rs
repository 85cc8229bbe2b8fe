//! Schedules in GOAL, the group operation assembly language of LogGOPSim, in and out: its text, and the binary that its
//! `txt2bin` makes of one.
//!
//! A GOAL file has a graph of sends, receives and calculations for each rank, which is read as it is: `cpu` is an
//! execution stream on a core. What is read and what is not: `docs/models/workload.md`.
//!
//! ```
//! use etherweave_workload::Goal;
//! let text = "num_ranks 2\nrank 0 {\na: send 8b to 1\n}\nrank 1 {\na: recv 8b from -1\nb: calc 500 cpu 1\n}\n";
//! let graphs = Goal { text: text.into(), ..Goal::default() }.graphs().unwrap();
//! assert_eq!((graphs[1].len(), graphs[1].streams().len()), (2, 2));
//! ```

mod binary;
mod lines;
mod reader;
mod writer;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Seek, Write};
use std::sync::Arc;

use etherweave_primitives::{InputError, InputErrors, params};

use self::binary::{BinaryWriter, RankCounts};
use crate::generator::Generator;
use crate::graph::{BLOCK_BYTES, BLOCK_NODES, graphs_of};
use crate::limits::at_least;
use crate::{ExecutionStream, Graph, GraphBuilder, TraceFile, Traffic, TrafficSize, check_graphs};

/// Most ranks: numbers of ranks are checked before anything of that size is made.
const RANKS_MAX: u64 = 1 << 20;
/// The highest number of 32 bits means any tag.
const TAG_MAX: u64 = u32::MAX as u64 - 1;
/// Longest calculation, two months [ns].
const CALC_MAX: u64 = 5_000_000 * 1_000_000_000;

/// Bytes of a file that are read to learn how many ranks it has.
const HEAD_BYTES: u64 = 1 << 20;
/// Bytes of a file that are read at once to count its lines.
const PIECE_BYTES: u64 = 1 << 20;
/// Memory of a line [B]: an operation with what a run keeps of it, or a dependency.
const LINE_BYTES: u64 = 48;
/// Blocks of a graph in a file that a rank has in memory at once, as far as is known before it runs.
const WINDOW_BLOCKS: u64 = 4;

/// Memory of an operation under way besides its block: it is ready, then a request and a message [B].
const REQUEST_BYTES: u64 = 32;

params! {
    /// A schedule in a GOAL file (`goal`).
    pub struct Goal {
        /// The schedule as text; `file = "NAME"` reads it from beside the scenario.
        #[serde(skip_serializing_if = "String::is_empty")]
        pub text: String = PAIR.to_owned(),
        /// File beside the scenario with the schedule: GOAL text or binary. The resolved scenario has a text of up to 1
        /// MiB in its place; of other files it keeps the path.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub file: Option<String> = None,
        /// SHA-256 that the file must have, in hexadecimal. Absent: any.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sha256: Option<String> = None,
        /// Number of times that all of it is performed, each an iteration, 1 or more.
        pub iterations: u32 = 1,
        /// The file, once it is open; in place of the text.
        #[serde(skip)]
        pub content: Option<TraceFile> = None,
    }
}

/// Two ranks that exchange a message.
const PAIR: &str = "num_ranks 2

rank 0 {
s: send 8b to 1 tag 0
r: recv 8b from 1 tag 0
}

rank 1 {
r: recv 8b from 0 tag 0
s: send 8b to 0 tag 0
}
";

impl Generator for Goal {
    /// 0 when the file does not begin by saying so.
    fn ranks(&self) -> u64 {
        let Some(file) = &self.content else { return reader::announced_ranks(&self.text).unwrap_or(0) };
        let head = file.head(HEAD_BYTES).unwrap_or_default();
        if Goal::is_binary(&head) {
            return binary::announced_ranks(&head).unwrap_or(0);
        }
        // The last character may be cut.
        let text = str::from_utf8(&head).or_else(|error| str::from_utf8(&head[..error.valid_up_to()]));
        reader::announced_ranks(text.unwrap_or_default()).unwrap_or(0)
    }

    fn traffic(&self, _: u64) -> Result<Traffic, InputErrors> {
        Ok(Traffic::Graphs { ranks: self.graphs()?, iterations: self.iterations })
    }

    /// A line is an operation at most, and each connection has a message; what is sent is not read.
    fn size(&self) -> Result<TrafficSize, InputErrors> {
        let (ranks, (lines, sends)) = (self.ranks(), self.counts_max());
        let pairs = ranks.saturating_mul(ranks.saturating_sub(1)) / 2;
        let window = WINDOW_BLOCKS * BLOCK_BYTES + size_of::<Graph>() as u64;
        let windows = ranks.saturating_mul(window).saturating_add(self.window_bytes());
        Ok(TrafficSize {
            ranks,
            receivers: ranks,
            program_bytes: if self.is_in_file() { windows } else { lines * LINE_BYTES },
            connections: pairs.min(sends),
            rows: ranks.saturating_mul(u64::from(self.iterations)),
            messages: Some(sends.saturating_mul(u64::from(self.iterations))),
            bytes: None,
            burst_bytes: u64::MAX,
            rest_ps: None,
        })
    }

    /// Labels of sends, and tags.
    fn purposes(&self, tags: &BTreeSet<u32>) -> BTreeMap<u32, String> {
        let numbers = tags.iter().map(|&tag| (tag, format!("tag {tag}")));
        numbers.chain(self.text().map_or_else(BTreeMap::new, |text| reader::names(&text, tags))).collect()
    }
}

impl Goal {
    /// Most operations and dependencies that it can have, and most messages, before anything is built.
    fn counts_max(&self) -> (u64, u64) {
        let Some(file) = &self.content else { return counts_of(self.text.as_bytes()) };
        if self.is_in_file() {
            let operations = file.length() / binary::NODE_BYTES as u64;
            return (operations, operations);
        }
        let (mut lines, mut sends) = (1, 0);
        // Pieces overlap by less than a word.
        for at in (0..file.length()).step_by(PIECE_BYTES as usize) {
            let mut piece = vec![0; (file.length() - at).min(PIECE_BYTES + SEND.len() as u64 - 1) as usize];
            if file.read_at(&mut piece, at).is_err() {
                break; // Reading it says so.
            }
            let (more_lines, more_sends) = counts_of(&piece);
            (lines, sends) = (lines + more_lines, sends + more_sends);
        }
        (lines, sends)
    }

    /// Returns the memory of its ranks while they perform operations that wait for nothing, all at once [B]; 0 of a
    /// text, which is in memory, and of a file that has a mistake.
    fn window_bytes(&self) -> u64 {
        let file = self.content.as_ref().filter(|_| self.is_in_file());
        let counts = file.and_then(|file| binary::counts(file).ok()).unwrap_or_default();
        let of_rank = |rank: &RankCounts| {
            let blocks = rank.roots.min(rank.nodes.div_ceil(BLOCK_NODES.into()));
            blocks * BLOCK_BYTES + rank.roots * REQUEST_BYTES
        };
        counts.iter().map(of_rank).fold(0, u64::saturating_add)
    }

    /// Whether its graphs stay in the file while they are performed.
    fn is_in_file(&self) -> bool {
        let head = self.content.as_ref().and_then(|file| file.head(binary::MAGIC_BYTES as u64).ok());
        head.is_some_and(|head| Goal::is_binary(&head))
    }

    /// The text, of what is no binary.
    fn text(&self) -> Option<Cow<'_, str>> {
        match &self.content {
            None => Some(Cow::Borrowed(&self.text)),
            Some(_) if self.is_in_file() => None,
            Some(file) => String::from_utf8(file.head(u64::MAX).ok()?).ok().map(Cow::Owned),
        }
    }

    /// The graph of every rank.
    ///
    /// # Errors
    /// When it is no GOAL, or ranks do not fit together; with the line or the byte, or the ranks.
    pub fn graphs(&self) -> Result<Vec<Arc<Graph>>, InputError> {
        at_least("iterations", self.iterations, 1)?;
        let (key, graphs) = match &self.content {
            None => ("text", reader::read(&self.text)?),
            Some(file) => ("file", of_file(file)?),
        };
        let graphs: Vec<Arc<Graph>> = graphs.into_iter().map(Arc::new).collect();
        check_graphs(&graphs).map_err(|error| InputError { key: key.to_owned(), ..error })?;
        Ok(graphs)
    }

    /// Writes programs or graphs as GOAL text, rank by rank: repetitions of programs one after another, without marks
    /// of iterations; of graphs one.
    ///
    /// # Errors
    /// When a rank has more operations than memory should, or a time that is no whole number of nanoseconds; for
    /// streams; when `out` fails.
    pub fn write(traffic: &Traffic, out: &mut impl Write) -> Result<(), InputError> {
        writer::text(traffic, out)
    }

    /// The same as a binary.
    ///
    /// # Errors
    /// As [`Goal::write`].
    pub fn write_binary(traffic: &Traffic, out: impl Write + Seek) -> Result<(), InputError> {
        let graphs = graphs_of(traffic, "GOAL")?;
        let mut binary = BinaryWriter::new(out, traffic.ranks())?;
        graphs.into_iter().try_for_each(|graph| binary.rank(&graph))?;
        binary.finish()
    }

    /// Writes a GOAL text as a binary, with one rank of it in memory at a time.
    ///
    /// # Errors
    /// When it is no GOAL, or its ranks are not in order; with the line. When `text` or `out` fails.
    pub fn convert(text: impl BufRead, out: impl Write + Seek) -> Result<(), InputError> {
        reader::convert(text, out)
    }

    /// Whether a file is a binary, by its first bytes.
    pub fn is_binary(head: &[u8]) -> bool {
        binary::is_goal(head)
    }
}

/// Start of a line that sends a message.
const SEND: [u8; 4] = *b"send";

/// Lines of a text, and sends in it.
fn counts_of(text: &[u8]) -> (u64, u64) {
    let lines = text.iter().filter(|&&byte| byte == b'\n').count();
    let sends = text.windows(SEND.len()).filter(|&window| *window == SEND).count();
    (lines as u64 + 1, sends as u64)
}

/// The graphs of a text, in memory, or of a binary, in its file.
fn of_file(file: &TraceFile) -> Result<Vec<Graph>, InputError> {
    if Goal::is_binary(&file.head(binary::MAGIC_BYTES as u64)?) {
        return binary::open(file);
    }
    let bytes = file.head(u64::MAX)?;
    let text = str::from_utf8(&bytes)
        .map_err(|error| InputError::new("file", format!("byte {}: no UTF-8", error.valid_up_to()), "GOAL"))?;
    reader::read(text).map_err(|error| InputError { key: "file".to_owned(), ..error })
}

/// Gives a graph streams up to number `cpu`.
fn cores(graph: &mut GraphBuilder, cpu: u8) {
    while graph.streams() <= usize::from(cpu) {
        graph.stream(ExecutionStream::Core);
    }
}

/// The error about a line of the text.
fn line_error(line: usize, mistake: impl std::fmt::Display, expected: impl std::fmt::Display) -> InputError {
    InputError::new("text", mistake, expected).at_line(line)
}

#[cfg(test)]
mod tests;
