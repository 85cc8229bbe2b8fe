//! Memory that a step takes of an accelerator: parameters, gradients, the state of the optimizer, and activations that
//! are kept for the way back.
//!
//! States are those of Rajbhandari et al., "ZeRO", SC 2020, section 3.1 (mixed precision, Adam) and 5 (who has which).
//! Activations are the terms of Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models",
//! 2022, sections 4.1 to 4.3, for layers of any widths: of a layer of their widths (4 h, keys as wide as queries) with
//! elements of 2 B, 32 s b h of their 34, which count 2 for masks of dropout. No attention keeps its scores, which a
//! fused one computes again ("selective" recomputation there).
//!
//! Not counted: buffers of communication, working memory of kernels, fragments, second copies of FP8 matrices.

use etherweave_primitives::{Bytes, InputError};

use super::{Training, share::Share};
use crate::limits::decimal;

/// State of the optimizer of a parameter: a copy, momentum and variance of 4 B each [B].
const STATE: u64 = 12;
/// Size of a result of the output layer, from which the loss is computed [B].
const LOGIT: u64 = 4;

/// Memory of an accelerator that a step takes, of the stage that takes most.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Memory {
    /// Parameters, trained or not [B].
    pub parameters_bytes: u64,
    /// Gradients of what is trained [B].
    pub gradients_bytes: u64,
    /// State of the optimizer [B].
    pub optimizer_bytes: u64,
    /// Activations of all micro-batches whose way back is ahead, where they are most [B].
    pub activations_bytes: u64,
}

impl Memory {
    /// All of it [B].
    pub fn sum(&self) -> u64 {
        let Memory { parameters_bytes, gradients_bytes, optimizer_bytes, activations_bytes } = *self;
        let states = parameters_bytes.saturating_add(gradients_bytes).saturating_add(optimizer_bytes);
        states.saturating_add(activations_bytes)
    }
}

impl Training {
    /// Memory of an accelerator of the stage that takes most.
    pub(super) fn memory(&self) -> Memory {
        let stages = (0..self.parallel.pipeline).map(|stage| self.memory_of_stage(stage));
        stages.max_by_key(Memory::sum).unwrap_or_default()
    }

    /// An error where an accelerator has less.
    pub(super) fn check_memory(&self) -> Result<(), InputError> {
        let Some(available) = self.accelerator.memory else { return Ok(()) };
        let memory = self.memory();
        let sum = Bytes::new(memory.sum());
        let mistake = format_args!(
            "{}, and a step takes {}: parameters {}, gradients {}, optimizer {}, activations {}",
            decimal(available),
            decimal(sum),
            decimal(Bytes::new(memory.parameters_bytes)),
            decimal(Bytes::new(memory.gradients_bytes)),
            decimal(Bytes::new(memory.optimizer_bytes)),
            decimal(Bytes::new(memory.activations_bytes)),
        );
        let expected = "at least as much: a larger `parallel`, a higher `parallel.zero`, a smaller `micro_batch`, or \
                        `recompute = true`";
        InputError::unless(sum <= available, "accelerator.memory", mistake, expected)
    }

    fn memory_of_stage(&self, stage: u32) -> Memory {
        let (all, trained) = (self.parameters_of_stage(stage), self.trained_of_stage(stage));
        let zero = self.parallel.zero;
        let adapters = if self.adapters.is_some() { trained.sum() } else { 0 };
        let frozen = adapters * u64::from(self.element_bytes);
        // Where parameters are divided, a layer computes while those of the next are gathered.
        let gathered = if zero == 3 { 2 * self.layer_parameters().sum() } else { 0 };
        let kept = self.divided(all, zero >= 3).saturating_add(gathered);
        let tensor = u64::from(self.parallel.tensor);
        let bytes = |parameters: u64, size: u64| parameters.saturating_mul(size) / tensor;
        Memory {
            parameters_bytes: bytes(kept, self.parameter_size().into()).saturating_add(frozen / tensor),
            gradients_bytes: bytes(self.divided(trained, zero >= 2), self.gradient_bytes.into()),
            optimizer_bytes: bytes(self.divided(trained, zero >= 1), STATE),
            activations_bytes: self.activations_of_stage(stage),
        }
    }

