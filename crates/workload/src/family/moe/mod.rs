//! Layers of a mixture of experts: tokens go to the ranks of their experts (dispatch) and come back (combine).
//!
//! Messages and their lengths are those of DeepEP (deepseek-ai/DeepEP at dd758ca, `csrc/kernels/legacy`), whose kernels
//! are of two kinds:
//!
//! ```text
//!   normal        rank 1 of node 0 ── a copy ──► rank 1 of node 3 ── links of the node ──► ranks of its experts
//!   low latency   rank 1 of node 0 ── a copy for each expert ──► rank of the expert
//! ```

pub(super) mod driver;
mod gate;
pub(super) mod plan;
mod unrolled;

use std::sync::Arc;

use etherweave_primitives::{BitRate, Duration, InputError, InputErrors, params};

pub use gate::{ExpertLoads, Gate};
pub use plan::MoeLoads;

use self::{gate::Selector, plan::Plan};
use crate::limits::{at_least, short, within};
use crate::{AcceleratorNode, Graph, Traffic, TrafficSize, generator::Generator, size::of_graphs};

/// Most ranks: those of DeepEP's second version.
const RANKS_MAX: u32 = 2_048;
const EXPERTS_MAX: u32 = 1 << 16;
/// Most choices of experts, each of which is drawn before a run.
const CHOICES_MAX: u64 = 1 << 27;
/// Values that share a scale of FP8, an f32 (DeepEP's `hidden / 128`).
const SCALED: u64 = 128;
/// Queue pairs of a pair of ranks in normal mode: half of DeepEP's 20 multiprocessors, a channel each.
const CHANNELS: u32 = 10;

/// Kernels of an exchange of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MoeMode {
    /// A copy for each node, to the rank of the same place there, which hands it on.
    #[default]
    Normal,
    /// A copy for each expert, straight to its rank.
    LowLatency,
}

/// Format of the values of a token in a dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenFormat {
    /// One byte, and four for the scale of 128 values.
    #[default]
    Fp8,
    /// Two bytes.
    Bf16,
}

params! {
    /// Layers of a mixture of experts (`moe`), whose experts are on accelerators in nodes, each a rank with a network
    /// interface. An iteration has two rows: dispatch and combine.
    pub struct Moe {
        /// Accelerators, 1 to 2,048, as many experts on each.
        pub ranks: u32 = 32,
        /// Kernels that exchange tokens.
        pub mode: MoeMode = MoeMode::Normal,
        /// Tokens of each rank, 1 or more.
        pub tokens: u32 = 4_096,
        /// Values of a token, a multiple of 128.
        pub hidden: u32 = 7_168,
        /// Experts, a multiple of the ranks.
        pub experts: u32 = 256,
        /// Experts of a token.
        pub top_k: u32 = 8,
        /// Groups of as many experts each.
        pub groups: u32 = 1,
        /// Groups that the experts of a token may be in: those with its best experts.
        pub group_limit: u32 = 1,
        /// Probabilities of experts.
        pub gate: Gate = Gate::Uniform,
        /// Format of tokens in a dispatch; a combine has bf16.
        pub format: TokenFormat = TokenFormat::Fp8,
        /// Links of a node, whose ranks are in a row: the rate at which these kernels send or receive there, and the
        /// start and end of those of a dispatch as latency.
        pub node: AcceleratorNode = H800,
        /// Start and end of the kernels of a combine. Default: `node.latency`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub combine_latency: Option<Duration> = None,
        /// Tokens of a message in normal mode.
        pub chunk: u32 = 8,
        /// Time of the experts between dispatch and combine.
        pub compute: Duration = Duration::ZERO,
        /// Layers one after another, 1 or more, all with the same choices.
        pub iterations: u32 = 1,
    }
}

/// Eight H800: 153 GB/s in DeepEP's normal kernels within a node (its `docs/legacy.md`), and an assumed latency.
const H800: AcceleratorNode = AcceleratorNode {
    accelerators: 8,
    rate: BitRate::from_bps(1_224_000_000_000),
    latency: Duration::from_us(10),
    reduction_rate: None,
    is_mesh: false,
};

impl Generator for Moe {
    fn purpose(&self, tag: u32) -> Option<String> {
        Some(driver::purpose(tag).to_owned())
    }

    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    fn traffic(&self, seed: u64) -> Result<Traffic, InputErrors> {
        Ok(Traffic::Graphs { ranks: self.graphs(seed)?, iterations: 1 })
    }

    fn unrolled(&self, seed: u64) -> Result<Option<Traffic>, InputErrors> {
        self.check()?;
        let plan = self.plan(seed)?;
        let graphs = (0..self.ranks).map(|rank| Ok(Arc::new(unrolled::graph(&plan, rank)?)));
        Ok(Some(Traffic::Graphs { ranks: graphs.collect::<Result<_, InputError>>()?, iterations: 1 }))
    }

