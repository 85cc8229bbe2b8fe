//! A transformer in numbers: its parameters, its operations, and where they lie.
//!
//! A layer has an attention (queries and output of the whole width, keys and values of their own) and a perceptron,
//! dense or one per expert. Norms and biases are left out: they are less than a thousandth of the parameters.
//! Operations are those of the model alone, as in the MFU of Chowdhery et al., "PaLM: Scaling Language Modeling with
//! Pathways", JMLR 2023, appendix B, but for the attention, which is causal and needs half of what they count.
//! Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", SC 2021, count the whole
//! attention, and what is computed again. Source of the default: Grattafiori et al., "The Llama 3 Herd of Models",
//! 2024, table 3.

use etherweave_primitives::{InputErrors, params};

use crate::limits::within;

/// Operations for each parameter and token: a product and a sum.
pub(super) const OPERATIONS_OF_PARAMETER: u64 = 2;
/// Most of anything that a model counts.
const EXTENT_MAX: u32 = 1 << 20;
/// Layers and experts at most.
const LAYERS_MAX: u32 = 4_096;

params! {
    /// A transformer that reads a sequence (`model`). The default is Llama 3 of 70 G parameters.
    #[derive(Eq)]
    pub struct Transformer {
        /// Layers, 1 to 4,096.
        pub layers: u32 = 80,
        /// Width of a token between layers.
        pub hidden: u32 = 8_192,
        /// Width inside a perceptron.
        pub feed_forward: u32 = 28_672,
        /// Whether a perceptron has three matrices (a gated one, as SwiGLU) instead of two.
        pub is_gated: bool = true,
        /// Width of all keys of a token, and of all values: less than `hidden` where queries share them.
        pub key_value: u32 = 1_024,
        /// Tokens that it knows: rows of the embedding and of the output layer.
        pub vocabulary: u32 = 128_256,
        /// Whether the output layer has the parameters of the embedding, as in GPT-2.
        pub is_tied: bool = false,
        /// Tokens of a sequence.
        pub sequence: u32 = 8_192,
        /// Perceptrons of a layer, 1 for a dense model.
        pub experts: u32 = 1,
        /// Number of them that each token takes.
        pub experts_per_token: u32 = 1,
    }
}

impl Transformer {
    /// Errors about extents out of range; `key` is that of the model.
    pub(super) fn check(&self, key: &str) -> Result<(), InputErrors> {
        let extent = |name: &str, value: u32, most: u32| within(&format!("{key}.{name}"), value, 1..=most);
        InputErrors::all([
            extent("layers", self.layers, LAYERS_MAX),
            extent("hidden", self.hidden, EXTENT_MAX),
            extent("feed_forward", self.feed_forward, EXTENT_MAX),
            extent("key_value", self.key_value, self.hidden.max(1)),
            extent("vocabulary", self.vocabulary, EXTENT_MAX),
            extent("sequence", self.sequence, EXTENT_MAX),
            extent("experts", self.experts, LAYERS_MAX),
            extent("experts_per_token", self.experts_per_token, self.experts.max(1)),
        ])
    }

    /// Parameters of an attention: queries, output, keys, values.
    pub(super) fn attention(&self) -> u64 {
        2 * u64::from(self.hidden) * (u64::from(self.hidden) + u64::from(self.key_value))
    }

    /// Parameters of the adapters of an attention, two matrices of this rank each for the product with queries, keys
    /// and values, and for the output (Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", ICLR 2022).
    pub(super) fn adapters(&self, rank: u32) -> u64 {
        u64::from(rank) * (4 * u64::from(self.hidden) + 2 * u64::from(self.key_value))
    }

    pub(super) fn perceptron(&self) -> u64 {
        let matrices = if self.is_gated { 3 } else { 2 };
        matrices * u64::from(self.hidden) * u64::from(self.feed_forward)
    }

    /// Parameters of the embedding, and of the output layer.
    pub(super) fn embedding(&self) -> u64 {
        u64::from(self.vocabulary) * u64::from(self.hidden)
    }

