//! A service of a language model: prompts are computed by one pool of accelerators (prefill), answers by another
//! (decode), and keys and values pass from one to the other over the network.
//!
//! ```text
//!   requests ──► prefill workers ── keys and values ──► decode workers ──► a token in each step
//!                                                       tokens ◄──► experts
//! ```

mod driver;
mod kv;
mod plan;
mod requests;

use std::sync::Arc;

use etherweave_primitives::{Bytes, Duration, InputError, InputErrors, params};

pub use kv::KvCache;
pub use requests::{DrawnRequests, ListedRequests, ServedRequests, TokenCounts};

use self::plan::Plan;
use super::Moe;
use crate::generator::Generator;
use crate::limits::{at_least, short, within};
use crate::size::of_graphs;
use crate::{AcceleratorNode, Graph, Traffic, TrafficSize};

/// Most workers of a pool, and accelerators of a worker.
const WORKERS_MAX: u32 = 1 << 12;
const ACCELERATORS_MAX: u32 = 256;
/// Largest batch where layers have experts: those of every size are drawn before a run.
const BATCH_MAX: u32 = 1 << 11;
/// Most layers with experts.
const LAYERS_MAX: u32 = 1 << 10;
/// Most pairs of accelerators whose tokens are kept, for all sizes of a batch: 16 B each.
const LOADS_MAX: u64 = 1 << 26;
/// Spans that are recorded of a request.
const SPANS: u64 = 6;

params! {
    /// Workers that compute the same phase.
    pub struct Pool {
        /// Workers, 1 or more.
        pub workers: u32 = 1,
        /// Accelerators of a worker, among which attention's heads are divided.
        pub accelerators: u32 = 8,
    }
}

impl Pool {
    fn ranks(&self) -> u32 {
        self.workers * self.accelerators
    }
}

/// Side that moves keys and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KvTransfer {
    /// The prefill side writes.
    #[default]
    Push,
    /// The decode side reads, when it knows that all of a prompt is computed.
    Pull,
}

params! {
    /// Experts of the layers of a decode step.
    pub struct DecodeExperts {
        /// Layers with experts; 58 of DeepSeek V3.
        pub layers: u32 = 58,
        /// Steps of equally many requests, of which one is simulated; the exchanges of the others take as long.
        pub every: u32 = 1,
        /// Exchange of tokens among the accelerators of a decode worker, which are its `ranks`. As many layers as
        /// `iterations` are simulated in each step, and the others take their mean; `tokens` are the most of an
        /// accelerator.
        pub moe: Moe = Moe { ranks: 8, experts: 256, tokens: 128, ..Moe::default() },
    }
}

params! {
    /// A service of a language model (`inference`), whose prefill and decode workers are apart. Each accelerator is a
    /// rank with a network interface; those of prefill workers come first. A request has six rows.
    pub struct Inference {
        /// Workers that compute prompts.
        pub prefill: Pool = Pool::default(),
        /// Workers that compute answers.
        pub decode: Pool = Pool::default(),
        /// Requests.
        pub requests: ServedRequests = ServedRequests::default(),
        /// Keys and values of the model.
        pub cache: KvCache = KvCache::LLAMA_70B,
        /// Tokens of a block, of which keys and values are kept and sent as a whole.
        pub block: u32 = 16,
        /// Side that moves keys and values.
        pub transfer: KvTransfer = KvTransfer::Push,
        /// Layers of a message; pushed ones leave while later layers are computed. Default: all layers.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub layers: Option<u32> = None,
        /// Computation of a prompt beside its tokens.
        pub prefill_start: Duration = Duration::from_ms(5),
        /// Computation of a token of a prompt by a prefill worker.
        pub prefill_per_token: Duration = Duration::from_us(50),
        /// Step of a decode worker, which gives each of its requests a token.
        pub decode_step: Duration = Duration::from_ms(15),
        /// Time that a step takes more for each request of its batch.
        pub decode_per_request: Duration = Duration::from_us(100),
        /// Requests of a decode worker at once.
        pub batch_max: u32 = 64,
        /// Memory of an accelerator of a decode worker for keys and values of its batch, from the first token of a
        /// prompt to the last of its answer. Absent: enough.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub cache_memory: Option<Bytes> = None,
        /// Experts of a decode step. Absent: their exchange is part of its computation.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub experts: Option<DecodeExperts> = None,
        /// Longest time to the first token of a request that counts as served.
        pub first_token_max: Duration = Duration::from_ms(1_000),
        /// Longest mean time between its tokens.
        pub between_tokens_max: Duration = Duration::from_ms(50),
    }
}

