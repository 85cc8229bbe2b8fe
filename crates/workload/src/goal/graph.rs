//! A GOAL text as a graph of operations for each rank.

use std::collections::BTreeMap;

use etherweave_primitives::{Duration, InputError, Rank};

use super::line_error;
use super::lines::{GoalLine, lines};
use crate::Op;
use crate::limits::MESSAGE_MAX;

/// Most ranks: numbers of ranks are checked before anything of that size is made.
const RANKS_MAX: u64 = 1 << 20;
/// The highest number of 32 bits means any tag.
const TAG_MAX: u64 = u32::MAX as u64 - 1;
/// Longest calculation, two months [ns].
const CALC_MAX: u64 = 5_000_000 * 1_000_000_000;

/// An operation and what it waits for.
pub(super) struct GoalNode {
    /// Where it stands.
    pub line: usize,
    /// `Isend`, `Irecv` or `Compute`.
    pub op: Op,
    /// Nodes that must be complete before it starts.
    pub requires: Vec<usize>,
    /// Nodes that must have started before it starts.
    pub start_requires: Vec<usize>,
}

/// The operations of a rank in the order of the text.
#[derive(Default)]
pub(super) struct GoalGraph {
    pub nodes: Vec<GoalNode>,
}

/// What is being read.
struct Reader<'a> {
    ranks: u64,
    graphs: Vec<Option<GoalGraph>>,
    open: Option<u64>,
    labels: BTreeMap<&'a str, usize>,
}

/// The number of ranks that the text begins with.
pub(super) fn announced_ranks(text: &str) -> Option<u64> {
    let first = lines(text).next()?;
    let ["num_ranks", count] = first.words.as_slice() else { return None };
    count.parse().ok()
}

