//! Sums over a graph, so that nobody reads its nodes to learn them.

use etherweave_primitives::{Duration, Rank};

use super::GraphOp;
use crate::collective::communicator_of;

/// Messages and their payload.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MessageSum {
    /// How many.
    pub messages: u64,
    /// Their payload, at most the largest number [B].
    pub bytes: u64,
}

impl MessageSum {
    fn add(&mut self, bytes: u64) {
        self.messages += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Sums over the operations of a graph.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct GraphFacts {
    /// Messages that it sends.
    pub sent: MessageSum,
    /// Messages that it receives.
    pub received: MessageSum,
    /// Its largest message sent [B].
    pub sent_max: u64,
    /// Its computations on all streams and transfers within its node, at most the largest number [ps].
    pub computed_ps: u64,
    /// Its transfers within its node, at most the largest number [ps].
    pub transferred_ps: u64,
    /// Its longest transfer within its node, alone.
    pub transfer_max: Duration,
    /// Its longest computation.
    pub computation_max: Duration,
    /// Whether it receives from any rank or with any tag.
    pub has_open_receives: bool,
    /// Whether a time stands for repetitions of what was done before.
    pub has_repetitions: bool,
    /// Ranks that it names; in order and each once after [`GraphFacts::finished`].
    peers: Vec<Rank>,
    /// Communicators of the messages with each of them, as bits.
    communicators: Vec<u32>,
    /// How many of them there are after the last time that they were put in order.
    ordered: usize,
}

impl GraphFacts {
    /// Transfers of a rank that may be within its node at once: parameters, gradients and what a layer exchanges are a
    /// chain each.
    pub const TRANSFERS_AT_ONCE_MAX: u64 = 3;

    /// Those of operations.
    pub(crate) fn of(ops: impl Iterator<Item = GraphOp>) -> GraphFacts {
        let mut facts = GraphFacts::default();
        ops.for_each(|op| facts.add(op));
        facts.finished()
    }

    /// Those of a driver, of whose operations only the peers are known before a run.
    pub(crate) fn of_peers(peers: &[Rank]) -> GraphFacts {
        let mut facts = GraphFacts { has_open_receives: true, ..GraphFacts::default() };
        peers.iter().for_each(|&peer| facts.name(peer, 0));
        facts.finished()
    }

    pub(crate) fn add(&mut self, op: GraphOp) {
        match op {
            GraphOp::Send { peer, tag, bytes } => {
                self.sent.add(bytes);
                self.sent_max = self.sent_max.max(bytes);
                self.name(peer, tag);
            }
            GraphOp::Receive { peer, tag, bytes } => {
                self.received.add(bytes);
                self.has_open_receives |= peer.is_none() || tag.is_none();
                peer.into_iter().for_each(|peer| self.name(peer, tag.unwrap_or(0)));
            }
            GraphOp::Compute { duration } => {
                self.computed_ps = self.computed_ps.saturating_add(duration.as_ps());
                self.computation_max = self.computation_max.max(duration);
            }
            GraphOp::Transfer { duration, .. } => {
                self.computed_ps = self.computed_ps.saturating_add(duration.as_ps());
                self.transferred_ps = self.transferred_ps.saturating_add(duration.as_ps());
                self.transfer_max = self.transfer_max.max(duration);
            }
            GraphOp::Copy { .. } => {}
            // At most what came before, which is more than the time that is repeated: a part of it.
            GraphOp::Repeat { times, per } => {
                let repeated = GraphOp::Repeat { times, per }.repeated(Duration::from_ps(self.computed_ps));
                self.add(repeated);
                self.has_repetitions |= times > 0;
            }
        }
    }

    /// Longest time in which no computation and no transfer in its node ends: the next of transfers at once ends when
    /// all of them would have ended one after another, or before.
    pub fn rest_max(&self) -> Duration {
        let at_once = self.transfer_max.as_ps().saturating_mul(GraphFacts::TRANSFERS_AT_ONCE_MAX);
        self.computation_max.max(Duration::from_ps(at_once.min(self.transferred_ps)))
    }

    /// Adds so many messages each way, of these lengths [B].
    pub(crate) fn add_messages(&mut self, count: u64, sent: u64, received: u64) {
        for (sum, bytes) in [(&mut self.sent, sent), (&mut self.received, received)] {
            sum.messages += count;
            sum.bytes = sum.bytes.saturating_add(count.saturating_mul(bytes));
        }
        self.sent_max = self.sent_max.max(sent);
    }

    fn name(&mut self, peer: Rank, tag: u32) {
        let communicator = 1 << communicator_of(tag);
        match self.communicators.last_mut() {
            Some(communicators) if self.peers.last() == Some(&peer) => *communicators |= communicator,
            _ => {
                self.peers.push(peer);
                self.communicators.push(communicator);
            }
        }
        // Twice what there was at the last time, so that the list never outgrows what it is about.
        if self.peers.len() > 2 * self.ordered + 64 {
            self.order();
        }
    }

    fn order(&mut self) {
        let mut pairs: Vec<(Rank, u32)> = self.peers.drain(..).zip(self.communicators.drain(..)).collect();
        pairs.sort_unstable();
        pairs.dedup_by(|(peer, communicators), (earlier, all)| {
            *all |= if peer == earlier { *communicators } else { 0 };
            peer == earlier
        });
        (self.peers, self.communicators) = pairs.into_iter().unzip();
        self.ordered = self.peers.len();
    }

    /// The facts when all operations have been added.
    pub(crate) fn finished(mut self) -> GraphFacts {
        self.order();
        self.peers.shrink_to_fit();
        self.communicators.shrink_to_fit();
        self
    }

    /// Ranks that it names, in order, with the [communicators](communicator_of) of its messages with them, as bits.
    pub fn communicators(&self) -> impl Iterator<Item = (Rank, u32)> {
        self.peers.iter().copied().zip(self.communicators.iter().copied())
    }

    /// Ranks that it names, in order.
    pub fn peers(&self) -> &[Rank] {
        &self.peers
    }
}