impl Generator for Inference {
    fn purpose(&self, tag: u32) -> Option<String> {
        Some(driver::purpose(tag).to_owned())
    }

    fn ranks(&self) -> u64 {
        [&self.prefill, &self.decode].map(|pool| u64::from(pool.workers) * u64::from(pool.accelerators)).iter().sum()
    }

    fn traffic(&self, seed: u64) -> Result<Traffic, InputErrors> {
        Ok(Traffic::Graphs { ranks: self.graphs(seed)?, iterations: 1 })
    }

    fn size(&self) -> Result<TrafficSize, InputErrors> {
        let graphs = self.graphs(1)?;
        let rows = graphs.iter().map(|graph| graph.rows()).sum();
        Ok(TrafficSize { rows, ..of_graphs(std::iter::once(Ok(graphs)), self.ranks(), 1)? })
    }

    fn calls_nccl(&self) -> bool {
        true
    }

    fn message_profile(&self) -> Option<&'static str> {
        self.moe().and_then(Generator::message_profile)
    }

    fn connections(&self) -> Option<u32> {
        self.moe().and_then(Generator::connections)
    }

    fn node(&self) -> Option<&AcceleratorNode> {
        self.moe().and_then(Generator::node)
    }
}

impl Inference {
    fn graphs(&self, seed: u64) -> Result<Vec<Arc<Graph>>, InputErrors> {
        self.check()?;
        let plan = Arc::new(Plan::new(self, seed)?);
        let prefill = (0..self.prefill.ranks()).map(|rank| driver::prefill(&plan, rank));
        let decode = (0..self.decode.ranks()).map(|number| driver::decode(&plan, number));
        Ok(prefill.chain(decode).map(Arc::new).collect())
    }

    fn moe(&self) -> Option<&Moe> {
        self.experts.as_ref().map(|experts| &experts.moe)
    }

    fn layers_of_message(&self) -> u32 {
        self.layers.unwrap_or(self.cache.layers())
    }

    fn check(&self) -> Result<(), InputErrors> {
        let pool = |name: &str, pool: &Pool| {
            let errors = [
                within("workers", pool.workers, 1..=WORKERS_MAX),
                within("accelerators", pool.accelerators, 1..=ACCELERATORS_MAX),
            ];
            InputErrors::all(errors).map_err(|errors| errors.within(name))
        };
        pool("prefill", &self.prefill)?;
        pool("decode", &self.decode)?;
        self.cache.check()?;
        let (from, to) = (self.prefill.accelerators, self.decode.accelerators);
        let is_divisible = from.is_multiple_of(to) || to.is_multiple_of(from);
        let expected = format!("a multiple or a divisor of {from}, those of a prefill worker");
        InputErrors::all([
            InputError::unless(is_divisible, "decode.accelerators", to, expected),
            within("layers", self.layers_of_message(), 1..=self.cache.layers()),
            within("block", self.block, 1..=1 << 16),
            at_least("batch_max", self.batch_max, 1),
            short("prefill_start", self.prefill_start),
            short("prefill_per_token", self.prefill_per_token),
            short("decode_step", self.decode_step),
            short("decode_per_request", self.decode_per_request),
        ])?;
        if self.experts.is_some() {
            within("batch_max", self.batch_max, 1..=BATCH_MAX)?;
        }
        let experts = self.experts.iter().map(|experts| experts.check(to, self.batch_max));
        experts.collect::<Result<(), InputErrors>>().map_err(|errors| errors.within("experts"))
    }
}

