//! A GOAL text as a graph for each rank.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead, Read, Seek, Write};

use etherweave_primitives::{Duration, InputError, Rank};

use super::{
    CALC_MAX, RANKS_MAX, TAG_MAX, binary::BinaryWriter, cores, line_error, lines::GoalLine, lines::LineReader,
};
use crate::tag_names::{TagNames, name_of};
use crate::{Graph, GraphBuilder, GraphOp, NodeId, graph::OwnMessage, graph::OwnMessages, limits::MESSAGE_MAX};

/// Longest line of a text that is converted [B].
const LINE_MAX: u64 = 1 << 20;

struct Reader {
    lines: LineReader,
    /// How many ranks there are; not known before the first line.
    ranks: Option<u64>,
    announced: usize,
    read: Vec<bool>,
    open: Option<OpenRank>,
    /// Lists of the rank before, whose memory the next uses.
    lists: RankLists,
    /// The last line with words.
    last: usize,
}

/// The rank whose operations are being read.
struct OpenRank {
    rank: u64,
    graph: GraphBuilder,
    lists: RankLists,
    own: OwnMessages,
}

/// Lines and labels of the operations of a rank.
#[derive(Default)]
struct RankLists {
    /// Where each operation stands.
    lines: Vec<usize>,
    labels: HashMap<Box<str>, NodeId>,
}

type ReadRank = (u64, Graph);

pub(super) fn announced_ranks(text: &str) -> Option<u64> {
    let mut lines = LineReader::default();
    let first = text.lines().find_map(|line| lines.line(line))?;
    ranks(&first)
}

fn ranks(first: &GoalLine<'_>) -> Option<u64> {
    let ["num_ranks", count] = first.words.as_slice() else { return None };
    count.parse().ok()
}

pub(super) fn read(text: &str) -> Result<Vec<Graph>, InputError> {
    let (mut reader, mut graphs, mut shared) = (Reader::new(), Vec::new(), BTreeSet::new());
    for line in text.lines() {
        if let Some((rank, mut graph)) = reader.line(line)? {
            graph.share(&mut shared);
            graphs.resize(graphs.len().max(rank as usize + 1), Graph::default());
            graphs[rank as usize] = graph;
        }
    }
    graphs.resize(reader.end()? as usize, Graph::default());
    Ok(graphs)
}

/// Names of messages of a text without mistakes, by tag.
pub(super) fn names(text: &str, tags: &BTreeSet<u32>) -> BTreeMap<u32, String> {
    let (mut lines, mut names) = (LineReader::default(), TagNames::new(tags));
    for line in text.lines().filter_map(|line| lines.line(line)) {
        let (label, operation) = match line.words.as_slice() {
            [label, ":", operation @ ..] => (*label, operation),
            operation => ("", operation),
        };
        if let ["send", _, "b", "to", _, rest @ ..] = operation
            && let Ok((Some(tag), _)) = tag(&line, rest)
        {
            let name = if label.is_empty() { String::new() } else { format!("{} (tag {tag})", name_of(label)) };
            names.add(tag, &name);
        }
    }
    names.finish()
}

pub(super) fn convert(mut text: impl BufRead, out: impl Write + Seek) -> Result<(), InputError> {
    let (mut reader, mut line, mut out, mut next) = (Reader::new(), String::new(), Some(out), 0);
    let mut binary = None;
    while next_line(&mut text, &mut line, reader.lines.number() + 1)? {
        let read = reader.line(&line)?;
        if let (Some(ranks), Some(out)) = (reader.ranks, out.take_if(|_| reader.ranks.is_some())) {
            binary = Some(BinaryWriter::new(out, ranks as u32)?);
        }
        if let (Some((rank, graph)), Some(binary)) = (read, &mut binary) {
            if rank != next {
                let mistake = format!("the end of rank {rank} in place of rank {next}");
                return Err(line_error(reader.last, mistake, "ranks in order"));
            }
            binary.rank(&graph)?;
            next += 1;
        }
    }
    reader.end()?;
    binary.expect("a text without mistakes begins with its ranks").finish()
}

/// Reads a line; whether there is one.
fn next_line(text: &mut impl BufRead, line: &mut String, number: usize) -> Result<bool, InputError> {
    line.clear();
    let read = text.take(LINE_MAX).read_line(line);
    let length = read.map_err(|error| line_error(number, format!("it cannot be read ({error})"), "GOAL"))?;
    if length as u64 == LINE_MAX && !line.ends_with('\n') {
        return Err(line_error(number, format!("{LINE_MAX} bytes without an end"), "shorter lines"));
    }
    Ok(length > 0)
}

impl Reader {
    fn new() -> Reader {
        let (lines, lists) = (LineReader::default(), RankLists::default());
        Reader { lines, ranks: None, announced: 1, read: Vec::new(), open: None, lists, last: 1 }
    }