    fn size(&self) -> Result<TrafficSize, InputErrors> {
        let size = of_graphs(std::iter::once(self.graphs(1)), self.ranks(), 1)?;
        Ok(TrafficSize { rows: 2 * self.ranks() * u64::from(self.iterations), ..size })
    }

    fn figures(&self, seed: u64) -> Result<serde_json::Value, InputErrors> {
        Ok(serde_json::to_value(self.loads(seed)?).expect("numbers are JSON"))
    }

    fn calls_nccl(&self) -> bool {
        true
    }

    fn message_profile(&self) -> Option<&'static str> {
        Some("deepep")
    }

    fn connections(&self) -> Option<u32> {
        match self.mode {
            MoeMode::Normal => Some(CHANNELS),
            MoeMode::LowLatency => Some((self.experts / self.ranks.max(1)).clamp(1, 1_024)),
        }
    }

    fn node(&self) -> Option<&AcceleratorNode> {
        Some(&self.node)
    }
}

impl Moe {
    /// Amount that the ranks exchange; `seed` is the run's.
    ///
    /// # Errors
    /// When the parameters make no workload.
    pub fn loads(&self, seed: u64) -> Result<MoeLoads, InputErrors> {
        self.check()?;
        Ok(self.plan(seed)?.sums())
    }

    fn graphs(&self, seed: u64) -> Result<Vec<Arc<Graph>>, InputErrors> {
        self.check()?;
        let plan = Arc::new(self.plan(seed)?);
        Ok((0..self.ranks).map(|rank| Arc::new(driver::graph(&plan, rank))).collect())
    }

    fn plan(&self, seed: u64) -> Result<Plan, InputError> {
        Plan::new(self, seed, |_| self.tokens)
    }

    pub(super) fn check(&self) -> Result<(), InputErrors> {
        let Moe { ranks, experts, top_k, groups, group_limit, .. } = *self;
        let node = self.node.accelerators;
        InputErrors::all([
            within("ranks", ranks, 1..=RANKS_MAX),
            within("experts", experts, 1..=EXPERTS_MAX),
            within("node.accelerators", node, 1..=ranks.max(1)),
            within("groups", groups, 1..=experts.max(1)),
            within("top_k", top_k, 1..=experts.max(1)),
            within("hidden", self.hidden, 128..=1 << 16),
            within("chunk", self.chunk, 1..=1 << 16),
            at_least("tokens", self.tokens, 1),
            at_least("iterations", self.iterations, 1),
            self.node.check(),
            InputError::unless(
                self.node.reduction_rate.is_none(),
                "node.reduction_rate",
                "for experts",
                "none: switches of a node add up nothing of a combine",
            ),
            short("compute", self.compute),
            short("node.latency", self.node.latency),
            short("combine_latency", self.latencies()[1]),
        ])?;
        let multiple = |key: &str, value: u32, of: u32, what: &str| {
            InputError::unless(value.is_multiple_of(of), key, value, format_args!("a multiple of {of}, {what}"))
        };
        let choices = u64::from(ranks) * u64::from(self.tokens) * u64::from(top_k);
        let drawn = format!("{choices} choices of experts by all ranks");
        let limited = u64::from(experts / groups) * u64::from(group_limit);
        let expected = format!("at most {limited}, the experts of group_limit groups");
        InputErrors::all([
            multiple("ranks", ranks, node, "the accelerators of a node"),
            multiple("experts", experts, ranks, "the ranks"),
            multiple("experts", experts, groups, "the groups"),
            multiple("hidden", self.hidden, SCALED as u32, "the values of a scale"),
            within("group_limit", group_limit, 1..=groups),
            InputError::unless(u64::from(top_k) <= limited, "top_k", top_k, expected),
            InputError::unless(choices <= CHOICES_MAX, "tokens", drawn, format!("at most {CHOICES_MAX}")),
        ])?;
        Selector::new(&self.gate, experts, top_k, [groups, group_limit])?;
        Ok(())
    }

    fn nodes(&self) -> u32 {
        self.ranks / self.node.accelerators
    }

    /// Tokens of a message.
    fn chunk(&self) -> u64 {
        match self.mode {
            MoeMode::Normal => self.chunk.into(),
            MoeMode::LowLatency => 1,
        }
    }

    /// Start and end of the kernels of a dispatch, and of a combine.
    fn latencies(&self) -> [Duration; 2] {
        [self.node.latency, self.combine_latency.unwrap_or(self.node.latency)]
    }

    /// Values of a token and their scales, in a dispatch and in a combine [B].
    fn values(&self) -> [[u64; 2]; 2] {
        let hidden = u64::from(self.hidden);
        let dispatch = match self.format {
            TokenFormat::Fp8 => [hidden, hidden / SCALED * 4],
            TokenFormat::Bf16 => [2 * hidden, 0],
        };
        [dispatch, [2 * hidden, 0]]
    }