/// Reads a text.
pub(super) fn read(text: &str) -> Result<Vec<GoalGraph>, InputError> {
    let ranks = announced_ranks(text).filter(|ranks| (1..=RANKS_MAX).contains(ranks));
    let Some(ranks) = ranks else {
        let first = lines(text).next();
        let (line, words) = first.map_or((1, "nothing".to_owned()), |line| (line.number, line.words.join(" ")));
        return Err(line_error(line, words, format!("`num_ranks` and a number from 1 to {RANKS_MAX}")));
    };
    let graphs = (0..ranks).map(|_| None).collect();
    let mut reader = Reader { ranks, graphs, open: None, labels: BTreeMap::new() };
    let mut last = 1;
    for line in lines(text).skip(1) {
        last = line.number;
        reader.line(&line)?;
    }
    match reader.open {
        Some(rank) => Err(line_error(last, format!("the text ends inside of rank {rank}"), "`}`")),
        None => Ok(reader.graphs.into_iter().map(Option::unwrap_or_default).collect()),
    }
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &GoalLine<'a>) -> Result<(), InputError> {
        let said = || line.words.join(" ");
        match (self.open, line.words.as_slice()) {
            (None, ["rank", rank, "{"]) => self.begin(line, rank),
            (None, _) => Err(line_error(line.number, said(), "`rank N {`")),
            (Some(_), ["}"]) => {
                self.open = None;
                self.labels.clear();
                Ok(())
            }
            (Some(_), [label, verb @ ("requires" | "irequires"), other]) => self.depend(line, label, verb, other),
            (Some(_), [label, ":", operation @ ..]) if is_label(label) => self.operation(line, Some(label), operation),
            (Some(_), operation) => self.operation(line, None, operation),
        }
    }

    fn begin(&mut self, line: &GoalLine<'_>, rank: &str) -> Result<(), InputError> {
        let rank = number(line, rank, "rank", self.ranks - 1)?;
        let graph = &mut self.graphs[rank as usize];
        if graph.is_some() {
            return Err(line_error(line.number, format!("rank {rank} twice"), "each rank once"));
        }
        *graph = Some(GoalGraph::default());
        self.open = Some(rank);
        Ok(())
    }

    fn graph(&mut self) -> &mut GoalGraph {
        let rank = self.open.expect("only called inside of a rank");
        self.graphs[rank as usize].as_mut().expect("an open rank has a graph")
    }

    fn depend(&mut self, line: &GoalLine<'a>, label: &str, verb: &str, other: &str) -> Result<(), InputError> {
        let node = |label: &str| {
            let known = self.labels.get(label).copied();
            known.ok_or_else(|| line_error(line.number, format!("no operation {label} so far"), "a label of this rank"))
        };
        let (of, on) = (node(label)?, node(other)?);
        let node = &mut self.graph().nodes[of];
        if verb == "requires" {
            node.requires.push(on)
        } else {
            node.start_requires.push(on)
        }
        Ok(())
    }

    fn operation(&mut self, line: &GoalLine<'a>, label: Option<&'a str>, words: &[&str]) -> Result<(), InputError> {
        let op = match words {
            ["send", bytes, "b", "to", peer, rest @ ..] => self.message(line, true, [bytes, peer], rest)?,
            ["recv", bytes, "b", "from", peer, rest @ ..] => self.message(line, false, [bytes, peer], rest)?,
            ["calc", ns, rest @ ..] => {
                places(line, rest)?;
                Op::Compute { duration: Duration::from_ns(number(line, ns, "calculation", CALC_MAX)?) }
            }
            _ => {
                return Err(line_error(line.number, line.words.join(" "), "`send`, `recv`, `calc`, `requires` or `}`"));
            }
        };
        let nodes = &mut self.graph().nodes;
        let place = nodes.len();
        nodes.push(GoalNode { line: line.number, op, requires: Vec::new(), start_requires: Vec::new() });
        if let Some(label) = label
            && self.labels.insert(label, place).is_some()
        {
            return Err(line_error(line.number, format!("label {label} twice"), "another label for each operation"));
        }
        Ok(())
    }

    fn message(
        &self,
        line: &GoalLine<'_>,
        is_send: bool,
        [bytes, peer]: [&str; 2],
        rest: &[&str],
    ) -> Result<Op, InputError> {
        let bytes = number(line, bytes, "message", MESSAGE_MAX.get())?;
        if peer == "-1" {
            return Err(line_error(
                line.number,
                "a message from any rank",
                "the number of a rank: programs name their peers",
            ));
        }
        let peer = number(line, peer, "peer", self.ranks - 1)?;
        if Some(peer) == self.open {
            return Err(line_error(line.number, format!("a message of rank {peer} to itself"), "another rank"));
        }
        let (tag, rest) = match rest {
            ["tag", "-1", ..] => {
                return Err(line_error(line.number, "any tag", "the number of a tag: programs name it"));
            }
            ["tag", tag, rest @ ..] => (number(line, tag, "tag", TAG_MAX)?, rest),
            rest => (0, rest),
        };
        places(line, rest)?;
        let (peer, tag) = (Rank::new(peer as u32), tag as u32);
        Ok(if is_send { Op::Isend { peer, tag, bytes } } else { Op::Irecv { peer, tag, bytes } })
    }
}

fn is_label(word: &str) -> bool {
    word.starts_with(|sign: char| sign.is_ascii_alphabetic())
}

/// A rank has one thread: `cpu 0` and `nic 0` say what is so anyway.
fn places(line: &GoalLine<'_>, words: &[&str]) -> Result<(), InputError> {
    match words {
        [] => Ok(()),
        ["cpu" | "nic", "0", rest @ ..] => places(line, rest),
        [place @ ("cpu" | "nic"), other, ..] => {
            Err(line_error(line.number, format!("{place} {other}"), format!("{place} 0: a program has one thread")))
        }
        [word, ..] => Err(line_error(line.number, word, "the end of the line, `tag`, `cpu` or `nic`")),
    }
}

fn number(line: &GoalLine<'_>, word: &str, what: &str, most: u64) -> Result<u64, InputError> {
    let read = word.parse().ok().filter(|number| *number <= most);
    read.ok_or_else(|| line_error(line.number, format!("{what} {word}"), format!("a number up to {most}")))
}
