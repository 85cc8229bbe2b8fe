//! Reduction in the network.

use etherweave_primitives::{Bytes, Duration, params};

params! {
    /// Aggregation trees of a switch, in which it adds up what its children send. Defaults are those of NVIDIA's SHARP
    /// on Quantum-2 where its documents have them.
    pub struct ReductionParams {
        /// Aggregation trees that a switch may be part of, 1 to 65,536. Default 1023, of Quantum-2; 126 of Quantum.
        pub trees: u32 = 1023,
        /// Largest number of children of a switch in a tree, 2 to 65,536. Default 252.
        pub radix: u32 = 252,
        /// Memory of a switch for open sums of a tree: what each child may have sent without a result. Default
        /// "128KiB".
        pub buffer: Bytes = Bytes::new(128 << 10),
        /// Time from the last bit of the last child's packet to the sum. Default "100ns", an assumption.
        pub latency: Duration = Duration::from_ns(100),
    }
}
