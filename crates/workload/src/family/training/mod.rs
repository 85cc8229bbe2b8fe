//! A training step of a transformer on many accelerators, each a rank with a network interface of its own.
//!
//! The model is divided four ways (`parallel`); accelerators are numbered with `tensor` running fastest, then
//! `context`, `data`, `pipeline`, so that what exchanges most shares a node (`outermost` exchanges the last two):
//!
//! ```text
//!   tensor     all-reduce behind each attention and each perceptron, forward and backward
//!   context    keys and values of the whole sequence before each attention
//!   expert     all-to-all before and behind the experts of a layer, among some of the data-parallel ranks
//!   pipeline   activations to the next stage, their gradients back (`pipeline.rs`)
//!   data       gradients, in buckets that leave while the backward pass goes on; parameters where they are divided
//! ```
//!
//! A graph of operations per rank (`step.rs`), whose collectives are those of `accelerators.rs`.
//! Sources: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", SC 2021 (tensor,
//! pipeline); Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022 (sequence);
//! Rajbhandari et al., "ZeRO", SC 2020; Li et al., "PyTorch Distributed", VLDB 2020 (buckets); Grattafiori et
//! al., "The Llama 3 Herd of Models", 2024 (context).
//!
//! Not modelled: kernels that do not overlap with copies, imbalance of experts.

mod endpoint;
mod groups;
mod layer;
mod memory;
mod model;
mod pipeline;
mod share;
mod step;
mod step_times;

use std::{collections::BTreeSet, sync::Arc};

use etherweave_primitives::{BitRate, Bytes, Duration, InputError, InputErrors, params};

use crate::limits::{COLLECTIVE_MAX, at_least, positive, within};
use crate::{
    Graph, Traffic, TrafficSize, accelerators::AcceleratorNode, accelerators::Accelerators, collective::Library,
    generator::Generator, size::sampled_graphs,
};
pub use endpoint::Accelerator;
use groups::Numbering;
pub use memory::Memory;
pub use model::Transformer;
use pipeline::{Pipeline, Repetition};
use step::Step;
pub use step_times::StepTimes;

const RANKS_MAX: u32 = 1 << 16;
/// Micro-batches of a stage at most, and layers that they pass: each is written out.
const MICRO_BATCHES_MAX: u32 = 1 << 14;
const PASSES_MAX: u64 = 1 << 20;
/// Parts of the gradients of a stage at most: each is exchanged.
const GRADIENT_PARTS_MAX: u64 = 1 << 14;
/// Gradients of an accelerator at most: more than its memory.
const GRADIENTS_MAX: Bytes = Bytes::new(1 << 40);

/// Division with the largest strides between the numbers of accelerators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outermost {
    /// Stages, the default: all data-parallel accelerators of a stage are neighbours.
    #[default]
    Pipeline,
    /// Replicas: all stages of one are neighbours.
    Data,
}

params! {
    /// How the model is divided among accelerators (`parallel`). What is left is data-parallel.
    #[derive(Eq)]
    pub struct Parallelism {
        /// Accelerators that share every matrix.
        pub tensor: u32 = 8,
        /// Whether they also share the tokens between matrices, so that stages of a pipeline exchange less.
        pub sequence: bool = true,
        /// Accelerators that share a sequence.
        pub context: u32 = 1,
        /// Bus bandwidth of those within a node, where their communicator has fewer channels than others. Absent: that
        /// of the node.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub context_rate: Option<BitRate> = None,
        /// Stages of layers.
        pub pipeline: u32 = 4,
        /// Parts of the model in each stage; 2 or more are interleaved. The first and the last part may have a layer
        /// less than the others: `layers` two less than a multiple.
        pub interleave: u32 = 1,
        /// Division with the largest strides between the numbers of accelerators: "pipeline" or "data".
        pub outermost: Outermost = Outermost::Pipeline,
        /// Data-parallel accelerators that share the experts of a layer.
        pub expert: u32 = 1,
        /// State that data-parallel accelerators divide among them: 0 none, 1 the state of the optimizer, 2 gradients
        /// as well, 3 parameters as well (ZeRO, or FSDP).
        pub zero: u32 = 0,
        /// Whether, with `zero` of 1 or 2, the parameters of a layer are gathered while the layer before computes, on
        /// the first way forward of a step, as FSDP does, instead of all at its end.
        pub prefetch: bool = false,
        /// Largest part in which gradients are exchanged [B]. Absent: those of a layer at once, of small layers
        /// together once they have 25 MiB, as PyTorch's DistributedDataParallel.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub bucket: Option<Bytes> = None,
    }
}

