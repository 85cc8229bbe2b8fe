//! Operations of a rank in a dispatch and in a combine.
//!
//! ```text
//!   dispatch   own copies ──► links                    combine   links ──► own copies
//!              messages ──► network ──► links                    links ──► messages ──► network
//! ```

use std::{collections::BTreeMap, sync::Arc};

use etherweave_primitives::{Duration, Rank, Time};

use super::plan::{Chunk, Phase, Plan};
use crate::{Driver, DriverEvent, ExecutionStream, Graph, GraphFacts, GraphOp, NextOperations, Received};

/// Streams of a rank: messages, and copies over the links of its node.
pub(super) const NETWORK: u8 = 0;
pub(super) const LINKS: u8 = 1;
/// Exchanges that have tags of their own.
pub(super) const TAGS: u32 = 1 << 28;

/// Exchanges of a rank, whose messages have the number of their exchange as their tag. They are received with any tag,
/// so that a driver with messages of other kinds can hand over those of an exchange.
pub(in crate::family) struct Exchanges {
    plan: Arc<Plan>,
    rank: u32,
    /// First of the ranks that exchange tokens, and what their tags have besides.
    first: u32,
    kind: u32,
    /// Exchanges that have begun, and the number of the last one.
    begun: u32,
    last: u32,
    since: Time,
    /// Messages that came before their exchange began here, by tag.
    early: BTreeMap<u32, Vec<Received>>,
    /// Waits before an exchange: for the experts, and for the start of its kernel.
    pause: Option<u32>,
    is_computing: bool,
    /// Operations that are not complete.
    left: u64,
    /// Messages that go once they have passed the links.
    forwards: BTreeMap<u32, Chunk>,
}

pub(super) fn graph(plan: &Arc<Plan>, rank: u32) -> Graph {
    let moe = &plan.moe;
    let peers = plan.peers_by_rank(rank);
    let mut facts = GraphFacts::of_peers(&peers);
    let times = u64::from(moe.iterations);
    [facts.sent, facts.received] = plan.amounts(rank);
    facts.sent_max = if peers.is_empty() { 0 } else { plan.message_max() };
    facts.computed_ps = times.saturating_mul((moe.compute + moe.latencies()[0] + moe.latencies()[1]).as_ps());
    facts.computation_max = moe.compute;
    let plan = Arc::clone(plan);
    Graph::recording(streams(), facts, 2 * times, move || Exchanges::new(&plan, rank, 0, 0))
}

/// Purpose of messages with the number of their exchange as their tag.
pub(in crate::family) fn purpose(tag: u32) -> &'static str {
    if tag % 2 == 1 { "dispatch" } else { "combine" }
}

pub(in crate::family) fn streams() -> Vec<ExecutionStream> {
    vec![ExecutionStream::Accelerator; 2]
}

impl Exchanges {
    /// Exchanges of a rank of a plan, whose ranks are those of the job from `first` on; `kind` marks their tags.
    pub fn new(plan: &Arc<Plan>, rank: u32, first: u32, kind: u32) -> Exchanges {
        Exchanges {
            plan: Arc::clone(plan),
            rank,
            first,
            kind,
            begun: 0,
            last: 0,
            since: Time::ZERO,
            early: BTreeMap::new(),
            pause: None,
            is_computing: false,
            left: 0,
            forwards: BTreeMap::new(),
        }
    }

    /// Begins the layers of a plan.
    pub fn start_layers(&mut self, plan: &Arc<Plan>, now: Time, next: &mut NextOperations<'_>) {
        self.plan = Arc::clone(plan);
        self.last = self.begun + 2 * plan.moe.iterations;
        self.start(now, next);
    }

    /// Whether all layers are complete.
    pub fn is_over(&self) -> bool {
        self.begun == self.last && self.left == 0 && self.pause.is_none()
    }

    fn phase(&self) -> Phase {
        if self.begun % 2 == 1 { Phase::Dispatch } else { Phase::Combine }
    }

