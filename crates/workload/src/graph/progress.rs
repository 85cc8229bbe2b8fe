//! Graphs are run without time, where every send completes at once: what waits there waits anywhere. Which sends wait
//! for their receive is for a run to say: whoever relies on eager messages is simulated like that.
//!
//! What is in progress is in memory, of nodes that are in a file as of messages, and a bit for each operation.

use std::{collections::VecDeque, sync::Arc};

use etherweave_primitives::{InputError, Rank, Time};

use super::{Graph, GraphOp, GraphRun};
use crate::progress::{Channels, Request, waiting_ranks};

struct Network {
    ranks: Vec<CheckedRun>,
    /// Nodes that may start, by rank.
    ready: VecDeque<(usize, u32)>,
    channels: Channels,
}

/// A graph that runs, each of whose nodes starts once.
struct CheckedRun {
    rank: Rank,
    run: GraphRun,
    /// Nodes that have started, as bits.
    started: Vec<u64>,
}

/// Checks that all nodes complete if every send does at once, that lengths agree, and that no message is left.
pub(super) fn check_progress(graphs: &[Arc<Graph>]) -> Result<(), InputError> {
    let (mut ranks, mut ready) = (Vec::with_capacity(graphs.len()), VecDeque::new());
    for (rank, graph) in graphs.iter().enumerate() {
        ranks.push(CheckedRun::begin(rank, graph, |node| ready.push_back((rank, node)))?);
    }
    let mut network = Network { ranks, ready, channels: Channels::new(graphs.len()) };
    while let Some((rank, node)) = network.ready.pop_front() {
        network.start(rank, node)?;
    }
    network.check_end(graphs)
}

/// Checks that no operation of a graph waits for itself, whatever its messages do.
pub(super) fn check_cycles(rank: usize, graph: &Arc<Graph>) -> Result<(), InputError> {
    let mut ready = VecDeque::new();
    let mut run = CheckedRun::begin(rank, graph, |node| ready.push_back(node))?;
    while let Some(node) = ready.pop_front() {
        run.start(node, |node| ready.push_back(node))?;
        run.complete(node, |node| ready.push_back(node))?;
    }
    match run.lowest_waiting() {
        Some(node) => Err(run.error(node, "waits for itself through others", "dependencies without a cycle")),
        None => Ok(()),
    }
}

impl CheckedRun {
    fn begin(rank: usize, graph: &Arc<Graph>, mut ready: impl FnMut(u32)) -> Result<CheckedRun, InputError> {
        let mut run = GraphRun::new(graph.clone());
        run.begin(Time::ZERO, |node, _| ready(node));
        let started = vec![0; graph.len().div_ceil(64)];
        CheckedRun { rank: Rank::from_index(rank), run, started }.checked()
    }

    fn start(&mut self, node: u32, mut ready: impl FnMut(u32)) -> Result<(), InputError> {
        let (word, bit) = (&mut self.started[node as usize / 64], 1 << (node % 64));
        if *word & bit != 0 {
            return Err(self.error(node, "starts twice", "as many dependencies as it waits for"));
        }
        *word |= bit;
        self.run.start(node, |node, _| ready(node));
        self.check_failure()
    }

    fn complete(&mut self, node: u32, mut ready: impl FnMut(u32)) -> Result<(), InputError> {
        self.run.complete(node, Time::ZERO, None, |node, _| ready(node));
        self.check_failure()
    }

    fn checked(self) -> Result<CheckedRun, InputError> {
        self.check_failure().map(|()| self)
    }

    fn check_failure(&self) -> Result<(), InputError> {
        let failure = self.run.failure().cloned();
        failure.map_or(Ok(()), |error| Err(InputError { found: format!("{}: {}", self.rank, error.found), ..error }))
    }

    fn error(&self, node: u32, mistake: &str, expected: &str) -> InputError {
        InputError::new("file", format!("{}: operation {node} {mistake}", self.rank), expected)
    }

    /// The first node that has not started.
    fn lowest_waiting(&self) -> Option<u32> {
        let word = self.started.iter().position(|&word| word != u64::MAX)?;
        let node = 64 * word as u32 + self.started[word].trailing_ones();
        (u64::from(node) < self.run.graph().len() as u64).then_some(node)
    }
}

impl Network {
    fn start(&mut self, rank: usize, node: u32) -> Result<(), InputError> {
        let ready = &mut self.ready;
        self.ranks[rank].start(node, |node| ready.push_back((rank, node)))?;
        match self.ranks[rank].run.op(node) {
            GraphOp::Send { peer, tag, bytes } => {
                self.post((rank, peer.index(), tag), Request { bytes, node }, true)?;
                self.complete(rank, node)
            }
            GraphOp::Receive { peer: Some(peer), tag: Some(tag), bytes } => {
                self.post((peer.index(), rank, tag), Request { bytes, node }, false)
            }
            GraphOp::Receive { .. } => unreachable!("only receives that name rank and tag are run"),
            GraphOp::Compute { .. } | GraphOp::Copy { .. } | GraphOp::Transfer { .. } | GraphOp::Repeat { .. } => {
                self.complete(rank, node)
            }
        }
    }

    fn post(&mut self, channel: (usize, usize, u32), request: Request, is_send: bool) -> Result<(), InputError> {
        match self.channels.post(channel, request, is_send)? {
            Some(other) => self.complete(channel.1, if is_send { other.node } else { request.node }),
            None => Ok(()),
        }
    }

    fn complete(&mut self, rank: usize, node: u32) -> Result<(), InputError> {
        let ready = &mut self.ready;
        self.ranks[rank].complete(node, |node| ready.push_back((rank, node)))
    }

    /// Checks that nothing is left when nothing is ready.
    fn check_end(&self, graphs: &[Arc<Graph>]) -> Result<(), InputError> {
        let is_stuck = |rank: &usize| self.ranks[*rank].run.left() > 0;
        let stuck: Vec<usize> = (0..graphs.len()).filter(is_stuck).collect();
        let Some(&first) = stuck.first() else { return self.channels.check_sends() };
        check_cycles(first, &graphs[first])?;
        let waiting = self.ranks[first].lowest_waiting();
        let waiting = waiting.map_or_else(String::new, |node| format!("; its operation {node} does not start"));
        let mistake = format!("{}{}{waiting}", waiting_ranks(&stuck), self.channels.open_request(first));
        Err(InputError::new("programs", mistake, "a send for every receive, before what waits for it"))
    }
}
