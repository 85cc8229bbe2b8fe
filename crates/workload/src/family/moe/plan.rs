//! Tokens that ranks exchange: drawn once for a run.

use etherweave_primitives::{Bytes, Duration, InputError, Purpose, Rank, Stream};

use super::{Moe, MoeMode, gate::Selector};
use crate::MessageSum;

/// Tokens of a rank for the ranks of a part of the others: a node in normal mode, a single rank with low latency.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(in crate::family) struct Load {
    /// Copies over the network; of the own node, none in normal mode.
    pub tokens: u64,
    /// Copies over the links of a node, for all its ranks.
    pub copies: u64,
}

/// The two exchanges of a layer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::family) enum Phase {
    Dispatch,
    Combine,
}

#[derive(Clone, Copy)]
pub(in crate::family) struct Chunk {
    pub peer: u32,
    pub tokens: u64,
}

/// Tokens between all ranks.
pub(in crate::family) struct Plan {
    pub moe: Moe,
    /// Loads by source and part.
    loads: Vec<Load>,
    parts: u32,
    /// Copies that reach each rank over the links of its node.
    reaching: Vec<u64>,
}

/// Sums over all ranks, as benchmarks count them.
#[derive(Clone, Copy, Default, PartialEq, Debug, serde::Serialize)]
pub struct MoeLoads {
    /// Copies of tokens that a rank sends over the network, in the mean.
    pub network_tokens: f64,
    /// Payload of a copy in a dispatch, and in a combine [B].
    pub token_bytes: [u64; 2],
    /// Bytes by which benchmarks divide times, of a rank in the mean: dispatch, combine [B].
    pub logical_bytes: [f64; 2],
    /// Tokens of the rank with the most over the mean.
    pub imbalance: f64,
}

impl Plan {
    /// The tokens of all ranks, so many of each.
    ///
    /// # Errors
    /// When the gate does not fit the experts.
    pub fn new(moe: &Moe, seed: u64, tokens: impl Fn(u32) -> u32) -> Result<Plan, InputError> {
        let parts = match moe.mode {
            MoeMode::Normal => moe.nodes(),
            MoeMode::LowLatency => moe.ranks,
        };
        let loads = vec![Load::default(); (moe.ranks * parts) as usize];
        let mut plan = Plan { moe: moe.clone(), loads, parts, reaching: vec![0; moe.ranks as usize] };
        let mut selector = Selector::new(&moe.gate, moe.experts, moe.top_k, [moe.groups, moe.group_limit])?;
        let mut ranks = Vec::new();
        for source in 0..moe.ranks {
            let mut random = Stream::new(seed, Purpose::Traffic, source.into());
            for _ in 0..tokens(source) {
                ranks.clear();
                ranks.extend(selector.select(&mut random).iter().map(|expert| expert / (moe.experts / moe.ranks)));
                plan.add(source, &mut ranks);
            }
        }
        Ok(plan)
    }

    /// Adds a token whose experts are on these ranks.
    fn add(&mut self, source: u32, ranks: &mut Vec<u32>) {
        let in_node = self.moe.node.accelerators;
        let row = (source * self.parts) as usize;
        match self.moe.mode {
            MoeMode::Normal => {
                // A copy for each node, which its rank of the same place hands on to each of its ranks.
                ranks.sort_unstable();
                ranks.dedup();
                let mut last = None;
                for &rank in ranks.iter() {
                    let load = &mut self.loads[row + (rank / in_node) as usize];
                    load.tokens += u64::from(last != Some(rank / in_node));
                    load.copies += 1;
                    self.reaching[rank as usize] += 1;
                    last = Some(rank / in_node);
                }
            }
            MoeMode::LowLatency => {
                // A copy for each expert.
                for &rank in ranks.iter() {
                    let is_near = rank / in_node == source / in_node;
                    let load = &mut self.loads[row + rank as usize];
                    load.tokens += 1;
                    load.copies += u64::from(is_near);
                    self.reaching[rank as usize] += u64::from(is_near);
                }
            }
        }
    }

    pub fn load(&self, source: u32, part: u32) -> Load {
        self.loads[(source * self.parts + part) as usize]
    }

    /// The part of a peer, as `rank` sees it.
    pub fn part_of(&self, rank: u32) -> u32 {
        match self.moe.mode {
            MoeMode::Normal => rank / self.moe.node.accelerators,
            MoeMode::LowLatency => rank,
        }
    }

    /// Ranks of other nodes that a rank exchanges messages with, those behind it first.
    pub fn peers(&self, rank: u32) -> impl Iterator<Item = u32> + use<> {
        let (in_node, ranks) = (self.moe.node.accelerators, self.moe.ranks);
        let step = match self.moe.mode {
            MoeMode::Normal => in_node,
            MoeMode::LowLatency => 1,
        };
        let others = (1..ranks / step).map(move |place| (rank + place * step) % ranks);
        others.filter(move |other| other / in_node != rank / in_node)
    }

    /// Copies that pass the links of the own node without the network, of what a rank has.
    fn near(&self, rank: u32) -> u64 {
        let in_node = self.moe.node.accelerators;
        let own = rank / in_node;
        let parts = match self.moe.mode {
            MoeMode::Normal => own..own + 1,
            MoeMode::LowLatency => own * in_node..(own + 1) * in_node,
        };
        parts.map(|part| self.load(rank, part).copies).sum()
    }