    fn tag(&self) -> u32 {
        self.kind | (self.begun % TAGS)
    }

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
        let early = self.early.remove(&self.tag()).unwrap_or_default();
        let awaited = received.sum::<u64>() - early.len() as u64;
        self.left += awaited;
        (0..awaited).for_each(|_| self.receive(next));
        let [near, reaching] = plan.near_and_reaching(self.rank, bytes);
        self.left += 1;
        next.wait(reaching);
        let is_forwarded = plan.is_hierarchical() && phase == Phase::Combine;
        for chunk in plan.chunks(phase, self.rank) {
            if is_forwarded { self.forward(chunk, next) } else { self.send(chunk, next) }
        }
        early.into_iter().for_each(|message| self.hand_on(message, next));
        // What other nodes wait for passes the links first.
        self.begin(LINKS, GraphOp::Compute { duration: near }, next);
    }

    fn receive(&self, next: &mut NextOperations<'_>) {
        next.perform(NETWORK, GraphOp::Receive { peer: None, tag: None, bytes: self.plan.message_max() });
    }

    fn begin(&mut self, stream: u8, op: GraphOp, next: &mut NextOperations<'_>) -> u32 {
        self.left += 1;
        next.perform(stream, op)
    }

    fn send(&mut self, chunk: Chunk, next: &mut NextOperations<'_>) {
        let (peer, bytes) = (Rank::new(self.first + chunk.peer), chunk.tokens * self.plan.bytes(self.phase()));
        self.begin(NETWORK, GraphOp::Send { peer, tag: self.tag(), bytes }, next);
    }

    /// Passes a message over the links: after it has come in a dispatch, before it goes in a combine.
    fn forward(&mut self, chunk: Chunk, next: &mut NextOperations<'_>) {
        let duration = self.plan.forwarding(self.phase(), self.rank, chunk);
        let operation = self.begin(LINKS, GraphOp::Compute { duration }, next);
        if self.phase() == Phase::Combine {
            self.forwards.insert(operation, chunk);
        }
    }

    /// Passes on what a dispatch brings for the node.
    fn hand_on(&mut self, message: Received, next: &mut NextOperations<'_>) {
        if self.phase() == Phase::Dispatch && self.plan.is_hierarchical() {
            let tokens = message.bytes / self.plan.bytes(Phase::Dispatch);
            self.forward(Chunk { peer: message.peer.get() - self.first, tokens }, next);
        }
    }

    /// Takes a message; gives the start of the exchange, if that is complete with it.
    pub fn take(&mut self, message: Received, next: &mut NextOperations<'_>) -> Option<Time> {
        if message.tag != self.tag() || self.pause.is_some() {
            self.early.entry(message.tag).or_default().push(message);
            // It has taken the receive of another message.
            self.receive(next);
            return None;
        }
        self.left -= 1;
        self.hand_on(message, next);
        self.end(next)
    }

    /// An operation or a wait is complete; gives the start of the exchange, if that is complete with it.
    pub fn complete(&mut self, now: Time, operation: u32, next: &mut NextOperations<'_>) -> Option<Time> {
        if self.pause == Some(operation) {
            self.pause = None;
            if std::mem::take(&mut self.is_computing) {
                self.start(now, next)
            } else {
                self.exchange(next)
            };
            return None;
        }
        self.left -= 1;
        if let Some(chunk) = self.forwards.remove(&operation) {
            self.send(chunk, next);
        }
        self.end(next)
    }

    /// Goes on behind an exchange that is complete.
    fn end(&mut self, next: &mut NextOperations<'_>) -> Option<Time> {
        if self.left > 0 {
            return None;
        }
        if self.begun < self.last {
            self.is_computing = true;
            let compute = if self.phase() == Phase::Dispatch { self.plan.moe.compute } else { Duration::ZERO };
            self.pause = Some(next.wait(compute));
        }
        Some(self.since)
    }
}

impl Driver for Exchanges {
    fn on_event(&mut self, now: Time, event: DriverEvent, next: &mut NextOperations<'_>) {
        let ended = match event {
            DriverEvent::Started => {
                let plan = Arc::clone(&self.plan);
                return self.start_layers(&plan, now, next);
            }
            DriverEvent::Complete { received: Some(message), .. } => self.take(message, next),
            DriverEvent::Complete { operation, received: None } => self.complete(now, operation, next),
        };
        ended.into_iter().for_each(|since| next.record(since));
    }
}
