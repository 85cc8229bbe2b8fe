//! A GOAL text as a graph for each rank.

use std::collections::BTreeMap;

use etherweave_primitives::{Duration, InputError, Rank};

use super::lines::{GoalLine, lines};
use super::{CALC_MAX, RANKS_MAX, TAG_MAX, cores, line_error};
use crate::limits::MESSAGE_MAX;
use crate::{Graph, GraphBuilder, GraphOp, NodeId};

/// What is being read.
struct Reader<'a> {
    ranks: u64,
    graphs: Vec<Option<Graph>>,
    open: Option<OpenRank<'a>>,
}

/// The rank whose operations are being read.
struct OpenRank<'a> {
    rank: u64,
    graph: GraphBuilder,
    /// Where each operation stands.
    lines: Vec<usize>,
    labels: BTreeMap<&'a str, NodeId>,
}

/// The number of ranks that the text begins with.
pub(super) fn announced_ranks(text: &str) -> Option<u64> {
    let first = lines(text).next()?;
    let ["num_ranks", count] = first.words.as_slice() else { return None };
    count.parse().ok()
}

/// Reads a text.
pub(super) fn read(text: &str) -> Result<Vec<Graph>, InputError> {
    let ranks = announced_ranks(text).filter(|ranks| (1..=RANKS_MAX).contains(ranks));
    let Some(ranks) = ranks else {
        let first = lines(text).next();
        let (line, words) = first.map_or((1, "nothing".to_owned()), |line| (line.number, line.words.join(" ")));
        return Err(line_error(line, words, format!("`num_ranks` and a number from 1 to {RANKS_MAX}")));
    };
    let graphs = (0..ranks).map(|_| None).collect();
    let mut reader = Reader { ranks, graphs, open: None };
    let mut last = 1;
    for line in lines(text).skip(1) {
        last = line.number;
        reader.line(&line)?;
    }
    match reader.open {
        Some(open) => Err(line_error(last, format!("the text ends inside of rank {}", open.rank), "`}`")),
        None => Ok(reader.graphs.into_iter().map(Option::unwrap_or_default).collect()),
    }
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &GoalLine<'a>) -> Result<(), InputError> {
        match (&mut self.open, line.words.as_slice()) {
            (None, ["rank", rank, "{"]) => self.begin(line, rank),
            (None, _) => Err(line_error(line.number, line.words.join(" "), "`rank N {`")),
            (Some(_), ["}"]) => self.end(),
            (Some(open), [label, verb @ ("requires" | "irequires"), other]) => open.depend(line, label, verb, other),
            (Some(open), [label, ":", operation @ ..]) if is_label(label) => {
                open.operation(line, Some(label), operation, self.ranks)
            }
            (Some(open), operation) => open.operation(line, None, operation, self.ranks),
        }
    }

    fn begin(&mut self, line: &GoalLine<'_>, rank: &str) -> Result<(), InputError> {
        let rank = number(line, rank, "rank", self.ranks - 1)?;
        if self.graphs[rank as usize].is_some() {
            return Err(line_error(line.number, format!("rank {rank} twice"), "each rank once"));
        }
        let (graph, lines, labels) = (GraphBuilder::default(), Vec::new(), BTreeMap::new());
        self.open = Some(OpenRank { rank, graph, lines, labels });
        Ok(())
    }

    fn end(&mut self) -> Result<(), InputError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let graph = open.graph.build().map_err(|cycle| {
            let line = open.lines[cycle.node as usize];
            line_error(line, "an operation that waits for itself through others", "dependencies without a cycle")
        })?;
        self.graphs[open.rank as usize] = Some(graph);
        Ok(())
    }
}

impl<'a> OpenRank<'a> {
    fn depend(&mut self, line: &GoalLine<'a>, label: &str, verb: &str, other: &str) -> Result<(), InputError> {
        let node = |label: &str| {
            let known = self.labels.get(label).copied();
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
        line: &GoalLine<'a>,
        label: Option<&'a str>,
        words: &[&str],
        ranks: u64,
    ) -> Result<(), InputError> {
        let (op, rest) = match words {
            ["send", bytes, "b", "to", peer, rest @ ..] => self.send(line, [bytes, peer], rest, ranks)?,
            ["recv", bytes, "b", "from", peer, rest @ ..] => self.receive(line, [bytes, peer], rest, ranks)?,
            ["calc", ns, rest @ ..] => {
                let duration = Duration::from_ns(number(line, ns, "calculation", CALC_MAX)?);
                (GraphOp::Compute { duration }, rest)
            }
            _ => {
                return Err(line_error(line.number, line.words.join(" "), "`send`, `recv`, `calc`, `requires` or `}`"));
            }
        };
        let cpu = places(line, rest)?;
        cores(&mut self.graph, cpu);
        let node = self.graph.add(cpu, op, &[]);
        self.lines.push(line.number);
        if let Some(label) = label
            && self.labels.insert(label, node).is_some()
        {
            return Err(line_error(line.number, format!("label {label} twice"), "another label for each operation"));
        }
        Ok(())
    }

    fn send<'w>(
        &self,
        line: &GoalLine<'_>,
        [bytes, peer]: [&str; 2],
        rest: &'w [&'w str],
        ranks: u64,
    ) -> Result<(GraphOp, &'w [&'w str]), InputError> {
        let bytes = number(line, bytes, "message", MESSAGE_MAX.get())?;
        let peer = self.peer(line, peer, ranks)?;
        let (tag, rest) = tag(line, rest)?;
        let tag = tag.ok_or_else(|| line_error(line.number, "a send with any tag", "the number of a tag"))?;
        Ok((GraphOp::Send { peer, tag, bytes }, rest))
    }

    fn receive<'w>(
        &self,
        line: &GoalLine<'_>,
        [bytes, peer]: [&str; 2],
        rest: &'w [&'w str],
        ranks: u64,
    ) -> Result<(GraphOp, &'w [&'w str]), InputError> {
        let bytes = number(line, bytes, "message", MESSAGE_MAX.get())?;
        let peer = if peer == "-1" { None } else { Some(self.peer(line, peer, ranks)?) };
        let (tag, rest) = tag(line, rest)?;
        Ok((GraphOp::Receive { peer, tag, bytes }, rest))
    }

    fn peer(&self, line: &GoalLine<'_>, peer: &str, ranks: u64) -> Result<Rank, InputError> {
        let peer = number(line, peer, "peer", ranks - 1)?;
        if peer == self.rank {
            return Err(line_error(line.number, format!("a message of rank {peer} to itself"), "another rank"));
        }
        Ok(Rank::new(peer as u32))
    }
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
