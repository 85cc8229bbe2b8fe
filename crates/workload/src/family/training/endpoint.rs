//! Time of an accelerator besides the operations of the model: processors that are idle while the last tiles of a
//! matrix product are computed, launches of kernels, and the optimizer.
//!
//! A product of m x n results is divided into tiles of 128 x 256, each for one processor: a wave of tiles takes as long
//! as a full one, however few there are in the last (NVIDIA, "Matrix Multiplication Background User's Guide", sections
//! "Tile Quantization" and "Wave Quantization"). The optimizer is Adam in mixed precision, which reads and writes a
//! copy of the parameter, its momentum and its variance, of 4 B each (Rajbhandari et al., "ZeRO", SC 2020, 3.1).

use etherweave_primitives::{BitRate, Bytes, Duration, InputError, params};

use super::{Training, Transformer, groups::Groups};
use crate::limits::within;

/// Rows and columns of a tile.
const TILE: [u64; 2] = [128, 256];
/// State that the optimizer reads and writes of a parameter: three numbers of 4 B [B].
const STATE: u64 = 2 * 3 * 4;
/// Most processors, and longest launch.
const PROCESSORS_MAX: u32 = 1 << 16;
const LAUNCH_MAX: Duration = Duration::from_ms(1);
/// Kernels of an attention without its two products: norm, rotation of queries and keys, attention to the sequence.
const ATTENTION_KERNELS: u64 = 3;
/// Kernels of a perceptron without its two products: norm, activation.
const PERCEPTRON_KERNELS: u64 = 2;

params! {
    /// Time of an accelerator besides operations (`accelerator`).
    #[derive(Eq)]
    pub struct Accelerator {
        /// Processors among which the tiles of a matrix product are divided; 0 counts none as idle.
        pub processors: u32 = 0,
        /// Time of each kernel and of each collective before it does anything.
        pub launch: Duration = Duration::ZERO,
        /// Rate of the memory, from which the optimizer reads and to which it writes. Absent: it takes no time.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub memory_rate: Option<BitRate> = None,
        /// Memory, which parameters, gradients, the state of the optimizer and activations must fit into. Absent: not
        /// checked.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub memory: Option<Bytes> = None,
    }
}

/// A product of activations with a matrix, of a token: so many results, each a sum of so many products.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub results: u64,
    pub depth: u64,
}

impl Product {
    /// A matrix in so many parts.
    fn shared(results: u32, depth: u32, [by_results, by_depth]: [u32; 2]) -> Product {
        Product {
            results: u64::from(results).div_ceil(u64::from(by_results)),
            depth: u64::from(depth).div_ceil(u64::from(by_depth)),
        }
    }
}

impl Transformer {
    /// Products of an attention that `tensor` accelerators share: with queries, keys and values, and of the output.
    fn attention_products(&self, tensor: u32) -> [Product; 2] {
        let inputs = self.hidden + 2 * self.key_value;
        [Product::shared(inputs, self.hidden, [tensor, 1]), Product::shared(self.hidden, self.hidden, [1, tensor])]
    }

    /// Products of a perceptron, into its width and back.
    fn perceptron_products(&self, tensor: u32) -> [Product; 2] {
        let inputs = if self.is_gated { 2 } else { 1 } * self.feed_forward;
        [
            Product::shared(inputs, self.hidden, [tensor, 1]),
            Product::shared(self.hidden, self.feed_forward, [1, tensor]),
        ]
    }
}

impl Accelerator {
    /// Errors about values out of range; `key` is that of the accelerator.
    pub(super) fn check(&self, key: &str) -> Result<(), InputError> {
        within(&format!("{key}.processors"), self.processors, 0..=PROCESSORS_MAX)?;
        let expected = format_args!("at most {LAUNCH_MAX}");
        InputError::unless(self.launch <= LAUNCH_MAX, format!("{key}.launch"), self.launch, expected)?;
        let least = BitRate::from_gbps(1);
        let is_slow = self.memory_rate.is_some_and(|rate| rate < least);
        let expected = format_args!("at least {least}, or absent");
        InputError::unless(!is_slow, format!("{key}.memory_rate"), self.memory_rate.unwrap_or(least), expected)
    }

    /// Products of numbers for which there is time while the last tiles of rows x columns results are computed.
    fn idle(&self, rows: u64, columns: u64, depth: u64) -> u128 {
        if self.processors == 0 {
            return 0;
        }
        let tiles = rows.div_ceil(TILE[0]) * columns.div_ceil(TILE[1]);
        let waves = tiles.div_ceil(u64::from(self.processors));
        let results = u128::from(waves) * u128::from(self.processors) * u128::from(TILE[0] * TILE[1]);
        (results - u128::from(rows) * u128::from(columns)) * u128::from(depth)
    }
}

