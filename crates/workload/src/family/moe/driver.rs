//! Operations of a rank in a dispatch and in a combine.
//!
//! ```text
//!   dispatch   own copies ──► links                    combine   links ──► own copies
//!              messages ──► network ──► links                    links ──► messages ──► network
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use etherweave_primitives::{Duration, Rank, Time};

use super::MoeMode;
use super::plan::Plan;
use crate::{Driver, DriverEvent, ExecutionStream, Graph, GraphFacts, GraphOp, MessageSum, NextOperations};

/// Streams of a rank: messages, and copies over the links of its node.
const NETWORK: u8 = 0;
const LINKS: u8 = 1;
/// Phases whose messages may be under way at once, and have tags of their own.
const TAGS: u32 = 4;

/// The two exchanges of a layer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Dispatch,
    Combine,
}

/// A message.
#[derive(Clone, Copy)]
struct Chunk {
    peer: u32,
    tokens: u64,
}

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

    /// A copy of a token in the present exchange [B].
    fn bytes(&self) -> u64 {
        self.plan.moe.token_bytes()[usize::from(self.phase() == Phase::Combine)]
    }

    /// The kernel of the next exchange starts.
    fn start(&mut self, now: Time, next: &mut NextOperations<'_>) {
        self.begun += 1;
        self.since = now;
        let latency = self.plan.moe.latencies()[usize::from(self.phase() == Phase::Combine)];
        self.pause = Some(next.wait(latency));
    }

    fn exchange(&mut self, next: &mut NextOperations<'_>) {
        let (plan, bytes) = (Arc::clone(&self.plan), self.bytes());
        for _ in 0..self.receives() {
            let tag = Some(self.begun % TAGS);
            self.begin(NETWORK, GraphOp::Receive { peer: None, tag, bytes: plan.moe.chunk() * bytes }, next);
        }
        let [near, reaching] = plan.near_and_reaching(self.rank, bytes);
        self.left += 1;
        next.wait(reaching);
        let is_forwarded = self.is_hierarchical() && self.phase() == Phase::Combine;
        self.chunks(|own, chunk| if is_forwarded { own.forward(chunk, next) } else { own.send(chunk, next) });
        // What other nodes wait for passes the links first.
        self.begin(LINKS, GraphOp::Compute { duration: near }, next);
    }

    fn begin(&mut self, stream: u8, op: GraphOp, next: &mut NextOperations<'_>) -> u32 {
        self.left += 1;
        next.perform(stream, op)
    }

    /// Copies of the present exchange to a peer, and from it.
    fn tokens(&self, peer: u32) -> [u64; 2] {
        let flows = [self.plan.tokens(self.rank, peer), self.plan.tokens(peer, self.rank)];
        if self.phase() == Phase::Dispatch { flows } else { [flows[1], flows[0]] }
    }

    fn receives(&self) -> u64 {
        self.plan.peers(self.rank).map(|peer| self.plan.messages(self.tokens(peer)[1])).sum()
    }

    /// Goes through the messages, one for each peer in turn.
    fn chunks(&mut self, mut take: impl FnMut(&mut Exchanges, Chunk)) {
        let mut loads: Vec<Chunk> =
            self.plan.peers(self.rank).map(|peer| Chunk { peer, tokens: self.tokens(peer)[0] }).collect();
        let most = self.plan.moe.chunk();
        while !loads.is_empty() {
            loads.retain_mut(|load| {
                let tokens = load.tokens.min(most);
                load.tokens -= tokens;
                if tokens > 0 {
                    take(self, Chunk { tokens, ..*load });
                }
                load.tokens > 0
            });
        }
    }

    fn send(&mut self, chunk: Chunk, next: &mut NextOperations<'_>) {
        let (tag, bytes) = (self.begun % TAGS, chunk.tokens * self.bytes());
        self.begin(NETWORK, GraphOp::Send { peer: Rank::new(chunk.peer), tag, bytes }, next);
    }

    /// Passes a message over the links: after it has come in a dispatch, before it goes in a combine.
    fn forward(&mut self, chunk: Chunk, next: &mut NextOperations<'_>) {
        let duration = self.forwarding(chunk);
        let operation = self.begin(LINKS, GraphOp::Compute { duration }, next);
        if self.phase() == Phase::Combine {
            self.forwards.insert(operation, chunk);
        }
    }

    /// Whether messages pass the links; with low latency they are where they go.
    fn is_hierarchical(&self) -> bool {
        self.plan.moe.mode == MoeMode::Normal
    }

    /// Time of a message on the links: the mean of all of this peer.
    fn forwarding(&self, chunk: Chunk) -> Duration {
        let load = self.plan.load(chunk.peer, self.plan.part_of(self.rank));
        let all = self.plan.in_node(load.copies, self.bytes()).as_ps();
        Duration::from_ps((u128::from(all) * u128::from(chunk.tokens) / u128::from(load.tokens)) as u64)
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
        if let (Some(message), Phase::Dispatch, true) = (received, self.phase(), self.is_hierarchical()) {
            let tokens = message.bytes / self.bytes();
            self.forward(Chunk { peer: message.peer.get(), tokens }, next);
        }
        if self.left == 0 {
            self.end(next);
        }
    }
}