params! {
    /// Training steps (`training`).
    pub struct Training {
        /// Accelerators, 2 to 65,536.
        pub ranks: u32 = 64,
        /// The model that is trained.
        pub model: Transformer = Transformer::default(),
        /// How it is divided.
        pub parallel: Parallelism = Parallelism::default(),
        /// Links that join accelerators besides the network.
        pub node: AcceleratorNode = AcceleratorNode::default(),
        /// Sequences of a step, over all accelerators.
        pub batch: u32 = 16,
        /// Sequences that go through a stage at once.
        pub micro_batch: u32 = 1,
        /// Size of a parameter, and of an element of an activation [B].
        pub element_bytes: u32 = 2,
        /// Size of a parameter where it is gathered [B], 1 in FP8. Absent: that of an element.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub parameter_bytes: Option<u32> = None,
        /// Size of an element of a gradient [B].
        pub gradient_bytes: u32 = 4,
        /// Rank of adapters of the attentions, which alone are trained (LoRA); all other parameters are frozen. Absent:
        /// all parameters are trained.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub adapters: Option<u32> = None,
        /// Micro-batches of a stage that are simulated, where it has more, and up to as many as there are stages
        /// besides: a span of their steady state is measured, and its time stands for the others. Absent: every one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub micro_batches: Option<u32> = None,
        /// Time of an accelerator besides operations.
        #[serde(skip_serializing_if = "is_default")]
        pub accelerator: Accelerator = Accelerator::default(),
        /// Whether activations are computed again on the way back.
        pub recompute: bool = false,
        /// Time of an accelerator for 10^12 operations.
        pub per_teraflop: Duration = Duration::from_us(2_000),
        /// Library whose decisions pick the algorithms of collectives between nodes.
        pub library: Library = Library::Nccl,
        /// Rate of an accelerator's network, by which `library = "nccl"` chooses. Default "400Gb/s".
        #[serde(skip_serializing_if = "Option::is_none")]
        pub network_rate: Option<BitRate> = Some(BitRate::from_gbps(400)),
        /// Rings of more rounds take so many, 2 or more, each of as many times longer messages: all bytes, but fewer
        /// latencies. For thousands of accelerators; absent: every round.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rounds: Option<u32> = None,
        /// Number of steps, 1 or more; each is measured.
        pub iterations: u32 = 1,
    }
}

/// Figures of a step that are known before it is simulated.
#[derive(serde::Serialize)]
struct StepFigures {
    #[serde(flatten)]
    times: StepTimes,
    memory: Memory,
}

fn is_default(accelerator: &Accelerator) -> bool {
    *accelerator == Accelerator::default()
}

impl Generator for Training {
    fn purpose(&self, tag: u32) -> Option<String> {
        groups::purpose(tag)
    }

    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    fn traffic(&self, _: u64) -> Result<Traffic, InputErrors> {
        Ok(Traffic::Graphs { ranks: self.graphs()?, iterations: self.iterations })
    }

    fn size(&self) -> Result<TrafficSize, InputErrors> {
        sampled_graphs(self.ranks(), self.iterations, |rank| self.graphs_of(std::iter::once(rank)))
    }