    /// Parameters that an accelerator has, of those that data-parallel ones divide among them or not.
    fn divided(&self, parameters: Share, is_divided: bool) -> u64 {
        if !is_divided {
            return parameters.sum();
        }
        let replicas = u64::from(self.data() * self.parallel.context);
        parameters.dense.div_ceil(replicas) + parameters.experts.div_ceil(replicas / u64::from(self.parallel.expert))
    }

    /// Activations when most passes forward have their pass backward ahead.
    fn activations_of_stage(&self, stage: u32) -> u64 {
        let pipeline = self.simulated();
        let layer = self.activations_of_layer();
        let kept = if self.recompute { self.passed_on() } else { layer };
        let of_part = |part: u32| {
            let output = if pipeline.behind(stage, part).is_none() { self.activations_of_output() } else { 0 };
            u64::from(self.layers(stage, part)).saturating_mul(kept).saturating_add(output)
        };
        let (mut sum, mut most) = (0_u64, 0_u64);
        for pass in pipeline.passes(stage) {
            let bytes = of_part(pass.part);
            sum = if pass.is_forward { sum.saturating_add(bytes) } else { sum.saturating_sub(bytes) };
            most = most.max(sum);
        }
        most.saturating_add(if self.recompute { layer } else { 0 })
    }

    /// Inputs of both norms and of both first products, which accelerators of a tensor group share with `sequence`;
    /// then what they always divide: queries, keys, values, the result of the attention, and what a perceptron has
    /// before and behind its activation. The inputs of frozen matrices are not kept, but for those of adapters.
    fn activations_of_layer(&self) -> u64 {
        let model = &self.model;
        let [width, keys, inside] = [model.hidden, model.key_value, model.feed_forward].map(u64::from);
        let trained = u64::from(self.adapters.is_none());
        let experts = u64::from(model.experts_per_token);
        let shared = 3 * width + trained * experts * width;
        let perceptron = experts * inside * (if model.is_gated { 2 } else { 1 } + trained);
        self.kept(shared, 2 * width + 2 * keys + perceptron)
    }

    /// Input of the last norm and of the output layer, and its results.
    fn activations_of_output(&self) -> u64 {
        let inputs = 1 + u64::from(self.adapters.is_none());
        let results = u64::from(self.model.vocabulary) * LOGIT / u64::from(self.parallel.tensor);
        self.kept(inputs * u64::from(self.model.hidden), 0).saturating_add(self.rows().saturating_mul(results))
    }