impl Training {
    /// Tokens of a micro-batch that an accelerator computes.
    pub(super) fn rows(&self) -> u64 {
        self.tokens() / u64::from(self.parallel.context)
    }

    /// Idle processors and launches of the kernels of an attention.
    pub(super) fn attention_endpoint(&self, is_forward: bool) -> Duration {
        let products = self.model.attention_products(self.parallel.tensor);
        self.endpoint(&products, ATTENTION_KERNELS, is_forward)
    }

    pub(super) fn perceptron_endpoint(&self, is_forward: bool) -> Duration {
        let products = self.model.perceptron_products(self.parallel.tensor);
        self.endpoint(&products, PERCEPTRON_KERNELS, is_forward)
    }

    /// Those of the output layer.
    pub(super) fn output_endpoint(&self, is_forward: bool) -> Duration {
        let product = Product::shared(self.model.vocabulary, self.model.hidden, [self.parallel.tensor, 1]);
        self.endpoint(&[product], 1, is_forward)
    }

    /// Backward, a product has one for the gradients of its inputs, and one for those of its matrix, if it is trained.
    fn endpoint(&self, products: &[Product], others: u64, is_forward: bool) -> Duration {
        let (rows, accelerator) = (self.rows(), &self.accelerator);
        let idle = |product: &Product| {
            let Product { results, depth } = *product;
            match (is_forward, self.adapters) {
                (true, _) => accelerator.idle(rows, results, depth),
                (false, Some(_)) => accelerator.idle(rows, depth, results),
                (false, None) => accelerator.idle(rows, depth, results) + accelerator.idle(depth, results, rows),
            }
        };
        let each = if is_forward || self.adapters.is_some() { 1 } else { 2 };
        let kernels = products.len() as u64 * each + others;
        self.time_of(2 * products.iter().map(idle).sum::<u128>()) + accelerator.launch * kernels
    }

    /// How long the optimizer of a stage takes, of whose state each accelerator has its part with ZeRO.
    pub(super) fn optimizer(&self, stage: u32, groups: &Groups) -> Duration {
        let Some(rate) = self.accelerator.memory_rate else { return Duration::ZERO };
        let trained = self.trained_of_stage(stage);
        let part = |parameters: u64, sharing: u32| match self.parallel.zero {
            0 => parameters,
            _ => parameters.div_ceil(u64::from(sharing)),
        };
        let parameters = part(trained.dense, groups.data.size()) + part(trained.experts, groups.expert_data.size());
        let bytes = STATE + u64::from(self.gradient_bytes) + u64::from(self.parameter_size());
        rate.serialization_time(Bytes::new(parameters / u64::from(self.parallel.tensor) * bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::small, *};

    /// 512 tiles on 148 processors are 3.46 waves, which take as long as 4; on 128 they are 4 waves without a rest.
    #[test]
    fn the_last_wave_of_tiles_takes_as_long_as_a_full_one() {
        let idle = |processors| Accelerator { processors, ..Accelerator::default() }.idle(4_096, 4_096, 10);
        assert_eq!(idle(148), (4 * 148 - 512) * 128 * 256 * 10);
        assert_eq!([idle(128), idle(0)], [0, 0]);
    }

    /// A forward pass has 9 kernels of a layer; backward its four products are eight, of frozen matrices four.
    #[test]
    fn kernels_are_launched_once_forward_and_for_each_gradient() {
        let accelerator = Accelerator { launch: Duration::from_us(1), ..Accelerator::default() };
        let training = Training { accelerator, ..small() };
        let layer = |training: &Training, is_forward| {
            training.attention_endpoint(is_forward) + training.perceptron_endpoint(is_forward)
        };
        assert_eq!([true, false].map(|forward| layer(&training, forward)), [9, 13].map(Duration::from_us));
        let frozen = Training { adapters: Some(8), ..training };
        assert_eq!(layer(&frozen, false), Duration::from_us(9));
    }

    /// Four replicas of 180,224 parameters, 32 B each with gradients of 4 B and 2 B of the parameter: 30 B. With ZeRO a
    /// quarter of them.
    #[test]
    fn the_optimizer_reads_and_writes_its_state() {
        let memory_rate = Some(BitRate::from_gbps(8));
        let accelerator = Accelerator { memory_rate, ..Accelerator::default() };
        let time = |zero: u32| {
            let parallel = super::super::Parallelism { zero, ..small().parallel };
            let training = Training { parallel, accelerator: accelerator.clone(), ..small() };
            training.optimizer(0, &Groups::new(&training, 0))
        };
        let parameters = small().model.parameters();
        assert_eq!(time(0), Duration::from_ns(30 * parameters));
        assert_eq!(time(1), Duration::from_ns(30 * parameters / 4));
    }
}
