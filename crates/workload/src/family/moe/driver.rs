//! Operations of a rank in a dispatch and in a combine.
//!
//! ```text
//!   dispatch   own copies ──► links                    combine   links ──► own copies
//!              messages ──► network ──► links                    links ──► messages ──► network
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use etherweave_primitives::{Duration, Rank, Time};

use super::plan::{Chunk, Phase, Plan};
use crate::{Driver, DriverEvent, ExecutionStream, Graph, GraphFacts, GraphOp, MessageSum, NextOperations};

/// Streams of a rank: messages, and copies over the links of its node.
pub(super) const NETWORK: u8 = 0;
pub(super) const LINKS: u8 = 1;
/// Phases whose messages may be under way at once, and have tags of their own.
pub(super) const TAGS: u32 = 4;

/// Exchanges tokens, and records how long each exchange takes.
struct Exchanges {
    plan: Arc<Plan>,
    rank: u32,
    /// Exchanges that have begun.
    begun: u32,
    since: Time,
    /// Waits before an exchange: for the experts, and for the start of its kernel.
    pause: Option<u32>,
    is_computing: bool,
    /// Operations that are not complete.
    left: u64,
    /// Messages that go once they have passed the links.
    forwards: BTreeMap<u32, Chunk>,
}

/// The graph of a rank.
pub(super) fn graph(plan: &Arc<Plan>, rank: u32) -> Graph {
    let moe = &plan.moe;
    let peers = plan.peers_by_rank(rank);
    let mut facts = GraphFacts::of_peers(&peers);
    let [dispatch, combine] = moe.token_bytes();
    let times = u64::from(moe.iterations);
    let sum = |flows: &dyn Fn(u32) -> u64| {
        let of_peer = |peer: &Rank| [plan.messages(flows(peer.get())), flows(peer.get())];
        peers.iter().map(of_peer).fold([0, 0], |sum, more| [sum[0] + more[0], sum[1] + more[1]])
    };
    let [sent, received] = [sum(&|peer| plan.tokens(rank, peer)), sum(&|peer| plan.tokens(peer, rank))];
    let total = |out: [u64; 2], back: [u64; 2]| MessageSum {
        messages: times.saturating_mul(out[0] + back[0]),
        bytes: times.saturating_mul(out[1] * dispatch + back[1] * combine),
    };
    (facts.sent, facts.received) = (total(sent, received), total(received, sent));
    facts.sent_max = if peers.is_empty() { 0 } else { moe.chunk() * dispatch.max(combine) };
    facts.computed_ps = times.saturating_mul((moe.compute + moe.latencies()[0] + moe.latencies()[1]).as_ps());
    facts.computation_max = moe.compute;
    let plan = Arc::clone(plan);
    let streams = vec![ExecutionStream::Accelerator; 2];
    Graph::recording(streams, facts, 2 * times, move || Exchanges {
        plan: Arc::clone(&plan),
        rank,
        begun: 0,
        since: Time::ZERO,
        pause: None,
        is_computing: false,
        left: 0,
        forwards: BTreeMap::new(),
    })
}

impl Exchanges {
    fn phase(&self) -> Phase {
        if self.begun % 2 == 1 { Phase::Dispatch } else { Phase::Combine }
    }

    /// The kernel of the next exchange starts.
    fn start(&mut self, now: Time, next: &mut NextOperations<'_>) {
        self.begun += 1;
        self.since = now;
        let latency = self.plan.moe.latencies()[usize::from(self.phase() == Phase::Combine)];
        self.pause = Some(next.wait(latency));
    }

    fn exchange(&mut self, next: &mut NextOperations<'_>) {
        let (plan, phase) = (Arc::clone(&self.plan), self.phase());
        let bytes = plan.bytes(phase);
        let received = plan.peers(self.rank).map(|peer| plan.messages(plan.copies(phase, peer, self.rank)));
        for _ in 0..received.sum() {
            let tag = Some(self.begun % TAGS);
            self.begin(NETWORK, GraphOp::Receive { peer: None, tag, bytes: plan.moe.chunk() * bytes }, next);
        }
        let [near, reaching] = plan.near_and_reaching(self.rank, bytes);
        self.left += 1;
        next.wait(reaching);
        let is_forwarded = plan.is_hierarchical() && phase == Phase::Combine;
        for chunk in plan.chunks(phase, self.rank) {
            if is_forwarded { self.forward(chunk, next) } else { self.send(chunk, next) }
        }
        // What other nodes wait for passes the links first.
        self.begin(LINKS, GraphOp::Compute { duration: near }, next);
    }

    fn begin(&mut self, stream: u8, op: GraphOp, next: &mut NextOperations<'_>) -> u32 {
        self.left += 1;
        next.perform(stream, op)
    }

    fn send(&mut self, chunk: Chunk, next: &mut NextOperations<'_>) {
        let (tag, bytes) = (self.begun % TAGS, chunk.tokens * self.plan.bytes(self.phase()));
        self.begin(NETWORK, GraphOp::Send { peer: Rank::new(chunk.peer), tag, bytes }, next);
    }

    /// Passes a message over the links: after it has come in a dispatch, before it goes in a combine.
    fn forward(&mut self, chunk: Chunk, next: &mut NextOperations<'_>) {
        let duration = self.plan.forwarding(self.phase(), self.rank, chunk);
        let operation = self.begin(LINKS, GraphOp::Compute { duration }, next);
        if self.phase() == Phase::Combine {
            self.forwards.insert(operation, chunk);
        }
    }

    /// The exchange is complete.
    fn end(&mut self, next: &mut NextOperations<'_>) {
        next.record(self.since);
        let is_over = self.begun == 2 * self.plan.moe.iterations;
        if !is_over {
            self.is_computing = true;
            let compute = if self.phase() == Phase::Dispatch { self.plan.moe.compute } else { Duration::ZERO };
            self.pause = Some(next.wait(compute));
        }
    }
}

impl Driver for Exchanges {
    fn on_event(&mut self, now: Time, event: DriverEvent, next: &mut NextOperations<'_>) {
        let (operation, received) = match event {
            DriverEvent::Started => return self.start(now, next),
            DriverEvent::Complete { operation, received } => (operation, received),
        };
        if self.pause == Some(operation) {
            self.pause = None;
            return if std::mem::take(&mut self.is_computing) { self.start(now, next) } else { self.exchange(next) };
        }
        self.left -= 1;
        if let Some(chunk) = self.forwards.remove(&operation) {
            self.send(chunk, next);
        }
        if let (Some(message), Phase::Dispatch, true) = (received, self.phase(), self.plan.is_hierarchical()) {
            let tokens = message.bytes / self.plan.bytes(Phase::Dispatch);
            self.forward(Chunk { peer: message.peer.get(), tokens }, next);
        }
        if self.left == 0 {
            self.end(next);
        }
    }
}
