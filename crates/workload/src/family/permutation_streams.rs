//! Every host sends one counted stream to its partner: the fabric benchmark of many simulators.

use etherweave_primitives::{Bytes, InputErrors, Rank, params};

use crate::generator::Generator;
use crate::limits::{at_least, counted_stream};
use crate::size::of_partners;
use crate::{Partner, StreamSpec, Traffic, TrafficSize};

params! {
    /// A stream per host along a permutation (`permutation_streams`).
    pub struct PermutationStreams {
        /// Number of hosts, 2 or more.
        pub ranks: u32 = 128,
        /// One message [B], 1 or more.
        pub message: Bytes = Bytes::new(2_000_000),
        /// Messages of each host, 1 or more.
        pub messages: u64 = 1,
        /// Messages that may be incomplete at once, 1 or more.
        pub outstanding: u32 = 1,
        /// Who sends to whom.
        pub partner: Partner = Partner::Random,
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