    /// Time of so many copies over the links of a node, `bytes` each.
    pub fn in_node(&self, copies: u64, bytes: u64) -> Duration {
        self.moe.node.rate.serialization_time(Bytes::new(copies * bytes))
    }

    /// Time of the copies of a rank's tokens within its node, and of all that reaches it over the links.
    pub fn near_and_reaching(&self, rank: u32, bytes: u64) -> [Duration; 2] {
        [self.near(rank), self.reaching[rank as usize]].map(|copies| self.in_node(copies, bytes))
    }

    /// Messages of `tokens` copies.
    pub fn messages(&self, tokens: u64) -> u64 {
        tokens.div_ceil(self.moe.chunk())
    }

    /// Largest message [B].
    pub fn message_max(&self) -> u64 {
        let [dispatch, combine] = self.moe.token_bytes();
        self.moe.chunk() * dispatch.max(combine)
    }

    /// Messages that a rank sends and that it receives in all layers.
    pub fn amounts(&self, rank: u32) -> [MessageSum; 2] {
        let times = u64::from(self.moe.iterations);
        let mut sums = [MessageSum::default(); 2];
        let mut add = |place: usize, tokens: u64, bytes: u64| {
            let (sum, messages) = (&mut sums[place], times.saturating_mul(self.messages(tokens)));
            sum.messages = sum.messages.saturating_add(messages);
            sum.bytes = sum.bytes.saturating_add(times.saturating_mul(tokens * bytes));
        };
        let [dispatch, combine] = self.moe.token_bytes();
        for peer in self.peers(rank) {
            let (out, back) = (self.tokens(rank, peer), self.tokens(peer, rank));
            add(0, out, dispatch);
            add(0, back, combine);
            add(1, back, dispatch);
            add(1, out, combine);
        }
        sums
    }

    /// Copies from a rank to a peer over the network.
    pub fn tokens(&self, source: u32, peer: u32) -> u64 {
        self.load(source, self.part_of(peer)).tokens
    }

    /// A copy of a token in an exchange [B].
    pub fn bytes(&self, phase: Phase) -> u64 {
        self.moe.token_bytes()[usize::from(phase == Phase::Combine)]
    }

    /// Copies from a rank to a peer in an exchange.
    pub fn copies(&self, phase: Phase, from: u32, to: u32) -> u64 {
        if phase == Phase::Dispatch { self.tokens(from, to) } else { self.tokens(to, from) }
    }

    /// Whether messages pass the links; with low latency they are where they go.
    pub fn is_hierarchical(&self) -> bool {
        self.moe.mode == MoeMode::Normal
    }

    /// Messages of a rank in an exchange, one for each peer in turn.
    pub fn chunks(&self, phase: Phase, rank: u32) -> Vec<Chunk> {
        let load = |peer| Chunk { peer, tokens: self.copies(phase, rank, peer) };
        let mut loads: Vec<Chunk> = self.peers(rank).map(load).collect();
        let mut chunks = Vec::new();
        while !loads.is_empty() {
            loads.retain_mut(|load| {
                let tokens = load.tokens.min(self.moe.chunk());
                load.tokens -= tokens;
                chunks.extend((tokens > 0).then_some(Chunk { tokens, ..*load }));
                load.tokens > 0
            });
        }
        chunks
    }

    /// Time of a message of a rank on the links: the mean of all of this peer.
    pub fn forwarding(&self, phase: Phase, rank: u32, chunk: Chunk) -> Duration {
        let load = self.load(chunk.peer, self.part_of(rank));
        let all = self.in_node(load.copies, self.bytes(phase)).as_ps();
        Duration::from_ps((u128::from(all) * u128::from(chunk.tokens) / u128::from(load.tokens)) as u64)
    }

    pub fn peers_by_rank(&self, rank: u32) -> Vec<Rank> {
        let mut peers: Vec<Rank> = self.peers(rank).map(Rank::new).collect();
        peers.sort_unstable();
        peers
    }

    /// Sums, as DeepEP's tests count them: in normal mode copies by node, the own one included, or by rank where there
    /// is one node; with low latency copies by expert.
    pub fn sums(&self) -> MoeLoads {
        let ranks = f64::from(self.moe.ranks);
        let sum = |value: fn(&Load) -> u64| self.loads.iter().map(value).sum::<u64>() as f64 / ranks;
        let counted = match (self.moe.mode, self.moe.nodes()) {
            (MoeMode::Normal, 1) => sum(|load| load.copies),
            (MoeMode::Normal | MoeMode::LowLatency, _) => sum(|load| load.tokens),
        };
        let network: u64 = (0..self.moe.ranks)
            .flat_map(|rank| self.peers(rank).map(move |peer| (rank, peer)))
            .map(|(rank, peer)| self.tokens(rank, peer))
            .sum();
        let of_rank = |rank: u32| (0..self.moe.ranks).map(|source| self.load(source, self.part_of(rank)).tokens).sum();
        let all: Vec<u64> = match self.moe.mode {
            MoeMode::Normal => self.reaching.clone(),
            MoeMode::LowLatency => (0..self.moe.ranks).map(of_rank).collect(),
        };
        let (most, total) = (all.iter().max().copied().unwrap_or(0), all.iter().sum::<u64>());
        MoeLoads {
            network_tokens: network as f64 / ranks,
            token_bytes: self.moe.token_bytes(),
            logical_bytes: self.moe.counted_bytes().map(|bytes| counted * bytes as f64),
            imbalance: most as f64 * ranks / total as f64,
        }
    }
}