    /// Parameters of the whole model.
    pub fn parameters(&self) -> u64 {
        let layer = self.attention() + u64::from(self.experts) * self.perceptron();
        let ends = if self.is_tied { 1 } else { 2 };
        u64::from(self.layers) * layer + ends * self.embedding()
    }

    /// Operations for a token on its way forward through an attention. It attends to half of the sequence on
    /// average, in two products: with the keys and with the values.
    pub(super) fn attention_operations(&self) -> u64 {
        OPERATIONS_OF_PARAMETER * (self.attention() + u64::from(self.sequence) * u64::from(self.hidden))
    }

    /// Operations for a token on its way forward through the perceptrons of a layer that it takes.
    pub(super) fn perceptron_operations(&self) -> u64 {
        OPERATIONS_OF_PARAMETER * u64::from(self.experts_per_token) * self.perceptron()
    }

    /// Operations for a token in the output layer.
    pub(super) fn output_operations(&self) -> u64 {
        OPERATIONS_OF_PARAMETER * self.embedding()
    }

    /// Operations for a token on its way forward through all layers; backward it takes twice as many.
    #[cfg(test)]
    pub(super) fn operations(&self) -> u64 {
        let layer = self.attention_operations() + self.perceptron_operations();
        u64::from(self.layers) * layer + self.output_operations()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 70.6 G parameters (the publication says 70 B), and the 6 operations for each of them and token that are a rule
    /// of thumb, without the embedding and with the attention to the sequence.
    #[test]
    fn the_default_has_the_parameters_of_llama_3() {
        let model = Transformer::default();
        assert_eq!(model.parameters(), 80 * (150_994_944 + 704_643_072) + 2 * 1_050_673_152);
        let of_parameters = 6 * (model.parameters() - model.embedding());
        let of_attention = 6 * 80 * 8_192 * 8_192;
        assert_eq!(3 * model.operations(), of_parameters + of_attention);
    }

    /// The fine-tuning of Llama 2 70B in MLPerf Training, by adapters of rank 16, trains 44.6 M parameters.
    #[test]
    fn adapters_have_few_parameters() {
        assert_eq!(80 * Transformer::default().adapters(16), 44_564_480);
    }

    /// GPT-2 of 124 M parameters (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, as its
    /// checkpoint has them), of which 0.9 M for positions, biases and norms are left out: 12 layers of 12 h^2, and
    /// one embedding, which is the output layer too.
    #[test]
    fn an_embedding_that_is_the_output_layer_counts_once() {
        let gpt_2 = Transformer {
            layers: 12,
            hidden: 768,
            feed_forward: 3_072,
            is_gated: false,
            key_value: 768,
            vocabulary: 50_257,
            is_tied: true,
            sequence: 1_024,
            ..Transformer::default()
        };
        assert_eq!(gpt_2.parameters(), 12 * 12 * 768 * 768 + 50_257 * 768);
        assert_eq!(gpt_2.parameters().div_ceil(1_000_000), 124);
        let apart = Transformer { is_tied: false, ..gpt_2.clone() };
        assert_eq!(gpt_2.operations(), apart.operations());
    }

    /// Mixtral 8x7B: 46.7 G parameters, of which a token takes 12.9 G (Jiang et al., "Mixtral of Experts", 2024).
    #[test]
    fn experts_add_parameters_and_few_operations() {
        let mixtral = Transformer {
            layers: 32,
            hidden: 4_096,
            feed_forward: 14_336,
            vocabulary: 32_000,
            sequence: 4_096,
            experts: 8,
            experts_per_token: 2,
            ..Transformer::default()
        };
        assert_eq!(mixtral.parameters() / 100_000_000, 467);
        let attended = 3 * 32 * 2 * 4_096 * 4_096;
        let active = (3 * mixtral.operations() - attended) / 6 + mixtral.embedding();
        assert_eq!((active + 50_000_000) / 100_000_000, 129);
    }
}