    /// Takes the next line; gives a rank that it ends.
    fn line(&mut self, line: &str) -> Result<Option<ReadRank>, InputError> {
        let Some(line) = self.lines.line(line) else { return Ok(None) };
        self.last = line.number;
        let Some(ranks) = self.ranks else { return self.announce(&line).map(|()| None) };
        match (&mut self.open, line.words.as_slice()) {
            (None, ["rank", rank, "{"]) => self.begin(&line, rank, ranks)?,
            (None, _) => return Err(line_error(line.number, line.shown(), "`rank N {`")),
            (Some(_), ["}"]) => return self.end_rank(),
            (Some(open), [label, verb @ ("requires" | "irequires"), other]) => {
                open.depend(&line, label, verb, other)?
            }
            (Some(open), [label, ":", operation @ ..]) if is_label(label) => {
                open.operation(&line, Some(label), operation, ranks)?;
            }
            (Some(open), operation) => open.operation(&line, None, operation, ranks)?,
        }
        Ok(None)
    }

    fn announce(&mut self, line: &GoalLine<'_>) -> Result<(), InputError> {
        self.announced = line.number;
        self.ranks = ranks(line).filter(|ranks| (1..=RANKS_MAX).contains(ranks));
        match self.ranks {
            Some(ranks) => self.read = vec![false; ranks as usize],
            None => return Err(no_ranks(line.number, &line.shown())),
        }
        Ok(())
    }

    fn begin(&mut self, line: &GoalLine<'_>, rank: &str, ranks: u64) -> Result<(), InputError> {
        let rank = number(line, rank, "rank", ranks - 1)?;
        if self.read[rank as usize] {
            return Err(line_error(line.number, format!("rank {rank} twice"), "each rank once"));
        }
        // Ranks of most texts have as many operations, and one dependency or none each.
        let mut lists = std::mem::take(&mut self.lists);
        let graph = GraphBuilder::with_capacity(lists.lines.len());
        lists.lines.clear();
        lists.labels.clear();
        self.open = Some(OpenRank { rank, graph, lists, own: OwnMessages::default() });
        Ok(())
    }

    fn end_rank(&mut self) -> Result<Option<ReadRank>, InputError> {
        let Some(open) = self.open.take() else { return Ok(None) };
        if let Some((node, error)) = open.own.unmatched() {
            return Err(line_error(open.lists.lines[node.get() as usize], error.found, error.expected));
        }
        let graph = open.graph.build().map_err(|cycle| {
            let line = open.lists.lines[cycle.node as usize];
            line_error(line, "an operation that waits for itself through others", "dependencies without a cycle")
        })?;
        self.read[open.rank as usize] = true;
        self.lists = open.lists;
        Ok(Some((open.rank, graph)))
    }

    /// The text ends; gives how many ranks it has.
    fn end(self) -> Result<u64, InputError> {
        if let Some(line) = self.lines.open_comment() {
            return Err(line_error(line, "a comment without an end", "`*/`"));
        }
        match (self.open, self.ranks) {
            (Some(open), _) => Err(line_error(self.last, format!("the text ends inside of rank {}", open.rank), "`}`")),
            (None, Some(ranks)) => match self.read.iter().position(|is_read| !is_read) {
                Some(rank) => Err(line_error(self.announced, format!("no rank {rank}"), EVERY_RANK)),
                None => Ok(ranks),
            },
            (None, None) => Err(no_ranks(1, "nothing")),
        }
    }
}

/// Lines that the text has for each rank.
const EVERY_RANK: &str = "`rank N {` and `}` for each of the ranks that `num_ranks` announces";

fn no_ranks(line: usize, mistake: &str) -> InputError {
    line_error(line, mistake, format!("`num_ranks` and a number from 1 to {RANKS_MAX}"))
}

impl OpenRank {
    fn depend(&mut self, line: &GoalLine<'_>, label: &str, verb: &str, other: &str) -> Result<(), InputError> {
        let node = |label: &str| {
            let known = self.lists.labels.get(label).copied();
            known.ok_or_else(|| line_error(line.number, format!("no operation {label} so far"), "a label of this rank"))
        };
        let (of, on) = (node(label)?, node(other)?);
        if verb == "requires" {
            self.graph.after(of, &[on]);
        } else {
            self.graph.after_start(of, &[on]);
        }
        Ok(())
    }