    fn figures(&self, _: u64) -> Result<serde_json::Value, InputErrors> {
        let figures = StepFigures { times: self.step_times()?, memory: self.memory() };
        Ok(serde_json::to_value(figures).expect("numbers are JSON"))
    }

    fn calls_nccl(&self) -> bool {
        self.library == Library::Nccl
    }

    fn node(&self) -> Option<&AcceleratorNode> {
        Some(&self.node)
    }
}

impl Training {
    /// The graph of every rank in a step.
    ///
    /// # Errors
    /// When the model, the batch or the accelerators cannot be divided as asked.
    pub fn graphs(&self) -> Result<Vec<Arc<Graph>>, InputErrors> {
        self.graphs_of(0..self.ranks)
    }

    fn graphs_of(&self, ranks: impl Iterator<Item = u32>) -> Result<Vec<Arc<Graph>>, InputErrors> {
        self.check()?;
        let mut shared = BTreeSet::new();
        let graph = |rank| {
            let mut graph = Step::new(self, rank).graph()?;
            graph.share(&mut shared);
            Ok(Arc::new(graph))
        };
        Ok(ranks.map(graph).collect::<Result<_, InputError>>()?)
    }

    /// Links and algorithms of its accelerators.
    fn accelerators(&self) -> Accelerators<'_> {
        let Training { node, library, network_rate, rounds, .. } = self;
        let (launch, library) = (self.accelerator.launch, *library);
        Accelerators { node, library, network_rate: *network_rate, rounds: *rounds, launch, call: None }
    }

    /// Accelerators that have the same part of the model, and other sequences.
    fn data(&self) -> u32 {
        self.ranks / self.share()
    }

    /// Accelerators that share a sequence.
    fn share(&self) -> u32 {
        self.parallel.tensor.saturating_mul(self.parallel.context).saturating_mul(self.parallel.pipeline)
    }

    /// Whether the output layer takes the embedding of the same accelerator.
    fn is_embedding_reused(&self) -> bool {
        self.model.is_tied && self.parallel.pipeline == 1
    }

    fn pipeline(&self) -> Pipeline {
        let micro_batches = self.batch / (self.data() * self.micro_batch);
        Pipeline { stages: self.parallel.pipeline, parts: self.parallel.interleave, micro_batches }
    }

    /// The pipeline of the micro-batches that are simulated: as many as asked for, and up to a round more.
    fn simulated(&self) -> Pipeline {
        let pipeline = self.pipeline();
        let few = self.micro_batches.unwrap_or(u32::MAX).min(pipeline.micro_batches);
        // What is left out is a number of whole rounds.
        Pipeline { micro_batches: few + (pipeline.micro_batches - few) % pipeline.stages, ..pipeline }
    }

    /// The repetition that stands for those that are not.
    fn repetition(&self) -> Option<Repetition> {
        let (simulated, all) = (self.simulated(), self.pipeline().micro_batches);
        if simulated.micro_batches == all { None } else { simulated.repetition(all).ok() }
    }

    /// Layers of a part of a stage: as many as of any other, but for the first and the last of all parts, which may
    /// have one less.
    fn layers(&self, stage: u32, part: u32) -> u32 {
        let Parallelism { pipeline, interleave, .. } = self.parallel;
        let parts = pipeline * interleave;
        let is_end = (stage, part) == (0, 0) || (stage + 1, part + 1) == (pipeline, interleave);
        let is_short = is_end && !self.model.layers.is_multiple_of(parts);
        self.model.layers.div_ceil(parts) - u32::from(is_short)
    }

    fn check(&self) -> Result<(), InputErrors> {
        within("ranks", self.ranks, 2..=RANKS_MAX)?;
        let parallel = &self.parallel;
        let degree = |name: &str, value: u32| within(&format!("parallel.{name}"), value, 1..=self.ranks);
        self.model.check("model")?;
        InputErrors::all([
            degree("tensor", parallel.tensor),
            degree("context", parallel.context),
            parallel.context_rate.map_or(Ok(()), |rate| positive("parallel.context_rate", rate)),
            degree("pipeline", parallel.pipeline),
            within("parallel.interleave", parallel.interleave, 1..=self.model.layers.max(1)),
            degree("expert", parallel.expert),
            within("parallel.zero", parallel.zero, 0..=3),
            self.check_prefetch(),
            within("node.accelerators", self.node.accelerators, 1..=self.ranks),
            self.node.check(),
            self.network_rate.map_or(Ok(()), |rate| positive("network_rate", rate)),
            within("micro_batch", self.micro_batch, 1..=self.batch.max(1)),
            within("element_bytes", self.element_bytes, 1..=8),
            within("gradient_bytes", self.gradient_bytes, 1..=8),
            self.parameter_bytes.map_or(Ok(()), |bytes| within("parameter_bytes", bytes, 1..=8)),
            self.adapters.map_or(Ok(()), |rank| within("adapters", rank, 1..=self.model.hidden)),
            self.accelerator.check("accelerator"),
            self.rounds.map_or(Ok(()), |rounds| at_least("rounds", rounds, 2)),
            within("iterations", self.iterations, 1..=MICRO_BATCHES_MAX),
        ])?;
        self.check_ranks()?;
        InputErrors::all([self.check_model(), self.check_batch(), self.check_nodes(), self.check_gradients()])?;
        self.check_micro_batches()?;
        self.check_memory()?;
        Ok(self.check_bucket()?)
    }

    fn check_prefetch(&self) -> Result<(), InputError> {
        let Parallelism { zero, prefetch, .. } = self.parallel;
        let expected = "false, or `parallel.zero` of 1 or 2 with it: 3 gathers ahead by itself";
        InputError::unless(!prefetch || matches!(zero, 1 | 2), "parallel.prefetch", prefetch, expected)
    }

    /// No accelerator has memory for more, and each part is exchanged.
    fn check_gradients(&self) -> Result<(), InputError> {
        let stages = (0..self.parallel.pipeline).map(|stage| self.gradients_of_stage(stage));
        let bytes = Bytes::new(stages.max().unwrap_or(0));
        let mistake = format_args!("gradients of {bytes} on an accelerator");
        let expected = format_args!("at most {GRADIENTS_MAX}: a smaller model, or more accelerators that share it");
        InputError::unless(bytes <= GRADIENTS_MAX, "model", mistake, expected)
    }

    fn check_bucket(&self) -> Result<(), InputError> {
        let Some(bucket) = self.parallel.bucket else { return Ok(()) };
        let longest = (0..self.parallel.pipeline).map(|stage| self.gradients_of_stage(stage)).max().unwrap_or(0);
        let least = Bytes::new(longest.div_ceil(GRADIENT_PARTS_MAX).max(1));
        let expected = format_args!("{least} to {COLLECTIVE_MAX}, for at most {GRADIENT_PARTS_MAX} parts");
        InputError::unless((least..=COLLECTIVE_MAX).contains(&bucket), "parallel.bucket", bucket, expected)
    }

    fn check_ranks(&self) -> Result<(), InputError> {
        let Parallelism { tensor, context, pipeline, expert, .. } = self.parallel;
        let expected = format_args!("a multiple of {tensor} · {context} · {pipeline} (tensor, context, pipeline)");
        InputError::unless(self.ranks.is_multiple_of(self.share()), "ranks", self.ranks, expected)?;
        let (data, experts) = (self.data(), self.model.experts);
        let divides = data.is_multiple_of(expert) && experts.is_multiple_of(expert);
        let expected = match experts {
            1 => "1, for a model without experts (`model.experts` of 1)".to_owned(),
            _ => format!("a divisor of {data}, the data-parallel accelerators, and of {experts} experts"),
        };
        InputError::unless(divides, "parallel.expert", expert, expected)
    }

    fn check_model(&self) -> Result<(), InputError> {
        let Parallelism { tensor, context, pipeline, interleave, .. } = self.parallel;
        let parts = pipeline.saturating_mul(interleave);
        let expected = format_args!("a multiple of {parts} (pipeline · interleave), or 2 less");
        let layers = self.model.layers;
        let is_even = layers.is_multiple_of(parts) || parts > 2 && (layers + 2).is_multiple_of(parts);
        InputError::unless(is_even, "model.layers", layers, expected)?;
        let expected = format_args!("a multiple of {context} (context)");
        let is_shared = self.model.sequence.is_multiple_of(context);
        InputError::unless(is_shared, "model.sequence", self.model.sequence, expected)?;
        let expected = format_args!("a multiple of {tensor} (tensor)");
        InputError::unless(self.model.hidden.is_multiple_of(tensor), "model.hidden", self.model.hidden, expected)
    }

    fn check_batch(&self) -> Result<(), InputError> {
        let replicas = self.data().saturating_mul(self.micro_batch);
        let expected = format_args!("a multiple of {replicas}: {} data-parallel micro-batches", self.data());
        InputError::unless(self.batch > 0 && self.batch.is_multiple_of(replicas), "batch", self.batch, expected)?;
        let Pipeline { stages, parts, micro_batches } = self.pipeline();
        let mistake = format_args!("{micro_batches} micro-batches of each stage");
        let is_even = parts == 1 || micro_batches.is_multiple_of(stages);
        InputError::unless(is_even, "batch", mistake, format_args!("a multiple of {stages} stages, to interleave"))?;
        let simulated = self.simulated().micro_batches;
        let passes = u64::from(simulated) * u64::from(self.model.layers.div_ceil(stages));
        let is_bounded = micro_batches <= MICRO_BATCHES_MAX && passes <= PASSES_MAX;
        let expected = format_args!("at most {MICRO_BATCHES_MAX}, of at most {PASSES_MAX} layers in all");
        InputError::unless(is_bounded, "batch", mistake, expected)
    }

    /// Where a part of the micro-batches stands for all, it has a steady state, in which no exchange falls behind.
    fn check_micro_batches(&self) -> Result<(), InputError> {
        let (simulated, all) = (self.simulated(), self.pipeline().micro_batches);
        if simulated.micro_batches == all {
            return Ok(());
        }
        let expected = "absent where gradients are exchanged behind every micro-batch (`parallel.zero` of 2 or 3)";
        InputError::unless(self.parallel.zero < 2, "micro_batches", simulated.micro_batches, expected)?;
        let Err(least) = simulated.repetition(all) else { return Ok(()) };
        let expected = format_args!("at least {least}, of which {} stages have a steady state", simulated.stages);
        Err(InputError::new("micro_batches", simulated.micro_batches, expected))
    }

    /// Groups have equally many accelerators in each node, and stages are in nodes of their own.
    fn check_nodes(&self) -> Result<(), InputError> {
        let node = self.node.accelerators;
        let Numbering { tensor, context, data, pipeline } = Numbering::new(self);
        let sharing_experts = data.stride * self.parallel.expert;
        let extents = [tensor.extent(), context.extent(), sharing_experts, data.extent(), pipeline.extent()];
        let is_even = extents.iter().all(|extent| extent.is_multiple_of(node) || node.is_multiple_of(*extent));
        let expected = format_args!("a divisor or a multiple of tensor, of tensor · context, and of these · expert");
        InputError::unless(is_even, "node.accelerators", node, expected)?;
        let is_apart = pipeline.size == 1 || pipeline.stride.is_multiple_of(node);
        let expected = format_args!("a divisor of {}, the distance between stages", pipeline.stride);
        InputError::unless(is_apart, "node.accelerators", node, expected)
    }
}

#[cfg(test)]
mod tests;
