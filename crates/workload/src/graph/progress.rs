//! Graphs are run without time, on the strictest network: what ends there ends anywhere.

use std::collections::VecDeque;
use std::sync::Arc;

use etherweave_primitives::{InputError, Rank};

use super::{Graph, GraphOp};
use crate::progress::{Channels, Request};

/// Graphs that run.
struct Rendezvous<'a> {
    graphs: &'a [Arc<Graph>],
    /// What each node still waits for, by rank.
    waits: Vec<Vec<u32>>,
    /// Nodes that may start.
    ready: VecDeque<(usize, u32)>,
    channels: Channels,
}

/// Checks that all nodes complete even if no send does before its receive is posted, and that lengths agree.
pub(super) fn check_progress(graphs: &[Arc<Graph>]) -> Result<(), InputError> {
    let waits = graphs.iter().map(|graph| graph.waits.clone()).collect();
    let roots = |(rank, graph): (usize, &Arc<Graph>)| {
        let nodes = graph.waits.iter().enumerate().filter(|&(_, &waits)| waits == 0);
        nodes.map(move |(node, _)| (rank, node as u32)).collect::<Vec<_>>()
    };
    let ready = graphs.iter().enumerate().flat_map(roots).collect();
    let mut network = Rendezvous { graphs, waits, ready, channels: Channels::default() };
    while let Some((rank, node)) = network.ready.pop_front() {
        network.start(rank, node)?;
    }
    let is_stuck = |rank: &usize| network.waits[*rank].iter().any(|&waits| waits > 0);
    let stuck: Vec<usize> = (0..graphs.len()).filter(is_stuck).collect();
    let Some(&first) = stuck.first() else { return Ok(()) };
    let (count, rank) = (stuck.len(), Rank::from_index(first));
    let found = format!("{count} ranks wait for ever, {rank} first{}", network.channels.open_request(first));
    Err(InputError::new("programs", found, "programs that end whatever sends wait for"))
}

impl Rendezvous<'_> {
    fn start(&mut self, rank: usize, node: u32) -> Result<(), InputError> {
        let graph = &self.graphs[rank];
        self.release(rank, graph.after_start(node));
        match graph.op(node) {
            GraphOp::Send { peer, tag, bytes } => {
                self.post((rank, peer.index(), tag), Request { bytes, node }, true)?;
            }
            GraphOp::Receive { peer: Some(peer), tag: Some(tag), bytes } => {
                self.post((peer.index(), rank, tag), Request { bytes, node }, false)?;
            }
            GraphOp::Receive { .. } => unreachable!("only receives that name rank and tag are run"),
            GraphOp::Compute { .. } | GraphOp::Copy { .. } => self.release(rank, graph.after(node)),
        }
        Ok(())
    }

    fn post(&mut self, channel: (usize, usize, u32), request: Request, is_send: bool) -> Result<(), InputError> {
        let (own, peer) = if is_send { (channel.0, channel.1) } else { (channel.1, channel.0) };
        if let Some(other) = self.channels.post(channel, request, is_send)? {
            let graphs = self.graphs;
            self.release(own, graphs[own].after(request.node));
            self.release(peer, graphs[peer].after(other.node));
        }
        Ok(())
    }

    /// One dependency less for each of `nodes`.
    fn release(&mut self, rank: usize, nodes: &[u32]) {
        for &node in nodes {
            let waits = &mut self.waits[rank][node as usize];
            *waits -= 1;
            if *waits == 0 {
                self.ready.push_back((rank, node));
            }
        }
    }
}
