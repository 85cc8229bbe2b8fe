//! Every host sends one counted stream to its partner: the fabric benchmark of many simulators.

use etherweave_primitives::{Bytes, InputErrors, Rank};

use crate::generator::Generator;
use crate::limits::{at_least, counted_stream};
use crate::size::of_partners;
use crate::{Partner, StreamSpec, Traffic, TrafficSize};

/// A stream per host along a permutation (`permutation_streams`).
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PermutationStreams {
    /// How many hosts, 2 or more.
    pub ranks: u32,
    /// One message [B], 1 or more.
    pub message: Bytes,
    /// Messages of each host, 1 or more.
    pub messages: u64,
    /// Messages that may be incomplete at once, 1 or more.
    pub outstanding: u32,
    /// Who sends to whom.
    pub partner: Partner,
}

impl Default for PermutationStreams {
    fn default() -> PermutationStreams {
        let message = Bytes::new(2_000_000);
        PermutationStreams { ranks: 128, message, messages: 1, outstanding: 1, partner: Partner::Random }
    }
}

impl Generator for PermutationStreams {
    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    fn traffic(&self, seed: u64) -> Result<Traffic, InputErrors> {
        self.streams(seed).map(Traffic::Streams)
    }

    fn size(&self) -> Result<TrafficSize, InputErrors> {
        let outstanding = self.messages.min(u64::from(self.outstanding));
        Ok(of_partners(self.ranks(), self.message.get(), self.messages, outstanding))
    }
}

impl PermutationStreams {
    /// The streams in rank order; `seed` is the run's.
    ///
    /// # Errors
    /// When a host would be its own partner, or there is nothing to send.
    pub fn streams(&self, seed: u64) -> Result<Vec<StreamSpec>, InputErrors> {
        let counted = counted_stream(self.message, self.messages);
        InputErrors::all([at_least("outstanding", self.outstanding, 1), counted])?;
        let spec = |(rank, dst_rank)| StreamSpec {
            src_rank: Rank::from_index(rank),
            dst_rank,
            stream: 0,
            bytes_per_message: self.message.get(),
            outstanding: self.outstanding,
            messages: Some(self.messages),
            flow_start: None,
        };
        Ok(self.partner.of_all(self.ranks, seed)?.into_iter().enumerate().map(spec).collect())
    }
}