    /// Elements of each token that a tensor group has with `sequence` once, else everyone, and those that it divides
    /// anyway [B].
    fn kept(&self, shared: u64, divided: u64) -> u64 {
        let tensor = u64::from(self.parallel.tensor);
        let shared = if self.parallel.sequence { shared.div_ceil(tensor) } else { shared };
        let elements = self.rows().saturating_mul(shared + divided.div_ceil(tensor));
        elements.saturating_mul(self.element_bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Parallelism, super::Transformer, super::tests::small, *};

    /// GPT-3 of 175 G parameters and its accelerators, as in table 3 of Korthikanti et al.
    fn gpt_3(parallel: Parallelism) -> Training {
        let model = Transformer {
            layers: 96,
            hidden: 12_288,
            feed_forward: 4 * 12_288,
            is_gated: false,
            key_value: 12_288,
            vocabulary: 51_200,
            is_tied: true,
            sequence: 2_048,
            ..Transformer::default()
        };
        Training { ranks: 64, batch: 64, model, parallel, ..small() }
    }

    /// s b h (10 + 24 / t) of a layer, equation 2 without its scores, and 34 / t of equation 4: each 2 less of masks,
    /// which both count undivided or divided.
    #[test]
    fn a_layer_keeps_what_the_published_equations_count() {
        let token = 2_048 * 12_288;
        let layer = |tensor: u32, sequence: bool| {
            gpt_3(Parallelism { tensor, sequence, pipeline: 8, ..Parallelism::default() }).activations_of_layer()
        };
        assert_eq!(layer(1, false), token * (34 - 2));
        assert_eq!(layer(8, false), token * (10 - 2 + 24 / 8));
        assert_eq!(layer(8, true), token * (34 - 2) / 8);
    }

    /// Section 4.2.3: with p stages the first has activations of all L layers, with m parts of L (1 + (p - 1) / (p m));
    /// the last one of 3 has those of a micro-batch and 4 s b h / t (1 + v / h) of the output layer.
    #[test]
    fn the_first_stage_keeps_as_many_micro_batches_as_stages() {
        let parallel = Parallelism { tensor: 8, pipeline: 8, ..Parallelism::default() };
        let training = gpt_3(parallel.clone());
        let layer = training.activations_of_layer();
        assert_eq!(training.activations_of_stage(0), 96 * layer);
        let parts = gpt_3(Parallelism { interleave: 3, ..parallel.clone() });
        assert_eq!(parts.activations_of_stage(0), layer * 96 * (8 * 3 + 7) / (8 * 3));
        let output = 4 * 2_048 * 12_288 / 8 + 4 * 2_048 * 51_200 / 8;
        assert_eq!(training.activations_of_stage(7), 12 * layer + output);
        let again = Training { recompute: true, ..gpt_3(parallel) };
        assert_eq!(again.activations_of_stage(0), 96 * 2 * 2_048 * 12_288 / 8 + layer);
    }

    /// Table 1 of Rajbhandari et al.: 7.5 G parameters on 64 accelerators take 120 GB, 31.4 GB, 16.6 GB and 1.9 GB.
    #[test]
    fn states_are_divided_as_zero_says() {
        let state = |zero: u32| {
            let parallel = Parallelism { zero, ..small().parallel };
            let model = Transformer { layers: 600, hidden: 1_024, feed_forward: 4_096, ..small().model };
            let training = Training { ranks: 64, batch: 64, model, parallel, gradient_bytes: 2, ..small() };
            let memory = training.memory();
            let states = memory.sum() - memory.activations_bytes;
            let gathered = if zero == 3 { 2 * 2 * training.layer_parameters().sum() } else { 0 };
            (states - gathered) as f64 * 7.5 / training.model.parameters() as f64
        };
        for (zero, published) in [(0, 120.0), (1, 31.4), (2, 16.6), (3, 1.9)] {
            assert!((state(zero) / published - 1.0).abs() < 0.02, "{zero}: {}", state(zero));
        }
    }

    /// Llama 2 of 70 G parameters: frozen perceptrons keep both inputs of their activation, and what was not trained
    /// has neither gradients nor state.
    #[test]
    fn adapters_keep_less() {
        let parallel = Parallelism { tensor: 1, pipeline: 1, ..Parallelism::default() };
        let trained = Training { ranks: 8, batch: 8, parallel, ..Training::default() };
        let frozen = Training { adapters: Some(16), ..trained.clone() };
        let difference = trained.activations_of_layer() - frozen.activations_of_layer();
        assert_eq!(difference, 8_192 * 2 * (8_192 + 28_672));
        let memory = frozen.memory();
        assert_eq!((memory.gradients_bytes, memory.optimizer_bytes), (4 * 44_564_480, 12 * 44_564_480));
        assert_eq!(memory.parameters_bytes, 2 * (frozen.model.parameters() + 44_564_480));
    }

    /// An eighth of 70.55 G parameters, of 2, 4 and 12 B; in 80 layers 8,192 tokens of 137,216 / 8 elements, and
    /// 0.56 GB of the output layer.
    #[test]
    fn what_does_not_fit_is_refused_with_its_parts() {
        let keys = "ranks = 64\nbatch = 64\naccelerator.memory = \"80GB\"\nparallel = { tensor = 8, pipeline = 1 }";
        let error = toml::from_str::<Training>(keys).unwrap().graphs().unwrap_err().to_string();
        let expected = "accelerator.memory: 80GB, and a step takes 181.783GB: parameters 17.638GB, gradients 35.276GB, \
                        optimizer 105.829GB, activations 23.04GB; expected at least as much: a larger `parallel`, a \
                        higher `parallel.zero`, a smaller `micro_batch`, or `recompute = true`";
        assert_eq!(error, expected);
        let divided = format!("{keys}\nrecompute = true").replace("pipeline = 1", "pipeline = 1, zero = 3");
        assert!(toml::from_str::<Training>(&divided).unwrap().check_memory().is_ok());
    }
}