    /// A copy of a token in a dispatch and in a combine [B]: `get_num_bytes_per_token` of `internode.cu`, and the
    /// messages of `internode_ll.cu`.
    fn token_bytes(&self) -> [u64; 2] {
        let [dispatch, combine] = self.values().map(|[values, scales]| values + scales);
        // The source and its node's ranks, then an index and a weight for each expert of the token.
        let meta = 8 + 8 * u64::from(self.top_k);
        match self.mode {
            MoeMode::Normal => [dispatch, combine].map(|values| (values + meta).next_multiple_of(16)),
            MoeMode::LowLatency => [16 + dispatch, combine],
        }
    }

    /// Bytes that DeepEP's tests count of a copy: values and scales; with low latency the whole message.
    fn counted_bytes(&self) -> [u64; 2] {
        match self.mode {
            MoeMode::Normal => self.values().map(|[values, scales]| values + scales),
            MoeMode::LowLatency => self.token_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(keys: &str) -> Moe {
        toml::from_str(keys).unwrap()
    }

    /// Lengths that DeepEP's kernels compute for 7,168 values and 8 experts of a token.
    #[test]
    fn tokens_have_the_lengths_of_deepep() {
        assert_eq!(workload("").token_bytes(), [7_472, 14_416]);
        assert_eq!(workload("format = \"bf16\"").token_bytes(), [14_416, 14_416]);
        assert_eq!(workload("mode = \"low_latency\"").token_bytes(), [7_408, 14_336]);
        assert_eq!(workload("mode = \"low_latency\"\nformat = \"bf16\"").token_bytes()[0], 14_352);
    }

    /// Copies by node: four nodes of which a token reaches 3.61, one of them its own. By rank of one node: 5.30.
    #[test]
    fn copies_are_those_of_combinatorics() {
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 0.01;
        let loads = workload("tokens = 512").loads(1).unwrap();
        assert!(near(loads.network_tokens, 512.0 * 3.61 * 0.75), "{loads:?}");
        assert!(near(loads.logical_bytes[0], 512.0 * 3.61 * 7_392.0), "{loads:?}");
        let node = workload("ranks = 8\ntokens = 512").loads(1).unwrap();
        assert!(near(node.logical_bytes[1], 512.0 * 5.30 * 14_336.0) && node.network_tokens == 0.0, "{node:?}");
        let flat = workload("mode = \"low_latency\"\ntokens = 128\nexperts = 288").loads(1).unwrap();
        assert!(near(flat.network_tokens, 128.0 * 8.0 * 0.75), "{flat:?}");
        assert_eq!(flat.logical_bytes[1], 128.0 * 8.0 * 14_336.0);
        assert!(workload("tokens = 64\ngate.zipf.alpha = 1.0").loads(1).unwrap().imbalance > 2.0);
    }

    /// Every copy that is sent is received, and in normal mode between ranks of the same place.
    #[test]
    fn what_is_sent_is_received_and_stays_on_its_rail_in_normal_mode() {
        for keys in ["tokens = 50", "tokens = 9\nmode = \"low_latency\"", "ranks = 8\ntokens = 9"] {
            let Traffic::Graphs { ranks, .. } = workload(keys).traffic(1).unwrap() else { panic!("graphs") };
            let sum = |part: fn(&Graph) -> u64| ranks.iter().map(|graph| part(graph)).sum::<u64>();
            assert_eq!(sum(|graph| graph.facts().sent.bytes), sum(|graph| graph.facts().received.bytes), "{keys}");
            let peers: Vec<u32> = ranks[1].facts().peers().iter().map(|peer| peer.get()).collect();
            match keys {
                "tokens = 50" => assert_eq!(peers, [9, 17, 25]),
                "ranks = 8\ntokens = 9" => assert!(peers.is_empty()),
                _ => assert_eq!(peers, (8..32).collect::<Vec<_>>()),
            }
        }
    }

    /// Files have the messages of the drivers, and the time that they compute.
    #[test]
    fn what_is_written_is_what_drivers_do() {
        for keys in
            ["tokens = 50\niterations = 2\ncompute = \"7us\"", "tokens = 9\nmode = \"low_latency\"", "ranks = 8"]
        {
            let moe = workload(keys);
            let (Traffic::Graphs { ranks: driven, .. }, Some(Traffic::Graphs { ranks, .. })) =
                (moe.traffic(1).unwrap(), moe.unrolled(1).unwrap())
            else {
                panic!("graphs")
            };
            assert_eq!(crate::check_graphs(&ranks), Ok(()), "{keys}");
            for (graph, driver) in ranks.iter().zip(driven) {
                let [own, other] = [graph, &driver].map(|graph| (graph.facts().sent, graph.facts().received));
                assert_eq!(own, other, "{keys}");
            }
        }
    }
}
