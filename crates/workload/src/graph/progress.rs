//! Graphs are run without time, where every send completes at once: what waits there waits anywhere. Which sends wait
//! for their receive is for a run to say: whoever relies on eager messages is simulated like that.

use std::collections::VecDeque;
use std::sync::Arc;

use etherweave_primitives::{InputError, Rank};

use super::{Graph, GraphOp};
use crate::progress::{Channels, Request};

/// Graphs that run.
struct Network<'a> {
    graphs: &'a [Arc<Graph>],
    /// What each node still waits for, by rank.
    waits: Vec<Vec<u32>>,
    /// Nodes that may start.
    ready: VecDeque<(usize, u32)>,
    channels: Channels,
}

/// Checks that all nodes complete if every send does at once, and that lengths agree.
pub(super) fn check_progress(graphs: &[Arc<Graph>]) -> Result<(), InputError> {
    let waits = graphs.iter().map(|graph| graph.waits.clone()).collect();
    let roots = |(rank, graph): (usize, &Arc<Graph>)| {
        let nodes = graph.waits.iter().enumerate().filter(|&(_, &waits)| waits == 0);
        nodes.map(move |(node, _)| (rank, node as u32)).collect::<Vec<_>>()
    };
    let ready = graphs.iter().enumerate().flat_map(roots).collect();
    let mut network = Network { graphs, waits, ready, channels: Channels::default() };
    while let Some((rank, node)) = network.ready.pop_front() {
        network.start(rank, node)?;
    }
    let is_stuck = |rank: &usize| network.waits[*rank].iter().any(|&waits| waits > 0);
    let stuck: Vec<usize> = (0..graphs.len()).filter(is_stuck).collect();
    let Some(&first) = stuck.first() else { return Ok(()) };
    let (count, rank) = (stuck.len(), Rank::from_index(first));
    let found = format!("{count} ranks wait for ever, {rank} first{}", network.channels.open_request(first));
    Err(InputError::new("programs", found, "programs that end if no send waits"))
}

impl Network<'_> {
    fn start(&mut self, rank: usize, node: u32) -> Result<(), InputError> {
        let graph = &self.graphs[rank];
        self.release(rank, graph.after_start(node));
        match graph.op(node) {
            GraphOp::Send { peer, tag, bytes } => {
                self.post((rank, peer.index(), tag), Request { bytes, node }, true)?;
                self.release(rank, graph.after(node));
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
        if let Some(other) = self.channels.post(channel, request, is_send)? {
            let receive = if is_send { other } else { request };
            self.release(channel.1, self.graphs[channel.1].after(receive.node));
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
