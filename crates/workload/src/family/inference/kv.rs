//! Bytes that attention keeps of each token.
//!
//! | attention | bytes of a token on a rank of t |
//! |---|---|
//! | grouped heads | 2 L ceil(H / t) D p: a head is kept by several ranks where there are more ranks than heads |
//! | latent (MLA) | L w p on every rank |
//!
//! Source: `get_kvcache_elements_per_token` of ai-dynamo/aiconfigurator at 095f58a.

use etherweave_primitives::{InputError, InputErrors};

use crate::limits::{at_least, within};

/// Largest size of a model in any of its numbers.
const SIZE_MAX: u32 = 1 << 16;

/// Keys and values that attention keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum KvCache {
    /// Heads of keys and values, shared by groups of queries or by none.
    Grouped {
        /// Layers.
        layers: u32,
        /// Heads of keys and values.
        heads: u32,
        /// Width of a head.
        width: u32,
        /// Bytes of a value: 2 of bf16, 1 of FP8.
        value_bytes: u32,
    },
    /// A latent vector of keys and values together, which every rank has.
    Latent {
        /// Layers.
        layers: u32,
        /// Values of a token in a layer: 512 + 64 of DeepSeek V3.
        width: u32,
        /// Bytes of a value: 2 of bf16, 1 of FP8.
        value_bytes: u32,
    },
}

impl KvCache {
    /// Llama 3 of 70 G parameters.
    pub(super) const LLAMA_70B: KvCache = KvCache::Grouped { layers: 80, heads: 8, width: 128, value_bytes: 2 };

    pub(super) fn layers(self) -> u32 {
        match self {
            KvCache::Grouped { layers, .. } | KvCache::Latent { layers, .. } => layers,
        }
    }

    pub(super) fn token_bytes(self, ranks: u32) -> u64 {
        match self {
            KvCache::Grouped { layers, heads, width, value_bytes } => {
                2 * product([layers, heads.div_ceil(ranks), width, value_bytes])
            }
            KvCache::Latent { layers, width, value_bytes } => product([layers, width, value_bytes]),
        }
    }

    pub(super) fn check(self) -> Result<(), InputErrors> {
        let size = |name: &str, value| within(name, value, 1..=SIZE_MAX);
        let (attention, errors) = match self {
            KvCache::Grouped { layers, heads, width, value_bytes } => (
                "cache.grouped",
                [
                    size("layers", layers),
                    size("heads", heads),
                    size("width", width),
                    at_least("value_bytes", value_bytes, 1),
                ],
            ),
            KvCache::Latent { layers, width, value_bytes } => (
                "cache.latent",
                [size("layers", layers), size("width", width), at_least("value_bytes", value_bytes, 1), Ok(())],
            ),
        };
        InputErrors::all(errors).map_err(|errors| errors.within(attention))?;
        let bytes = self.token_bytes(1);
        Ok(InputError::unless(bytes <= 1 << 32, "cache", format!("{bytes} B of a token"), "at most 4 GiB")?)
    }
}

fn product<const N: usize>(factors: [u32; N]) -> u64 {
    factors.into_iter().map(u64::from).fold(1, u64::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed from public configurations: layers, heads of keys and values, width of a head.
    #[test]
    fn bytes_of_a_token_are_those_of_the_models() {
        let grouped = |layers, heads| KvCache::Grouped { layers, heads, width: 128, value_bytes: 2 }.token_bytes(1);
        assert_eq!(grouped(32, 8), 131_072, "Llama 3 8B");
        assert_eq!(KvCache::LLAMA_70B.token_bytes(1), 327_680);
        assert_eq!(grouped(126, 8), 516_096, "Llama 3 405B");
        assert_eq!(grouped(36, 8), 147_456, "Qwen3-8B");
        assert_eq!(grouped(94, 4), 192_512, "Qwen3-235B-A22B");
        let latent = |value_bytes| KvCache::Latent { layers: 61, width: 576, value_bytes }.token_bytes(8);
        assert_eq!([latent(2), latent(1)], [70_272, 35_136], "DeepSeek V3");
    }

    #[test]
    fn heads_are_divided_among_ranks_and_kept_by_several_beyond_their_number() {
        let bytes = |ranks| KvCache::LLAMA_70B.token_bytes(ranks);
        assert_eq!([bytes(4), bytes(8), bytes(16)], [81_920, 40_960, 40_960]);
    }
}
