//! Share of a model and of its computation that an accelerator has.

use etherweave_primitives::Duration;

use super::Training;

/// Operations whose time is given.
const TERA: u128 = 1_000_000_000_000;

/// Parameters of an accelerator that all data-parallel ones have, and those of its experts.
#[derive(Clone, Copy, Default)]
pub(super) struct Share {
    pub dense: u64,
    pub experts: u64,
}

impl Share {
    /// Both together.
    pub fn sum(self) -> u64 {
        self.dense.saturating_add(self.experts)
    }

    pub fn add(&mut self, other: Share) {
        self.dense += other.dense;
        self.experts += other.experts;
    }
}

impl Training {
    /// Tokens of a micro-batch, before they are divided by context.
    pub(super) fn tokens(&self) -> u64 {
        u64::from(self.micro_batch) * u64::from(self.model.sequence)
    }

    /// How long an accelerator computes so many operations for each token of a micro-batch.
    pub(super) fn computing(&self, operations: u64) -> Duration {
        let sharing = u128::from(self.parallel.tensor) * u128::from(self.parallel.context);
        let operations = u128::from(operations) * u128::from(self.tokens()) / sharing;
        self.time_of(operations)
    }

    pub(super) fn time_of(&self, operations: u128) -> Duration {
        Duration::from_ps((operations * u128::from(self.per_teraflop.as_ps()) / TERA) as u64)
    }

    /// Size of a parameter where it is gathered [B].
    pub(super) fn parameter_size(&self) -> u32 {
        self.parameter_bytes.unwrap_or(self.element_bytes)
    }

    /// Activations of a micro-batch between layers [B].
    pub(super) fn activation(&self) -> u64 {
        let width = u64::from(self.model.hidden) * u64::from(self.element_bytes);
        self.tokens() / u64::from(self.parallel.context) * width
    }

    /// Returns the part of them that an accelerator passes on, to the next stage or to experts [B].
    pub(super) fn passed_on(&self) -> u64 {
        self.activation() / if self.parallel.sequence { u64::from(self.parallel.tensor) } else { 1 }
    }

    /// Parameters of a layer, before they are divided by tensor.
    pub(super) fn layer_parameters(&self) -> Share {
        let perceptrons = u64::from(self.model.experts / self.parallel.expert) * self.model.perceptron();
        match self.model.experts {
            1 => Share { dense: self.model.attention() + perceptrons, experts: 0 },
            _ => Share { dense: self.model.attention(), experts: perceptrons },
        }
    }

    /// Those of the embedding, or of the output layer.
    pub(super) fn embedding_parameters(&self) -> Share {
        Share { dense: self.model.embedding(), experts: 0 }
    }

    /// Trained part of a layer: all of it, or adapters.
    pub(super) fn trained_layer(&self) -> Share {
        match self.adapters {
            Some(rank) => Share { dense: self.model.adapters(rank), experts: 0 },
            None => self.layer_parameters(),
        }
    }

    pub(super) fn trained_embedding(&self) -> Share {
        if self.adapters.is_some() { Share::default() } else { self.embedding_parameters() }
    }

    /// Returns what is gathered before it is used: all parameters where they are divided, else what the optimizer has
    /// changed.
    pub(super) fn gathered(&self, all: Share, trained: Share) -> Share {
        if self.parallel.zero == 3 { all } else { trained }
    }

    /// Gradients of an accelerator of a stage [B].
    pub(super) fn gradients_of_stage(&self, stage: u32) -> u64 {
        self.trained_of_stage(stage).sum() / u64::from(self.parallel.tensor) * u64::from(self.gradient_bytes)
    }

    /// Parameters of a stage that are trained, before they are divided by tensor.
    pub(super) fn trained_of_stage(&self, stage: u32) -> Share {
        self.of_stage(stage, self.trained_layer(), self.trained_embedding())
    }

    /// All of its parameters, before they are divided by tensor.
    pub(super) fn parameters_of_stage(&self, stage: u32) -> Share {
        self.of_stage(stage, self.layer_parameters(), self.embedding_parameters())
    }

    fn of_stage(&self, stage: u32, layer: Share, embedding: Share) -> Share {
        let layers: u32 = (0..self.parallel.interleave).map(|part| self.layers(stage, part)).sum();
        let layers = u64::from(layers);
        let has_output = stage + 1 == self.parallel.pipeline && !self.is_embedding_reused();
        let ends = u64::from(stage == 0) + u64::from(has_output);
        let dense = layers.saturating_mul(layer.dense).saturating_add(ends * embedding.dense);
        Share { dense, experts: layers.saturating_mul(layer.experts) }
    }
}