impl DecodeExperts {
    /// Errors about experts that are not on the accelerators of a decode worker.
    fn check(&self, accelerators: u32, batch_max: u32) -> Result<(), InputErrors> {
        let Moe { ranks, tokens, iterations, .. } = self.moe;
        self.moe.check().map_err(|errors| errors.within("moe"))?;
        let expected = format_args!("{accelerators}, the accelerators of a decode worker");
        let share = batch_max.div_ceil(accelerators);
        let enough = format_args!("at least {share}, the share of a batch_max of {batch_max}");
        let loads = u64::from(batch_max) * u64::from(ranks) * u64::from(ranks);
        let many = format!("fewer: {loads} pairs of accelerators for all sizes of a batch, of at most {LOADS_MAX}");
        InputErrors::all([
            within("layers", self.layers, 1..=LAYERS_MAX),
            at_least("every", self.every, 1),
            InputError::unless(ranks == accelerators, "moe.ranks", ranks, expected),
            InputError::unless(share <= tokens, "moe.tokens", tokens, enough),
            within("moe.iterations", iterations, 1..=self.layers.clamp(1, LAYERS_MAX)),
            InputError::unless(loads <= LOADS_MAX, "moe.ranks", ranks, many),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;

    fn workload(keys: &str) -> Inference {
        toml::from_str(keys).unwrap()
    }

    fn plan(keys: &str) -> Plan {
        Plan::new(&workload(keys), 1).unwrap()
    }

    /// Bytes that all ranks of a decode worker get of a prompt of so many tokens.
    fn moved(plan: &Plan, input: u32) -> u64 {
        let request = requests::Request { arrival: Duration::ZERO, input, output: 1 };
        let of_pair: u64 = plan.pieces().map(|layers| plan.bytes(&request, layers)).sum();
        (0..plan.service.decode.accelerators).map(|place| of_pair * plan.senders(place).count() as u64).sum()
    }

    /// 32,768 tokens: 10.74 GB of Llama 3 70B; of DeepSeek V3 2.30 GB on each of eight ranks.
    #[test]
    fn a_prompt_moves_the_keys_and_values_of_its_model() {
        for pools in
            ["", "prefill.accelerators = 4", "prefill.accelerators = 16\ndecode.accelerators = 4", "layers = 7"]
        {
            assert_eq!(moved(&plan(pools), 32_768), 32_768 * 327_680, "{pools}");
        }
        let latent = plan("cache.latent = { layers = 61, width = 576, value_bytes = 2 }");
        assert_eq!(moved(&latent, 32_768), 8 * 32_768 * 70_272);
        // 17 tokens are two blocks of 16.
        assert_eq!(moved(&plan(""), 17), 32 * 327_680);
    }

    /// Models A to D of draft-calabria-bmwg-ai-fabric-inference-bench, 10.1, whose sizes have two or three digits.
    #[test]
    fn caches_of_the_worked_examples_have_the_published_sizes() {
        for (layers, heads, value_bytes, published_gb) in [
            (32, 8, 2, [0.54, 4.3, 17.2]),
            (80, 8, 2, [1.3, 10.7, 43.0]),
            (96, 64, 2, [12.9, 103.0, 412.0]),
            (80, 8, 1, [0.67, 5.4, 21.5]),
        ] {
            let model = format!("layers = {layers}, heads = {heads}, width = 128, value_bytes = {value_bytes}");
            let plan = plan(&format!("cache.grouped = {{ {model} }}"));
            for (tokens, published) in [4_096, 32_768, 131_072].into_iter().zip(published_gb) {
                let size_gb = moved(&plan, tokens) as f64 / 1e9;
                assert!((size_gb / published - 1.0).abs() < 0.04, "{model}, {tokens} tokens: {size_gb} GB");
            }
        }
    }

    #[test]
    fn ranks_of_the_same_place_are_partners_and_a_latent_cache_comes_from_one() {
        let senders = |plan: &Plan, place| plan.senders(place).collect::<Vec<_>>();
        assert_eq!(senders(&plan(""), 3), [3]);
        assert_eq!(senders(&plan("decode.accelerators = 2"), 1), [4, 5, 6, 7]);
        assert_eq!(senders(&plan("prefill.accelerators = 2"), 5), [1]);
        let latent = "cache.latent = { layers = 61, width = 576, value_bytes = 2 }\ndecode.accelerators = 2";
        assert_eq!(senders(&plan(latent), 1), [4]);
        assert_eq!(plan("prefill.accelerators = 2").receivers(1).collect::<Vec<_>>(), [4, 5, 6, 7]);
    }

    #[test]
    fn pushed_layers_leave_when_they_are_computed() {
        let plan = plan("layers = 20\nrequests.drawn = { count = 1, input = { fixed = 1000 } }");
        let departures = plan.departures(&plan.requests[0]);
        let begins = plan.requests[0].begins;
        let of = |quarters: u64| begins + Duration::from_us(55_000) / 4 * quarters;
        assert_eq!(departures, (1..=4).map(|quarters| (of(quarters), 20)).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_sent_is_received() {
        for keys in ["", "transfer = \"pull\"", "prefill.accelerators = 4\nlayers = 30", "decode.workers = 3"] {
            let Traffic::Graphs { ranks, .. } = workload(keys).traffic(1).unwrap() else { panic!("graphs") };
            let sum = |part: fn(&Graph) -> (u64, u64)| {
                ranks.iter().map(|graph| part(graph)).fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1))
            };
            let sent = sum(|graph| (graph.facts().sent.messages, graph.facts().sent.bytes));
            assert_eq!(sent, sum(|graph| (graph.facts().received.messages, graph.facts().received.bytes)), "{keys}");
        }
    }
}