    fn operation(
        &mut self,
        line: &GoalLine<'_>,
        label: Option<&str>,
        words: &[&str],
        ranks: u64,
    ) -> Result<(), InputError> {
        let (op, rest) = match words {
            ["send", bytes, "b", "to", peer, rest @ ..] => OpenRank::send(line, [bytes, peer], rest, ranks)?,
            ["recv", bytes, "b", "from", peer, rest @ ..] => OpenRank::receive(line, [bytes, peer], rest, ranks)?,
            ["calc", ns, rest @ ..] => {
                let duration = Duration::from_ns(number(line, ns, "calculation", CALC_MAX)?);
                (GraphOp::Compute { duration }, rest)
            }
            _ => {
                let expected = "`send Nb to RANK`, `recv Nb from RANK`, `calc N`, `LABEL requires LABEL` or `}`";
                return Err(line_error(line.number, line.shown(), expected));
            }
        };
        let cpu = places(line, rest)?;
        cores(&mut self.graph, cpu);
        let node = self.add(line, cpu, op)?;
        self.lists.lines.push(line.number);
        if let Some(label) = label
            && self.lists.labels.insert(label.into(), node).is_some()
        {
            return Err(line_error(line.number, format!("label {label} twice"), "another label for each operation"));
        }
        Ok(())
    }

    fn add(&mut self, line: &GoalLine<'_>, cpu: u8, op: GraphOp) -> Result<NodeId, InputError> {
        let message = match op {
            GraphOp::Send { peer, tag, bytes } if u64::from(peer.get()) == self.rank => {
                OwnMessage { is_send: true, tag, bytes }
            }
            GraphOp::Receive { peer: Some(peer), tag, bytes } if u64::from(peer.get()) == self.rank => {
                let any =
                    || line_error(line.number, "a receive from the rank itself with any tag", "the number of a tag");
                OwnMessage { is_send: false, tag: tag.ok_or_else(any)?, bytes }
            }
            _ => return Ok(self.graph.add(cpu, op, &[])),
        };
        let added = self.own.add(&mut self.graph, cpu, message);
        added.map_err(|error| line_error(line.number, error.found, error.expected))
    }

    fn send<'w>(
        line: &GoalLine<'_>,
        [bytes, peer]: [&str; 2],
        rest: &'w [&'w str],
        ranks: u64,
    ) -> Result<(GraphOp, &'w [&'w str]), InputError> {
        let bytes = number(line, bytes, "message", MESSAGE_MAX.get())?;
        let peer = peer_rank(line, peer, ranks)?;
        let (tag, rest) = tag(line, rest)?;
        let tag = tag.ok_or_else(|| line_error(line.number, "a send with any tag", "the number of a tag"))?;
        Ok((GraphOp::Send { peer, tag, bytes }, rest))
    }

    fn receive<'w>(
        line: &GoalLine<'_>,
        [bytes, peer]: [&str; 2],
        rest: &'w [&'w str],
        ranks: u64,
    ) -> Result<(GraphOp, &'w [&'w str]), InputError> {
        let bytes = number(line, bytes, "message", MESSAGE_MAX.get())?;
        let peer = if peer == "-1" { None } else { Some(peer_rank(line, peer, ranks)?) };
        let (tag, rest) = tag(line, rest)?;
        Ok((GraphOp::Receive { peer, tag, bytes }, rest))
    }
}

fn peer_rank(line: &GoalLine<'_>, peer: &str, ranks: u64) -> Result<Rank, InputError> {
    number(line, peer, "peer", ranks - 1).map(|peer| Rank::new(peer as u32))
}

/// The tag that follows, 0 if none does; `None` for any.
fn tag<'w>(line: &GoalLine<'_>, words: &'w [&'w str]) -> Result<(Option<u32>, &'w [&'w str]), InputError> {
    match words {
        ["tag", "-1", rest @ ..] => Ok((None, rest)),
        ["tag", tag, rest @ ..] => Ok((Some(number(line, tag, "tag", TAG_MAX)? as u32), rest)),
        rest => Ok((Some(0), rest)),
    }
}

fn is_label(word: &str) -> bool {
    word.starts_with(|sign: char| sign.is_ascii_alphabetic())
}

/// The `cpu` of an operation, 0 if none is given. A host has one NIC, so that every `nic` is the same.
fn places(line: &GoalLine<'_>, words: &[&str]) -> Result<u8, InputError> {
    let mut cpu = 0;
    let mut rest = words;
    while let [place @ ("cpu" | "nic"), value, behind @ ..] = rest {
        let value = number(line, value, place, u8::MAX.into())? as u8;
        cpu = if *place == "cpu" { value } else { cpu };
        rest = behind;
    }
    match rest {
        [] => Ok(cpu),
        [word, ..] => Err(line_error(line.number, word, "the end of the line, `tag`, `cpu` or `nic`")),
    }
}

fn number(line: &GoalLine<'_>, word: &str, what: &str, most: u64) -> Result<u64, InputError> {
    let read = word.parse().ok().filter(|number| *number <= most);
    read.ok_or_else(|| line_error(line.number, format!("{what} {word}"), format!("a number up to {most}")))
}
